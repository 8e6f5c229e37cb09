"""What a model answered when it was asked for notes: every valid proposal in it, and what is wrong with the
rest. An answer is untrusted text: reading it raises nothing and takes time in proportion to its length."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from mewcode.core.codec import clean_value
from mewcode.infra.redact import redact
from mewcode.infra.terminal_text import safe_line, safe_text
from mewcode.memory.entry import MOST_DESCRIPTION, cut_bytes
from mewcode.memory.extract.cutting import cut_lines
from mewcode.memory.names import one_line
from mewcode.memory.note import Level, Type, clean_body, type_of

Action = Literal["create", "update", "supersede", "delete"]

MOST_PROPOSALS = 40
"""Of one answer."""
MOST_BODY = 8_000
"""Bytes of a body."""
MOST_ALIASES = 12
_MOST_ANSWER = 400_000
"""Characters of an answer that are read; one of the length that a model is given is far below."""
_MOST_TRIED = 4_000_000
"""Characters that are read in vain: an answer may be made so that each of its braces has to be tried."""
_MOST_FAILED = 2_000
"""Braces that begin nothing. Each costs a look at all that stands before it: an error tells its line."""
_MOST_PROBLEMS = 20
_MOST_NAME = 120
_MOST_REASON = 300
_QUOTED = 40
"""Characters of a wrong value in the words about it."""

_ACTIONS: dict[str, Action] = {
    "create": "create", "add": "create", "new": "create", "save": "create",
    "update": "update", "edit": "update", "modify": "update", "change": "update",
    "supersede": "supersede", "replace": "supersede",
    "delete": "delete", "remove": "delete", "forget": "delete",
}  # fmt: skip
_LEVELS: dict[str, Level] = {
    "user": "user", "global": "user", "project": "project", "repo": "project", "repository": "project",
    "workspace": "project",
}  # fmt: skip
_KEYS = ("action", "name", "type", "body", "file", "description", "rests_on")
"""An object with one of them is meant as a proposal."""
_LIST = r"\{\s*\"\w{1,20}\"\s*:\s*\["
_THOUGHT = r"(?is)\A.*</think(?:ing)?>|\A\s*<think(?:ing)?>.*\Z"
_LABEL = r"m?(\d{1,6})"


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """One change that the model proposes. ``rests_on``: labels of messages as the question gives them
    (``m3``), and whatever else was named so. ``file``: of the note that is changed, "" for ``create``; a bare
    name, never a path. ``type`` and ``level``: None where nothing was said; a ``create`` has a type. Texts
    are as long as a note's may be; secrets may still be in them."""

    action: Action
    type: Type | None = None
    level: Level | None = None
    name: str = ""
    description: str = ""
    body: str = ""
    aliases: tuple[str, ...] = ()
    reason: str = ""
    rests_on: tuple[str, ...] = ()
    file: str = ""
    confidence: float | None = None


class Reply(msgspec.Struct, frozen=True):
    """``problems``: what was not understood, each in words for a model and a person, without the text of
    notes. ``is_usable``: False where nothing could be read and the answer was no honest empty list: then to
    ask once more helps."""

    proposals: tuple[Proposal, ...]
    problems: tuple[str, ...]
    is_usable: bool


class Found(msgspec.Struct, frozen=True):
    """``items``: what was meant as an entry, in order. ``is_empty_list``: an empty list stands there."""

    items: tuple[object, ...]
    problems: tuple[str, ...]
    is_empty_list: bool


def read_reply(text: str) -> Reply:
    """The proposals in an answer: all that are valid, wherever they stand in it."""
    found = find_objects(text, _KEYS)
    problems = list(found.problems)
    proposals: dict[Proposal, None] = {}
    for number, item in enumerate(found.items, 1):
        if len(proposals) == MOST_PROPOSALS:
            problems.append(f"only the first {MOST_PROPOSALS} entries count")
            break
        proposal, problem = _proposal(item)
        problems += [f"entry {number}: {problem}"] if problem else []
        if proposal is not None:
            proposals[proposal] = None
    if not found.items and not found.is_empty_list and not problems:
        problems.append("the answer holds no JSON of the form that was asked for")
    if len(problems) > _MOST_PROBLEMS:
        problems = [*problems[:_MOST_PROBLEMS], f"and {len(problems) - _MOST_PROBLEMS} more"]
    return Reply(tuple(proposals), tuple(problems), bool(proposals) or found.is_empty_list)


