"""Sessions of other programs, read and made ours."""

from __future__ import annotations

import json
import os
import stat

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from session_scripts import STEPS, ForkScript, Script
from session_strategies import JSON, FailingCalls

from mewcode.core.errors import SessionError
from mewcode.core.message import Image, Text, Thinking, ToolCall, Usage, text_of
from mewcode.sessions.check import examine
from mewcode.sessions.export_facts import facts_of
from mewcode.sessions.export_json import as_json
from mewcode.sessions.import_blocks import call_of, image_at, image_of, time_of
from mewcode.sessions.import_detect import kind_of
from mewcode.sessions.import_files import read_original, session_files
from mewcode.sessions.import_session import Place, import_session, imported_before
from mewcode.sessions.reader import load_history, load_session
from mewcode.sessions.record import encode_record, session_record, state_record
from mewcode.sessions.repair import is_sound, repair_messages
from mewcode.sessions.trash import taken_at
from tests.support.archive import answered, asked, head, make_session, said
from tests.support.foreign_sessions import (
    CLAUDE,
    CLAUDE_ID,
    CODEX,
    CODEX_ID,
    CODEX_META,
    KIMI,
    KIMI_ID,
    KIMI_WIRE,
    PICTURE,
    claude,
    claude_answer,
    claude_result,
    claude_said,
    codex,
    codex_said,
    item,
    jsonl,
    kimi_call,
    use,
    words,
)

NOW = 1_800_000_000.0


@pytest.fixture
def take(tmp_path):
    """Imports a file with these lines; what is loaded of the session that comes of it."""

    def call(*values, name: str = "x.jsonl", data: bytes | None = None, load=load_session):
        path = tmp_path / "from" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(jsonl(*values) if data is None else data)
        original = read_original(path)
        assert original is not None
        imported = import_session(original, _place(tmp_path), now=NOW)
        assert imported is not None
        call.folder, call.original, call.imported = imported.folder, original, imported
        return load(imported.folder)

    return call


def _place(tmp_path, **more) -> Place:
    return Place(tmp_path / "s" / "sessions", tmp_path, lambda name: f"seal of {name}", **more)


def shape(messages) -> list[tuple[str, str]]:
    """Who said what, in short."""
    return [(message.role, " ".join(map(_short, message.content))) for message in messages]


def _short(block) -> str:
    if isinstance(block, Text):
        return block.text
    if isinstance(block, Thinking):
        return f"({block.text}{block.signature})"
    if isinstance(block, ToolCall):
        return f"{block.name}{json.dumps(block.args)}"
    return "IMAGE" if isinstance(block, Image) else f"={text_of(block.content)}{'!' * block.is_error}"


def test_claude_code(take):
    loaded = take(*CLAUDE)
    assert shape(loaded.messages) == [
        ("user", "修复解析器"),
        ("assistant", '(hm) I look. Bash{"command": "ls"}'),
        ("tool", "=a.py"),
        ("assistant", "Done."),
    ]
    assert is_sound(loaded.messages)
    assert (loaded.title, loaded.model, loaded.provider, loaded.cwd) == (
        "Parser 修复", "claude-x-1", "anthropic", "/srv/app",
    )  # fmt: skip
    assert (loaded.skipped, loaded.turns, loaded.last_ts) == (0, 1, 1_767_323_046.5)
    assert loaded.totals.models == {"claude-x-1": Usage(20, 10, 200)}
    record = json.loads((take.folder / "conversation.jsonl").read_bytes().split(b"\n")[0])
    assert record["imported"] == {"from": "claude-code", "id": CLAUDE_ID, "ts": NOW}
    assert (record["branch"], record["ts"]) == ("feature", 1_767_323_041.5)
    assert facts_of(take.folder).title == "Parser 修复"


