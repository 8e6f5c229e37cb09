"""The terminal: its size, colours, characters."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping

from mewcode.doctor.check import Check, Subject

# Below this the panels still work, but little of a diff is seen.
_COLUMNS, _ROWS = 60, 16


def check_terminal(subject: Subject) -> Iterator[Check]:
    """Asks nothing of the terminal itself: some do not answer."""
    environ = subject.environ
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        yield Check("terminal", "ok", "none here (a pipe or a file)")
    else:
        columns, rows = os.get_terminal_size(sys.stdout.fileno())
        size = f"{environ.get('TERM') or 'TERM is not set'}, {columns} x {rows}"
        if environ.get("TERM") in (None, "", "dumb"):
            yield Check(
                "terminal", "warn", size, "Set TERM to what your terminal is, such as xterm-256color."
            )
        elif 0 < columns < _COLUMNS or 0 < rows < _ROWS:
            yield Check("terminal", "warn", size, f"Make it {_COLUMNS} x {_ROWS} or larger.")
        else:
            yield Check("terminal", "ok", size)
    yield Check("colours", "ok", _colours(environ))
    yield _characters(environ)
    if "TMUX" in environ:
        yield _tmux(environ)


def _colours(environ: Mapping[str, str]) -> str:
    if environ.get("NO_COLOR"):
        return "none: NO_COLOR is set"
    if environ.get("COLORTERM") in ("truecolor", "24bit"):
        return "16 million"
    return "256" if "256" in environ.get("TERM", "") else "16"


def _characters(environ: Mapping[str, str]) -> Check:
    name = next((name for name in ("LC_ALL", "LC_CTYPE", "LANG") if environ.get(name)), "")
    locale = f"{name}={environ[name]}" if name else "no locale is set"
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    if encoding == "utf8" and "utf" in locale.lower().replace("-", ""):
        return Check("characters", "ok", f"UTF-8 ({locale})")
    if encoding == "utf8":
        return Check("characters", "warn", f"UTF-8, but {locale}", "Set LANG=C.UTF-8, or en_US.UTF-8.")
    return Check("characters", "fail", f"{encoding} ({locale})", "Set LANG=C.UTF-8, or en_US.UTF-8.")


def _tmux(environ: Mapping[str, str]) -> Check:
    term = environ.get("TERM", "")
    if term.startswith(("tmux", "screen")):
        return Check("tmux", "ok", f"TERM={term}")
    return Check(
        "tmux",
        "warn",
        f"within tmux TERM is {term}",
        "In ~/.tmux.conf: set -g default-terminal tmux-256color",
    )
