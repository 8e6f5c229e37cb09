"""Looks up what was said and done in past sessions of this workspace: data for the model, without secrets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mewcode.core.codec import encode_json
from mewcode.core.errors import SessionError
from mewcode.core.message import Image, Message, Text, ToolCall, ToolResult, text_of
from mewcode.infra.fence import fenced_data
from mewcode.infra.redact import redact
from mewcode.infra.terminal_text import safe_line, safe_text
from mewcode.memory.recall.engine import Engine
from mewcode.memory.recall.values import Hit
from mewcode.note_tools.found import Found
from mewcode.note_tools.search import terms_of
from mewcode.recall_turns import may_read
from mewcode.sessions.briefs import IsOurs, known_title
from mewcode.sessions.find import find_session
from mewcode.sessions.plain import local_time
from mewcode.sessions.search_text import Term, snippet
from mewcode.sessions.turns import Turn, find_turn, turn_at

_PAGE = 10_000
"""Bytes of one answer of `HistoryDesk.read`, in UTF-8."""
_SAID = 4_000
"""Characters of what the user or the model said in one message."""
_ASKED = 400
_ANSWERED = 600
"""Characters of a tool's arguments, and of its result."""
_MESSAGE = 8_000
"""Characters of one message with all its calls."""
_SNIPPET = 240
_TURN_READ = 256 << 10
"""Bytes of a turn that a snippet is looked for in."""


class HistoryDesk:
    """``in_view`` gives the session at this moment, which is not searched as long as all of it is in view;
    then "". ``is_ours``: see `sessions.briefs`. To be used in a thread."""

    def __init__(
        self, engine: Engine, sessions_dir: Path, is_ours: IsOurs, in_view: Callable[[], str]
    ) -> None:
        self._engine = engine
        self._dir = sessions_dir
        self._is_ours = is_ours
        self._in_view = in_view

    def search(self, query: str, limit: int) -> Found:
        """The turns that answer best. Never raises."""
        ours: dict[str, str] = {self._in_view(): ""}
        lines: list[str] = []
        for hit in self._engine.search(query, ("exchanges",), 4 * limit + 50):
            if hit.source not in ours:
                folder = self._dir / hit.source
                is_ours = may_read(folder, self._is_ours)
                ours[hit.source] = (known_title(folder) or "untitled") if is_ours else ""
            if ours[hit.source]:
                lines += self._lines(hit, ours[hit.source], query)
            if len(lines) == limit:
                break
        if not lines:
            return Found("No past session holds these words. Try others, or another language.", "0 turns")
        count = f"{len(lines)} turn{'s' if len(lines) != 1 else ''}"
        told = fenced_data("past-sessions", "\n".join(lines))
        return Found(told, count, "\n".join(lines))

    def _lines(self, hit: Hit, title: str, query: str) -> list[str]:
        """The hit; nothing where its session has changed since it was read."""
        try:
            messages = turn_at(self._dir / hit.source, hit.start, _TURN_READ)
        except OSError:  # deleted or locked away meanwhile
            return []
        if not messages:
            return []
        said = "\n".join(filter(None, map(_shown, messages)))
        terms = [Term(term, "") for term in terms_of(query) if len(term) > 1]
        day = f"{local_time(hit.when, '%Y-%m-%d')}, " if hit.when else ""
        head = (
            f"- session {safe_line(hit.source, 80)}, {day}turn {hit.number}: {safe_line(redact(title), 100)}"
        )
        return [f"{head}\n  {safe_line(snippet(said, terms, _SNIPPET), 2 * _SNIPPET)}"]

    def read(self, session: str, number: int, offset: int, stop: Callable[[], bool]) -> Found:
        """A turn, from its ``offset``-th message on. Raises SessionError."""
        folder = find_session(self._dir, session)
        if not may_read(folder, self._is_ours):
            raise SessionError(f"Session {folder.name} came with the folder, which the user does not trust.")
        try:
            found = find_turn(folder, number, stop)
        except OSError as error:
            raise SessionError(f"Session {folder.name} cannot be read: {error.strerror or error}.") from error
        if found.turn is None:
            began = f"Its first is {found.first}." if found.first > number else ""
            raise SessionError(f"Session {folder.name} has no turn {number}.", began)
        return _page(folder, found.turn, offset, has_next=found.has_next)


def _page(folder: Path, turn: Turn, offset: int, *, has_next: bool) -> Found:
    said = [text for message in turn.messages if (text := _shown(message))]
    kept: list[str] = []
    left = _PAGE
    for text in said[offset:]:
        left -= len(text.encode())
        if left < 0 and kept:
            break
        kept.append(text)
    reached = offset + len(kept)
    day = f", {local_time(turn.when, '%Y-%m-%d %H:%M')}" if turn.when else ""
    head = f"Session {safe_line(folder.name, 80)}{day}, turn {turn.number}:"
    if reached < len(said):
        ending = f"The turn goes on: offset {reached} of {len(said)}."
    else:
        ending = f"The turn ends here; turn {turn.number + 1} follows." if has_next else "Nothing follows."
    told = f"{head}\n{fenced_data('past-turn', chr(10).join(kept))}\n{ending}"
    return Found(told, f"turn {turn.number} of {folder.name}", "\n".join(kept))


def _shown(message: Message) -> str:
    """A message as the model reads it again; "" where it says nothing."""
    parts: list[str] = []
    for block in message.content:
        if isinstance(block, Text) and block.text.strip():
            parts.append(f"{'User' if message.role == 'user' else 'You'}: {_clipped(block.text, _SAID)}")
        elif isinstance(block, Image):
            parts.append("[image]")
        elif isinstance(block, ToolCall):
            args = encode_json(block.args).decode("utf-8", "replace")
            parts.append(f"You called {safe_line(block.name, 80)} {_clipped(args, _ASKED)}")
        elif isinstance(block, ToolResult):
            failed = " (failed)" if block.is_error else ""
            parts.append(f"Result{failed}: {_clipped(text_of(block.content), _ANSWERED)}")
    return "\n".join(parts)[:_MESSAGE]


def _clipped(text: str, most: int) -> str:
    """The beginning of a text without its secrets. They are looked for in more than is shown: half a key is
    still a secret, and none to see."""
    clean = redact(safe_text(text[: 2 * most + 2_000])).strip()
    left = len(text) - most
    return clean if len(clean) <= most else f"{clean[:most]}… ({left} more characters)"