def test_claude_code_what_was_taken_back_and_what_sub_agents_did_is_left_out(take):
    loaded = take(
        claude_said(1, None, "one"),
        claude_answer(2, 1, words("first try")),
        claude_said(3, 2, "wrong way"),
        claude_answer(4, 3, words("wrong answer")),
        {**claude_said(5, None, "sub task"), "isSidechain": True},
        {**claude_answer(6, 5, words("sub answer")), "isSidechain": True},
        claude(7, 2, "progress", data={}),
        claude_said(8, 7, "right way"),
        claude_answer(9, 8, words("right answer")),
        {"type": "summary", "summary": "ways", "leafUuid": "u9"},
    )
    assert [text for _, text in shape(loaded.messages)] == ["one", "first try", "right way", "right answer"]
    assert loaded.title == "ways"


def test_claude_code_results_of_calls_side_by_side(take):
    loaded = take(
        claude_said(1, None, "look"),
        claude_answer(2, 1, use("t1"), reply="m"),
        claude_answer(3, 2, use("t2"), reply="m"),
        claude_result(4, 2, "t1", "one"),
        claude_result(5, 3, "t2", "two", is_error=True),
        claude_answer(6, 5, words("both")),
    )
    assert shape(loaded.messages)[1:] == [
        ("assistant", "Bash{} Bash{}"), ("tool", "=one"), ("tool", "=two!"), ("assistant", "both"),
    ]  # fmt: skip


def test_claude_code_compaction_keeps_what_was_before(take):
    values = (
        claude_said(1, None, "old"),
        claude_answer(2, 1, words("old answer")),
        claude(3, None, "system", subtype="compact_boundary", logicalParentUuid="u2", content="Compacted"),
        claude_said(4, 3, "summary of it", isCompactSummary=True),
        claude_said(5, 4, "new"),
        claude_answer(6, 5, words("new answer")),
    )
    loaded = take(*values)
    assert [text for _, text in shape(loaded.messages)] == ["summary of it", "new", "new answer"]
    assert loaded.messages[0].origin == "compaction"
    assert loaded.turns == 2
    history = load_history(take.folder)
    assert [text for _, text in shape(history.messages)][:2] == ["old", "old answer"]


def test_claude_code_what_nobody_typed_is_no_turn(take):
    loaded = take(
        claude_said(1, None, "<local-command-stdout>x</local-command-stdout>"),
        claude_said(2, 1, "Caveat", isMeta=True),
        claude_said(3, 2, [words("see"), {"type": "image", "source": {
            "type": "base64", "media_type": "image/png", "data": PICTURE}}]),
        claude_answer(4, 3, words("API Error"), model="<synthetic>"),
        claude(5, 4, "attachment", attachment={"type": "queued_command", "prompt": "and this"}),
        claude_answer(6, 5, words("seen")),
    )  # fmt: skip
    assert [message.origin for message in loaded.messages] == [
        "reminder",
        "reminder",
        "user",
        "user",
        "model",
    ]
    assert loaded.messages[2].content == (Text("see"), Image("image/png", PICTURE))
    assert (loaded.turns, facts_of(take.folder).title) == (2, "see")


def test_codex(take):
    loaded = take(*CODEX)
    assert shape(loaded.messages) == [
        ("user", "add a test"),
        ("assistant", '(plan) shell{"command": ["ls"]}'),
        ("tool", "=no such file!"),
        ("assistant", 'apply_patch{"input": "*** Begin Patch"}'),
        ("tool", "=ok"),
        ("assistant", "Added."),
    ]
    assert is_sound(loaded.messages)
    assert (loaded.title, loaded.model, loaded.provider, loaded.turns) == ("tests", "gpt-x", "openai", 1)
    assert loaded.totals.models == {"gpt-x": Usage(200, 20, 100)}
    assert (take.original.id, take.original.branch) == (CODEX_ID, "main")


