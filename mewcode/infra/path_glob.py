"""File name patterns: ``*`` and ``?`` within a folder, ``**`` across folders, ``[a-z]``, ``{a,b}``.

No pattern takes long: stars are matched without going back, folders by a table.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from mewcode.core.errors import ToolError

# Braces multiply: {a,b}{c,d}... is refused above this.
_MOST_FORMS = 256


def split_base(pattern: str) -> tuple[str, str]:
    """The folders that a pattern begins with literally, and the rest: ``src/lib/*.py`` is ``src/lib`` and
    ``*.py``. An absolute pattern has an absolute base. The base may hold ``..``, the rest may not (see
    `PathGlob`)."""
    parts = pattern.split("/")
    literal = 0
    while literal < len(parts) - 1 and not set("*?[{") & set(parts[literal]):
        literal += 1
    base = "/".join(parts[:literal])
    if literal and not base:
        base = "/"
    return base, "/".join(parts[literal:])


class PathGlob:
    """A pattern for paths relative to a folder. Raises `ToolError` for one that cannot be used."""

    def __init__(self, pattern: str, *, braces: bool = True) -> None:
        """``braces=False`` takes them as they are, as in a ``.gitignore``."""
        if ".." in re.split("[/,{}]", pattern):
            raise ToolError("`..` may stand only before the first wildcard of a pattern.")
        if braces and pattern.count("{") != pattern.count("}"):
            raise ToolError(f"The pattern {pattern} has a brace without its partner.")
        self._forms = [_compile(form) for form in (_expand(pattern) if braces else [pattern])]
        self.names_hidden = any(part.startswith(".") and part != "." for part in re.split("[/,{]", pattern))

    def matches(self, parts: Sequence[str]) -> bool:
        """Whether a path, given as its parts, matches as a whole."""
        return any(_matches(form, parts) for form in self._forms)


_Part = re.Pattern[str] | None  # None stands for ``**``


def _compile(form: str) -> list[_Part]:
    import fnmatch  # only for searches

    parts: list[_Part] = []
    for part in form.split("/"):
        if part in ("", "."):
            continue
        if part == "**":
            if not parts or parts[-1] is not None:
                parts.append(None)
        else:
            try:
                parts.append(re.compile(fnmatch.translate(part)))
            except re.error as error:
                raise ToolError(f"The pattern {form} cannot be used: {error}.") from error
    if parts and parts[-1] is None:  # what lies below a folder is not the folder itself
        parts.append(re.compile(""))
    return parts


def _matches(form: Sequence[_Part], parts: Sequence[str]) -> bool:
    """Follows all positions of the pattern that the path so far can have reached."""
    reached = _with_empty({0}, form)
    for part in parts:
        after: set[int] = set()
        for position in reached:
            if position == len(form):
                continue
            step = form[position]
            if step is None:
                after.add(position)
            elif step.match(part):
                after.add(position + 1)
        reached = _with_empty(after, form)
        if not reached:
            return False
    return len(form) in reached


def _with_empty(positions: set[int], form: Sequence[_Part]) -> set[int]:
    """A ``**`` may stand for no folder at all."""
    return positions | {at + 1 for at in positions if at < len(form) and form[at] is None}


def _expand(pattern: str) -> list[str]:
    """The pattern once for each choice in its braces, nested ones included."""
    forms, ready = [pattern], []
    while forms:
        form = forms.pop()
        braces = _innermost(form)
        if braces is None:
            ready.append(form)
        else:
            start, end = braces
            forms += [form[:start] + choice + form[end + 1 :] for choice in form[start + 1 : end].split(",")]
        if len(forms) + len(ready) > _MOST_FORMS:
            raise ToolError(f"The pattern has more than {_MOST_FORMS} forms; use fewer braces.")
    return list(dict.fromkeys(ready))


def _innermost(form: str) -> tuple[int, int] | None:
    end = form.find("}")
    start = form.rfind("{", 0, end) if end >= 0 else -1
    return (start, end) if start >= 0 else None
