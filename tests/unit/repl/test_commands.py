"""The slash commands: what each gives, over a session as the composition root joins it."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from mewcode.agent.conversation import new_message
from mewcode.agent.session import Session
from mewcode.core.message import Text, Usage
from mewcode.core.outcome import TodoItem
from mewcode.repl.commands import (
    Aside,
    Clear,
    Command,
    CommandRegistry,
    Compose,
    Copy,
    Desk,
    Outcome,
    Pick,
    Quit,
    Say,
    Shown,
    Table,
    Tables,
    UseTheme,
    builtin,
    builtin_commands,
)
from tests.support.sample_session import hold, project_in, records, take_turn
from tests.support.scripted_provider import ScriptedProvider, answer

Scenario = Callable[[Session], Awaitable[None]]


def with_session(tmp_path: Path, scenario: Scenario, *answers: Any, **options: Any) -> Session:
    return hold(tmp_path, ScriptedProvider(*answers), scenario, **options)


async def give(session: Session, line: str, **desk: Any) -> Outcome:
    return await builtin_commands().run(Desk(session, **desk), line)


def flat(outcome: Outcome) -> str:
    """All cells of tables, by line."""
    assert isinstance(outcome, Table | Tables), outcome
    tables = outcome.tables if isinstance(outcome, Tables) else (outcome,)
    rows = [(table.title, *row) for table in tables for row in table.rows]
    return "\n".join(" | ".join(row) for row in rows)


# The registry.


def test_every_command_is_there_and_says_what_it_does() -> None:
    for command in builtin_commands().commands.values():
        assert command.summary
        assert command.group in ("session", "model", "permissions", "input", "settings", "help")


def test_every_command_finds_its_function(monkeypatch: pytest.MonkeyPatch) -> None:
    named: list[tuple[str, str]] = []
    monkeypatch.setattr(builtin, "_in", lambda module, function: named.append((module, function)))
    builtin.builtin_commands()
    assert len(named) > 12
    for module, function in named:
        found = getattr(importlib.import_module(f"mewcode.repl.commands.{module}"), function)
        assert inspect.iscoroutinefunction(found)


def test_two_commands_of_one_name_are_refused() -> None:
    registry = CommandRegistry()

    async def nothing(desk: Desk, argument: str) -> Outcome:
        return Quit()

    registry.add(Command("a", "", nothing))
    with pytest.raises(ValueError, match="/a"):
        registry.add(Command("a", "", nothing))


@pytest.mark.parametrize(("line", "nearest"), [("/statsu", "/status"), ("/modl x", "/model")])
def test_an_unknown_command_suggests_the_nearest(line: str, nearest: str, tmp_path: Path) -> None:
    async def scenario(session: Session) -> None:
        outcome = await give(session, line)
        assert isinstance(outcome, Say)
        assert "there is no command" in outcome.text
        assert nearest in outcome.hint
        assert await give(session, "/qqqqqq") == Say("there is no command /qqqqqq", "/help lists them.")

    with_session(tmp_path, scenario)


def test_which_commands_need_not_wait_for_a_turn() -> None:
    registry = builtin_commands()
    at_once = {name for name, command in registry.commands.items() if command.anytime}
    asked = {
        "status",
        "cost",
        "todos",
        "help",
        "btw",
        "copy",
        "theme",
        "mode",
        "config",
        "instructions",
        "context",
        "memory",
    }
    of_the_archive = {"resume", "rewind", "fork", "export", "rename", "pin", "tag"}  # some say: not now
    assert at_once == asked | of_the_archive
    assert registry.is_anytime("/mode plan")
    assert registry.is_anytime("/nonsense")
    assert not registry.is_anytime("/clear")


# /help, /exit, /clear, /todos, /editor


def test_help_lists_the_registry_by_group_and_the_keys(tmp_path: Path) -> None:
    async def scenario(session: Session) -> None:
        outcome = await give(session, "/help")
        assert isinstance(outcome, Tables)
        titles = [table.title for table in outcome.tables]
        assert titles[0] == "session"
        assert titles[-1] == "keys"
        assert set(titles) == {"session", "model", "permissions", "input", "settings", "help", "keys"}
        rows = flat(outcome)
        for command in builtin_commands().commands.values():
            assert f"/{command.name} {command.usage}".strip() in rows
        about_mode = await give(session, "/help mode")
        assert "accept-edits" in flat(about_mode)
        assert isinstance(await give(session, "/help nonsense"), Say)

    with_session(tmp_path, scenario)


def test_help_is_live(tmp_path: Path) -> None:
    async def scenario(session: Session) -> None:
        registry = builtin_commands()
        registry.add(Command("mine", "my own", registry.commands["exit"].run, group="project"))
        outcome = await registry.run(Desk(session), "/help")
        assert "project | /mine | my own" in flat(outcome)

    with_session(tmp_path, scenario)


def test_leaving_and_beginning_anew(tmp_path: Path) -> None:
    async def scenario(session: Session) -> None:
        assert await give(session, "/exit") == Quit()
        assert await give(session, "/quit") == Quit()
        before = session.id
        assert await give(session, "/clear") == Clear()
        assert session.id != before

    with_session(tmp_path, scenario)


def test_the_list_of_what_is_to_be_done(tmp_path: Path) -> None:
    async def scenario(session: Session) -> None:
        assert isinstance(await give(session, "/todos"), Say)
        session.tools.session.todos[:] = [TodoItem("one", "done"), TodoItem("t\x1b[31mwo")]
        outcome = await give(session, "/todos")
        assert isinstance(outcome, Shown)
        assert outcome.title == "1 of 2 done"
        assert "\x1b" not in str(outcome.view)

    with_session(tmp_path, scenario)


def test_the_editor_begins_with_the_argument(tmp_path: Path) -> None:
    async def scenario(session: Session) -> None:
        assert await give(session, "/editor a b") == Compose("a b")

    with_session(tmp_path, scenario)


# /btw


def test_a_question_aside_needs_one(tmp_path: Path) -> None:
    async def scenario(session: Session) -> None:
        assert isinstance(await give(session, "/btw"), Say)
        assert await give(session, "/btw why this?") == Aside("why this?")

    with_session(tmp_path, scenario)


# /mode, /permissions


def test_the_mode_is_picked_or_named(tmp_path: Path) -> None:
    async def scenario(session: Session) -> None:
        picker = await give(session, "/mode")
        assert isinstance(picker, Pick)
        assert [option.value for option in picker.options][picker.selected] == "default"
        assert isinstance(picker.then("plan"), Say)
        assert session.mode == "plan"
        await give(session, "/mode accept-edits")
        assert session.mode == "accept-edits"
        outcome = await give(session, "/mode nonsense")
        assert isinstance(outcome, Say)
        assert "plan" in outcome.hint

    with_session(tmp_path, scenario)


def test_rules_are_listed_with_their_place_added_and_taken_back(tmp_path: Path) -> None:
    (project_in(tmp_path).parent / "home/.mewcode").mkdir(parents=True)
    (tmp_path / "home/.mewcode/config.yaml").write_text(
        "permissions:\n  allow:\n    - bash(ls *)\n  deny:\n    - bash(rm *)\n"
    )

    async def scenario(session: Session) -> None:
        rows = flat(await give(session, "/permissions"))
        assert "allow | bash(ls *) | user config ~/.mewcode/config.yaml:3" in rows
        assert "deny | bash(rm *) | user config ~/.mewcode/config.yaml:5" in rows
        assert "allow | bash(pwd) | flag --allow" in rows
        outcome = await give(session, "/permissions bash(git push *)")
        assert isinstance(outcome, Say)
        assert "remove" in outcome.hint
        await give(session, "/permissions deny web_fetch")
        await give(session, "/permissions ask write_file(docs/**)")
        rows = flat(await give(session, "/permissions"))
        assert "allow | bash(git push *) | given in this session" in rows
        assert "deny | web_fetch | given in this session" in rows
        assert "ask | write_file(docs/**) | given in this session" in rows
        assert ("remove web_fetch", "given in this session") in builtin_commands().commands[
            "permissions"
        ].choices(session)
        assert (await give(session, "/permissions remove web_fetch")) == Say("no longer in force: web_fetch")
        assert "web_fetch" not in flat(await give(session, "/permissions"))

    with_session(tmp_path, scenario, allow=("bash(pwd)",))


def test_what_is_no_rule_changes_nothing(tmp_path: Path) -> None:
    async def scenario(session: Session) -> None:
        before = list(session.policy.explain())
        for line in ("/permissions bash(", "/permissions deny", "/permissions remove bash(ls)"):
            assert isinstance(await give(session, line), Say), line
        assert list(session.policy.explain()) == before

    with_session(tmp_path, scenario)


# /status, /config


def test_status_says_everything(tmp_path: Path) -> None:
    added = tmp_path / "added"
    added.mkdir()
    project = project_in(tmp_path)
    (project / ".git").mkdir()
    (project / ".git/HEAD").write_text("ref: refs/heads/topic\n")

    async def scenario(session: Session) -> None:
        await take_turn(session)
        outcome = await give(
            session, "/status", theme="light", columns=100, rows=30, queued=("and then this",)
        )
        shown = flat(outcome)
        for expected in (
            session.id,
            str(session.archive.folder),
            "saved | yes",
            "sample-model",
            "sample (openai)",
            "http://127.0.0.1:9",
            "15 of 128,000 tokens (0 %)",
            "price unknown",
            "default: asks before",
            str(project),
            str(added),
            "branch | topic",
            "not trusted",
            "flag --model",
            "and then this",
            "100 columns by 30 rows",
            "xterm-test within tmux",
            "theme | light",
        ):
            assert expected in shown, expected

    with_session(
        tmp_path,
        scenario,
        answer("hi"),
        add_dirs=(added,),
        environ={"TERM": "xterm-test", "TMUX": "/tmp/x"},
    )


def test_status_says_why_a_session_is_not_saved(tmp_path: Path) -> None:
    async def scenario(session: Session) -> None:
        in_the_way = session.archive.folder.parent
        in_the_way.parent.mkdir(parents=True)
        in_the_way.write_text("")
        session.archive.append(new_message("user", (Text("hi"),), "user"))
        assert "saved | not being saved: " in flat(await give(session, "/status"))

    with_session(tmp_path, scenario)


def test_config_says_where_each_value_comes_from(tmp_path: Path) -> None:
    (project_in(tmp_path).parent / "home/.mewcode").mkdir(parents=True)
    (tmp_path / "home/.mewcode/config.yaml").write_text("ui:\n  theme: light\nmax_turns: 7\n")

    async def scenario(session: Session) -> None:
        rows = flat(await give(session, "/config"))
        assert "ui.theme | light | user config ~/.mewcode/config.yaml:2" in rows
        assert "max_turns | 7 | user config ~/.mewcode/config.yaml:3" in rows
        assert "model | sample-model | flag --model" in rows
        assert "shell.timeout" in rows
        only = await give(session, "/config ui.theme")
        assert isinstance(only, Table)
        assert len(only.rows) == 1
        assert isinstance(await give(session, "/config nonsense"), Say)
        assert any(key == "ui.theme" for key, _ in builtin_commands().commands["config"].choices(session))

    with_session(tmp_path, scenario)


# /theme


def test_a_theme_is_picked_named_or_kept(tmp_path: Path) -> None:
    async def scenario(session: Session) -> None:
        picker = await give(session, "/theme", theme="light")
        assert isinstance(picker, Pick)
        assert picker.options[picker.selected].value == "light"
        chosen = picker.then("high-contrast")
        assert isinstance(chosen, UseTheme)
        assert chosen.name == "high-contrast"
        assert isinstance(await give(session, "/theme pink"), Say)
        assert isinstance(await give(session, "/theme dark light"), Say)
        path = tmp_path / "home/.mewcode/config.yaml"
        assert not path.exists()
        outcome = await give(session, "/theme light --save")
        assert isinstance(outcome, UseTheme)
        assert str(path) in outcome.hint
        assert path.read_text() == "ui:\n  theme: light\n"
        assert (await give(session, "/theme auto")).name is None  # type: ignore[union-attr]

    with_session(tmp_path, scenario)


def test_a_config_that_cannot_be_changed_is_named(tmp_path: Path) -> None:
    project_in(tmp_path)
    path = tmp_path / "home/.mewcode/config.yaml"

    async def scenario(session: Session) -> None:
        path.parent.mkdir(exist_ok=True)
        path.write_text("ui: [\n")
        outcome = await give(session, "/theme light --save")
        assert isinstance(outcome, Say)
        assert "config.yaml" in outcome.text
        assert path.read_text() == "ui: [\n"

    with_session(tmp_path, scenario)


# /cost


def test_cost_by_model_with_the_share_of_the_cache(tmp_path: Path) -> None:
    usage = Usage(input_tokens=100_000, output_tokens=1_000, cache_read_tokens=300_000)

    async def scenario(session: Session) -> None:
        assert isinstance(await give(session, "/cost"), Say)
        await take_turn(session)
        outcome = await give(session, "/cost")
        assert isinstance(outcome, Tables)
        here, week = outcome.tables
        [row] = here.rows
        assert row[:6] == ("claude-opus-5-5", "100k", "300k", "0", "1,000", "75 %")
        assert row[6].startswith("$0.")
        assert week.rows[-1] == ("all", *row[1:])
        session.use_model("small-local")
        await take_turn(session)
        outcome = await give(session, "/cost")
        assert isinstance(outcome, Tables)
        assert [row[0] for row in outcome.tables[0].rows] == ["claude-opus-5-5", "small-local", "all"]
        assert outcome.tables[0].rows[-1][-1] == "price unknown"
        assert outcome.tables[1].rows[-1][-1].endswith("and unknown")

    with_session(
        tmp_path, scenario, answer("hi", usage=usage), answer("ho", usage=usage), model="claude-opus-5-5"
    )


# /copy


def test_what_there_is_to_copy(tmp_path: Path) -> None:
    text = "See:\n\n```python\nx = 1\n```\n\nor\n\n  ~~~~\n  ```\n  y\n  ~~~~\n"

    async def scenario(session: Session) -> None:
        assert isinstance(await give(session, "/copy"), Say)
        await take_turn(session)
        whole = await give(session, "/copy")
        assert whole == Copy(text.strip(), "the last answer")
        assert await give(session, "/copy 1") == Copy("x = 1\n", "code block 1")
        assert await give(session, "/copy 2") == Copy("```\ny\n", "code block 2")
        for line in ("/copy 3", "/copy 0", "/copy x"):
            assert isinstance(await give(session, line), Say), line

    with_session(tmp_path, scenario, answer(text))


def test_commands_leave_no_message(tmp_path: Path) -> None:
    lines = ("/help", "/status", "/cost", "/config", "/permissions", "/todos", "/copy", "/theme light")

    async def scenario(session: Session) -> None:
        await take_turn(session)
        before = list(session.agent.conversation.messages)
        for line in lines:
            await give(session, line)
        assert session.agent.conversation.messages == before

    session = with_session(tmp_path, scenario, answer("hi"))
    assert [record["role"] for record in records(session) if "role" in record] == ["user", "assistant"]
