"""The tokens that may be spent on keeping notes in one local day, counted over all processes of the user."""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from mewcode.infra.append_file import CAREFUL
from mewcode.infra.locks import try_lock
from mewcode.infra.paths import private_dir

_LOG = logging.getLogger("mewcode.memory")

BUDGET = ".notes-budget"
"""The file's name, in the user's folder."""
_LINE = re.compile(rb"(\d{4}-\d\d-\d\d) (\d{15}) ([01])\n")
"""The day, the tokens spent on it, whether the user was told that all are spent. Always of one length: each
write replaces it whole."""
_WAIT = 0.5
"""Seconds to wait for another process, which writes 29 bytes."""
_PAUSE = 0.002


class _Count(msgspec.Struct, frozen=True):
    tokens: int = 0
    told: bool = False


class Budget:
    """``path`` names a file that is made when something is first spent; ``limit``: tokens a day, 0 for none
    at all; ``clock``: Unix time. Safe to use from several threads and processes; nothing raises. What a disk
    refuses to keep is counted in this process all the same."""

    def __init__(self, path: Path, limit: int, clock: Callable[[], float] = time.time) -> None:
        self.limit = limit
        self._path = path
        self._clock = clock
        self._unsaved: dict[str, _Count] = {}

    def left(self) -> int:
        """Tokens that may still be spent today."""
        return max(0, self.limit - self.spent())

    def spent(self) -> int:
        """Tokens that were spent today. Reads one line of a file."""
        day = self._day()
        return _read(self._path, day).tokens + self._kept_back(day).tokens

    def spend(self, tokens: int) -> None:
        """Counts tokens. May wait for another process, half a second at most."""
        self._change(tokens=max(0, tokens))

    def tell_once(self) -> bool:
        """Whether nobody was told today that all is spent; from now on somebody was. Waits as `spend`."""
        day = self._day()
        if self._kept_back(day).told or _read(self._path, day).told:
            return False
        self._change(told=True)
        return True

    def _change(self, *, tokens: int = 0, told: bool = False) -> None:
        day = self._day()
        back = self._kept_back(day)
        new = _Count(back.tokens + tokens, back.told or told)
        try:
            with _locked(self._path) as descriptor:
                old = _parsed(os.pread(descriptor, 64, 0), day)
                line = f"{day} {old.tokens + new.tokens:015d} {int(old.told or new.told)}\n".encode()
                os.pwrite(descriptor, line, 0)
                os.ftruncate(descriptor, len(line))
        except OSError as error:
            _LOG.warning("what notes have cost is not kept: %s", error.strerror or type(error).__name__)
            self._unsaved = {day: new}
        else:
            self._unsaved = {}

    def _kept_back(self, day: str) -> _Count:
        return self._unsaved.get(day, _Count())

    def _day(self) -> str:
        return time.strftime("%Y-%m-%d", time.localtime(self._clock()))


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    private_dir(path.parent)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | CAREFUL, 0o600)
    try:
        end = time.monotonic() + _WAIT
        while not try_lock(descriptor):
            if time.monotonic() > end:
                raise TimeoutError(f"another process holds {path.name}")
            time.sleep(_PAUSE)
        yield descriptor
    finally:
        os.close(descriptor)


def _read(path: Path, day: str) -> _Count:
    try:
        descriptor = os.open(path, os.O_RDONLY | CAREFUL)
    except OSError:  # nothing was spent yet
        return _Count()
    try:
        return _parsed(os.pread(descriptor, 64, 0), day)
    except OSError as error:
        _LOG.warning("what notes have cost cannot be read: %s", error.strerror)
        return _Count()
    finally:
        os.close(descriptor)


def _parsed(line: bytes, day: str) -> _Count:
    """What was counted on that day; nothing where the file is about another, or is none of ours."""
    found = _LINE.fullmatch(line)
    if found is None or found[1].decode() != day:
        return _Count()
    return _Count(int(found[2]), found[3] == b"1")
