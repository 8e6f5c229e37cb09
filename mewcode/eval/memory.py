"""What memory is worth: the same tasks with it and without it, side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import get_args

import msgspec

from mewcode.eval.memory_arm import ARMS, Arm, ArmRunner, Outcome
from mewcode.eval.memory_tasks import Task
from mewcode.options import TaskKind

ALL = "all"


class Pair(msgspec.Struct, frozen=True):
    """A task and what became of it in both arms."""

    id: str
    kind: TaskKind
    memory: Outcome
    plain: Outcome

    def of(self, arm: Arm) -> Outcome:
        return self.memory if arm == "memory" else self.plain


def least_requests(tasks: Sequence[Task]) -> int:
    """To a model: each turn in both arms, and a look for notes at the end of each earlier session. A model
    that calls tools, and a turn that asks for a note, add to it."""
    turns = sum(1 + sum(map(len, task.earlier)) for task in tasks)
    return len(ARMS) * turns + sum(len(task.earlier) for task in tasks)


async def measure(
    tasks: Sequence[Task], runner: ArmRunner, pairs: list[Pair], say: Callable[[str], None]
) -> None:
    """Takes the tasks one by one and adds what came of each to ``pairs``, so that an interruption leaves what
    there was. ``say``: told a line for each."""
    for number, task in enumerate(tasks, 1):
        memory = await runner.run(task, "memory")
        plain = await runner.run(task, "plain")
        pairs.append(Pair(task.id, task.kind, memory, plain))
        say(f"[{number}/{len(tasks)}] {task.id}: with memory {_word(memory)}, without {_word(plain)}")


def _word(outcome: Outcome) -> str:
    return f"error ({outcome.error})" if outcome.error else "done" if outcome.done else "missed"


def figures(pairs: Sequence[Pair], arm: Arm) -> dict[str, dict[str, float]]:
    """The sums over all tasks, and over those of each kind. ``n``: tasks, of which ``errors`` got no answer;
    the rest as in `Outcome`."""
    groups = {ALL: [pair.of(arm) for pair in pairs]}
    for kind in get_args(TaskKind):
        if of_kind := [pair.of(arm) for pair in pairs if pair.kind == kind]:
            groups[kind] = of_kind
    return {name: _figures(group) for name, group in groups.items()}


def _figures(outcomes: Sequence[Outcome]) -> dict[str, float]:
    return {
        "n": len(outcomes),
        "done": sum(outcome.done for outcome in outcomes),
        "errors": sum(bool(outcome.error) for outcome in outcomes),
        "tokens": sum(outcome.tokens for outcome in outcomes),
        "extraction_tokens": sum(outcome.extraction_tokens for outcome in outcomes),
        "seconds": round(sum(outcome.seconds for outcome in outcomes), 3),
        "total_seconds": round(sum(outcome.total_seconds for outcome in outcomes), 3),
    }
