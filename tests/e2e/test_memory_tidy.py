"""`mewcode memory tidy` from the shell: a model is asked, a diff is shown, and it can be undone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.fake_llm import FakeLLM, Reply
from tests.support.program import environment, run_program

CHANGES = {
    "changes": [
        {
            "do": "merge",
            "notes": ["n1", "n2"],
            "into": "n1",
            "body": "部署在周五15:00。",
            "reason": "同一件事",
        },
        {"do": "repair", "notes": ["n3"], "body": "The entry is `lib/app.py`."},
    ]
}


def notes_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*_*.md")}


@pytest.mark.parametrize("service", ["anthropic", "openai"])
def test_a_tidy_from_the_shell_is_shown_and_can_be_undone(tmp_path: Path, service: str) -> None:
    project = tmp_path / "project"
    (project / "lib").mkdir(parents=True)
    (project / "lib" / "app.py").touch()
    memory = project / ".mewcode" / "memory"
    with FakeLLM([Reply.text(f"Here:\n```json\n{json.dumps(CHANGES, ensure_ascii=False)}\n```")]) as server:
        urls = {"anthropic": server.url} if service == "anthropic" else {"openai": server.openai_url}
        env = environment(tmp_path / "home", **urls)

        def mewcode(*words: str) -> tuple[int, str, str]:
            done = run_program(["memory", *words], cwd=project, env=env)
            return done.returncode, done.stdout.decode(), done.stderr.decode()

        for name, body in (
            # The newest has the first label.
            ("C entry", "The entry is `app/app.py`."),
            ("B 部署时间", "部署在15:00。"),
            ("A 部署", "部署在周五。"),
        ):
            code, out, err = mewcode("add", "--type", "project", "--name", name, body)
            assert code == 0, (out, err)
        before = notes_in(memory)
        shown = mewcode("show", "C entry")[1]
        assert "no longer there: app/app.py (path, now lib/app.py)" in shown
        code, out, err = mewcode("tidy")
        assert code == 0, err
        first, *diff = out.splitlines()
        assert first.startswith("tidied notes: 1 merged, 1 to approve"), (first, err, server.requests)
        assert "+部署在周五15:00。" in diff
        assert len(server.generations) == 1
        assert "B 部署时间" not in mewcode("list")[1]
        assert notes_in(memory) != before
        code, out, err = mewcode("undo")
        assert code == 0, (out, err)
        assert notes_in(memory) == before
