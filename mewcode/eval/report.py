"""What was measured, as a table for people and as an object for scripts."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mewcode.eval.datasets import NOTHING
from mewcode.eval.recall import ALL, RANKS, Answer, Measured, figures, percentile
from mewcode.infra.terminal_text import safe_line

_JSON_FIGURES = ("n", "recall@5", "recall@10", "recall@25", "hit@1", "hit@5", "mrr")
_COLUMNS = (*(f"recall@{rank}" for rank in RANKS), *(f"hit@{rank}" for rank in RANKS), "mrr")


def as_json(dataset: str, measured: Measured) -> str:
    """One object; the latencies are of the first method, in milliseconds."""
    value = {
        "dataset": dataset,
        "methods": {
            method: {
                kind: {name: found[name] for name in _JSON_FIGURES}
                for kind, found in figures(answers).items()
            }
            for method, answers in measured.methods.items()
        },
        "latency_ms": _latency(next(iter(measured.methods.values()), [])),
    }
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def as_table(dataset: str, measured: Measured) -> str:
    """The figures of each method by kind of question in percent, then latency and size."""
    lines = [safe_line(dataset)]
    for method, answers in measured.methods.items():
        found = figures(answers)
        for half in ("tune", "report"):
            of_half = [answer for answer in answers if answer.case.split == half]
            if 0 < len(of_half) < len(answers):
                found[f"half: {half}"] = figures(of_half)[ALL]
        lines += ["", f"{method:<20}{'n':>6}" + "".join(f"{name:>11}" for name in _COLUMNS)]
        for kind, row in found.items():
            cells = "".join(f"{100 * row[name]:>11.1f}" for name in _COLUMNS)
            lines.append(f"{safe_line(kind, 20):<20}{row['n']:>6.0f}{cells}")
        lines += _bar(answers)
    lines.append("")
    for method, answers in measured.methods.items():
        latency = _latency(answers)
        at_most = f"at the 95th percentile {latency['p95']} ms"
        lines.append(f"{method}: a question took {latency['p50']} ms, {at_most}")
    lines.append(f"index: {measured.size / 1e6:.1f} MB")
    return "\n".join(lines) + "\n"


def _bar(answers: Sequence[Answer]) -> list[str]:
    """How many questions find something that is good enough to be shown unasked."""
    lines = []
    for name, asked in (
        ("with something to find", [answer for answer in answers if answer.case.kind != NOTHING]),
        ("with nothing to find", [answer for answer in answers if answer.case.kind == NOTHING]),
    ):
        if asked:
            clear = sum(answer.clears for answer in asked)
            lines.append(f"of {len(asked)} questions {name}, {clear} bring something up unasked")
    return lines


def _latency(answers: Sequence[Answer]) -> dict[str, float]:
    seconds = [answer.seconds for answer in answers]
    return {
        "p50": round(1000 * percentile(seconds, 0.5), 2),
        "p95": round(1000 * percentile(seconds, 0.95), 2),
    }
