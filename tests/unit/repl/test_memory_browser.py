"""The browser of notes: its keys, against notes on a disk."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import pytest
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import PipeInput

from mewcode.core.errors import NoteError
from mewcode.infra.paths import Places
from mewcode.instructions.load import Instructions, Loader
from mewcode.memory.changes import Archive, Close, Create, Forget, Supersede
from mewcode.memory.lock import locked
from mewcode.memory.store import NoteStore
from mewcode.repl.memory_browser_items import NoteItem, Tab
from mewcode.repl.memory_browser_screen import MemoryBrowser
from mewcode.repl.memory_browser_source import NoteSource
from mewcode.repl.memory_browser_view import BrowserView
from mewcode.repl.theme import THEMES
from tests.support.list_desk import LIMIT, ListDesk, Output, list_desk
from tests.support.notes import NOW, Refusing, add, note, one, ref, store

DAY = 86_400.0
DOWN, RIGHT, LEFT, ESC, BACK_TAB = "\x1b[B", "\x1b[C", "\x1b[D", "\x1b", "\x1b[Z"
EDIT, FORGET, LEVEL, PIN, RESTORE = "\x05", "\x04", "\x0c", "\x10", "\x12"
STATE, TYPE, CLEAR, MOVE, APPROVE, UNDO = "\x13", "\x14", "\x15", "\x18", "\x19", "\x1a"


class Files:
    """The instructions of a folder; ``looks`` counts how often they were said to have changed."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.looks = 0

    def look(self) -> Instructions:
        root = self._root
        places = Places(cwd=root, root=root, user=root / "home/.mewcode", project=root / ".mewcode")
        return Loader(places, home=root / "home").load()

    def stale(self) -> tuple[str, ...]:
        self.looks += 1
        return ("MEWCODE.md",)


class Desk(ListDesk[MemoryBrowser]):
    source: NoteSource
    files: Files

    @property
    def view(self) -> BrowserView:
        return self.listed.view

    def shown(self) -> str:
        return ", ".join(
            item.entry.name if isinstance(item, NoteItem) else str(item.key[-1])  # type: ignore[index]
            for item in self.view.items.shown
        )

    @property
    def current(self) -> NoteItem:
        item = self.view.items.current
        assert isinstance(item, NoteItem)
        return item


def run(
    notes: NoteStore | Callable[[], NoteStore],
    root: Path,
    work: Callable[[Desk], Awaitable[None]],
    *,
    tab: Tab = "notes",
    environ: Mapping[str, str] | None = None,
    wide: bool = False,
) -> NoteSource:
    """Does ``work`` with the browser; the source with what the model is told."""
    files = Files(root)
    given = notes if callable(notes) else lambda: notes
    source = NoteSource(given, files, lambda: NOW + 12 * DAY)

    def make(keys: PipeInput, output: Output) -> MemoryBrowser:
        output.size = Size(50, 200) if wide else Size(24, 80)
        view = BrowserView(THEMES["no-color"], lambda: NOW + 12 * DAY)
        view.items.use_tab(tab)
        return MemoryBrowser(view, source, environ or {}, keys, output)

    async def main() -> None:
        with list_desk(Desk, make) as desk:
            desk.source, desk.files = source, files
            async with asyncio.TaskGroup() as tasks:
                running = tasks.create_task(desk.listed.run())
                await desk.until(lambda: desk.listed.app.is_running and not desk.view.reading)
                await work(desk)
                if not running.done():
                    desk.listed.leave()
                async with asyncio.timeout(LIMIT):
                    await running

    asyncio.run(main())
    return source


def editor(root: Path, script: str) -> dict[str, str]:
    """An editor that runs this on the file, which is ``$1``."""
    path = root / "editor.sh"
    path.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    path.chmod(0o700)
    return {"EDITOR": str(path), "PATH": "/usr/bin:/bin"}


