"""A note: one fact, as a value and as the text of its file."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from mewcode.core.codec import clean_text
from mewcode.core.errors import NoteError
from mewcode.memory import frontmatter
from mewcode.memory.frontmatter import Document, Value
from mewcode.memory.names import name_in_file, one_line

Type = Literal["user_preference", "correction_feedback", "project_knowledge", "reference_material"]
Level = Literal["user", "project"]
Origin = Literal["user", "agent", "tool", "web"]

TYPES: tuple[Type, ...] = (
    "user_preference",
    "correction_feedback",
    "project_knowledge",
    "reference_material",
)
LEVELS: tuple[Level, ...] = ("project", "user")
"""In the order in which a prompt has them."""
_ALIASES: dict[str, Type] = {
    "user": "user_preference",
    "feedback": "correction_feedback",
    "project": "project_knowledge",
    "reference": "reference_material",
}
_LEVEL_OF: dict[Type, Level] = {
    "user_preference": "user",
    "correction_feedback": "user",
    "project_knowledge": "project",
    "reference_material": "project",
}
ORIGINS: dict[str, Origin] = {"user": "user", "agent": "agent", "tool": "tool", "web": "web"}
RANKS: dict[Origin, int] = {"user": 2, "agent": 1, "tool": 0, "web": 0}
"""How much an origin's word counts against another's."""

KEYS = (
    "name", "description", "type", "level", "tags", "aliases", "created", "updated", "valid_from", "valid_to",
    "supersedes", "superseded_by", "conflicts_with", "confidence", "origin", "source", "pinned",
)  # fmt: skip
"""The keys that MewCode knows, in the order in which it writes them."""
_LISTS = ("tags", "aliases", "supersedes", "source")
_NEWLINES = re.compile("\r\n?")


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """Points in time are ISO 8601 texts, empty where open. ``supersedes``, ``superseded_by`` and
    ``conflicts_with`` name files of the same level. ``source``: ``session/record`` each. ``confidence``: 0 to
    1, None where nobody said. ``body`` has no blank lines at its ends, and ``\\n`` for newlines."""

    name: str
    type: Type
    level: Level
    description: str = ""
    body: str = ""
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    created: str = ""
    updated: str = ""
    valid_from: str = ""
    valid_to: str = ""
    supersedes: tuple[str, ...] = ()
    superseded_by: str = ""
    conflicts_with: str = ""
    confidence: float | None = None
    origin: Origin = "user"
    source: tuple[str, ...] = ()
    pinned: bool = False


def type_of(text: str) -> Type | None:
    """The type that a word names, by its own name or an alias."""
    word = text.strip().casefold().replace("-", "_")
    return _ALIASES.get(word) or next((kind for kind in TYPES if kind == word), None)


def level_of(kind: Type) -> Level:
    """Where notes of a type belong, unless somebody says otherwise."""
    return _LEVEL_OF[kind]


def clean_body(text: str) -> str:
    """The text as a note's body: newlines made one, blank lines at both ends and NULs left out."""
    text = _NEWLINES.sub("\n", clean_text(text).replace("\0", ""))
    return re.sub(r"\A(?:[^\S\n]*\n)+", "", text).rstrip()


def parse_note(text: str, *, file: str, level: Level) -> tuple[Note, str]:
    """The note that a file of a level holds, and what is wrong with its head ("" where nothing is). What a
    head does not say, the file's name does; the level is that of the folder, whatever is written."""
    document = frontmatter.split(text)
    values, problem = ({}, "") if document.head is None else frontmatter.read(document.head)
    named_type, named = name_in_file(file)
    fallback: Type = "user_preference" if level == "user" else "project_knowledge"
    kind = type_of(_text(values, "type")) or type_of(named_type) or fallback
    if problem:
        problem = f"{file}: {problem}"
    note = Note(
        name=one_line(_text(values, "name")) or named,
        type=kind,
        level=level,
        description=one_line(_text(values, "description")),
        body=clean_body(document.body),
        tags=_list(values, "tags"),
        aliases=_list(values, "aliases"),
        created=_text(values, "created"),
        updated=_text(values, "updated"),
        valid_from=_text(values, "valid_from"),
        valid_to=_text(values, "valid_to"),
        supersedes=_list(values, "supersedes"),
        superseded_by=_text(values, "superseded_by"),
        conflicts_with=_text(values, "conflicts_with"),
        confidence=_confidence(_text(values, "confidence")),
        origin=_origin(_text(values, "origin")),
        source=_list(values, "source"),
        pinned=_text(values, "pinned").casefold() in ("true", "yes", "on"),
    )
    return note, problem


