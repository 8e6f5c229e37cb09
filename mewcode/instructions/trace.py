"""What a reading of instructions has found on disk, by which it is told whether another would find the same.

A path is followed one folder at a time, each folder once: a thousand files of one folder take a look each.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from operator import attrgetter

import msgspec

_SURE_AFTER = 50_000_000
"""Nanoseconds after a change in which another might leave the same times: file systems count in steps of up
to 10 ms."""
_SURE_AFTER_COARSE = 2_000_000_000
"""The same where the file system counts in seconds."""

Sign = tuple[int, ...]
"""What tells that a file is as it was: its mode, inode, size, and the times in nanoseconds of the last change
of its content and of anything about it. Of what cannot be looked at, the error's number alone."""

_SIGN: Callable[[os.stat_result], Sign] = attrgetter(
    "st_mode", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns"
)


class Trace(msgspec.Struct, array_like=True):
    """``began``: when, in nanoseconds. ``found``: the files that there were to read. ``folders``: where each
    folder leads. ``signs``: of each path that was looked at, as it was before its content was read; of a link
    its own. ``links``: where those lead. ``approved``: what was asked of the user's approvals, and the
    answers. ``is_whole``: whether this is all that the reading came from."""

    began: int
    found: list[str] = []
    folders: dict[str, str] = {}
    signs: dict[str, Sign] = {}
    links: dict[str, str] = {}
    approved: dict[str, str | None] = {}
    is_whole: bool = True

    def resolve(self, path: str) -> str:
        """An absolute path without links, whether it exists or not, as `os.path.realpath` has it. Raises
        ValueError for what is no file name."""
        head, name = os.path.split(path)
        if name in ("", ".", ".."):
            whole = self._folder(path)
        else:
            whole = os.path.join(self.folders.get(head) or self._folder(head), name)
        if not stat.S_ISLNK(self._look(whole)[0]):
            return whole
        end = self.links[whole] = os.path.realpath(whole)
        self._look(end)
        return end

    def _look(self, path: str) -> Sign:
        sign = self.signs.get(path)
        if sign is None:
            sign = self.signs[path] = sign_of(path)
        return sign

    def _folder(self, path: str) -> str:
        steps: list[tuple[str, str]] = []
        while path not in self.folders:
            head, name = os.path.split(path)
            if head == path:
                self.folders[path] = os.path.realpath(path)
                break
            steps.append((path, name))
            path = head
        real = self.folders[path]
        for whole, name in reversed(steps):
            real = self.folders[whole] = _step(real, name)
        return real

    def is_sure(self) -> bool:
        """Whether what was found cannot have changed since without a new sign."""
        sure, sure_if_coarse = self.began - _SURE_AFTER, self.began - _SURE_AFTER_COARSE
        return all(
            time < (sure if time % 1_000_000_000 else sure_if_coarse)
            for sign in self.signs.values()
            for time in sign[3:]
        )

    def holds(self) -> bool:
        """Whether all that was looked at is as it was; two milliseconds for a thousand files."""
        now = Trace(0)
        return (
            all(now._folder(path) == real for path, real in self.folders.items())
            and all(sign_of(path) == sign for path, sign in self.signs.items())
            and all(os.path.realpath(path) == end for path, end in self.links.items())
        )


def sign_of(path: str) -> Sign:
    """Raises ValueError for what is no file name."""
    try:
        return _SIGN(os.lstat(path))
    except OSError as error:
        return (error.errno or 0,)


def _step(real: str, name: str) -> str:
    """Where a name in a folder without links leads."""
    if name in ("", "."):
        return real
    if name == "..":
        return os.path.dirname(real)
    whole = os.path.join(real, name)
    try:
        is_link = stat.S_ISLNK(os.lstat(whole).st_mode)
    except OSError:  # what is not there is no link
        return whole
    return os.path.realpath(whole) if is_link else whole
