"""What is to be known of the part of a session that is not read: found by its bytes, hardly any of them
parsed."""

from __future__ import annotations

from itertools import islice
from typing import Any

import msgspec

from mewcode.core.message import Usage
from mewcode.sessions.record import Totals, totals_of
from mewcode.sessions.record_files import RecordFiles
from mewcode.sessions.skim import Skimmed, is_taken_along, skim

REACH = 16_000_000
"""Bytes before the part that is read that are looked through: it takes some thirty milliseconds."""
BEGINNING = 65_536
"""Bytes at the start of the file that are looked through where that is not reached: a title is made after the
first answer, and a model is named there."""
_ABOUT = ("mode", "provider", "model")
_MODEL = b'"model":"'
_TRIES = 1_000
"""Lines that hold those bytes and are looked at: it may also be an argument of a call."""
_SPOKEN = b'"role":"user"'
_ADDED = b'"origin":"'
"""Stands in what the program says in the user's place: an origin is written where it is not the role's own.
Within a text both would have backslashes."""


class Titles(msgspec.Struct):
    """The last title of each kind, None where none was seen."""

    own: str | None = None
    made: str | None = None

    def take(self, record: dict[str, Any]) -> None:
        """Takes a title that was given after all those taken until now."""
        title = record.get("title")
        if isinstance(title, str):
            if record.get("auto") is True:
                self.made = title
            else:
                self.own = title

    def join(self, earlier: Titles) -> None:
        """Takes titles that were given before all those taken until now."""
        self.own = earlier.own if self.own is None else self.own
        self.made = earlier.made if self.made is None else self.made

    @property
    def is_settled(self) -> bool:
        """Whether an earlier one would change nothing."""
        return bool(self.own) or (self.own is not None and self.made is not None)

    @property
    def title(self) -> str:
        """The user's, else the one that was made."""
        return self.own or self.made or ""


class Earlier(msgspec.Struct):
    """``about``: cwd, mode, provider and model, as last recorded before. ``totals``: what was used before.
    ``turns``: how often the user spoke before. ``unknown``: which of mode, provider, model, totals, turns and
    title may be others in truth, since not all was looked through."""

    about: dict[str, str] = {}
    totals: Totals = Totals()
    turns: int = 0
    titles: Titles = msgspec.field(default_factory=Titles)
    unknown: set[str] = set()


def look_back(files: RecordFiles, start: int, *, is_marker: bool) -> Earlier:
    """Looks through what stands before a place at which a line begins. ``is_marker``: that is a compaction's
    marker, which says all but the title. Raises OSError."""
    if start <= 0:
        return Earlier()
    search = _Search(files, start)
    search.run(set() if is_marker else {*_ABOUT, "totals", "turns"})
    found = search.found
    is_title_sure = found.titles.is_settled or search.down_to <= files.own.start
    _fill_in(files, search)
    if is_marker:
        found.unknown = {*_ABOUT, "totals", "turns"}
    else:
        search.take_model()
        search.add_up()
        found.unknown = search.wanted
    if not is_title_sure:
        found.unknown.add("title")
    return found


def record_about(record: dict[str, Any]) -> dict[str, str]:
    """What a record says of the session's cwd, mode, provider and model."""
    named = ((name, record.get(name)) for name in ("cwd", *_ABOUT))
    return {name: value for name, value in named if isinstance(value, str) and value}