def find_objects(text: str, keys: Sequence[str]) -> Found:
    """The entries of a list in a model's answer: in prose, in code fences, in several blocks, or as far as
    they are complete where the answer is cut off. An object with one of the ``keys`` is an entry."""
    problems: list[str] = []
    if len(text) > _MOST_ANSWER:
        text = text[:_MOST_ANSWER]
        problems.append(f"of the answer only the first {_MOST_ANSWER:,} characters were read")
    text = re.sub(_THOUGHT, "", text, count=1)
    finder = _Finder(text, keys)
    if not finder.items and finder.failed:
        # What many models write, and JSON does not allow.
        again = _Finder(re.sub(r",(\s*[}\]])", r"\1", text), keys)
        finder = again if again.items or again.is_empty_list else finder
    return Found(tuple(finder.items), (*problems, *finder.problems), finder.is_empty_list)


class _Finder:
    """Each brace is tried as the beginning of an object; what is read is not looked into again, so that JSON
    within a text of it counts for nothing."""

    def __init__(self, text: str, keys: Sequence[str]) -> None:
        self.items: list[object] = []
        self.problems: list[str] = []
        self.failed = False
        self.is_empty_list = "{" not in text and bool(re.search(r"\[\s*\]", text))
        self._keys = keys
        decoder = json.JSONDecoder(strict=False)
        tried, failed, place = 0, 0, text.find("{")
        while place >= 0 and tried < _MOST_TRIED and failed < _MOST_FAILED:
            try:
                value, end = decoder.raw_decode(text, place)
            except json.JSONDecodeError as error:
                tried += error.pos - place
                end = place + 1
                self._fail(text, place)
            except (ValueError, RecursionError):  # a number of thousands of digits, or nested too deeply
                tried += 10_000
                end = place + 1
                self._fail(text, place)
            else:
                self._take(value)
            failed += end == place + 1
            place = text.find("{", end)
        if place >= 0:
            self.problems.append("the rest of the answer was left out: it can hardly be read")

    def _fail(self, text: str, place: int) -> None:
        self.failed = True
        begin = text[place : place + 80]
        if re.match(_LIST, begin):
            self.problems.append("the list is no whole JSON: what is complete in it counts")
        elif re.match(rf"\{{\s*\"(?:{'|'.join(map(re.escape, self._keys))})\"\s*:", begin):
            self.problems.append("an entry is no whole JSON")

    def _take(self, value: dict[str, Any]) -> None:
        try:
            value = clean_value(value)
        except RecursionError:
            self.problems.append("an entry is nested too deeply")
            return
        if any(key in value for key in self._keys):
            self.items.append(value)
            return
        for part in value.values():
            if isinstance(part, list):
                self.is_empty_list = self.is_empty_list or not part
                self.items += part
            elif isinstance(part, dict) and any(key in part for key in self._keys):
                self.items.append(part)


