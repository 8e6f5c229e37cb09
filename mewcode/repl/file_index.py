"""The files of a workspace for completion: listed in the background, searched in a few milliseconds."""

from __future__ import annotations

import asyncio
import heapq
import logging
import os
import threading
import time
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from mewcode.repl.fuzzy import bits_of, is_exact, score, subsequence

_LOG = logging.getLogger("mewcode.files")

# Seconds after which the next search asks for a new list; the list at hand serves meanwhile.
_FRESH = 5.0
# Seconds that listing may take, and paths that are kept: someone may start in a home folder.
_LIST_LIMIT = 20.0
_MOST_PATHS = 300_000
# Matches that are scored one by one; which ones is decided by cheaper signs.
_SCORED = 400
# Where one look finds far more of them: a score takes 8 microseconds, and a key must not wait for 50 ms.
_MOST_SCORED = 2_000
# Paths worked on before other threads get their turn.
_SLICE = 500
# Paths looked at in one go; after each it is seen whether there are matches enough.
_SCANNED = 16_384
_OURS = "/.mewcode/sessions"
# What is kept to be offered before a letter is typed.
_TOP = 100
# Folders that hold nothing a person names, where no .gitignore says so.
_SKIPPED = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", ".tox", ".mypy_cache"})


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A list of paths at one moment, relative to the folder that completion starts in, shortest first;
    folders end in ``/``. May be searched in any thread.

    ``text`` holds all paths lowered, each after ``\\n/``; ``places`` where each begins in it; ``bits`` is
    `fuzzy.bits_of` each. A search in one long text is done in C and does not hold up the other threads for
    the time that as many small ones take.
    """

    paths: Sequence[str] = ()
    text: str = ""
    places: Sequence[int] = ()
    bits: Sequence[int] = ()
    top: Sequence[str] = ()

    @classmethod
    def of(cls, files: Iterable[str]) -> Snapshot:
        """Works a list of files out; their folders are added."""
        by_length: dict[int, list[tuple[str, str, int]]] = {}
        folders: dict[str, int] = {"": 0}
        top: list[str] = []

        def add(path: str, above: int) -> int:
            lower = path.lower()
            start = lower.rfind("/", 0, -1) + 1
            bits = above | bits_of(lower[start:])
            by_length.setdefault(len(path), []).append((path, lower, bits))
            if start == 0:
                top.append(path)
            return bits

        def bits_of_folder(folder: str) -> int:
            known = folders.get(folder)
            if known is None:
                above = bits_of_folder(folder[: folder.rfind("/", 0, -1) + 1])
                known = above | bits_of("./") if folder.endswith("../") else add(folder, above)
                folders[folder] = known
            return known

        for number, path in enumerate(files):
            add(path, bits_of_folder(path[: path.rfind("/") + 1]))
            if number % _SLICE == 0:
                time.sleep(0)  # keys are echoed meanwhile
        entries = [entry for length in sorted(by_length) for entry in by_length[length]]
        places = array("Q", accumulate((len(lower) + 2 for _, lower, _ in entries), initial=0))
        return cls(
            [path for path, _, _ in entries],
            "".join([f"\n/{lower}" for _, lower, _ in entries]) + "\n",
            places,
            [bits for _, _, bits in entries],
            sorted(top, key=str.lower)[:_TOP],
        )

    def find(self, query: str, limit: int = 20) -> list[str]:
        """The best matches for ``query``, best first; for an empty one what lies nearest."""
        if not query:
            return list(self.top[:limit])
        query = query.replace("\n", " ")
        paths = self.paths
        found = (paths[index] for index in self._likely(query))
        scored = [(points, path) for path in found if (points := score(query, path)) is not None]
        return [path for _, path in heapq.nsmallest(limit, scored, key=lambda pair: (-pair[0], pair[1]))]

    def _likely(self, query: str) -> Iterable[int]:
        """The matches that are worth a score, some hundreds at most: those that hold the query in one piece,
        at the beginning of a name first, then those that hold its letters; short paths before long ones."""
        chosen: dict[int, None] = {}
        lower = query.lower()
        for piece in ("/" + lower, lower):
            self._add_holding(piece, chosen)
        if len(chosen) < _SCORED:
            self._add_scattered(query, chosen)
        return chosen

    def _add_holding(self, piece: str, chosen: dict[int, None]) -> None:
        at = self.text.find(piece)
        while at >= 0 and len(chosen) < _SCORED:
            index = bisect_right(self.places, at) - 1
            chosen[index] = None
            at = self.text.find(piece, self.places[index + 1])

    def _add_scattered(self, query: str, chosen: dict[int, None]) -> None:
        wanted = bits_of(query.lower())
        holds, exact = subsequence(query), is_exact(query)
        paths, text, places, every = self.paths, self.text, self.places, self.bits
        for start in range(0, len(every), _SCANNED):
            bits = every[start : start + _SCANNED]
            for index in [at for at, own in enumerate(bits, start) if own & wanted == wanted]:
                if holds(paths[index] if exact else text[places[index] + 2 : places[index + 1]]):
                    chosen[index] = None
                    if len(chosen) >= _MOST_SCORED:
                        return
            if len(chosen) >= _SCORED:
                return


class FileIndex:
    """Keeps a `Snapshot` of the files below ``root``, as seen from ``cwd``. Used in the event loop; the work
    is done in threads of its own, which no exit waits for."""

    def __init__(
        self, root: Path, cwd: Path, list_files: Callable[[Path], Iterable[str]] | None = None
    ) -> None:
        self._root, self._cwd = root, cwd
        self._list = list_files or list_paths
        self._snapshot: Snapshot | None = None
        self._listed = 0.0
        self._working: asyncio.Future[None] | None = None

    def begin(self) -> None:
        """Lists ahead of the first question where that is cheap, which is where git knows the files."""
        if os.path.lexists(self._root / ".git"):
            self.refresh()

    def refresh(self) -> None:
        """Begins to list anew, unless that is under way or was done just now."""
        loop = asyncio.get_running_loop()
        if self._working is not None or (self._snapshot is not None and loop.time() < self._listed + _FRESH):
            return
        self._working = loop.create_future()
        threading.Thread(target=self._work, args=(loop,), name="file-index", daemon=True).start()

    def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            snapshot = Snapshot.of(_seen_from(self._root, self._cwd, self._list(self._root)))
        except (OSError, ValueError) as error:
            _LOG.info("the files could not be listed: %s", error)
            snapshot = None
        try:
            loop.call_soon_threadsafe(self._take, snapshot)
        except RuntimeError:  # the loop has ended
            return

    def _take(self, snapshot: Snapshot | None) -> None:
        self._snapshot = snapshot or self._snapshot or Snapshot()
        self._listed = asyncio.get_running_loop().time()
        working, self._working = self._working, None
        if working is not None and not working.done():
            working.set_result(None)

    async def find(self, query: str, limit: int = 20) -> list[str]:
        """The best matches. Waits for the first list only; an old list is renewed for the next time."""
        self.refresh()
        if self._snapshot is None and self._working is not None:
            await asyncio.shield(self._working)
        snapshot = self._snapshot or Snapshot()
        return await asyncio.to_thread(snapshot.find, query, limit)


def _seen_from(root: Path, cwd: Path, paths: Iterable[str]) -> Iterator[str]:
    """Paths below ``root`` as written from ``cwd``, a folder in it."""
    parts = cwd.relative_to(root).parts if cwd.is_relative_to(root) else ()
    inner, outer = "".join(f"{part}/" for part in parts), "../" * len(parts)
    for path in paths:
        yield path[len(inner) :] if path.startswith(inner) else outer + path


def list_paths(root: Path) -> Iterable[str]:
    """The files below ``root``, at most `_MOST_PATHS`: what git knows and does not ignore; without git what
    is no one's build or download folder. Raises OSError."""
    git = _program("git")
    if git is not None and any(os.path.lexists(folder / ".git") for folder in (root, *root.parents)):
        listed = _run_git(git, root)
        if listed is not None:
            return listed
    return _walk(root)