def count_of(value: Any) -> int:
    """A number of things, 0 where the value is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**53 else 0


class _Search:
    """One way back through the control records. ``wanted``: what was not found yet. ``turns_from``,
    ``totals_from``, ``model_from``: where the last record stands that holds a sum, or names the model."""

    def __init__(self, files: RecordFiles, start: int) -> None:
        self.files = files
        self.start = start
        self.down_to = max(0, start - REACH)
        self.turns_from = self.totals_from = self.model_from = self.down_to
        self.found = Earlier()
        self.wanted: set[str] = set()

    def run(self, wanted: set[str]) -> None:
        self.wanted = wanted
        own = self.files.own.start
        down_to = self.down_to if wanted else max(self.down_to, own)
        for place, first in self.files.search_back(b'{"type":"', self.start, down_to):
            kind = first[9:].partition(b'"')[0]
            if kind == b"title" and place >= own:
                earlier = Titles()
                earlier.take(self.files.control_at(place))
                self.found.titles.join(earlier)
            elif kind in (b"state", b"session") and self.wanted & {*_ABOUT}:
                self._take_about(self.files.control_at(place), place)
            elif kind == b"usage" and "totals" in self.wanted:
                usage = self.files.control_at(place)
                self._take_totals(usage, place)
                self._take_turns(usage, place)
            elif kind == b"compact" and self.wanted:
                self._take_marker(self.files.control_at(place), place)
            if not self.wanted and self.found.titles.is_settled:
                return
        if self.down_to == 0:
            self.wanted -= {"turns", "mode", "provider", "model"}

    def take_model(self) -> None:
        """Takes the model that a message has named since the last record that did."""
        lines = self.files.lines_with(_MODEL, self.start, self.model_from)
        for _, line in islice(lines, _TRIES):
            record = skim(line)
            if isinstance(record, Skimmed) and isinstance(record.model, str) and record.model:
                self.found.about["model"] = record.model
                self.wanted.discard("model")
                return

    def add_up(self) -> None:
        """Adds what stands behind the last records that hold a sum."""
        files, found = self.files, self.found
        spoken, added = files.count((_SPOKEN, _ADDED), self.turns_from, self.start)
        found.turns += max(0, spoken - added)
        if "totals" in self.wanted:
            return
        used: dict[str, Usage] = dict(found.totals.models)
        model = found.about.get("model", "")
        for _, line in files.lines(self.totals_from, self.start):
            skimmed = skim(line) if b'"usage":{' in line else None
            if isinstance(skimmed, Skimmed) and skimmed.usage is not None and not skimmed.of:
                model = skimmed.model if isinstance(skimmed.model, str) else model
                used[model] = used.get(model, Usage()) + skimmed.usage
        found.totals = Totals(used, found.totals.cost_usd)

    def _take_about(self, record: dict[str, Any], place: int) -> None:
        for name, value in record_about(record).items():
            if name in self.wanted:
                self.found.about[name] = value
                self.wanted.discard(name)
                self.model_from = place if name == "model" else self.model_from

    def _take_totals(self, record: dict[str, Any], place: int) -> None:
        if record:
            self.found.totals, self.totals_from = totals_of(record), place
            self.wanted.discard("totals")

    def _take_marker(self, marker: dict[str, Any], place: int) -> None:
        self._take_about(marker, place)
        if "totals" in self.wanted and isinstance(marker.get("usage"), dict):
            self._take_totals(marker["usage"], place)
        self._take_turns(marker, self._behind(place))

    def _take_turns(self, record: dict[str, Any], counted_from: int) -> None:
        turns = count_of(record.get("turns"))
        if turns and "turns" in self.wanted:
            self.found.turns, self.turns_from = turns, counted_from
            self.wanted.discard("turns")

    def _behind(self, marker: int) -> int:
        """The end of what a compaction has written behind its marker: those were counted before."""
        for place, line in self.files.lines(marker, self.start):
            skimmed = skim(line) if place > marker else None
            if place > marker and not (isinstance(skimmed, Skimmed) and is_taken_along(skimmed)):
                return place
        return self.start


def _fill_in(files: RecordFiles, search: _Search) -> None:
    """Takes from the start of the session's own file what was not found nearer."""
    found, own = search.found, files.own
    if search.start <= own.start:  # it will be read
        return
    for name, value in record_about(files.session).items():
        found.about.setdefault(name, value)
    wants_model, wants_title = "model" in search.wanted, search.down_to > own.start
    if not wants_model and not wants_title:
        return
    head = own.read(own.start, min(own.start + BEGINNING, search.start, own.end))
    titles = Titles()
    for line in head.split(b"\n")[:-1]:
        record = skim(line)
        if isinstance(record, dict) and record["type"] == "title":
            titles.take(record)
        elif wants_model and isinstance(record, Skimmed) and isinstance(record.model, str):
            found.about["model"] = record.model or found.about.get("model", "")
    if wants_title:
        found.titles.join(titles)
