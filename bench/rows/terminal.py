"""The prompt in a terminal: when it is there, what it weighs, how quickly it answers a key."""

from __future__ import annotations

import random
from dataclasses import dataclass

from bench.errors import BenchError
from bench.figures import Figure, Samples, Target
from bench.model_server import MODEL, encode
from bench.process_tree import memory_of
from bench.program import program
from bench.rows.base import Row
from bench.stage import Place, Stage
from bench.terminal import LETTERS, PROMPT, Terminal
from tests.support.fake_llm import Reply

_KEY = "ж"
_CLEAR = "\x15"  # Ctrl-U: empties the line

# Seconds between the echo of a key and the next key, at random so that no rhythm of the program's own is met.
_BETWEEN = (0.015, 0.06)
_KEYS = 40

# A model that writes ten words at a time, some 1,700 characters a second, for 9 s: longer than the keys take.
_SLOW_PIECES, _SLOW_PAUSE = 300, 0.03
_WORDS = "the loop reads the next event and changes the state "
_FIRST_WORD = "ΞΨΩ"


def open_terminal(stage: Stage, place: Place, *arguments: str) -> Terminal:
    """The program in a terminal, without anything said to it yet."""
    return Terminal([*program(), "--model", MODEL, *arguments], stage.env(place), place.cwd)


@dataclass(frozen=True)
class Echo:
    """A key is typed as soon as the prompt is there; the echo counts, not the sight of a prompt."""

    name: str = "echo"
    runs: int = 1000
    figures: tuple[Figure, ...] = (
        Figure("start to the echo of a key, terminal", "echo", "ms", Target(18, of_bare=True)),
        Figure("start to the prompt, terminal", "prompt", "ms"),
    )

    def sample(self, stage: Stage) -> Samples:
        place = stage.fresh()
        stage.play_short()
        with open_terminal(stage, place) as terminal:
            prompt = terminal.wait_for(PROMPT)
            terminal.send(_KEY)
            echo = terminal.wait_for(_KEY.encode())
        stage.forget(place)
        return {"prompt": [prompt - terminal.started], "echo": [echo - terminal.started]}


@dataclass(frozen=True)
class Memory:
    """The process tree at the prompt, when its background loading is done."""

    name: str = "memory"
    runs: int = 3
    figures: tuple[Figure, ...] = (
        Figure("memory at the prompt, shared pages in part", "proportional", "MB", Target(60)),
        Figure("memory at the prompt, resident", "resident", "MB"),
    )

    def sample(self, stage: Stage) -> Samples:
        place = stage.fresh()
        stage.play_short()
        with open_terminal(stage, place) as terminal:
            terminal.wait_for(PROMPT)
            used = memory_of(terminal.pid)
            for _ in range(20):
                terminal.settle()
                before, used = used, memory_of(terminal.pid)
                if abs(used.resident - before.resident) < 200_000:
                    break
        stage.forget(place)
        return {"proportional": [float(used.proportional)], "resident": [float(used.resident)]}


@dataclass(frozen=True)
class KeyEcho:
    """From a key to its echo, in a session that is open; with ``busy`` while an answer streams in."""

    name: str
    when: str
    busy: bool = False
    runs: int = 3

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (
            Figure(f"key echo {self.when}", "echo", "ms", Target(2)),
            Figure(f"key echo {self.when}, 95th percentile", "echo", "ms", statistic="p95"),
        )

    def sample(self, stage: Stage) -> Samples:
        place = stage.fresh()
        pieces = [_WORDS + ("\n\n" if number % 20 == 19 else "") for number in range(_SLOW_PIECES)]
        stage.server.play([encode(Reply.text([f"{_FIRST_WORD} ", *pieces]), pause=_SLOW_PAUSE)])
        with open_terminal(stage, place) as terminal:
            terminal.wait_for(PROMPT)
            terminal.settle()
            if self.busy:
                terminal.send("tell me\r")
                terminal.wait_for(_FIRST_WORD.encode())
            echoes = _type_letters(terminal)
            if self.busy and stage.server.exchanges[0].last_sent:
                raise BenchError("the answer ended before the keys were typed")
        stage.forget(place)
        return {"echo": echoes}


def _type_letters(terminal: Terminal) -> list[float]:
    """The seconds of each echo. All letters are typed once before, as what people type are no new letters."""
    letters = LETTERS[:_KEYS]
    start = len(terminal.output)
    terminal.send(letters)
    terminal.wait_for(letters[-1].encode(), start)
    terminal.send(_CLEAR)
    terminal.drain(_BETWEEN[1])
    chance = random.Random(1)  # noqa: S311 - no secret
    echoes = []
    for letter in letters:
        start = len(terminal.output)
        sent = terminal.send(letter)
        echoes.append(terminal.wait_for(letter.encode(), start, 5.0) - sent)
        terminal.drain(chance.uniform(*_BETWEEN))
    return echoes


ROWS: tuple[Row, ...] = (
    Echo(),
    Memory(),
    KeyEcho("keys", "at rest"),
    KeyEcho("keys-busy", "while an answer streams", busy=True),
)
