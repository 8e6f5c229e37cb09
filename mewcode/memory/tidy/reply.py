"""What a model answered that was asked to tidy up: each change that can be understood, and what is wrong with
the rest."""

from __future__ import annotations

import re
from typing import Literal, get_args

import msgspec

from mewcode.infra.terminal_text import safe_text
from mewcode.memory.entry import MOST_DESCRIPTION, cut_bytes
from mewcode.memory.extract.reply import find_objects
from mewcode.memory.names import one_line
from mewcode.memory.note import clean_body

MOST_BODY = 8_000
"""Characters of a text."""
_MOST_ANSWER = 200_000
_MOST_ACTIONS = 100
_MOST_WORDS = 30
_MOST_PROBLEMS = 20
_OTHER_WORDS = {"reword": "shorten", "fix": "repair", "alias": "aliases", "add_aliases": "aliases"}

Do = Literal["merge", "close", "shorten", "repair", "aliases"]


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """One change. ``notes``, ``into``, ``by``: labels of notes as the question gives them."""

    do: Do
    notes: tuple[str, ...]
    into: str = ""
    by: str = ""
    valid_to: str = ""
    description: str = ""
    body: str = ""
    aliases: tuple[str, ...] = ()
    reason: str = ""


class Answer(msgspec.Struct, frozen=True):
    """``problems``: what was not understood, in words without the text of notes; none where the answer is an
    honest empty list."""

    actions: tuple[Action, ...]
    problems: tuple[str, ...]


def read_answer(text: str) -> Answer:
    """The changes in an answer: all that are valid, wherever they stand in it. Raises nothing, and takes time
    in proportion to its length."""
    found = find_objects(text[:_MOST_ANSWER], ("do", "notes"))
    problems = list(found.problems)
    actions: dict[Action, None] = {}
    for number, item in enumerate(found.items, 1):
        action = _action(item)
        if action is None:
            problems.append(f"entry {number} is no change that can be made")
        elif len(actions) < _MOST_ACTIONS:
            actions[action] = None
    if not found.items and not found.is_empty_list and not problems:
        problems.append("the answer holds no JSON of the form that was asked for")
    return Answer(tuple(actions), tuple(problems[:_MOST_PROBLEMS]))


def _action(item: object) -> Action | None:
    if not isinstance(item, dict):
        return None
    wanted = _line(item.get("do")).casefold()
    do = next((known for known in get_args(Do) if known == _OTHER_WORDS.get(wanted, wanted)), None)
    notes = _labels(item.get("notes"))
    if do is None or not notes:
        return None
    return Action(
        do=do,
        notes=notes,
        into="".join(_labels(item.get("into"))[:1]),
        by="".join(_labels(item.get("by"))[:1]),
        valid_to=_line(item.get("valid_to")),
        description=cut_bytes(_line(item.get("description")), MOST_DESCRIPTION),
        body=clean_body(safe_text(_text(item.get("body"))[:MOST_BODY])),
        aliases=tuple(map(_line, _texts(item.get("aliases")))),
        reason=_line(item.get("reason")),
    )


def _labels(value: object) -> tuple[str, ...]:
    """``n3`` for what is written as ``[N3]``, ``n3 (Deploys)`` or 3."""
    items = value if isinstance(value, list) else [value]
    found = (re.match(r"\W{0,3}n?(\d{1,4})\b", str(item)[:40].casefold()) for item in items[:_MOST_ACTIONS])
    return tuple(dict.fromkeys(f"n{int(match[1])}" for match in found if match))


def _texts(value: object) -> list[str]:
    items = value.split(",") if isinstance(value, str) else value
    return [item for item in items[:_MOST_WORDS] if isinstance(item, str)] if isinstance(items, list) else []


def _text(value: object) -> str:
    return "\n".join(_texts(value)) if isinstance(value, list) else value if isinstance(value, str) else ""


def _line(value: object) -> str:
    return one_line(_text(value))
