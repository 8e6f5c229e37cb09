"""`/memory`: the notes, looked at and changed from within a session; the words of `mewcode memory`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from mewcode.core.outcome import TextView
from mewcode.infra.terminal_text import safe_line
from mewcode.memory.answers.view import Answer, NoteView
from mewcode.repl.commands.note import note_outcome
from mewcode.repl.commands.note_names import NAMING
from mewcode.repl.commands.registry import Desk, Later, Outcome, Say, Shown
from mewcode.repl.thread_call import call_in_thread

if TYPE_CHECKING:
    from mewcode.agent.ports import NoteTaker
    from mewcode.agent.session import Session

ASKED = "/memory"
OFF = Say("notes are off", "memory.enabled is false in the config, or MewCode was started with --no-memory.")
_MOST_CHANGES = 20
_TOLD = (
    "The user changed notes of theirs. What was forgotten, refused or undone holds no more; what was "
    "restored or approved holds from now on:"
)

Ask = Callable[[NoteView], Answer]


async def memory(desk: Desk, argument: str) -> Outcome:
    """Takes a word and what belongs to it; without one it opens the browser."""
    notes = desk.session.notes
    if notes is None:
        return OFF
    word, _, rest = argument.partition(" ")
    rest = rest.strip()
    if not word:
        from mewcode.repl.memory_browser import browse_notes

        return await browse_notes(desk)
    if word == "add":
        return _add(desk.session, rest)
    if word in ("off", "on"):
        return await _switch(desk, on=word == "on")
    if word == "tidy":
        return Later(partial(_tidy, desk.session), "tidying up the notes")
    if word == "why":
        return Later(partial(_why, desk.session, notes))
    ask = _asked(word, rest)
    if isinstance(ask, Say):
        return ask
    return Later(partial(_answer, desk.session, notes, word, ask))


def _asked(word: str, rest: str) -> Ask | Say:
    """What the word asks of the notes, or what is wrong with it."""
    from mewcode.memory.answers import changing, reading
    from mewcode.memory.answers.inbox import inbox

    words = rest.split()
    if word == "list":
        return lambda view: reading.listed(view, everything=rest in ("--all", "all"))
    if word == "history":
        return lambda view: reading.changes(view, _MOST_CHANGES)
    if word == "inbox":
        return lambda view: inbox(view, _choices(words))
    if word == "undo":
        names = [name for name in words if name != "--force"]
        return lambda view: changing.undone(view, *names[:1], force="--force" in words)
    if word == "restore":
        return lambda view: changing.restored(view, [rest] if rest else [])
    if word not in NAMING:
        return Say(f"/memory knows no word {safe_line(word, 40)}", "/help memory lists them.")
    if not rest or (word == "move" and len(words) < 2):
        return Say(
            f"/memory {word} needs a note", f"Such as: /memory {word} NAME{' user' * (word == 'move')}"
        )
    named: dict[str, Ask] = {
        "show": lambda view: reading.shown(view, rest),
        "forget": lambda view: changing.forgotten(view, [rest]),
        "pin": lambda view: changing.pinned(view, [rest], on=True),
        "unpin": lambda view: changing.pinned(view, [rest], on=False),
        "move": lambda view: changing.moved(view, " ".join(words[:-1]), words[-1]),
    }
    return named[word]


def _choices(words: Sequence[str]) -> Sequence[str]:
    """Several numbers are several notes; else all that stands behind the word is one name."""
    if all(word.isdecimal() for word in words[1:]):
        return words
    return [words[0], " ".join(words[1:])]


async def _answer(session: Session, notes: NoteTaker, word: str, ask: Ask) -> Outcome:
    from mewcode.agent.work_tree import work_tree_of

    tree = work_tree_of(session.around)
    answer = await call_in_thread("notes", lambda: ask(NoteView(notes.store(), ASKED, tree=tree)))
    if word in ("forget", "restore", "undo", "inbox") and _is_change(answer):
        session.agent.remind(told(answer.lines))
    return _shown(f"/memory {word}", answer)


def told(lines: Sequence[str]) -> str:
    """What the model is told of what the user has done to notes, a line each."""
    from mewcode.prompt.notes import fenced

    return f"{_TOLD}\n{fenced(chr(10).join(lines))}"


def _is_change(answer: Answer) -> bool:
    """Whether notes were changed: a list of notes says so of each, an undo as a whole."""
    value = answer.value
    return "undoes" in value if isinstance(value, dict) else any("action" in one for one in value)


def _shown(title: str, answer: Answer) -> Outcome:
    below = "\n".join(filter(None, (*answer.beside, answer.hint)))
    if len(answer.lines) > 1:
        return Shown(title, TextView("\n".join(answer.lines), below))
    return Say(answer.lines[0], below) if answer.lines else Say(below or "nothing")


def _add(session: Session, rest: str) -> Outcome:
    """As ``# text``; the first word may say the type."""
    from mewcode.memory.note import type_of

    word, _, text = rest.partition(" ")
    if not rest:
        return Say("/memory add needs a text", "Such as: /memory add user Prefers pytest.")
    return note_outcome(session, f"# {word}: {text}" if text and type_of(word) else f"# {rest}")


async def _switch(desk: Desk, *, on: bool) -> Outcome:
    """For this session. The prompt is made anew, with the notes or without them."""
    session, noting = desk.session, desk.session.noting
    if noting is None:
        return OFF
    if on is not noting.is_off:
        return Say(f"notes are {'on' if on else 'off'} already")
    if desk.in_turn:
        from mewcode.repl.commands.archive import IN_TURN

        return IN_TURN
    async with session.agent.at_rest():
        if on:
            noting.turn_on(session)
        else:
            noting.turn_off(session)
        session.agent.system = ()
    if on:
        return Say("notes are on again", "They are in the prompt from your next message on.")
    return Say(
        "notes are off for this session: none is read, none is written",
        "Your next message goes without them; what was said of them so far stays. /memory on takes it back.",
    )


async def _why(session: Session, notes: NoteTaker) -> Outcome:
    from mewcode.agent.notes_used import last_turn
    from mewcode.agent.why import Asked, why

    conversation = session.agent.conversation
    messages = tuple(conversation.messages)
    turn = last_turn(messages)
    # The prompt of an answer that another process got is not known any more.
    is_ours = any(message.id in conversation.said for message in turn)
    prompt = session.prompt.sections.get("memory", "") if is_ours else None
    asked = Asked(session.id, session.archive.folder, messages, prompt)
    answer = await call_in_thread(
        "why", lambda: why(NoteView(notes.store(), ASKED), session.around.places, asked)
    )
    return _shown("/memory why", answer)


async def _tidy(session: Session) -> Outcome:
    from mewcode.agent.tidying import tidy
    from mewcode.memory.answers.tidied import tidied

    report = await tidy(session, force=True)
    return _shown("/memory tidy", tidied(report, ASKED))
