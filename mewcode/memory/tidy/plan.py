"""What may come of a model's answer: the one place of the rules of a tidy.

A model can make nothing true: no note gets a stronger origin, a newer date, or a word that is in none of
them. What a note of the user's says stays as it is, unless it is merged into another of theirs; what is
pinned, and what a person wrote into a file, is never closed. All of it stays on the disk.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from mewcode.memory.changes import Close, Ref, Request, Tidy, Update
from mewcode.memory.dates import time_of
from mewcode.memory.liveness import Dead
from mewcode.memory.names import name_key, one_line
from mewcode.memory.note import RANKS, Note, clean_body
from mewcode.memory.rules import origin_of
from mewcode.memory.similar import letter_pairs
from mewcode.memory.tidy.batches import is_whole
from mewcode.memory.tidy.copy import Item
from mewcode.memory.tidy.reply import Action

MOST_ALIASES = 12
_MOST_ALIAS = 80
"""Characters of one."""
_LONGER = 1.1
"""A text is at most so much longer than those that it is made of."""
_LEAST_COVERED = 0.3
"""Of a note's pairs of letters, in a text that takes its place."""
_SHORT = 200
"""Characters that a text may have whatever it is made of."""
_HARD = re.compile(
    r"https?://[^\s<>()\[\]\"'`]+|`[^`\n]+`|[A-Za-z_][\w.-]*[_/\d][\w./-]*|\d[\d.,:/-]*\d|\d", re.ASCII
)
_ENDS = ".,:;/-"
_REASONS = re.compile(r"^\W{0,4}(why|how to apply|为什么|如何应用|怎么做)\b", re.IGNORECASE | re.MULTILINE)


class Refused(Exception):
    """Nothing comes of an action; says why."""


class Planned(msgspec.Struct, frozen=True):
    """``does``: a word for each note that something becomes of: merged, closed, shortened, repaired, aliases,
    proposed, archived."""

    does: tuple[str, ...]
    request: Request


class Drafted(msgspec.Struct):
    """What is to become of one note. ``others``: those that it takes the place of; ``ends``: until when it
    was true."""

    item: Item
    fields: dict[str, object] = {}
    others: list[Item] = []
    does: list[str] = []
    ends: str = ""