def test_codex_turns_taken_back_and_compactions(take):
    replaced = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "one"}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a summary"}]},
    ]
    loaded = take(
        CODEX_META,
        codex_said(1, "one"), codex_said(2, "answer one", "assistant"),
        codex_said(3, "two"), codex_said(4, "answer two", "assistant"),
        codex_said(5, "three"), codex_said(6, "answer three", "assistant"),
        codex(7, "event_msg", {"type": "thread_rolled_back", "num_turns": 2}),
        codex_said(8, "four"), codex_said(9, "answer four", "assistant"),
        codex(10, "compacted", {"message": "a summary", "replacement_history": replaced}),
        codex_said(11, "five"), codex_said(12, "answer five", "assistant"),
    )  # fmt: skip
    assert [text for _, text in shape(loaded.messages)] == ["one", "a summary", "five", "answer five"]
    history = [text for _, text in shape(load_history(take.folder).messages)]
    assert history[:4] == ["one", "answer one", "four", "answer four"]
    assert b"answer three" in (take.folder / "conversation.jsonl").read_bytes()


def test_codex_compaction_without_its_history_keeps_the_users_words(take):
    loaded = take(
        CODEX_META,
        codex_said(1, "one"), codex_said(2, "answer one", "assistant"),
        codex_said(3, "two"), codex_said(4, "answer two", "assistant"),
        codex(5, "compacted", {"message": "what was done"}),
        codex_said(6, "three"),
    )  # fmt: skip
    assert [text for _, text in shape(loaded.messages)] == ["one", "two", "what was done", "three"]
    history = load_history(take.folder).messages
    assert [text for _, text in shape(history)].count("one") == 1
    assert load_history(take.folder).turns == 3


def test_codex_older_files_hold_the_items_bare(take):
    loaded = take(
        {"id": CODEX_ID, "timestamp": "2025-07-01T10:00:00.000Z", "instructions": None},
        {"record_type": "state"},
        {"type": "message", "id": None, "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        {"type": "local_shell_call", "call_id": "c", "status": "completed",
         "action": {"type": "exec", "command": ["ls"]}},
        {"type": "function_call_output", "call_id": "c", "output": {"content": "no", "success": False}},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ok"}]},
    )  # fmt: skip
    assert shape(loaded.messages) == [
        ("user", "hi"), ("assistant", 'local_shell{"command": ["ls"]}'), ("tool", "=no!"),
        ("assistant", "ok"),
    ]  # fmt: skip
    assert (take.original.id, loaded.last_ts) == (CODEX_ID, 1_751_364_000.0)


def test_kimi(take, tmp_path):
    folder = tmp_path / "from" / KIMI_ID
    folder.mkdir(parents=True)
    (folder / "wire.jsonl").write_bytes(jsonl(*KIMI_WIRE))
    (folder / "state.json").write_text('{"custom_title": "the README"}')
    loaded = take(*KIMI, name=f"{KIMI_ID}/context.jsonl")
    assert shape(loaded.messages) == [
        ("user", "读一下 README"),
        ("assistant", '(read it) Reading. ReadFile{"path": "README.md"}'),
        ("tool", "=<system>1 line read.</system>\n# App"),
        ("assistant", "It is an app."),
        ("user", "thanks"),
    ]
    assert is_sound(loaded.messages)
    assert loaded.messages[1].tool_calls[0].id == loaded.messages[2].tool_results[0].call_id
    assert (loaded.title, take.original.id, loaded.last_ts) == ("the README", KIMI_ID, 1_770_000_060.0)
    lines = (take.folder / "conversation.jsonl").read_bytes().splitlines()
    times = [record["ts"] for record in map(json.loads, lines) if "role" in record]
    assert times == [1_770_000_000.5] * 4 + [1_770_000_060.0]


