"""Documents in a terminal: indexed beside the conversation."""

from __future__ import annotations

import json
import time
from pathlib import Path

from tests.support.adverse import Start, ask, leave, no_traceback
from tests.support.fake_llm import FakeLLM, Reply


def many_documents(project: Path, home: Path, count: int) -> None:
    (home / ".mewcode").mkdir()
    (home / ".mewcode/config.yaml").write_text("knowledge: {paths: [docs]}\n", encoding="utf-8")
    (project / "docs").mkdir()
    text = "\n\n".join(f"## 第 {part} 节\n\n" + "Words about the matter at hand. " * 20 for part in range(8))
    for number in range(count):
        (project / f"docs/{number}.md").write_text(
            f"# Part {number}\n\n{text}\n\nspecial{number}\n", encoding="utf-8"
        )


def test_an_index_is_made_while_one_talks(start: Start, fake_llm: FakeLLM, project: Path, home: Path) -> None:
    many_documents(project, home, 1_500)
    search = ("search_docs", {"query": "special1499"})
    fake_llm.script(Reply.text("Hello."), Reply.calls(search), Reply.text("Found."))
    terminal = start(columns=120)
    ask(terminal, "hello")
    terminal.wait_for("Hello.")
    terminal.wait_for("indexing")
    ask(terminal, "look it up")
    terminal.wait_for("Found.", limit=60)
    no_traceback(terminal)
    leave(terminal)
    answer = json.dumps(fake_llm.generations[-1].messages[-1], ensure_ascii=False)
    assert "docs/1499.md:" in answer


def test_leaving_does_not_wait_for_the_index(
    start: Start, fake_llm: FakeLLM, project: Path, home: Path
) -> None:
    many_documents(project, home, 1_500)
    terminal = start(columns=120)
    terminal.wait_for("indexing")
    began = time.monotonic()
    leave(terminal)
    assert time.monotonic() - began < 10
    again = start(columns=120)
    fake_llm.script(Reply.calls(("search_docs", {"query": "special1499"})), Reply.text("Found."))
    ask(again, "look it up")
    again.wait_for("Found.", limit=60)
    leave(again)
    assert "docs/1499.md:" in json.dumps(fake_llm.generations[-1].messages[-1], ensure_ascii=False)
