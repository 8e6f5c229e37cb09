"""From the start of the process to the first request, without a terminal."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from typing import Literal

from bench.figures import Figure, Samples, Target
from bench.model_server import Protocol
from bench.program import headless, run_to_end
from bench.stage import Place, Stage

_TARGET = Target(20, of_bare=True)

# What a user has who has set something up: nothing here changes what is done.
_CONFIG = """\
model: claude-opus-5-5
max_turns: 50
permissions:
  mode: default
  allow:
    - bash(git status)
    - bash(git diff *)
"""


@dataclass(frozen=True)
class Start:
    """``-p "say hi"`` in an empty folder; with ``config`` there is a config file in the home, with
    ``instructions`` a MEWCODE.md that includes 999 files of three lines each: "known" where they are as they
    were at an earlier start, "new" where none has read them."""

    name: str
    title: str
    protocol: Protocol = "anthropic"
    config: bool = False
    instructions: Literal["", "known", "new"] = ""
    runs: int = 1000
    figures: tuple[Figure, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(
            self,
            "figures",
            (
                Figure(f"start to first request, {self.title}", "request", "ms", _TARGET),
                Figure(f"start to exit, {self.title}", "exit", "ms"),
            ),
        )

    def sample(self, stage: Stage) -> Samples:
        if self.instructions == "known":
            place = stage.once("known instructions", lambda: self._instructed(stage))
            return self._start(stage, place)
        place = stage.fresh()
        if self.config:
            folder = place.home / ".mewcode"
            folder.mkdir()
            (folder / "config.yaml").write_text(_CONFIG, encoding="utf-8")
        if self.instructions:
            _write_instructions(place)
        samples = self._start(stage, place)
        stage.forget(place)
        return samples

    def _instructed(self, stage: Stage) -> Place:
        place = stage.fresh()
        _write_instructions(place)
        self._start(stage, place)
        return place

    def _start(self, stage: Stage, place: Place) -> Samples:
        stage.play_short(self.protocol)
        done = run_to_end(headless("say hi"), stage.env(place, self.protocol), place.cwd)
        shutil.rmtree(place.cwd / ".mewcode/sessions")  # each start is the first
        return {"request": [stage.first_request(done.started)], "exit": [done.seconds]}


def _write_instructions(place: Place) -> None:
    for number in range(999):
        text = f"- Rule {number}: the tests are run before work counts as done.\n" * 3
        (place.cwd / f"rule-{number}.md").write_text(text, encoding="utf-8")
    lines = "".join(f"@rule-{number}.md\n" for number in range(999))
    (place.cwd / "MEWCODE.md").write_text(lines, encoding="utf-8")


ROWS = (
    Start("start", "headless"),
    Start("start-config", "with a config file", config=True),
    Start("start-instructions", "1,000 files of instructions", instructions="known"),
    Start("start-instructions-new", "1,000 new files of instructions", instructions="new"),
    Start("start-openai", "Chat Completions", protocol="openai"),
)