def test_kimi_by_itself(take):
    loaded = take(
        {"role": "user", "content": [words("<system>Previous context has been compacted. So:</system>"),
                                     words("a summary")]},
        {"role": "assistant", "content": [], "tool_calls": [kimi_call("a", "Shell", "{broken")]},
        {"role": "tool", "content": [words("<system>ERROR: no</system>")], "tool_call_id": "a"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {
            "url": f"data:image/png;base64,{PICTURE}"}}]},
    )  # fmt: skip
    assert (loaded.messages[0].origin, loaded.messages[1].tool_calls[0].invalid) == ("compaction", "{broken")
    assert loaded.messages[2].tool_results[0].is_error
    assert loaded.messages[3].content == (Image("image/png", PICTURE),)
    assert len(take.original.id) == 24


OWN = (
    head("20260101-100000-aaaa"),
    said("u", "hello", 2),
    asked("a", "c1", command="ls"),
    answered("t", "c1", "out"),
    b'{"type":"title","ts":9,"title":"mine"}\n',
    b'{"type":"later","ts":9}\n',
    said("z", "done", 8, "assistant"),
)


def test_our_own_json_comes_back_as_it_was(take, tmp_path):
    source = make_session(tmp_path / "old", "20260101-100000-aaaa", *OWN, b"junk\n")
    text = as_json(facts_of(source), str)
    loaded = take(data=text.encode(), name="x.json")
    assert loaded.messages == load_session(source).messages
    assert (loaded.title, loaded.last_ts, take.imported.messages) == ("mine", 8.0, 4)
    assert b'"later"' in (take.folder / "conversation.jsonl").read_bytes()
    assert take(data=b"".join(OWN), name="y.jsonl").messages == loaded.messages
    assert take.original.id == "20260101-100000-aaaa"


@settings(max_examples=40, deadline=None)
@given(STEPS, st.integers(0, 10_000), STEPS)
def test_our_own_json_of_any_session(tmp_path_factory, before, number, steps):
    tmp_path = tmp_path_factory.mktemp("own")
    folder = ForkScript(Script().run(before), number).run(steps).write(tmp_path)
    (tmp_path / "x.json").write_text(as_json(facts_of(folder), str))
    imported = import_session(read_original(tmp_path / "x.json"), _place(tmp_path), now=NOW)
    if imported is None:
        assert not load_history(folder).messages
        return
    assert load_session(imported.folder).messages == load_session(folder).messages
    assert load_history(imported.folder).messages == load_history(folder).messages
    assert load_session(imported.folder).turns == load_session(folder).turns


@pytest.mark.parametrize(
    ("mode", "taken"), [("accept-edits", "default"), ("bypass", "default"), ("plan", "plan")]
)
def test_a_file_does_not_say_what_is_done_unasked(take, mode, taken):
    records = [
        session_record("20260101-100000-aaaa", ts=1.0, cwd="/", mode=mode, provider="", model="m"),
        state_record(ts=2.0, mode=mode),
        {"type": "compact", "id": "k", "parent": "u", "ts": 3.0, "mode": mode},
    ]
    first, *others = map(encode_record, records)
    assert take(data=first + said("u", "hello", 2) + b"".join(others), name="x.jsonl").mode == taken
    lines = (take.folder / "conversation.jsonl").read_bytes().splitlines()
    named = [json.loads(line).get("mode") for line in lines]
    assert set(named) == {None, taken}


def test_a_forks_file_alone_is_refused(tmp_path):
    first = json.dumps({"type": "session", "id": "f", "version": 1, "bases": [{"file": "b", "bytes": 1}]})
    (tmp_path / "c.jsonl").write_text(first + "\n")
    with pytest.raises(SessionError, match="not the whole session"):
        read_original(tmp_path / "c.jsonl")