def note_text(note: Note) -> str:
    """The text of a new file."""
    values = _values(note)
    lines = [f"{key}: {frontmatter.rendered(values[key])}" for key in KEYS if values[key]]
    return "\n".join([frontmatter.FENCE, *lines, frontmatter.FENCE, "", note.body, ""])


def changed_text(text: str, old: Note, new: Note) -> str:
    """The text of a file that held ``old``, with what differs in ``new`` changed; all else stays to the byte.

    Raises NoteError where the head is such that this cannot be done without losing something.
    """
    document = frontmatter.split(text)
    if document.head is None:
        changed = msgspec.structs.replace(new, body="")
        head = frontmatter.split(note_text(changed)).head
        body = document.newline * 2 + document.body.lstrip("\r\n")
        document = Document(head, body, document.newline, document.mark)
        if document.newline == "\r\n":
            document = _with_returns(document)
    else:
        before, after = _values(old), _values(new)
        wanted = {key: after[key] or None for key in KEYS if after[key] != before[key]}
        document = msgspec.structs.replace(document, head=_edited(document.head, wanted))
    if new.body != old.body:
        lead = re.match(r"(?:[^\S\n]*\n)*", document.body)
        before_body = (lead[0] if lead else "") or document.newline
        body = new.body.replace("\n", document.newline)
        document = msgspec.structs.replace(document, body=f"{before_body}{body}{document.newline}")
    return document.text


def _with_returns(document: Document) -> Document:
    head = None if document.head is None else [f"{line}\r" for line in document.head]
    return msgspec.structs.replace(document, head=head, opening="---\r")


def _edited(head: list[str], wanted: dict[str, str | list[str] | None]) -> list[str]:
    """The head with these values, and all others as before."""
    if not wanted:
        return head
    values, problem = frontmatter.read(head)
    edited = frontmatter.edit(head, wanted, KEYS)
    expected: dict[str, object] = {**values, **wanted}
    if _agrees(edited, expected, lenient=bool(problem)):
        return edited
    if problem:
        raise NoteError(f"the head of the note cannot be changed safely: {problem}", "Edit it by hand.")
    from mewcode.memory.frontmatter_yaml import dump_yaml

    # Written in a way of YAML that has no lines of its own for a key.
    end = "\r" if head[0].endswith("\r") else ""
    kept = {key: value for key, value in values.items() if key not in wanted}
    lines = dump_yaml(kept)
    written = frontmatter.edit(lines, {key: value for key, value in wanted.items() if value}, KEYS)
    if not _agrees(written, expected, lenient=False):
        raise NoteError("the head of the note cannot be changed safely", "Edit it by hand.")
    return [f"{line}{end}" for line in written]


def _agrees(head: list[str], expected: dict[str, object], *, lenient: bool) -> bool:
    values, problem = frontmatter.read(head)
    if lenient:
        return all(values.get(key) == expected.get(key) for key in KEYS if expected.get(key) is not None)
    wanted = {key: value for key, value in expected.items() if value is not None}
    return not problem and values == wanted


def _values(note: Note) -> dict[str, str | list[str]]:
    """What the head says, by key; empty where a key is left out."""
    values: dict[str, str | list[str]] = {}
    for key in KEYS:
        value = getattr(note, key)
        if key in _LISTS:
            values[key] = list(value)
        elif key == "confidence":
            values[key] = "" if value is None else f"{value:g}"
        elif key == "pinned":
            values[key] = "true" if value else ""
        else:
            values[key] = value
    return values


def _text(values: dict[str, Value], key: str) -> str:
    value = values.get(key, "")
    if isinstance(value, list):
        return ", ".join(item for item in value if isinstance(item, str))
    return value.strip() if isinstance(value, str) else ""


def _list(values: dict[str, Value], key: str) -> tuple[str, ...]:
    value = values.get(key, "")
    if isinstance(value, str):
        value = list[object](value.split(","))
    if not isinstance(value, list):
        return ()
    found = (one_line(item) for item in value if isinstance(item, str))
    return tuple(dict.fromkeys(item for item in found if item))


def _confidence(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None


def _origin(text: str) -> Origin:
    """Who writes a note by hand does not say so: that is the user. What is no origin counts for the agent."""
    return "user" if not text else ORIGINS.get(text.casefold(), "agent")
