"""`tidy`: what came of it, with a diff."""

from __future__ import annotations

import msgspec

from mewcode.memory.answers.view import Answer
from mewcode.memory.tidy.report import TidyReport


def tidied(report: TidyReport, asked: str) -> Answer:
    """``asked``: as in `NoteView`. Where nothing came of it though there was reason to, it is not done."""
    lines = [report.notice.replace("/memory", asked)] if report.notice else []
    lines += report.diff.split("\n") if report.diff else []
    if not lines and not report.reason:
        lines = ["the notes are in order: nothing was changed"]
    beside = list(report.problems)
    if report.meanwhile:
        beside.append(f"{report.meanwhile} changes were left out: their notes were changed meanwhile")
    if report.reason:
        beside.append(report.reason if report.change else f"nothing was changed: {report.reason}")
    is_done = bool(report.change) or not report.reason
    return Answer(msgspec.to_builtins(report), tuple(lines), tuple(beside), is_done=is_done)
