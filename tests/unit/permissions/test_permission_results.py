"""The session's large results can be read wherever they lie, and nothing else by that way."""

from __future__ import annotations

from pathlib import Path

import pytest

from mewcode.core.access import ReadAccess, WriteAccess


@pytest.fixture
def results(place) -> Path:
    folder = place.home / ".mewcode" / "home-project" / "sessions" / "s1" / "tool-results"
    folder.mkdir(parents=True)
    (folder / "c1").write_text("text")
    return folder


def decide(place, folder: Path | None, tool: str, path: Path, **more) -> str:
    policy = place.policy(trusted_folder=False, **more)
    policy.results = None if folder is None else lambda: folder
    read = tool in ("read_file", "grep")
    access = ReadAccess(str(path)) if read else WriteAccess(str(path))
    return policy.judge(tool, read, [access]).decision


@pytest.mark.parametrize("tool", ["read_file", "grep"])
def test_reads_need_no_question(place, results, tool):
    assert decide(place, None, tool, results / "c1") == "ask"
    assert decide(place, results, tool, results / "c1") == "allow"
    assert decide(place, results, tool, results) == "allow"
    assert decide(place, results, tool, results / "c1", mode="dont-ask") == "allow"
    for other in (
        results.parent / "conversation.jsonl",
        results.parent,
        results.parents[1] / "s2",
        place.home,
    ):
        assert decide(place, results, tool, other) == "ask"
    assert decide(place, results, tool, results / ".." / "conversation.jsonl") == "ask"
    assert decide(place, results, tool, results.with_name("tool-results-2")) == "ask"


def test_rules_come_first(place, results):
    assert decide(place, results, "read_file", results / "c1", deny=["read_file"]) == "deny"
    assert decide(place, results, "read_file", results / "c1", ask=["read_file"]) == "ask"


@pytest.mark.parametrize("tool", ["write_file", "edit_file"])
def test_writes_always_ask(place, results, tool):
    inside = place.root / "data" / "s1" / "tool-results"
    for folder in (results, inside):
        assert decide(place, folder, tool, folder / "c1", mode="accept-edits", allow=[tool]) == "ask"


@pytest.mark.parametrize("tool", ["read_file", "grep"])
def test_links_lead_nowhere(place, results, tool):
    (results / "link").symlink_to(place.outside / "x")
    assert decide(place, results, tool, results / "link") == "ask"
    came = place.root / ".mewcode" / "sessions" / "s9"
    came.mkdir(parents=True)
    (came / "tool-results").symlink_to(place.outside)
    assert decide(place, came / "tool-results", tool, came / "tool-results" / "x") == "ask"
    assert decide(place, came / "tool-results", tool, place.outside / "x") == "ask"
