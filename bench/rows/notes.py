"""What notes cost a turn: the same run with 200 notes and with `--no-memory`, one beside the other."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

from bench.errors import BenchError
from bench.figures import Figure, Samples, Target, median
from bench.program import headless, run_to_end
from bench.stage import Place, Stage, answers
from mewcode.infra.paths import find_places
from mewcode.memory.changes import Create
from mewcode.memory.note import LEVELS, TYPES, Note
from mewcode.memory.store import NoteStore
from mewcode.note_source import open_notes
from tests.support.fake_llm import Reply

_NOTES = 200
_ROUNDS = 20
_QUESTION = "why does decision 10 on the parser keep a stack of open blocks?"
_INDEX = """
import os, pathlib
from mewcode.infra.paths import find_places
from mewcode.note_source import open_notes
from mewcode.recall_source import open_recall, refresh_notes
places = find_places(pathlib.Path.cwd(), os.environ)
engine = open_recall(places, os.environ)
assert refresh_notes(engine, open_notes(places, os.environ)), engine.problem
"""
"""Brings the index of recall up to date, as the sessions before have done."""
_ORDER = (True, False, False, True)
"""Whether notes are on: what becomes slower or quicker meanwhile falls on both alike."""


@dataclass(frozen=True)
class WithNotes:
    """``measure`` gives the seconds of one run with these flags."""

    name: str
    title: str
    measure: Callable[[Stage, Place, tuple[str, ...]], list[float]]
    target: float = 1.03
    runs: int = 1000
    figures: tuple[Figure, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(
            self,
            "figures",
            (
                Figure(f"{self.title}, {_NOTES} notes to --no-memory", "ratio", "x", Target(self.target)),
                Figure(f"{self.title}, {_NOTES} notes", "on", "ms"),
                Figure(f"{self.title}, --no-memory", "off", "ms"),
            ),
        )

    def sample(self, stage: Stage) -> Samples:
        # Its own: a use of a note changes what the next start finds.
        place = stage.once(("notes", self.name), lambda: _noted(stage))
        found: dict[bool, list[float]] = {True: [], False: []}
        for is_on in _ORDER:
            found[is_on] += self.measure(stage, place, () if is_on else ("--no-memory",))
            shutil.rmtree(place.cwd / ".mewcode/sessions")  # each run is the first
        return {"on": found[True], "off": found[False], "ratio": [median(found[True]) / median(found[False])]}


def _noted(stage: Stage) -> Place:
    """A place with notes of both levels and all types, as a writer leaves them."""
    place = stage.fresh()
    environ = stage.env(place)
    store = open_notes(find_places(place.cwd, environ), environ)
    made = [_note(number) for number in range(_NOTES)]
    store.apply([Create(note) for note in made], by="user")
    while not _is_settled(store):  # what was written just now is looked at again
        store.rebuild()
    run_to_end((sys.executable, "-c", _INDEX), stage.env(place), place.cwd)
    return place


def _note(number: int) -> Note:
    return Note(
        name=f"Decision {number} on the parser",
        type=TYPES[number % len(TYPES)],
        level=LEVELS[number % len(LEVELS)],
        description=f"Why rule {number} of the parser is as it is, and when it may be changed",
        body=f"Rule {number} keeps a stack of open blocks. 规则保持不变。\n\n**Why**: streams end.\n",
        aliases=(f"parser rule {number}", "open blocks", "解析器"),
    )


def _is_settled(store: NoteStore) -> bool:
    return all(look.is_settled for look in store.look().values())


def _start(stage: Stage, place: Place, flags: tuple[str, ...]) -> list[float]:
    stage.play_short()
    done = run_to_end(headless("say hi", *flags), stage.env(place), place.cwd)
    return [stage.first_request(done.started)]


def _start_asking(stage: Stage, place: Place, flags: tuple[str, ...]) -> list[float]:
    stage.play_short()
    done = run_to_end(headless(_QUESTION, *flags), stage.env(place), place.cwd)
    return [stage.first_request(done.started)]


def _tool_rounds(stage: Stage, place: Place, flags: tuple[str, ...]) -> list[float]:
    calls = [Reply.calls(("bash", {"command": "echo ok"})) for _ in range(_ROUNDS)]
    stage.server.play(answers(*calls, Reply.text("done")))
    run_to_end(headless("go", "--permission-mode", "bypass", *flags), stage.env(place), place.cwd)
    exchanges = stage.server.exchanges
    if len(exchanges) != _ROUNDS + 1:
        raise BenchError(f"{len(exchanges)} requests in place of {_ROUNDS + 1}")
    # The first loads what the others find loaded.
    return [after.received - before.last_sent for before, after in pairwise(exchanges)][1:]


ROWS = (
    WithNotes("start-notes", "start to first request", _start),
    WithNotes("start-recall", "start to first request with a question", _start_asking, 1.15),
    WithNotes("tool-round-notes", "tool round", _tool_rounds),
)
