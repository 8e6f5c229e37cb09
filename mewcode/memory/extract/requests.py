"""What the store is asked to do, out of what a model proposes: whose word a note is, is decided here, by the
messages that it rests on, and never by what the model says."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from mewcode.core.message import Message
from mewcode.infra.redact import redact
from mewcode.infra.terminal_text import safe_line
from mewcode.memory.changes import Create, Forget, Ref, Request, Supersede, Update
from mewcode.memory.entry import MOST_DESCRIPTION, Entry
from mewcode.memory.extract.evidence import Evidence, evidence_of
from mewcode.memory.extract.own_words import own_words
from mewcode.memory.extract.records import records_of
from mewcode.memory.extract.reply import MOST_BODY, Proposal
from mewcode.memory.extract.wording import SUSPICIOUS, dated_body, dated_line, is_instruction
from mewcode.memory.names import SUFFIX, file_key
from mewcode.memory.note import Level, Note, Origin, Type, level_of

_SHOWN = 80
_MOST_REASON = 300


class Drafts(msgspec.Struct, frozen=True):
    """``problems``: what is not carried out, and why; they may name notes. ``sources``: ``session/record`` of
    all that the requests rest on. ``reason``: why, in the model's words, on one line without secrets."""

    requests: tuple[Request, ...]
    problems: tuple[str, ...]
    sources: tuple[str, ...] = ()
    reason: str = ""


def requests_of(
    proposals: Sequence[Proposal],
    messages: Sequence[Message],
    entries: Sequence[Entry],
    *,
    session_id: str,
    today: dt.date,
    may_delete: Callable[[str], bool],
) -> Drafts:
    """The requests for these proposals. ``messages``: those of the question. ``entries``: all notes at the
    time when it was asked: what was changed since is left as it is.

    What rests on a tool or a page, or reads like an instruction, is made so that the store lets it wait for
    the user's yes. A note is deleted on the user's own word alone, which ``may_delete`` is asked about.
    Raises nothing.
    """
    drafting = _Drafting(entries, session_id, today, may_delete)
    safe = [_safe(proposal) for proposal in proposals]
    for proposal, evidence in zip(safe, evidence_of(safe, records_of(messages)), strict=True):
        drafting.add(proposal, evidence)
    return Drafts(
        tuple(drafting.requests),
        tuple(drafting.problems),
        tuple(dict.fromkeys(drafting.sources)),
        safe_line("; ".join(dict.fromkeys(filter(None, drafting.reasons))), _MOST_REASON),
    )


