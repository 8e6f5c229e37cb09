"""`/instructions` and `/reload`: what became of the project's instructions, and includes to be approved."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec

from mewcode.agent.session import Session
from mewcode.config.include_approvals import IncludeApprovals
from mewcode.core.outcome import TextView
from mewcode.infra.terminal_text import safe_line
from mewcode.instructions.lint import lint
from mewcode.instructions.report import as_lines, left_out, nodes_of
from mewcode.repl.commands.registry import Above, Desk, Later, Outcome, Pick, Say, Shown
from mewcode.repl.include_offers import Offer, offers_of
from mewcode.repl.panel import Option
from mewcode.repl.thread_call import call_in_thread

_FIRST_LINES = 4
_LINE = 200
_NAMES = 5


class _Report(msgspec.Struct, frozen=True):
    title: str
    tree: str
    findings: str
    offers: Sequence[Offer]


async def instructions(desk: Desk, argument: str) -> Outcome:
    """Shows the files as they are now, then asks of each include that waits for the user's word."""
    if argument:
        return Say(f"/instructions takes no {safe_line(argument, 40)!r}", "/reload reads them again.")
    session = desk.session
    report = await call_in_thread("instructions", lambda: _report(session))
    shown = Shown(report.title, TextView(report.tree, report.findings))
    # Within a turn an approval could not take effect.
    return shown if desk.in_turn or not report.offers else Above(shown, _ask(session, report.offers))


async def reload(desk: Desk, argument: str) -> Outcome:
    """Reads the files again, whatever was noticed of them so far."""
    if desk.in_turn:
        from mewcode.repl.commands.archive import IN_TURN

        return IN_TURN
    names = await desk.session.reload()
    if not names:
        return Say("instructions read again: nothing changed")
    named = ", ".join(safe_line(name, _LINE) for name in names[:_NAMES])
    more = f", and {len(names) - _NAMES:,} more" if len(names) > _NAMES else ""
    return Say(f"instructions read again: {len(names):,} changed", f"{named}{more}")


def _report(session: Session) -> _Report:
    around = session.around
    loaded = session.news.instructions.look()
    path = around.environ.get("PATH", "")
    nodes = nodes_of(loaded)
    findings = lint(nodes, around.places.root, lambda name: shutil.which(name, path=path) is not None)
    tree = list(as_lines(loaded, ()))
    words = list(as_lines(loaded, findings))[len(tree) :]
    skipped = left_out(loaded)
    title = "instructions" + (f" · {skipped:,} left out" if skipped else "")
    return _Report(title, "\n".join(tree), "\n".join(words), offers_of(loaded))


def _ask(session: Session, offers: Sequence[Offer], known: frozenset[Path] = frozenset()) -> Outcome:
    """Asks of the first, and then of the others. ``known``: what was asked of before."""
    offer, others = offers[0], offers[1:]
    known |= {other.file.path for other in offers}
    options = (
        Option("approve", "Approve it", "as long as it says just this"),
        Option("show", "Show all of it", "and ask again"),
        Option("leave", "Leave it out"),
    )

    def chosen(what: str) -> Outcome:
        if what == "approve":
            return Later(lambda: _approve(session, offers, known))
        if what == "show":
            title = safe_line(str(offer.file.path), _LINE)
            return Above(Shown(title, TextView(offer.file.text)), _ask(session, offers, known))
        return _ask(session, others, known) if others else Say("left out")

    return Pick(_title(offer), options, chosen)


def _title(offer: Offer) -> str:
    lines = offer.file.text.rstrip("\n").split("\n")
    shown = [f"│ {safe_line(line, _LINE)}" for line in lines[:_FIRST_LINES]]
    more = len(lines) - _FIRST_LINES
    return "\n".join(
        [
            f"{safe_line(offer.words, _LINE)}. Approve it?",
            f"{offer.file.size:,} bytes · {safe_line(str(offer.file.path), _LINE)}",
            *shown,
            *([f"… {more:,} more line{'s' if more != 1 else ''}"] if more > 0 else []),
        ]
    )


async def _approve(session: Session, offers: Sequence[Offer], known: frozenset[Path]) -> Outcome:
    """Keeps the user's word for what they were shown, and goes on with what that brings."""
    offer, places = offers[0], session.around.places

    def keep() -> Sequence[Offer]:
        IncludeApprovals(places.user, places.root).approve(offer.file.path, offer.digest)
        return offers_of(session.news.instructions.look())

    still = await call_in_thread("approve", keep)
    await session.reload()
    path = safe_line(str(offer.file.path), _LINE)
    if offer.file.path in [other.file.path for other in still]:
        return Say(f"changed while you looked at it, and left out: {path}", "/instructions shows it again.")
    following = [*offers[1:], *(other for other in still if other.file.path not in known)]
    said = Say(f"approved: {path}", "It is part of the prompt from your next message on.")
    return Above(said, _ask(session, following, known)) if following else said
