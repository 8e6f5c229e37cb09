"""The ``sessions`` part of the config."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from mewcode.core.errors import ConfigError
from mewcode.sessions.retention import Retention

_Hours = Annotated[float, Meta(ge=0)]
_Tokens = Annotated[int, Meta(ge=0)]
_Exchanges = Annotated[int, Meta(ge=0, le=100)]


class SessionSettings(Retention, frozen=True, forbid_unknown_fields=True):
    """``prune``: the rule of `Retention` is applied once a day, in the background. ``briefs``: what was done
    is kept in a few sentences, and told to the sessions that follow. ``titles``: a model gives a session its
    title. ``pause_hours``: a session that rested for longer is told of it when it is resumed; ``reserve``:
    tokens of the model's window that a resumed conversation leaves free; ``shown``: exchanges that a resumed
    session shows again."""

    prune: bool = True
    briefs: bool = True
    titles: bool = True
    pause_hours: _Hours = 6.0
    reserve: _Tokens = 8_000
    shown: _Exchanges = 3


_WANTED = {
    "max_total_mb": "a number of megabytes",
    "pause_hours": "a number of hours",
    "prune": "true or false",
    "briefs": "true or false",
    "titles": "true or false",
}


def read_settings(section: Mapping[str, Any], origin: Callable[[str], str]) -> SessionSettings:
    """The settings as written. Raises ConfigError with the place that ``origin`` gives."""
    known = SessionSettings.__struct_fields__
    for key in section:
        if key not in known:
            import difflib  # only on a mistake

            near = difflib.get_close_matches(key, known, 1)
            hint = f"Did you mean {near[0]}?" if near else f"Known: {', '.join(known)}."
            raise ConfigError(f"sessions.{key} is unknown", hint, origin(f"sessions.{key}"))
        try:
            msgspec.convert({key: section[key]}, SessionSettings)
        except msgspec.ValidationError:
            wanted = _WANTED.get(key, "a whole number, 0 or more")
            raise ConfigError(f"sessions.{key} must be {wanted}", where=origin(f"sessions.{key}")) from None
    return msgspec.convert(dict(section), SessionSettings)
