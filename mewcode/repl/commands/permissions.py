"""The permission mode and the rules in force."""

from __future__ import annotations

from typing import Literal

from mewcode.core.access import MODES, Mode
from mewcode.permissions.modes import DESCRIPTIONS
from mewcode.repl.commands.registry import Desk, Outcome, Pick, Say, Table
from mewcode.repl.panel import Option

_ADDED = {
    "allow": "allowed for this session",
    "ask": "asked for in this session",
    "deny": "denied for this session",
}


async def mode(desk: Desk, argument: str) -> Outcome:
    if argument in MODES:
        return _use_mode(desk, argument)
    if argument:
        return Say(f"there is no mode {argument!r}", f"Modes: {', '.join(MODES)}")
    options = tuple(Option(mode, mode, DESCRIPTIONS[mode]) for mode in MODES)
    selected = MODES.index(desk.session.mode)
    return Pick("permission mode", options, lambda name: _use_mode(desk, name), selected)


def _use_mode(desk: Desk, name: str) -> Outcome:
    mode: Mode = next(mode for mode in MODES if mode == name)
    desk.session.use_mode(mode)
    return Say(f"mode: {mode}", DESCRIPTIONS[mode])


async def permissions(desk: Desk, argument: str) -> Outcome:
    """Lists the rules; ``RULE``, ``allow RULE``, ``ask RULE``, ``deny RULE`` and ``remove RULE`` change those
    of this session."""
    if not argument:
        return _rules(desk)
    word, _, rest = argument.partition(" ")
    if word == "remove":
        return _remove(desk, rest.strip())
    kind: Literal["allow", "ask", "deny"] = "allow"
    if word in ("allow", "ask", "deny"):
        kind, argument = next(known for known in ("allow", "ask", "deny") if known == word), rest.strip()
        if not argument:
            return Say(f"{word} what?", f"/permissions {word} bash(git push *)")
    desk.session.policy.add_session_rule(argument, kind)
    return Say(f"{_ADDED[kind]}: {argument}", f"/permissions remove {argument} takes it back.")


def _remove(desk: Desk, rule: str) -> Outcome:
    if desk.session.policy.remove_session_rule(rule):
        return Say(f"no longer in force: {rule}")
    given = [text for level, _, text in desk.session.policy.explain() if level == "session"]
    known = f"Rules of this session: {', '.join(given)}" if given else "This session has no rules of its own."
    return Say(f"no rule of this session reads {rule!r}", f"{known}\nThe others stand in the config files.")


def _rules(desk: Desk) -> Outcome:
    session = desk.session
    origins = _origins(desk)
    rows = tuple(
        (
            kind,
            rule,
            origins.get((level, kind, rule), "given in this session" if level == "session" else level),
        )
        for level, kind, rule in session.policy.explain()
    )
    mode = ("mode", session.mode, DESCRIPTIONS[session.mode])
    return Table("permissions", (mode, *rows), ("kind", "rule", "from"))


def _origins(desk: Desk) -> dict[tuple[str, str, str], str]:
    """The place of each rule of the config, by level, kind and text. The merged list of a kind holds the
    rules of all levels in their order."""
    config = desk.session.around.loaded.config
    found: dict[tuple[str, str, str], str] = {}
    for kind in ("allow", "ask", "deny"):
        place = 0
        for level, rules in config.permissions_by_level.items():
            for rule in getattr(rules, kind):
                found.setdefault((level, kind, rule.strip()), config.origin(f"permissions.{kind}.{place}"))
                place += 1
    return found