def _proposal(item: object) -> tuple[Proposal | None, str]:
    """The proposal that an entry is, if any, and what is wrong with it."""
    if not isinstance(item, dict):
        return None, "it is no object"
    file, is_path = _file(item.get("file"))
    action = _word(item.get("action")) or ("update" if file else "create")
    kind, level = type_of(_word(item.get("type"))), _word(item.get("level"))
    proposal = Proposal(
        action=_ACTIONS.get(action, "create"),
        type=kind,
        level=_LEVELS.get(level),
        name=one_line(_text(item.get("name")), _MOST_NAME),
        description=cut_bytes(one_line(_text(item.get("description"))), MOST_DESCRIPTION),
        body=cut_lines(clean_body(safe_text(_text(item.get("body"))[: 2 * MOST_BODY])), MOST_BODY),
        aliases=_words(item.get("aliases")),
        reason=one_line(_text(item.get("reason")), _MOST_REASON),
        rests_on=_labels(item.get("rests_on")),
        file="" if is_path else file,
        confidence=_share(item.get("confidence")),
    )
    problem = ""
    if action not in _ACTIONS:
        problem = f"there is no action {_shown(action)}"
    elif kind is None and _word(item.get("type")):
        problem = f"there is no type {_shown(_word(item.get('type')))}"
    elif level and proposal.level is None:
        problem = f"there is no level {_shown(level)}"
    elif is_path and proposal.action != "create":
        problem = f"{_shown(file)} is no name of a note's file"
    else:
        proposal, problem = _whole(proposal)
    if problem:
        return None, problem
    return proposal, f"{_shown(file)} is no name of a note's file: it was not used" if is_path else ""


def _whole(proposal: Proposal) -> tuple[Proposal, str]:
    """The proposal with what can be told from the rest of it, and what is missing."""
    if proposal.action == "update" and not proposal.file:
        # One of the same name becomes an update of that.
        proposal = msgspec.structs.replace(proposal, action="create")
    elif proposal.action == "create":
        proposal = msgspec.structs.replace(proposal, file="")
    says = proposal.body or proposal.description
    missing = ""
    if proposal.action == "create":
        missing = "type" * (proposal.type is None) or "name" * (not proposal.name) or "body" * (not says)
    elif not proposal.file:
        missing = "file"
    elif proposal.action == "supersede":
        missing = "name" * (not proposal.name) or "body" * (not says)
    elif proposal.action == "update" and not (says or proposal.name or proposal.aliases):
        missing = "body"
    return proposal, f"{proposal.action} needs a {missing}" if missing else ""


def _word(value: object) -> str:
    return value.strip().casefold()[:_MOST_NAME] if isinstance(value, str) else ""


def _text(value: object) -> str:
    """A text; paragraphs of it may come as a list."""
    if isinstance(value, list):
        return "\n".join(item for item in value if isinstance(item, str))
    return value if isinstance(value, str) else ""


def _words(value: object) -> tuple[str, ...]:
    items = re.split(r"[,，;；\n]", value[:4_000]) if isinstance(value, str) else value
    if not isinstance(items, list):
        return ()
    words = [one_line(item, _MOST_NAME) for item in items[: 4 * MOST_ALIASES] if isinstance(item, str)]
    return tuple(dict.fromkeys(filter(None, words)))[:MOST_ALIASES]


def _labels(value: object) -> tuple[str, ...]:
    """``m3`` for what is written as ``[M3]``, ``m3 (user)`` or 3; another word as it is."""
    items = value if isinstance(value, list) else [value]
    labels: list[str] = []
    for item in items[:100]:
        if isinstance(item, int) and not isinstance(item, bool):
            labels.append(f"m{item}" if 0 <= item < 10**6 else "?")
        elif isinstance(item, str) and item.strip():
            found = re.findall(rf"\b{_LABEL}\b", item[:_MOST_REASON].casefold())
            labels += [f"m{int(number)}" for number in found] or [one_line(item, _QUOTED)]
    return tuple(dict.fromkeys(labels))


def _file(value: object) -> tuple[str, bool]:
    """The file's name, and whether it says where a file is: that nobody but the store does."""
    name = value.strip() if isinstance(value, str) else ""
    is_path = bool(re.search(r"[/\\\0\n:]|\A[.~]", name)) or len(name.encode("utf-8", "replace")) > 255
    return name, is_path


def _share(value: object) -> float | None:
    if isinstance(value, str):
        try:
            value = float(value[:_QUOTED])
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= 1 else None


def _shown(value: str) -> str:
    return repr(redact(safe_line(value, _QUOTED)))
