"""What a tool round costs beside the model: the end of an answer to the next request."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from bench.errors import BenchError
from bench.figures import Figure, Samples, Target
from bench.program import headless, run_to_end
from bench.stage import Stage, answers
from tests.support.fake_llm import Reply

_ROUNDS = 20
_LINES = 200


@dataclass(frozen=True)
class ToolRound:
    """20 rounds in one process, one call each. The first loads what the others find loaded and is a figure of
    its own."""

    name: str
    tool: str
    args: dict[str, object]
    runs: int = 1000
    figures: tuple[Figure, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(
            self,
            "figures",
            (
                Figure(f"tool round, {self.tool}", "round", "ms", Target(0.5, of_bare=True)),
                Figure(f"tool round, {self.tool}, the first", "first", "ms"),
            ),
        )

    def sample(self, stage: Stage) -> Samples:
        place = stage.fresh()
        text = "".join(f"line {number}: so that there is something to read\n" for number in range(_LINES))
        (place.cwd / "sample.txt").write_text(text, encoding="utf-8")
        calls = [Reply.calls((self.tool, self.args)) for _ in range(_ROUNDS)]
        stage.server.play(answers(*calls, Reply.text("done")))
        run_to_end(headless("go", "--permission-mode", "bypass"), stage.env(place), place.cwd)
        exchanges = stage.server.exchanges
        if len(exchanges) != _ROUNDS + 1:
            raise BenchError(f"{len(exchanges)} requests in place of {_ROUNDS + 1}")
        rounds = [after.received - before.last_sent for before, after in pairwise(exchanges)]
        stage.forget(place)
        return {"first": rounds[:1], "round": rounds[1:]}


ROWS = (
    ToolRound("tool-bash", "bash", {"command": "echo ok"}),
    ToolRound("tool-read", "read_file", {"path": "sample.txt"}),
)