class Plan:
    """Collects what is done about the notes of one level; each note is changed, or closed, once."""

    def __init__(self, now: float) -> None:
        self._now = now
        self._drafts: dict[str, Drafted] = {}
        self._closed: set[str] = set()
        self.problems: list[str] = []

    def add(self, actions: Sequence[Action], items: Mapping[str, Item]) -> None:
        """Takes what may come of an answer. ``items``: the notes by the labels that it names."""
        for action in sorted(actions, key=lambda action: action.do == "aliases"):
            try:
                self._take(action, items)
            except Refused as reason:
                self.problems.append(f"{action.do} {', '.join(action.notes)}: {reason}")

    @property
    def touched(self) -> frozenset[str]:
        """The files that something is done about."""
        return frozenset(self._drafts) | frozenset(self._closed)

    @property
    def closed(self) -> frozenset[str]:
        """The files that will not be in force any more."""
        return frozenset(self._closed)

    def requests(self) -> list[Planned]:
        """What to ask of the store."""
        return [planned for draft in self._drafts.values() for planned in _requests(draft)]

    def _take(self, action: Action, items: Mapping[str, Item]) -> None:
        labels = list(dict.fromkeys((*action.notes, *filter(None, (action.into, action.by)))))
        unknown = [label for label in labels if label not in items]
        if unknown or not action.notes:
            raise Refused(f"there is no note {', '.join(unknown) or 'named'}")
        notes = [items[label] for label in dict.fromkeys(action.notes)]
        match action.do:
            case "merge":
                self._merge(action, notes, items)
            case "close":
                for item in notes:
                    self._close(action, item, items)
            case "shorten":
                self._shorten(action, _only(notes))
            case "repair":
                self._repair(action, _only(notes))
            case _:
                self._aliases(action, _only(notes))

    def _merge(self, action: Action, notes: list[Item], items: Mapping[str, Item]) -> None:
        named = items[action.into] if action.into else notes[0]
        notes = list({item.file: item for item in (named, *notes)}.values())
        if len(notes) < 2:
            raise Refused("it takes two notes to merge")
        # The strongest word stays, whatever the model says.
        target = max(notes, key=lambda item: (_rank(item), item.note.pinned, item is named))
        others = [item for item in notes if item is not target]
        self._check_others(others)
        fields: dict[str, object] = {}
        if target.entry.by_hand or any(_rank(item) < _rank(target) for item in others):
            if _lost(others, _text(target.note)) or any(
                _covered(item, _text(target.note)) < _LEAST_COVERED for item in others
            ):
                raise Refused("the note whose words stay does not say all of it")
        else:
            fields = self._wording(action, target, notes)
        draft = self._draft(target)
        draft.fields |= fields
        draft.fields["tags"] = _joined(item.note.tags for item in notes)
        draft.fields["source"] = _joined(item.note.source for item in notes)
        _add_aliases(draft, [alias for item in others for alias in (*item.note.aliases, item.note.name)])
        _add_aliases(draft, action.aliases)
        self._take_place(draft, others, "merged")

    def _close(self, action: Action, item: Item, items: Mapping[str, Item]) -> None:
        self._check_others([item])
        if action.by:
            by = items[action.by]
            if by is item or _rank(by) < _rank(item):
                raise Refused("what contradicts it has less weight")
            if (time_of(by.note.updated) or 0.0) < (time_of(item.note.updated) or 0.0):
                raise Refused("what contradicts it is older")
            self._take_place(self._draft(by, again=True), [item], "closed")
            return
        end = time_of(action.valid_to, day_ends=True)
        if end is None or end > self._now:
            raise Refused("it has no day on which it ended")
        if not _says_day(_text(item.note), action.valid_to):
            raise Refused("the note does not say that it ended then")
        draft = self._draft(item)
        draft.ends, draft.does = action.valid_to, ["closed"]
        self._closed.add(item.file)

    def _shorten(self, action: Action, item: Item) -> None:
        if item.is_users:
            raise Refused("the user's words stay")
        fields = self._wording(action, item, [item])
        if len(str(fields["body"])) >= len(item.note.body):
            raise Refused("it would get no shorter")
        self._reword(item, fields, "shortened")

    def _repair(self, action: Action, item: Item) -> None:
        """A note of the user's gets a proposal beside it."""
        if not item.dead:
            raise Refused("nothing that it names is gone")
        fields = self._wording(action, item, [item], repaired=item.dead)
        if item.is_users and item.is_refused:
            raise Refused("the user was asked already")
        self._reword(item, fields, "proposed" if item.is_users else "repaired")

    def _reword(self, item: Item, fields: dict[str, object], does: str) -> None:
        draft = self._draft(item)
        draft.fields |= fields
        draft.does.append(does)

    def _aliases(self, action: Action, item: Item) -> None:
        draft = self._draft(item, again=True)
        before = draft.fields.get("aliases", item.note.aliases)
        _add_aliases(draft, action.aliases)
        if draft.fields["aliases"] == before:
            if not draft.does:
                del self._drafts[item.file]
            raise Refused("it has them already, or as many as it may")
        draft.does.append("aliases")

    def _wording(
        self, action: Action, target: Item, notes: Sequence[Item], repaired: Sequence[Dead] = ()
    ) -> dict[str, object]:
        """The new text, checked against those that it is made of. ``repaired``: what may be missing in it,
        and where it is now."""
        if not all(map(is_whole, notes)):
            raise Refused("it was not shown whole")
        body = clean_body(action.body)
        description = one_line(action.description)
        if not body:
            raise Refused("it would say nothing")
        moved = [dead.now for dead in repaired]
        size = sum(len(item.note.body) for item in notes) + sum(map(len, moved))
        if len(body) > max(size * _LONGER, _SHORT):
            raise Refused("it would get longer")
        new = Note(
            name="", type=target.note.type, level=target.note.level, body=body, description=description
        )
        known = "\n".join((*(_text(item.note) for item in notes), *moved)).lower()
        if invented := sorted(word for word in _hard(_text(new)) if word not in known):
            raise Refused(f"it would say what no note does: {one_line(invented[0], 80)}")
        if lost := _lost(notes, _text(new), [dead.text.lower() for dead in repaired]):
            raise Refused(f"it would no longer say {one_line(lost[0], 80)}")
        if unsaid := [item for item in notes if _covered(item, _text(new)) < _LEAST_COVERED]:
            raise Refused(f"it would no longer say what {one_line(unsaid[0].note.name, 80)} says")
        if any(not _reasons(item.note.body) <= _reasons(body) for item in notes):
            raise Refused("it would lose its reason, or how to apply it")
        fields: dict[str, object] = {"body": body}
        return fields | {"description": description} if description else fields

    def _check_others(self, others: Sequence[Item]) -> None:
        """Raises `Refused` where one of them may not be closed."""
        for item in others:
            if item.note.pinned:
                raise Refused("a pinned note is not closed")
            if item.entry.by_hand:
                raise Refused("a note that a person wrote is not closed")
            if item.file in self.touched:
                raise Refused("one of them is changed already")

    def _draft(self, item: Item, *, again: bool = False) -> Drafted:
        """``again``: there may be one already, which goes on."""
        if item.file in self._closed or (item.file in self._drafts and not again):
            raise Refused("it is changed already")
        return self._drafts.setdefault(item.file, Drafted(item))

    def _take_place(self, draft: Drafted, others: Sequence[Item], does: str) -> None:
        draft.others += others
        draft.does += [does] * len(others)
        self._closed |= {item.file for item in others}