@pytest.fixture
def notes(tmp_path: Path) -> NoteStore:
    """Four notes in force, one of them the user's; one each that expired, rests, is gone, waits."""
    made = store(tmp_path)
    add(
        made,
        note("Test runner", "Prefers **pytest**.", "user_preference", level="user", tags=("python",)),
        note("发布日期", "十二月发布第二版。", description="什么时候发布", aliases=("上线",)),
        note("Linter", "We use ruff."),
        note("No rebase", "Never rebase main.", "correction_feedback"),
        note("Sprint", "Ends on Friday."),
        note("Old board", "A board."),
        note("Gone", "It was wrong."),
    )
    made.apply(
        [
            Close(ref(one(made, "Sprint"))),
            Archive(ref(one(made, "Old board"))),
            Forget(ref(one(made, "Gone"))),
        ],
        by="user",
    )
    made.apply([Create(note("Mirror", "Use the mirror.", origin="web"))], by="agent")
    return made


def test_the_notes_in_force_are_listed_and_looked_at(notes: NoteStore, tmp_path: Path) -> None:
    async def work(desk: Desk) -> None:
        assert desk.shown() == "No rebase, Linter, 发布日期, Test runner"
        assert " notes 4 " in desk.screen()
        assert " inbox 1 " in desk.screen()
        await desk.see("runner", "❯  ~  user       Test runner")
        await desk.see("\r", "level       user")
        assert "Prefers pytest." in desk.screen()
        assert "updated 12 days ago" in desk.screen()
        await desk.see(LEFT, "❯ runner")

    run(notes, tmp_path, work)


@pytest.mark.parametrize("key", [ESC, "\x03"])
def test_esc_and_ctrl_c_leave(notes: NoteStore, tmp_path: Path, key: str) -> None:
    async def work(desk: Desk) -> None:
        desk.keys.send_text(key)
        await desk.ended()

    run(notes, tmp_path, work)


def test_all_words_are_found_in_any_script_and_esc_clears_them(notes: NoteStore, tmp_path: Path) -> None:
    async def work(desk: Desk) -> None:
        await desk.press("ruff lint", lambda: desk.shown() == "Linter")
        await desk.press(" nothing", lambda: desk.shown() == "")
        assert "nothing matches" in desk.screen()
        await desk.press(ESC, lambda: len(desk.view.items.shown) == 4)
        await desk.press("上线", lambda: desk.shown() == "发布日期")
        assert "1 of 4" in desk.screen()
        await desk.press(f"{CLEAR}tstrun", lambda: desk.shown() == "Test runner")
        await desk.press(f"{CLEAR}python", lambda: desk.shown() == "Test runner")

    run(notes, tmp_path, work)


def test_filters_by_state_type_and_level(notes: NoteStore, tmp_path: Path) -> None:
    async def work(desk: Desk) -> None:
        for words, names in (
            ("^S expired", "Sprint"),
            ("^S archived", "Old board"),
            ("^S forgotten", "Gone"),
            ("^S every state", "No rebase, Linter, Old board, Sprint, 发布日期, Test runner, Gone"),
        ):
            await desk.see(STATE, words)
            await desk.press("", lambda names=names: desk.shown() == names)
        await desk.see(STATE, "^S in force")
        await desk.press(TYPE, lambda: desk.shown() == "Test runner")
        await desk.press(TYPE, lambda: desk.shown() == "No rebase")
        await desk.see(LEVEL, "^L project level")
        await desk.see(LEVEL, "none of these")
        await desk.press(f"{LEVEL}{TYPE}{TYPE}", lambda: len(desk.view.items.shown) == 4)

    run(notes, tmp_path, work)


def test_beside_a_wide_list_the_preview_follows(notes: NoteStore, tmp_path: Path) -> None:
    async def work(desk: Desk) -> None:
        await desk.see("", "│ Never rebase main.")
        await desk.see(DOWN, "│ We use ruff.")
        await desk.see(RIGHT, "↑↓ scroll")
        await desk.see(ESC, "^E edits")

    run(notes, tmp_path, work, wide=True)


def test_a_long_note_scrolls_and_keeps_its_place_when_the_width_changes(tmp_path: Path) -> None:
    made = store(tmp_path)
    add(made, note("Long", "\n".join(f"- line {number}" for number in range(80))))

    async def work(desk: Desk) -> None:
        await desk.see("\r", "line 5")
        await desk.see("\x1b[6~", "line 25")
        assert "line 5\n" not in desk.screen()
        desk.output.size = Size(24, 90)
        desk.listed.app.invalidate()
        await desk.until(lambda: desk.listed._previewed[1] == 89)
        await desk.see("", "line 25")
        await desk.see("\x1b[F", "line 79")
        await desk.see("\x1b[H", "level       project")

    run(made, tmp_path, work)


