"""`/theme` and `/config`."""

from __future__ import annotations

from mewcode.config.describe import describe
from mewcode.config.layers import CONFIG_FILE
from mewcode.repl.commands.builtin import THEME_CHOICES
from mewcode.repl.commands.registry import Desk, Outcome, Pick, Say, Table, UseTheme
from mewcode.repl.panel import Option
from mewcode.repl.theme import THEMES


async def theme(desk: Desk, argument: str) -> Outcome:
    words = argument.split()
    keep = "--save" in words
    names = [word for word in words if word != "--save"]
    known = [name for name, _ in THEME_CHOICES]
    if not names:
        options = tuple(Option(name, name, about) for name, about in THEME_CHOICES)
        selected = known.index(desk.theme) if desk.theme in known else 0
        return Pick("colours", options, lambda name: _use_theme(desk, name, keep), selected)
    if len(names) > 1 or names[0] not in known:
        return Say(f"there is no theme {' '.join(names)!r}", f"Themes: {', '.join(known)}")
    return _use_theme(desk, names[0], keep)


def _use_theme(desk: Desk, name: str, keep: bool) -> Outcome:
    hint = f"/theme {name} --save keeps it."
    if keep:
        from mewcode.config.assign import set_values

        path = desk.session.around.places.user / CONFIG_FILE
        set_values(path, {("ui", "theme"): name})
        hint = f"kept in {path}"
    return UseTheme(next((known for known in THEMES if known == name), None), hint)


async def config(desk: Desk, argument: str) -> Outcome:
    rows = tuple(
        (key, _text(value), origin)
        for key, value, origin in describe(desk.session.around.loaded)
        if argument in key
    )
    if not rows:
        return Say(f"no setting that is set is called {argument!r}", "/config lists them.")
    return Table("settings", rows, ("key", "value", "from"))


def _text(value: object) -> str:
    if isinstance(value, list):
        return "\n".join(map(str, value)) or "none"
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)
