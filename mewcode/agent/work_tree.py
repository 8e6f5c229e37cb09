"""A work tree as notes are held against it: its files and the identifiers that stand in them.

Without what git ignores; by ripgrep where there is one, else in Python; within a time limit either way.
"""

from __future__ import annotations

import logging
import os
import re
import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mewcode.infra.append_file import CAREFUL
from mewcode.infra.paths import PROJECT_DIR
from mewcode.tools.gitignore import walk
from mewcode.tools.ripgrep import RipgrepFinder, find_ripgrep, plain_flags

if TYPE_CHECKING:
    from mewcode.agent.surroundings import Surroundings

_LOG = logging.getLogger("mewcode.memory")

FRESH = 5.0
"""Seconds for which a look at the tree counts: notes are looked at one after the other."""
_LARGEST = 1 << 20
"""Bytes of a file that is looked into."""
_PROBE = 8_000
_CHUNK = 1 << 16


def work_tree_of(around: Surroundings, *, fresh: float = FRESH) -> WorkTree:
    """That of a session."""
    return WorkTree(around.places.root, around.environ.get("PATH", ""), fresh=fresh)


class WorkTree:
    """`memory.liveness.Tree` of a folder. Symbolic links are not followed. A look at it counts for ``fresh``
    seconds. For one thread at a time."""

    def __init__(
        self,
        root: Path,
        search_path: str = "",
        find: RipgrepFinder = find_ripgrep,
        clock: Callable[[], float] = time.monotonic,
        fresh: float = FRESH,
    ) -> None:
        self._root = root
        self._find = find
        self._clock = clock
        self._fresh = fresh
        self._resolved: Path | None = None
        self._looked = 0.0
        self._files: tuple[str, ...] | None = None
        self._words: dict[str, bool] = {}
        self.search_path = search_path

    @property
    def root(self) -> Path:
        if self._resolved is None:
            self._resolved = Path(os.path.realpath(self._root))
        return self._resolved

    def files(self, until: float) -> Sequence[str] | None:
        """See `memory.liveness.Tree`, as for `words`. The project folder is left out: notes are in it."""
        self._forget()
        if self._files is None:
            self._files = self._list(until)
        return self._files

    def words(self, wanted: frozenset[str], until: float) -> frozenset[str] | None:
        self._forget()
        unknown = wanted - self._words.keys()
        if unknown:
            found = self._search(unknown, until)
            if found is None:
                return None
            self._words |= {word: word in found for word in unknown}
        return frozenset(word for word in wanted if self._words[word])

    def _forget(self) -> None:
        if self._clock() - self._looked > self._fresh:
            self._looked, self._files, self._words = self._clock(), None, {}

    def _list(self, until: float) -> tuple[str, ...] | None:
        if rg := self._find():
            output = bytearray()
            if not self._run([rg, "--files", "--null"], until, lambda chunk: output.extend(chunk)):
                return None
            return tuple(os.fsdecode(name).removeprefix("./") for name in bytes(output).split(b"\0") if name)
        files = []
        try:
            for name in self._walk():
                if self._clock() > until:
                    return None
                files.append(name)
        except RecursionError:  # folders too deep within each other
            return None
        return tuple(files)

    def _search(self, wanted: frozenset[str], until: float) -> set[str] | None:
        """None where time was up before all were found."""
        rg = self._find()
        if rg is None:
            try:
                return self._read_all(wanted, until)
            except RecursionError:
                return None
        seen: set[str] = set()
        rest = b""

        def take(chunk: bytes) -> bool:
            nonlocal rest
            *lines, rest = (rest + chunk).split(b"\n")
            seen.update(line.decode("utf-8", "replace") for line in lines)
            return wanted <= seen

        command = [rg, "--no-filename", "--no-line-number", "--only-matching", "--case-sensitive"]
        command += ["--fixed-strings", "--word-regexp", f"--max-filesize={_LARGEST}"]
        command += [word for name in sorted(wanted) for word in ("-e", name)]
        return seen & wanted if self._run(command, until, take) or wanted <= seen else None

    def _run(self, command: list[str], until: float, take: Callable[[bytes], object]) -> bool:
        """Whether the search came to its end in time, or ``take`` said True: it has all."""
        import subprocess

        hidden = ("--hidden", "--glob=!.git", f"--glob=!/{PROJECT_DIR}")
        try:
            process = subprocess.Popen(
                [*command, *plain_flags(self.root), *hidden, "--", "./"],
                cwd=self.root,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            _LOG.info("notes are not held against the work tree: ripgrep does not start: %s", error)
            return False
        timer = threading.Timer(max(0.0, until - self._clock()), process.kill)
        timer.daemon = True
        timer.start()
        has_all = False
        with process:
            assert process.stdout is not None
            while not has_all and (chunk := os.read(process.stdout.fileno(), _CHUNK)):
                has_all = take(chunk) is True
            if has_all:
                process.kill()
            code = process.wait()
        timer.cancel()
        return has_all or code in (0, 1)  # 1: nothing was found

    def _walk(self) -> Iterator[str]:
        for name in walk(self.root, hidden=True):
            if not name.startswith(f"{PROJECT_DIR}/"):
                yield name

    def _read_all(self, wanted: frozenset[str], until: float) -> set[str] | None:
        words = b"|".join(re.escape(word).encode() for word in sorted(wanted, reverse=True))
        pattern = re.compile(rb"(?<!\w)(?:" + words + rb")(?!\w)")
        seen: set[str] = set()
        for name in self._walk():
            if self._clock() > until:
                return None
            seen.update(match.decode() for match in pattern.findall(self._text(name)))
            if wanted <= seen:
                break
        return seen

    def _text(self, name: str) -> bytes:
        """A file's bytes; none of one that is binary, too large or not to be read."""
        try:
            descriptor = os.open(self.root / name, os.O_RDONLY | CAREFUL)
        except OSError:  # gone meanwhile, or none of ours
            return b""
        with open(descriptor, "rb") as stream:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
                return b""
            data = stream.read(_LARGEST)
        return b"" if b"\0" in data[:_PROBE] else data
