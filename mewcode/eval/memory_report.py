"""What the paired tasks came to, as a table for people and as an object for scripts."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mewcode.eval.memory import Pair, figures
from mewcode.eval.memory_arm import ARMS, Arm
from mewcode.infra.terminal_text import safe_line

_TITLES: dict[Arm, str] = {"memory": "with memory", "plain": "without memory"}
_COLUMNS = ("n", "done", "errors", "tokens", "for notes", "s a turn", "s in all")


def as_json(dataset: str, model: str, pairs: Sequence[Pair]) -> str:
    """One object; tokens and seconds are sums over the tasks."""
    value = {
        "dataset": dataset,
        "model": model,
        "arms": {arm: figures(pairs, arm) for arm in ARMS},
        "tasks": pairs,
    }
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def as_table(dataset: str, model: str, pairs: Sequence[Pair]) -> str:
    """The tasks done of each kind, with what a task took on average; then those that memory won or lost."""
    lines = [f"{safe_line(dataset)}, {safe_line(model)}"]
    for arm in ARMS:
        lines += ["", f"{_TITLES[arm]:<20}" + "".join(f"{name:>11}" for name in _COLUMNS)]
        lines += [f"{kind:<20}" + _cells(row) for kind, row in figures(pairs, arm).items()]
    for title, gained in (("done with memory alone", True), ("done without memory alone", False)):
        names = [pair.id for pair in pairs if (pair.memory.done, pair.plain.done) == (gained, not gained)]
        lines += ["", f"{title}: {len(names)}", *(f"  {safe_line(name)}" for name in names)]
    for pair in pairs:
        for arm in ARMS:
            if error := pair.of(arm).error:
                lines.append(f"{safe_line(pair.id)}, {_TITLES[arm]}: {safe_line(error)}")
    return "\n".join(lines) + "\n"


def _cells(row: dict[str, float]) -> str:
    n = row["n"] or 1
    counts = (row["n"], row["done"], row["errors"], row["tokens"] / n, row["extraction_tokens"] / n)
    seconds = (row["seconds"] / n, row["total_seconds"] / n)
    return "".join(f"{count:>11,.0f}" for count in counts) + "".join(f"{each:>11.1f}" for each in seconds)