def test_what_is_made_is_private_sealed_and_as_old_as_its_original(take):
    take(*CLAUDE)
    folder = take.folder
    assert folder.name.startswith("20260102-")
    assert load_session(folder).seal == f"seal of {folder.name}"
    assert stat.S_IMODE((folder / "conversation.jsonl").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert sorted(os.listdir(folder)) == ["conversation.jsonl", "conversation.lock"]
    assert (folder / "conversation.jsonl").stat().st_mtime == 1_767_323_046.5
    assert taken_at(folder) > 1_767_400_000  # it counts as kept from the import on
    assert examine(folder).is_sound
    assert imported_before(folder.parent) == {
        ("claude-code", CLAUDE_ID): folder.name, ("mewcode", folder.name): folder.name,
    }  # fmt: skip


def test_where_the_disk_refuses_nothing_is_left(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(jsonl(*CLAUDE))
    calls = FailingCalls()
    place = _place(tmp_path, calls=calls)
    assert import_session(read_original(path), place, now=NOW)
    calls.calls = 0
    assert import_session(read_original(path), place, now=NOW)
    count, left = calls.calls, set(os.listdir(place.sessions_dir))
    assert count >= 4
    for number in range(count):
        calls.fail_at, calls.calls = number, 0
        with pytest.raises(SessionError, match="cannot be written"):
            import_session(read_original(path), place, now=NOW)
        assert set(os.listdir(place.sessions_dir)) == left
    calls.fail_at, calls.limit = None, 100
    with pytest.raises(SessionError, match="No space"):
        import_session(read_original(path), place, now=NOW)
    assert set(os.listdir(place.sessions_dir)) == left


@pytest.mark.parametrize(
    "values", [({"type": "summary", "summary": "x", "leafUuid": "y"},), (CODEX_META,), KIMI[:3]]
)
def test_where_nothing_was_said_nothing_is_made(tmp_path, values):
    (tmp_path / "x.jsonl").write_bytes(jsonl(*values))
    assert import_session(read_original(tmp_path / "x.jsonl"), _place(tmp_path), now=NOW) is None
    assert os.listdir(tmp_path / "s" / "sessions") == []


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (CLAUDE[0], "claude-code"), (CLAUDE[1], "claude-code"), (CODEX[0], "codex"), (CODEX[5], "codex"),
        (KIMI[0], "kimi"), (KIMI[3], "kimi"), (KIMI[5], "kimi"), (json.loads(OWN[0]), "mewcode"),
        (json.loads(OWN[1]), "mewcode"), ({"name": "package"}, None), ({"type": "message"}, "codex"),
        ({"role": 1, "content": ""}, None), ({"type": ["user"], "uuid": "x"}, None),
    ],
)  # fmt: skip
def test_a_kind_is_told_by_the_content(value, kind):
    assert kind_of([{"x": 1}, value]) == kind


@pytest.mark.parametrize("content", [b"", b"\x00\xff" * 90, b"[1]\n", b"hello\n", b'{"a":1}\n', b"{" * 5000])
def test_what_is_no_session_is_told(tmp_path, content):
    (tmp_path / "x.jsonl").write_bytes(content)
    assert read_original(tmp_path / "x.jsonl") is None


def test_what_cannot_be_read_is_told(tmp_path):
    os.mkfifo(tmp_path / "fifo.jsonl")
    (tmp_path / "x.json").write_text('{"format": "mewcode-session", "version": 1, "records": [')
    (tmp_path / "y.json").write_text('{"format": "mewcode-session", "version": 2, "records": []}')
    for name in ("fifo.jsonl", "x.json", "y.json", "missing.jsonl", "."):
        with pytest.raises(SessionError):
            read_original(tmp_path / name)


def test_files_of_a_folder(tmp_path):
    for name in (
        "b.jsonl", "a/x.json", "a/notes.txt", f"{KIMI_ID}/context.jsonl", f"{KIMI_ID}/context_1.jsonl",
        f"{KIMI_ID}/wire.jsonl", "a/subagents/agent.jsonl", "1/2/3/4/5/6/7/8/deep.jsonl",
        "1/2/3/4/5/6/7/8/9/deeper.jsonl",
    ):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "b.jsonl")
    (tmp_path / "loop").symlink_to(tmp_path)
    found = [str(path.relative_to(tmp_path)) for path in session_files(tmp_path)]
    assert found == [
        "b.jsonl", "1/2/3/4/5/6/7/8/deep.jsonl", f"{KIMI_ID}/context.jsonl", "a/x.json",
    ]  # fmt: skip