def test_pin_is_a_switch(notes: NoteStore, tmp_path: Path) -> None:
    async def work(desk: Desk) -> None:
        await desk.see(f"linter{PIN}", "pinned: Linter")
        await desk.until(lambda: desk.current.entry.pinned)
        await desk.see(PIN, "no longer pinned: Linter")
        await desk.until(lambda: not desk.current.entry.pinned)

    assert run(notes, tmp_path, work).told == []
    assert not one(notes, "Linter").pinned


def test_a_note_moves_to_the_other_level(notes: NoteStore, tmp_path: Path) -> None:
    async def work(desk: Desk) -> None:
        await desk.see(f"linter{MOVE}", "moved to level user: Linter")
        await desk.until(lambda: desk.current.entry.level == "user")

    run(notes, tmp_path, work)
    assert one(notes, "Linter").level == "user"


def test_forgotten_after_a_yes_and_brought_back(notes: NoteStore, tmp_path: Path) -> None:
    async def work(desk: Desk) -> None:
        await desk.see(f"linter{FORGET}", "forget? (y/n) Linter")
        await desk.press("n", lambda: desk.view.mode == "list")
        await desk.see(f"{FORGET}y", "forgotten: Linter · ^Z takes it back")
        await desk.press("", lambda: desk.shown() == "")
        desk.keys.send_text(STATE * 3)
        await desk.press("", lambda: desk.view.items.state == "forgotten" and desk.shown() == "Linter")
        await desk.see("\r", "forgotten by you")
        await desk.see("", "We use ruff.")
        await desk.see("r", "restored: Linter")

    assert run(notes, tmp_path, work).told == ["forgotten: Linter", "restored: Linter"]
    assert notes.read("project", one(notes, "Linter").file)


def test_closed_and_resting_notes_come_back(notes: NoteStore, tmp_path: Path) -> None:
    async def work(desk: Desk) -> None:
        await desk.see(f"{RESTORE}", "there is nothing to restore")
        await desk.press(STATE, lambda: desk.shown() == "Sprint")
        await desk.see(RESTORE, "restored: Sprint")
        await desk.press("", lambda: desk.shown() == "")
        await desk.press(STATE, lambda: desk.shown() == "Old board")
        await desk.see(RESTORE, "restored: Old board")

    run(notes, tmp_path, work)
    assert {entry.name for entry in notes.live()} >= {"Sprint", "Old board"}


def test_the_last_change_is_undone_after_a_yes(notes: NoteStore, tmp_path: Path) -> None:
    async def work(desk: Desk) -> None:
        await desk.see(f"linter{PIN}", "pinned: Linter")
        await desk.see(UNDO, "take back? (y/n) updated Linter")
        await desk.press("n", lambda: desk.view.mode == "list")
        assert one(notes, "Linter").pinned
        await desk.see(UNDO, "take back? (y/n) updated Linter")
        await desk.see("y", "undone: updated Linter")

    assert run(notes, tmp_path, work).told == ["undone: updated Linter"]
    assert not one(notes, "Linter").pinned


def test_without_a_change_there_is_nothing_to_undo(tmp_path: Path) -> None:
    async def work(desk: Desk) -> None:
        assert "# TEXT at the prompt notes something" in desk.screen()
        await desk.see(UNDO, "there is nothing to undo")

    run(store(tmp_path), tmp_path, work)


def test_the_inbox_takes_a_yes_or_a_no(notes: NoteStore, tmp_path: Path) -> None:
    add(notes, note("Proxy", "Use the proxy.", origin="tool"), by="agent")

    async def work(desk: Desk) -> None:
        await desk.press("\t", lambda: desk.shown() == "Mirror, Proxy")
        await desk.see(PIN, "^Y approves it first")
        await desk.see(APPROVE, "approved: Mirror")
        await desk.press("", lambda: desk.shown() == "Proxy")
        await desk.see(FORGET, "refuse? (y/n) Proxy")
        await desk.see("y", "refused: Proxy")
        await desk.see("", "nothing waits for your yes")
        await desk.press(BACK_TAB, lambda: "Mirror" in desk.shown())
        await desk.see(APPROVE, "it is not in the inbox")

    assert run(notes, tmp_path, work).told == ["approved: Mirror", "refused: Proxy"]
    assert one(notes, "Mirror").state(NOW) == "live"