class _Drafting:
    """Adds a request for each proposal, or the reason why there is none."""

    def __init__(
        self, entries: Sequence[Entry], session_id: str, today: dt.date, may_delete: Callable[[str], bool]
    ) -> None:
        self.requests: list[Request] = []
        self.problems: list[str] = []
        self.sources: list[str] = []
        self.reasons: list[str] = []
        self._entries = [entry for entry in entries if not entry.room and not entry.superseded_by]
        self._session_id = session_id
        self._today = today
        self._may_delete = may_delete
        self._changed: set[tuple[Level, str]] = set()

    def add(self, proposal: Proposal, evidence: Evidence) -> None:
        source = tuple(f"{self._session_id}/{record.id}" for record in evidence.records)
        made: Request | str
        if proposal.action == "create":
            kind = proposal.type or "project_knowledge"
            note = self._note(proposal, evidence, source, kind, proposal.level or level_of(kind))
            made = Create(note, merge_similar=True, by_itself=not evidence.is_asked_for)
        else:
            entry = self._entry(proposal)
            made = entry if isinstance(entry, str) else self._change(proposal, evidence, source, entry)
        if isinstance(made, str):
            about = safe_line(redact(proposal.name or proposal.file), _SHOWN)
            self.problems.append(f"{proposal.action} {about}: {made}")
            return
        self.requests.append(made)
        self.sources += source
        self.reasons.append(proposal.reason)

    def _entry(self, proposal: Proposal) -> Entry | str:
        """The note in force that a proposal names; else what is wrong with that."""
        file = file_key(proposal.file)
        wanted = {file, f"{file}{SUFFIX}"}
        found = [entry for entry in self._entries if file_key(entry.file) in wanted]
        if not found:
            return "there is no such note in force"
        of_level = [entry for entry in found if entry.level == proposal.level]
        if len(found) > 1 and len(of_level) != 1:
            return "there are notes of that file at both levels, and none was named"
        entry = found[0] if len(found) == 1 else of_level[0]
        if (entry.level, entry.file) in self._changed:
            return "the same answer changes that note already"
        self._changed.add((entry.level, entry.file))
        return entry

    def _change(
        self, proposal: Proposal, evidence: Evidence, source: tuple[str, ...], entry: Entry
    ) -> Request | str:
        ref = Ref(entry.level, entry.file, entry.digest)
        if proposal.action == "delete":
            asks = any(self._may_delete(own_words(record.text)) for record in evidence.records)
            if evidence.origin != "user" or not asks:
                return "only the user's own words delete a note"
            return Forget(ref)
        origin = _origin(proposal, evidence)
        is_foreign = origin in ("tool", "web")
        if proposal.action == "supersede" or is_foreign:
            if not (proposal.body or proposal.description):
                return "its words are no evidence"
            # A foreign word changes nothing: beside the note it waits for the user's yes.
            kind = entry.type if proposal.action == "update" else proposal.type or entry.type
            named = msgspec.structs.replace(proposal, name=proposal.name or entry.name)
            return Supersede(ref, self._note(named, evidence, source, kind, entry.level))
        return self._update(proposal, origin, source, entry, ref)

    def _update(
        self, proposal: Proposal, origin: Origin, source: tuple[str, ...], entry: Entry, ref: Ref
    ) -> Request:
        fields: dict[str, Any] = {"aliases": _joined(proposal.aliases, entry.aliases)}
        if proposal.body:
            fields["body"] = dated_body(proposal.body, self._today, MOST_BODY)
        if proposal.body or proposal.description:
            # A description goes with its body: the old one may say what is no longer so.
            fields["description"] = dated_line(proposal.description, self._today, MOST_DESCRIPTION)
        if proposal.name:
            fields["name"] = proposal.name
        # Words to search by take nobody's word away, and are nobody's.
        says_more = len(fields) > 1
        if says_more and proposal.confidence is not None:
            fields["confidence"] = proposal.confidence
        if source:
            fields["source"] = _joined(source, entry.source)
        return Update(ref, fields, origin if says_more else "")

    def _note(
        self, proposal: Proposal, evidence: Evidence, source: tuple[str, ...], kind: Type, level: Level
    ) -> Note:
        return Note(
            name=proposal.name,
            type=kind,
            level=level,
            description=dated_line(proposal.description, self._today, MOST_DESCRIPTION),
            body=dated_body(proposal.body, self._today, MOST_BODY),
            tags=(SUSPICIOUS,) if _is_suspicious(proposal, evidence) else (),
            aliases=proposal.aliases,
            confidence=proposal.confidence,
            origin=_origin(proposal, evidence),
            source=source or (self._session_id,),
        )


def _origin(proposal: Proposal, evidence: Evidence) -> Origin:
    """The origin that a note gets. One that reads like an instruction counts as a tool's word, whoever it
    rests on: so it waits for the user's yes."""
    if evidence.origin in ("user", "agent") and _is_suspicious(proposal, evidence):
        return "tool"
    return evidence.origin


def _is_suspicious(proposal: Proposal, evidence: Evidence) -> bool:
    said = "\n".join((proposal.name, proposal.description, proposal.body, *proposal.aliases))
    return is_instruction(said, evidence.origin)


def _safe(proposal: Proposal) -> Proposal:
    """Without secrets."""
    return msgspec.structs.replace(
        proposal,
        name=redact(proposal.name),
        description=redact(proposal.description),
        body=redact(proposal.body),
        aliases=tuple(map(redact, proposal.aliases)),
        reason=redact(proposal.reason),
    )


def _joined(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))