def test_parts():
    assert time_of("2026-01-02T03:04:05Z") == time_of("2026-01-02T03:04:05") == 1_767_323_045
    assert time_of(1_767_323_045_000) == time_of(1_767_323_045) == 1_767_323_045
    assert [time_of(value) for value in (None, "x", -5, True, [], 10**400)] == [0.0] * 6
    broken = (("image/png", "%%%"), ("text/html", "aGk="), ([], "aGk="), ("image/png", None))
    assert [image_of(*parts) for parts in broken] == [Text("[image]")] * 4
    assert image_at("https://x/y.png") == Text("[image: https://x/y.png]")
    assert image_at({}) == image_at("data:image/png;base64,!") == Text("[image]")
    assert call_of("a b", None, "[1]") == ToolCall(call_of("a b", "", {}).id, "unknown", {}, "[1]")


FILES = {"claude": CLAUDE, "codex": CODEX, "kimi": KIMI, "own": tuple(map(json.loads, OWN))}
FIELDS = st.sampled_from(
    [
        "type", "uuid", "parentUuid", "message", "payload", "content", "role", "tool_calls", "timestamp",
        "tool_call_id", "ts", "id", "isSidechain", "tool_results", "subtype", "parent",
    ]
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(FILES)), st.data())
def test_damaged_files_never_fail_and_what_comes_is_accepted(tmp_path_factory, name, data):
    values = [json.loads(json.dumps(value)) for value in FILES[name]]
    for _ in range(data.draw(st.integers(0, 4))):
        value = values[data.draw(st.integers(0, len(values) - 1))]
        place = value
        if data.draw(st.booleans()):
            inner = [part for part in value.values() if isinstance(part, dict)]
            place = inner[0] if inner else value
        place[data.draw(FIELDS)] = data.draw(JSON)
    lines = [json.dumps(value).encode() + b"\n" for value in values]
    order = data.draw(st.permutations(range(len(lines))) if data.draw(st.booleans()) else st.just(range(9)))
    lines = [lines[place] for place in order if place < len(lines)]
    for _ in range(data.draw(st.integers(0, 2))):
        lines.insert(data.draw(st.integers(0, len(lines))), data.draw(st.binary(max_size=20)) + b"\n")
    folder = tmp_path_factory.mktemp("damaged")
    whole = b"".join(lines)
    (folder / "x.jsonl").write_bytes(whole[: data.draw(st.integers(0, len(whole)))])
    try:
        original = read_original(folder / "x.jsonl")
    except SessionError:  # a file of a fork, by its claim
        return
    imported = import_session(original, _place(folder), now=NOW) if original is not None else None
    if imported is None:
        return
    loaded = load_session(imported.folder)
    assert loaded.seal
    repaired, _ = repair_messages(loaded.messages)
    assert is_sound(repaired)
    if name != "own":  # those are taken with what is wrong in them
        assert loaded.skipped == 0
    load_history(imported.folder)


def test_a_line_that_is_too_long_costs_only_itself(take, monkeypatch):
    monkeypatch.setattr("mewcode.sessions.import_source._LONGEST", 2_000)
    long = claude_said(9, 1, "x" * 5_000)
    loaded = take(*CLAUDE[:2], long, *CLAUDE[2:])
    assert len(loaded.messages) == 4
    assert take.imported.skipped == 1


def test_a_web_search_of_codex_needs_no_result(take):
    loaded = take(
        CODEX_META,
        codex_said(1, "what is new"),
        item(2, "web_search_call", status="completed", action={"type": "search", "query": "news"}),
        codex_said(3, "this", "assistant"),
    )
    assert [text for _, text in shape(loaded.messages)] == ["what is new", "[web search: news] this"]