def _program(name: str) -> str | None:
    """The program on the path; relative entries would run what lies in the user's project."""
    for folder in os.get_exec_path():
        candidate = os.path.join(folder, name)
        if os.path.isabs(candidate) and os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return candidate
    return None


def _run_git(git: str, root: Path) -> list[str] | None:
    """None where git does not answer. A repository's own settings must start no program."""
    import subprocess  # not needed before someone types an @

    command = [git, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-C", str(root)]
    command += ["ls-files", "--cached", "--others", "--exclude-standard", "-z", "--deduplicate"]
    environ = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environ,
            timeout=_LIST_LIMIT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode != 0:
        return None
    names = done.stdout.split(b"\0")[:_MOST_PATHS]
    return [path for name in names if name and (path := _shown(name))]


def _shown(name: bytes) -> str:
    """The path as text; empty where it holds what cannot be typed."""
    path = os.fsdecode(name)
    return path if path.isprintable() else ""


def _walk(root: Path) -> Iterator[str]:
    end = time.monotonic() + _LIST_LIMIT
    count, waiting = 0, [""]
    while waiting:
        inner: list[str] = []
        for folder in waiting:
            for entry in _entries(root / folder):
                if not entry.name.isprintable():
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in _SKIPPED and not f"/{folder}{entry.name}".endswith(_OURS):
                        inner.append(f"{folder}{entry.name}/")
                    continue
                yield folder + entry.name
                count += 1
                if count >= _MOST_PATHS:
                    return
            if time.monotonic() > end:
                return
        waiting = inner


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:  # what cannot be listed has no names to offer
        return []
