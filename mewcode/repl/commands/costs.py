"""`/cost`: what was spent, by model, in this session and this week."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from datetime import date, timedelta

from mewcode.agent.session import Session
from mewcode.core.message import Usage
from mewcode.repl.commands.registry import Desk, Outcome, Say, Table, Tables
from mewcode.sessions.record import Totals
from mewcode.sessions.spending import Spending, spending_since

# Short, since a model's name has to fit beside them: "cached" are tokens read from the cache, "written" those
# written to it, "share" is how much of the input came from it.
_COUNTS = ("input", "cached", "written", "output", "share", "cost")
_DAYS = 7


async def cost(desk: Desk, argument: str) -> Outcome:
    session = desk.session
    first = date.today() - timedelta(days=_DAYS - 1)
    folder = session.around.places.project / "sessions"
    now = Totals(session.usage_by_model, session.agent.cost_usd)
    week = await asyncio.to_thread(
        spending_since, folder, time.mktime(first.timetuple()), current=(session.id, now)
    )
    if not now.models and not week.days:
        return Say("nothing was spent in this session yet, nor in this folder this week")
    here = Table("cost of this session", _rows(session, now.models), ("model", *_COUNTS))
    note = f"left out: {week.unread} sessions beyond the newest" if week.unread else ""
    return Tables((here, Table("this week, in this folder", _days(session, week), ("day", *_COUNTS))), note)


def _rows(session: Session, models: Mapping[str, Usage]) -> tuple[tuple[str, ...], ...]:
    rows = [_row(name, usage, session.find_model(name).cost(usage)) for name, usage in models.items()]
    if len(rows) != 1:
        rows.append(_row("all", sum(models.values(), Usage()), session.agent.cost_usd))
    return tuple(rows)


def _days(session: Session, week: Spending) -> tuple[tuple[str, ...], ...]:
    rows, whole = [], Usage()
    known, unknown = 0.0, False
    for day, models in sorted(week.days.items()):
        usage, spent, all_known = sum(models.values(), Usage()), 0.0, True
        for name, used in models.items():
            price = session.find_model(name).cost(used)
            spent += price or 0.0
            all_known = all_known and price is not None
        rows.append(_row(day, usage, spent, complete=all_known))
        whole, known, unknown = whole + usage, known + spent, unknown or not all_known
    rows.append(_row("all", whole, known, complete=not unknown))
    return tuple(rows)


def _row(name: str, usage: Usage, cost: float | None, *, complete: bool = True) -> tuple[str, ...]:
    counts = (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens, usage.output_tokens)
    price = dollars(cost) if complete else f"{dollars(cost)} and unknown"
    return (name, *map(_tokens, counts), cache_share(usage), price)


def _tokens(count: int) -> str:
    """Exact below a hundred thousand, then in thousands or millions."""
    if count < 100_000:
        return f"{count:,}"
    return f"{count / 1000:,.0f}k" if count < 10_000_000 else f"{count / 1_000_000:,.1f}M"


def cache_share(usage: Usage) -> str:
    """How much of what the model was given came from its cache, in per cent."""
    given = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    return f"{100 * usage.cache_read_tokens // given} %" if given else "-"


def dollars(cost: float | None) -> str:
    return "price unknown" if cost is None else f"${cost:.4f}"
