"""From the start of the process to the first request, without a terminal."""

from __future__ import annotations

from dataclasses import dataclass, field

from bench.figures import Figure, Samples, Target
from bench.model_server import Protocol
from bench.program import headless, run_to_end
from bench.stage import Stage

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
    ``instructions`` a MEWCODE.md that includes 999 files of three lines each."""

    name: str
    title: str
    protocol: Protocol = "anthropic"
    config: bool = False
    instructions: bool = False
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
        place = stage.fresh()
        if self.config:
            folder = place.home / ".mewcode"
            folder.mkdir()
            (folder / "config.yaml").write_text(_CONFIG, encoding="utf-8")
        if self.instructions:
            for number in range(999):
                text = f"- Rule {number}: the tests are run before work counts as done.\n" * 3
                (place.cwd / f"rule-{number}.md").write_text(text, encoding="utf-8")
            lines = "".join(f"@rule-{number}.md\n" for number in range(999))
            (place.cwd / "MEWCODE.md").write_text(lines, encoding="utf-8")
        stage.play_short(self.protocol)
        done = run_to_end(headless("say hi"), stage.env(place, self.protocol), place.cwd)
        stage.forget(place)
        return {"request": [stage.first_request(done.started)], "exit": [done.seconds]}


ROWS = (
    Start("start", "headless"),
    Start("start-config", "with a config file", config=True),
    Start("start-instructions", "1,000 files of instructions", instructions=True),
    Start("start-openai", "Chat Completions", protocol="openai"),
)