def _requests(draft: Drafted) -> list[Planned]:
    item = draft.item
    ref = Ref(item.entry.level, item.file, item.digest)
    if draft.ends:
        return [Planned(("closed",), Close(ref, draft.ends))]
    found: list[Planned] = []
    fields, does = dict(draft.fields), list(draft.does)
    if "proposed" in does:  # the note itself keeps its words, and may get others to be found by
        does.remove("proposed")
        words: dict[str, object] = {
            name: fields.pop(name) for name in ("body", "description") if name in fields
        }
        found.append(Planned(("proposed",), Update(ref, words, by_origin="agent")))
    if does:
        others = tuple(Ref(other.entry.level, other.file, other.digest) for other in draft.others)
        found.append(Planned(tuple(does), Tidy(ref, fields, others)))
    return found


def _add_aliases(draft: Drafted, words: Sequence[str]) -> None:
    note = draft.item.note
    known = draft.fields.get("aliases", note.aliases)
    aliases = list(known) if isinstance(known, tuple) else []
    keys = {name_key(note.name), *map(name_key, aliases)}
    for word in words:
        word = one_line(word, _MOST_ALIAS)
        if len(aliases) < MOST_ALIASES and word and (key := name_key(word)) not in keys:
            aliases.append(word)
            keys.add(key)
    draft.fields["aliases"] = tuple(aliases)


def _only(notes: Sequence[Item]) -> Item:
    if len(notes) != 1:
        raise Refused("it is about one note")
    return notes[0]


def _rank(item: Item) -> int:
    return RANKS[origin_of(item.entry)]


def _text(note: Note) -> str:
    return "\n".join((note.name, note.description, note.body))


def _covered(item: Item, text: str) -> float:
    """How much of a note a text holds, by pairs of letters: nearly nothing where it is about another thing,
    or in another language."""
    pairs = letter_pairs(item.note.body).keys()
    return len(pairs & letter_pairs(text).keys()) / len(pairs) if pairs else 1.0


def _lost(notes: Sequence[Item], text: str, gone: Sequence[str] = ()) -> list[str]:
    """What the notes say in hard words and the text does not, but for what is ``gone``."""
    text = text.lower()
    words = {word for item in notes for word in _hard(item.note.body)}
    return sorted(word for word in words if word not in text and not any(name in word for name in gone))


def _hard(text: str) -> set[str]:
    """What of a text is no matter of wording: links, code, names with digits or signs, numbers."""
    found = (match.strip("`").rstrip(_ENDS).strip().lower() for match in _HARD.findall(text))
    return {word for word in found if word}


def _reasons(text: str) -> set[str]:
    return {name.lower() for name in _REASONS.findall(text)}


def _says_day(text: str, day: str) -> bool:
    """Whether the text names the day, as ``2026-01-31``, ``2026/1/31`` or ``2026年1月31日``."""
    found = re.findall(r"(\d{4})\D{1,2}(\d{1,2})\D{1,2}(\d{1,2})(?!\d)", text)
    return any(f"{year}-{month:0>2}-{of_month:0>2}" == day for year, month, of_month in found)


def _joined(words: Iterable[Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for some in words for word in some))