def test_a_conflict_shows_both_texts_and_a_yes_closes_the_other(notes: NoteStore, tmp_path: Path) -> None:
    told = note("Formatter", "We use black.", origin="web")
    notes.apply([Supersede(ref(one(notes, "Linter")), told)], by="agent")

    async def work(desk: Desk) -> None:
        await desk.see("formatter", "contradicts project_knowledge_linter.md")
        await desk.see("\r", "We use ruff.")
        assert "We use black." in desk.screen()
        await desk.see("a", "approved: Formatter, which closes project_knowledge_linter.md")

    run(notes, tmp_path, work, tab="inbox")
    assert one(notes, "Linter").superseded_by


def test_the_editor_changes_a_note(notes: NoteStore, tmp_path: Path) -> None:
    environ = editor(tmp_path, 'echo "From 2027 on." >> "$1"')

    async def work(desk: Desk) -> None:
        await desk.see(f"linter{EDIT}", "updated: Linter")
        await desk.see("\r", "From 2027 on.")

    assert run(notes, tmp_path, work, environ=environ).told == ["changed by hand: Linter"]
    assert notes.history()[-1][1].by == "hand"


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("true", "nothing new"),
        ("exit 3", "the editor ended with code 3"),
        ('printf -- "---\\nname: [a\\n---\\nWe use ruff.\\n" > "$1"', "project_knowledge_linter.md: "),
        ('rm "$1"', "the file is gone: project_knowledge_linter.md"),
    ],
)
def test_what_became_of_an_edit_is_told(notes: NoteStore, tmp_path: Path, script: str, words: str) -> None:
    async def work(desk: Desk) -> None:
        await desk.see(f"linter{EDIT}", words)

    run(notes, tmp_path, work, environ=editor(tmp_path, script))


def test_no_editor_is_told(notes: NoteStore, tmp_path: Path) -> None:
    async def work(desk: Desk) -> None:
        await desk.see(f"linter{EDIT}", "there is no editor Set $EDITOR to the one you use.")

    run(notes, tmp_path, work, environ={"PATH": str(tmp_path)})


def test_the_history_shows_a_change_and_takes_it_back(notes: NoteStore, tmp_path: Path) -> None:
    async def work(desk: Desk) -> None:
        assert desk.view.items.tab == "history"
        await desk.see("gone", "closed Sprint; archived Old board; forg")
        await desk.see("\r", "by          you")
        await desk.see("\x1b[F", "-It was wrong.")
        await desk.see("r", "take back? (y/n) closed Sprint; archived Old board; forgotten Gone")
        await desk.see("y", "undone: closed Sprint; undone: archived Old board")
        await desk.see("\x1b[H", "state       taken back")
        await desk.see("r", "it is taken back already")

    run(notes, tmp_path, work, tab="history")


def test_what_was_changed_since_is_not_taken_back(notes: NoteStore, tmp_path: Path) -> None:
    entry = one(notes, "Linter")
    path = notes.path(entry)
    path.write_text(path.read_text("utf-8") + "By hand.\n", "utf-8")

    async def work(desk: Desk) -> None:
        await desk.see("created linter", "created Linter")
        await desk.see(f"{RESTORE}y", "changed since: ")
        assert "--force" in desk.screen()

    run(notes, tmp_path, work, tab="history", wide=True)
    assert "By hand." in path.read_text("utf-8")


def test_a_note_that_was_changed_meanwhile_is_not_forgotten(notes: NoteStore, tmp_path: Path) -> None:
    path = notes.path(one(notes, "Linter"))

    async def work(desk: Desk) -> None:
        await desk.press("linter", lambda: desk.shown() == "Linter")
        path.write_text(path.read_text("utf-8") + "By hand.\n", "utf-8")
        await desk.see(f"{FORGET}y", "nothing was changed: it was changed meanwhile")
        await desk.see("\r", "By hand.")

    run(notes, tmp_path, work)
    assert path.is_file()


