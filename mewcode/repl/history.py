"""What was typed before: kept per project across sessions, and searched."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History

from mewcode.infra.terminal_text import safe_line
from mewcode.repl.theme import Theme

# Characters of an input that is still kept for the next session. Longer ones are pasted files; loading a
# hundred of them would be felt at each start.
_LONGEST_KEPT = 200_000
# Inputs that a search looks at, newest first: at 10,000 a key would take milliseconds.
_SEARCHED = 5_000


class ProjectHistory(History):
    """Input history of one project, in a file where the system keeps such state. The file's place is found
    when it is first needed; a file that cannot be written costs the history, not the input."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        self._root = root
        self._file: FileHistory | None = None

    def _open(self) -> FileHistory:
        if self._file is None:
            import hashlib

            import platformdirs

            folder = Path(platformdirs.user_state_dir("mewcode", appauthor=False)) / "history"
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            name = hashlib.sha256(os.fsencode(self._root)).hexdigest()[:16]
            path = folder / name
            path.touch(mode=0o600)
            self._file = FileHistory(str(path))
        return self._file

    def load_history_strings(self) -> Iterable[str]:
        try:
            return list(self._open().load_history_strings())
        except OSError:
            return []

    def store_string(self, string: str) -> None:
        if len(string) > _LONGEST_KEPT:
            return
        try:
            self._open().store_string(string)
        except OSError:
            return


@dataclass(slots=True)
class HistorySearch:
    """An incremental search through earlier inputs (Ctrl-R).

    ``entries`` are the inputs, newest first; ``draft`` is what stood in the input before. `match` is what to
    show meanwhile: the newest input that holds ``query``, an older one after `older`. A query with a capital
    letter is taken as written, any other without regard to case.
    """

    entries: Sequence[str]
    draft: Document
    query: str = ""
    _at: int | None = None
    _folded: Sequence[str] = ()

    @classmethod
    def over(cls, strings: Sequence[str], draft: Document) -> HistorySearch:
        """A search over ``strings``, oldest first, each shown once."""
        entries = tuple(dict.fromkeys(reversed(strings[-_SEARCHED:])))
        return cls(entries, draft, _folded=tuple(entry.lower() for entry in entries))

    @property
    def match(self) -> str | None:
        return None if self._at is None else self.entries[self._at]

    @property
    def document(self) -> Document:
        """What the input shows: the match with the cursor where the query stands in it, else the draft."""
        match = self.match
        if match is None:
            return self.draft
        where = (match if self._exact else match.lower()).find(self.query)
        return Document(match, min(len(match), max(0, where) + len(self.query)))

    @property
    def _exact(self) -> bool:
        return self.query != self.query.lower()

    def type(self, text: str) -> None:
        """Adds to the query; the match stays where it still holds it."""
        self.query += text
        self._find(self._at or 0, 1)

    def erase(self) -> None:
        """Takes the query's last character away and begins anew at the newest input."""
        self.query = self.query[:-1]
        self._at = None
        self._find(0, 1)

    def older(self) -> None:
        """Goes to the next older match; stays at the oldest."""
        self._find(0 if self._at is None else self._at + 1, 1)

    def newer(self) -> None:
        if self._at is not None:
            self._find(self._at - 1, -1)

    def _find(self, start: int, step: int) -> None:
        if not self.query:
            self._at = None
            return
        texts = self.entries if self._exact else self._folded
        stop = len(texts) if step > 0 else -1
        for index in range(start, stop, step):
            if self.query in texts[index]:
                self._at = index
                return
        if self._at is not None and self.query not in texts[self._at]:
            self._at = None

    def line(self, theme: Theme, width: int) -> str:
        """The line above the input that says what is searched for."""
        found = "" if self.match is not None or not self.query else " · nothing found"
        keys = "ctrl-r older · enter takes it · esc goes back"
        words = safe_line(f"earlier input with: {self.query}▏{found}", max(10, width - 1))
        room = width - 1 - len(words) - 3
        return theme.paint("accent", words) + (theme.paint("dim", f" · {keys}") if room >= len(keys) else "")
