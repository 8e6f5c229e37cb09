"""What may be typed behind `mewcode sessions`, and what is answered."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from mewcode.cli import parse
from mewcode.core.errors import SessionError, UsageError
from mewcode.infra.paths import find_places
from mewcode.session_commands.context import age_text, size_text
from mewcode.session_commands.run import command_of, run_sessions
from mewcode.session_commands.words import VERBS
from mewcode.sessions.archive import SessionWriter
from mewcode.sessions.record import brief_record, encode_record
from mewcode.sessions.retention import DAY
from mewcode.sessions.workspaces import cache_path, remember_root
from tests.support.archive import add_lines, head, make_session, said

ONE, TWO = "20260101-100000-aaaa", "20260202-100000-bbbb"


@pytest.fixture
def run(tmp_path, capsys):
    """Runs a word in a project of its own: exit code, what it printed, what it said beside."""
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    environ = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}

    def call(*words: str):
        code = run_sessions(parse(["sessions", *words]), environ, find_places(tmp_path / "project", environ))
        out, err = capsys.readouterr()
        return code, json.loads(out) if "--json" in words else out, err

    return call


@pytest.fixture
def sessions(tmp_path) -> Path:
    folder = tmp_path / "project" / ".mewcode" / "sessions"
    make_session(folder, ONE, head(ONE), said("u", "fix the parser", 10), said("a", "done", 11, "assistant"))
    make_session(folder, TWO, said("u", "write the docs", 20), b"junk\n")
    return folder


def test_a_folder_whose_name_is_no_text(tmp_path, capsys):
    root = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    try:
        root.mkdir()
    except OSError:
        return  # a file system that takes text alone
    make_session(root / ".mewcode" / "sessions", ONE, said("u", "fix it", 10))
    environ = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    for words in (["list"], ["search", "fix"], ["show", ONE], ["usage"], ["delete", ONE]):
        assert run_sessions(parse(["sessions", *words, "--json"]), environ, find_places(root, environ)) == 0
        assert json.loads(capsys.readouterr().out)


def test_each_word_is_run():
    assert len({command_of(verb) for verb in VERBS}) == len(VERBS)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "required"),
        (["nonsense"], "invalid choice"),
        (["search"], "needs more"),
        (["rename", "x"], "needs more"),
        (["list", "x"], "does not take: x"),
        (["show", "x", "y"], "does not take: y"),
        (["list", "--repair"], "takes no --repair"),
        (["check", "--dry-run"], "takes no --dry-run"),
        (["export", "x", "--format", "pdf"], "invalid choice"),
        (["search", "x", "--limit", "0"], "at least 1"),
    ],
)
def test_wrong_usage(words, says):
    with pytest.raises(UsageError, match=says):
        parse(["sessions", *words])


def test_flags_may_stand_anywhere():
    options = parse(["sessions", "search", "two", "--json", "words", "--limit", "3"])
    assert (options.words, options.as_json, options.session_flags.limit) == (
        ("search", "two", "words"),
        True,
        3,
    )
    assert parse(["--", "sessions", "list"]).prompt == "sessions list"


@pytest.mark.parametrize(
    "words", [["list"], ["search", "x"], ["usage"], ["check"], ["prune"], ["restore"], ["rebuild"]]
)
def test_a_project_without_sessions(run, words, tmp_path):
    code, value, _ = run(*words, "--json")
    assert code == 0
    assert isinstance(value, dict | list)
    assert run(*words)[0] == 0
    assert not (tmp_path / "project" / ".mewcode").exists()


def test_list_has_all_of_them_the_newest_first(run, sessions):
    _, value, _ = run("list", "--json")
    assert [(item["id"], item["title"], item["messages"], item["updated"]) for item in value] == [
        (TWO, "write the docs", 1, 20.0), (ONE, "fix the parser", 2, 11.0),
    ]  # fmt: skip
    assert value[0]["damaged"] == 1
    lines = run("list")[1].splitlines()
    assert [line.split()[0] for line in lines] == [TWO, ONE]
    for number in range(60):
        make_session(sessions, f"more-{number}", said("u", "x"))
    assert len(run("list", "--json")[1]) == 62


def test_search_names_session_and_turn(run, sessions, tmp_path):
    _, value, _ = run("search", '"the parser"', "--json")
    assert value == [
        {
            "session": ONE,
            "turn": 1,
            "role": "user",
            "ts": 10.0,
            "snippet": "fix the parser",
            "title": "fix the parser",
            "path": str(sessions / ONE),
            "folder": str(tmp_path / "project"),
        }
    ]
    code, out, err = run("search", "nothinglikethat")
    assert (code, out) == (0, "")
    assert "no message" in err


def test_search_by_regular_expression(run, sessions):
    _, value, _ = run("search", r"re:th[ae] \w+er\b", "--json")
    assert [(item["session"], item["turn"], item["title"]) for item in value] == [(ONE, 1, "fix the parser")]
    assert "no message" in run("search", "re:^parser")[2]
    with pytest.raises(SessionError, match="no regular expression"):
        run("search", "re:(")


def test_other_workspaces_are_asked_on_request_only(run, sessions, tmp_path):
    other = tmp_path / "other"
    make_session(other / ".mewcode" / "sessions", "20260303-100000-cccc", said("u", "parser elsewhere", 30))
    remember_root(tmp_path / "home" / ".mewcode", other, now=1)
    assert len(run("list", "--json")[1]) == 2
    found = run("list", "--everywhere", "--json")[1]
    assert [(item["id"][-4:], item["folder"]) for item in found] == [
        ("cccc", str(other)), ("bbbb", str(tmp_path / "project")), ("aaaa", str(tmp_path / "project")),
    ]  # fmt: skip
    assert str(other) in run("list", "--everywhere")[1]
    assert len(run("list", "--repository", "--json")[1]) == 2
    for query in ("parser", "re:pars", '"parser'):
        found = run("search", query, "--everywhere", "--json")[1]
        assert {item["folder"] for item in found} == {str(other), str(tmp_path / "project")}


def test_show_tells_what_was_done(run, sessions):
    add_lines(sessions / ONE, encode_record(brief_record("Mended the parser.", ts=12)))
    assert run("show", ONE, "--json")[1]["brief"] == "Mended the parser."
    assert "brief: Mended the parser." in run("show", ONE)[1]


def test_labels_also_while_another_process_writes(run, sessions):
    writer = SessionWriter.open(sessions / ONE)
    try:
        run("rename", "20260101", "The", "parser", "fix")
        run("pin", ONE, "20260202")
        run("unpin", "20260202")
        run("tag", "the parser fix", "bug", "#core")
        _, tags, _ = run("untag", ONE, "bug", "--json")
    finally:
        writer.close()
    assert tags == {"id": ONE, "tags": ["core"]}
    found = {item["id"]: item for item in run("list", "--json")[1]}
    one = found[ONE]
    assert (one["title"], one["named"], one["pinned"], one["tags"]) == (
        "The parser fix",
        True,
        True,
        ["core"],
    )
    assert (one["updated"], one["messages"], found[TWO]["pinned"]) == (11.0, 2, False)


def test_show_tells_the_turns(run, sessions):
    _, value, _ = run("show", ONE, "--json")
    assert [(item["turn"], item["role"], item["text"]) for item in value["transcript"]] == [
        (1, "user", "fix the parser"), (1, "assistant", "done"),
    ]  # fmt: skip
    assert "-- turn 1 --\nuser: fix the parser" in run("show", ONE)[1]


def test_prune_goes_by_the_users_config(run, sessions, tmp_path):
    (tmp_path / "home" / ".mewcode").mkdir()
    config = tmp_path / "home" / ".mewcode" / "config.yaml"
    run("list")
    assert len(run("list", "--json")[1]) == 2, "no other word prunes"
    config.write_text("sessions: {keep_days: 1, keep_last: 0}\n")
    run("rename", ONE, "kept for its name")
    _, value, _ = run("prune", "--dry-run", "--json")
    assert [item["id"] for item in value["trashed"]] == [TWO]
    assert (sessions / TWO).is_dir()
    writer = SessionWriter.open(sessions / TWO)
    assert run("prune", "--json")[1]["trashed"] == []
    writer.close()
    assert [item["id"] for item in run("prune", "--json")[1]["trashed"]] == [TWO]
    assert [item["id"] for item in run("list", "--json")[1]] == [ONE]
    mark = sessions / "trash" / TWO / "trashed.json"
    since = json.loads(mark.read_bytes())["ts"]
    assert run("prune", "--json")[1]["emptied"] == []
    mark.write_text(json.dumps({"ts": since - 31 * DAY}))
    assert run("prune", "--json")[1]["emptied"] == [TWO]
    assert not (sessions / "trash" / TWO).exists()


def test_folders_of_other_names_are_listed_pruned_and_brought_back(run, sessions, tmp_path):
    (tmp_path / "home" / ".mewcode").mkdir()
    (tmp_path / "home" / ".mewcode" / "config.yaml").write_text("sessions: {keep_last: 0}\n")
    make_session(sessions, "my old chat", said("u", "of another program", 5))
    (sessions / "older.jsonl").write_bytes(said("u", "a file by itself", 5))
    assert "my old chat" in {item["id"] for item in run("list", "--json")[1]}
    assert "my old chat" in {item["id"] for item in run("prune", "--json")[1]["trashed"]}
    assert (sessions / "older.jsonl").is_file()
    run("restore", "my old chat")
    assert {item["id"] for item in run("list", "--json")[1]} == {"my old chat"}


def test_check_tells_and_repairs(run, sessions):
    code, value, _ = run("check", "--json")
    assert code == 1
    assert {item["id"]: item["sound"] for item in value} == {ONE: True, TWO: False}
    content = (sessions / TWO / "conversation.jsonl").read_bytes()
    code, value, _ = run("check", TWO, "--repair", "--json")
    assert (code, value[0]["sound"]) == (0, True)
    assert Path(value[0]["backup"]).read_bytes() == content
    assert run("check")[:2] == (0, "2 sessions, 0 damaged\n")


def test_an_export_on_a_screen_is_safe_to_show(run, sessions, monkeypatch):
    add_lines(sessions / ONE, said("b", "red \x1b[31m \u202e words", 12))
    assert "red \x1b[31m \u202e words" in run("export", ONE)[1]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    shown = run("export", ONE)[1]
    assert "words" in shown
    assert not {"\x1b", "\u202e"} & {*shown}


def test_export_writes_a_new_file_and_no_other(run, sessions, tmp_path):
    _, out, err = run("export", ONE)
    assert "fix the parser" in out
    assert "read it before" in err
    code, out, err = run("export", ONE, "--format", "html", "--output", "page.html")
    page = tmp_path / "project" / "page.html"
    assert (code, out) == (0, "")
    assert "<!doctype html>" in page.read_text("utf-8")
    with pytest.raises(Exception, match="exists"):
        run("export", ONE, "--output", "page.html")
    assert "blacked out" not in run("export", ONE, "--json", "--with-secrets")[2]


def test_usage_adds_up(run, sessions):
    (sessions / ONE / "tool-results").mkdir()
    (sessions / ONE / "tool-results" / "c").write_bytes(b"x" * 5000)
    _, value, _ = run("usage", "--json")
    assert (value["sessions"], value["tool_results"]) == (2, 5000)
    assert value["bytes"] == sum(item["bytes"] for item in value["by_session"])
    assert value["by_session"][0]["id"] == ONE
    assert "##" in run("usage")[1]


def test_rebuild_says_what_is_there(run, sessions):
    _, value, _ = run("rebuild", "--json")
    assert (value["sessions"], value["messages"]) == (2, 3)


def test_each_folder_has_a_cache_of_its_own(tmp_path):
    assert cache_path(tmp_path / "a") != cache_path(tmp_path / "b")
    assert cache_path(tmp_path / "a") == cache_path(tmp_path / "b" / ".." / "a")
    assert cache_path(tmp_path / "a").suffix == ".sqlite"


def test_sizes_and_ages_as_words():
    assert [size_text(size) for size in (0, 999, 1500, 2_500_000, 3e9)] == [
        "0 B", "999 B", "1.5 kB", "2.5 MB", "3.0 GB",
    ]  # fmt: skip
    assert [age_text(age) for age in (-5, 59, 3600, 5 * DAY)] == ["0 min", "1 min", "1 h", "5 d"]