def test_another_writer_is_waited_for_and_told(notes: NoteStore, tmp_path: Path) -> None:
    impatient = store(tmp_path, wait=0.01)

    async def work(desk: Desk) -> None:
        with locked(tmp_path / "project/memory"):
            await desk.see(f"linter{PIN}", "another process has held the notes")
        await desk.see(PIN, "pinned: Linter")

    run(impatient, tmp_path, work)


def test_a_full_disk_is_told_and_nothing_is_lost(notes: NoteStore, tmp_path: Path) -> None:
    disk = Refusing(1_000_000)
    full = store(tmp_path, calls=disk)

    async def work(desk: Desk) -> None:
        await desk.press("linter", lambda: desk.shown() == "Linter")
        disk.left = 0
        await desk.see(f"{FORGET}y", "No space left on device")
        assert desk.shown() == "Linter"

    run(full, tmp_path, work)
    assert one(notes, "Linter")


def test_notes_that_are_off_are_told(tmp_path: Path) -> None:
    def off() -> NoteStore:
        raise NoteError("notes are off in this session")

    async def work(desk: Desk) -> None:
        await desk.see("", "notes are off in this session")

    run(off, tmp_path, work)


def test_secrets_and_control_sequences_are_not_shown(tmp_path: Path) -> None:
    made = store(tmp_path)
    add(made, note("Key", "Plain."))
    path = made.path(one(made, "Key"))
    secret = "sk-" + "a1b2c3d4" * 5
    path.write_text(f"---\nname: Key\ntags: {secret}\n---\n{secret}\n\x1b]0;title\x07\x1b[2Jred\n", "utf-8")

    async def work(desk: Desk) -> None:
        await desk.see("\r", "[redacted]")
        assert secret not in desk.screen()
        assert "\x1b]" not in desk.screen()
        assert "\x1b[2J" not in desk.screen()
        await desk.see("", "red")

    run(made, tmp_path, work)


def test_instructions_are_listed_with_what_is_wrong_and_edited(tmp_path: Path) -> None:
    (tmp_path / "MEWCODE.md").write_text("Use tabs.\n@docs/style.md\n@docs/none.md\n", "utf-8")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/style.md").write_text("Short lines.\n", "utf-8")
    environ = editor(tmp_path, 'echo "No tabs." > "$1"')

    async def work(desk: Desk) -> None:
        assert "❯   ! MEWCODE.md" in desk.screen()
        assert "        docs/style.md" in desk.screen()
        assert "docs/none.md was left out" in desk.screen()
        await desk.see(RIGHT, "Use tabs.")
        await desk.see(f"{LEFT}\r", "changed: MEWCODE.md · the model is told with your next message")
        await desk.see(RIGHT, "No tabs.")
        assert desk.files.looks == 1

    run(store(tmp_path), tmp_path, work, tab="instructions", environ=environ)


def test_instructions_that_cannot_be_read_say_why(tmp_path: Path) -> None:
    (tmp_path / "MEWCODE.md").write_bytes(b"\0\1\2")

    async def work(desk: Desk) -> None:
        assert "MEWCODE.md" in desk.screen()
        assert "binary" in desk.screen()

    run(store(tmp_path), tmp_path, work, tab="instructions")


def test_every_tab_says_what_to_do_where_it_is_empty(tmp_path: Path) -> None:
    async def work(desk: Desk) -> None:
        await desk.see("", "no notes yet")
        await desk.see("\t", "nothing waits for your yes")
        await desk.see("\t", "/init writes a first MEWCODE.md")
        await desk.see("\t", "no note was changed yet")
        await desk.see(f"{BACK_TAB}{RIGHT}{EDIT}", "no instructions here")

    run(store(tmp_path), tmp_path, work)


def test_a_thousand_notes_are_filtered_while_keys_go_on(tmp_path: Path) -> None:
    made = store(tmp_path)
    add(made, *(note(f"Rule {number} of the parser", f"Text {number}.") for number in range(1_000)))

    async def work(desk: Desk) -> None:
        await desk.press("pars", lambda: "❯ pars" in desk.screen())
        await desk.press("er 777", lambda: desk.shown() == "Rule 777 of the parser")

    run(made, tmp_path, work)
