"""Sets of questions with what they should find: LoCoMo, LongMemEval and our own, told apart by their shape.

A set may hold several collections that know nothing of each other: a conversation of LoCoMo with its
questions, a question of LongMemEval with the sessions to look through.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import msgspec

from mewcode.core.errors import UsageError
from mewcode.memory.recall.values import Hit, NoteText, Turn

NOTHING = "nothing"
"""The kind of questions that should find nothing."""
_LOCOMO_KINDS = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_LOCOMO_OVERALL = (1, 2, 3, 4)
_EVIDENCE = r"D:?(\d+):0*(\d+)"
"""Such as ``D1:3``; some are written ``D:11:26`` or ``D30:05``, and several stand in one string."""


class Case(msgspec.Struct, frozen=True):
    """``wanted``: what should be found, as `Corpus.found` names it. ``is_overall``: whether it counts among
    all questions, not only among those of its kind. ``split``: the half of the set; "" where it has none."""

    question: str
    wanted: frozenset[str]
    kind: str
    is_overall: bool = True
    split: str = ""


class Corpus(msgspec.Struct, frozen=True):
    """What is looked through, and the questions. ``by_session``: a session counts as found, not its turn."""

    cases: tuple[Case, ...]
    notes: tuple[NoteText, ...] = ()
    sessions: dict[str, tuple[Turn, ...]] = {}
    by_session: bool = False

    def found(self, hits: Iterable[Hit]) -> list[str]:
        """What hits stand for, each once, in their order."""
        return list(dict.fromkeys(hit.source if self.by_session else hit.id for hit in hits))


class _OwnNote(msgspec.Struct):
    id: str
    type: str
    name: str
    description: str
    body: str
    lang: str
    aliases: tuple[str, ...] = ()


class _OwnQuery(msgspec.Struct):
    q: str
    target_ids: frozenset[str]
    kind: str
    qlang: str
    nlang: str
    split: Literal["", "tune", "report"] = ""


class _Own(msgspec.Struct):
    notes: tuple[_OwnNote, ...]
    queries: tuple[_OwnQuery, ...]


class _LocomoTurn(msgspec.Struct):
    speaker: str
    dia_id: str
    text: str = ""
    blip_caption: str = ""


class _LocomoQuestion(msgspec.Struct):
    question: str
    category: int
    evidence: tuple[str, ...] = ()


class _Locomo(msgspec.Struct):
    conversation: dict[str, Any]
    qa: tuple[_LocomoQuestion, ...]


class _Message(msgspec.Struct):
    role: str
    content: str


class _LongMemEval(msgspec.Struct):
    question_id: str
    question_type: str
    question: str
    haystack_session_ids: tuple[str, ...]
    haystack_sessions: tuple[tuple[_Message, ...], ...]
    answer_session_ids: frozenset[str]


def read_dataset(path: Path, *, aliases: bool = True, split: str = "") -> Iterator[Corpus]:
    """The collections of a set. ``aliases``: whether notes keep theirs; ``split``: only the questions of that
    half. Raises UsageError where the file cannot be read or is in none of the three forms."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error
    problems = []
    for name, read in (("our own", _own), ("LoCoMo", _locomo), ("LongMemEval", _long_mem_eval)):
        try:
            corpora = read(data)
        except (ValueError, RecursionError) as error:  # msgspec's errors are such
            problems.append(f"{name}: {error}")
            continue
        return _chosen(corpora, aliases=aliases, split=split)
    raise UsageError(f"{path} is no data set that is known", "\n".join(problems))


def _chosen(corpora: Iterable[Corpus], *, aliases: bool, split: str) -> Iterator[Corpus]:
    for corpus in corpora:
        cases = tuple(case for case in corpus.cases if split in ("", case.split))
        notes = corpus.notes
        if not aliases:
            notes = tuple(msgspec.structs.replace(note, aliases=()) for note in notes)
        yield msgspec.structs.replace(corpus, cases=cases, notes=notes)


def _own(data: bytes) -> list[Corpus]:
    own = msgspec.json.decode(data, type=_Own)
    known = {note.id for note in own.notes}
    for query in own.queries:
        if not query.target_ids <= known:
            raise ValueError(f"there is no note {', '.join(sorted(query.target_ids - known))}")
    cases = [
        Case(query.q, query.target_ids, query.kind if query.target_ids else NOTHING, split=query.split)
        for query in own.queries
    ]
    notes = [NoteText(note.id, note.name, note.aliases, note.description, note.body) for note in own.notes]
    return [Corpus(tuple(cases), tuple(notes))]


def _locomo(data: bytes) -> list[Corpus]:
    return [_conversation(item) for item in msgspec.json.decode(data, type=list[_Locomo])]


def _conversation(item: _Locomo) -> Corpus:
    sessions: dict[str, tuple[Turn, ...]] = {}
    for name, value in item.conversation.items():
        if re.fullmatch(r"session_\d+", name):
            for turn in msgspec.convert(value, list[_LocomoTurn]):
                session, number = _place(turn.dia_id)
                said = Turn(number, f"{turn.speaker}: {turn.text} {turn.blip_caption}".strip())
                sessions[session] = (*sessions.get(session, ()), said)
    there = {f"{session}/{turn.number}" for session, turns in sessions.items() for turn in turns}
    cases = []
    for question in item.qa:
        places = re.findall(_EVIDENCE, " ".join(question.evidence))
        wanted = frozenset(f"D{session}/{number}" for session, number in places) & there
        if wanted:  # a few questions name no turn that is there
            kind = _LOCOMO_KINDS.get(question.category, str(question.category))
            cases.append(Case(question.question, wanted, kind, question.category in _LOCOMO_OVERALL))
    return Corpus(tuple(cases), sessions=sessions)


def _place(dia_id: str) -> tuple[str, int]:
    found = re.fullmatch(_EVIDENCE, dia_id)
    if found is None:
        raise ValueError(f"{dia_id!r} names no turn")
    return f"D{found[1]}", int(found[2])


def _long_mem_eval(data: bytes) -> list[Corpus]:
    items = msgspec.json.decode(data, type=list[_LongMemEval])
    # What is asked there of things that were never said has nothing to find.
    asked = [item for item in items if not item.question_id.endswith("_abs")]
    return [
        Corpus(
            (Case(item.question, item.answer_session_ids, item.question_type),),
            sessions={
                name: _turns(messages)
                for name, messages in zip(item.haystack_session_ids, item.haystack_sessions, strict=True)
            },
            by_session=True,
        )
        for item in asked
    ]


def _turns(messages: tuple[_Message, ...]) -> tuple[Turn, ...]:
    """A user's messages, each with the answers behind it."""
    starts = [place for place, message in enumerate(messages) if message.role == "user" or not place]
    return tuple(
        Turn(number, "\n".join(message.content for message in messages[start:end]))
        for number, (start, end) in enumerate(pairwise((*starts, len(messages))), 1)
    )
