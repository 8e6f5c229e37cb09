"""The summary that takes the place of old messages: what a model is asked, what its answer says, and the
message that is made of it. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import msgspec

from mewcode.context.shorten import both_ends
from mewcode.context.transcript import transcript
from mewcode.core.ids import new_id
from mewcode.core.message import Message, Text
from mewcode.core.stream import StopReason
from mewcode.core.tokens import text_tokens
from mewcode.infra.fence import fenced_data
from mewcode.infra.redact import redact
from mewcode.infra.terminal_text import safe_line, safe_text

SECTIONS = (
    "Goal",
    "Decisions",
    "Files",
    "Commands",
    "Errors and failed attempts",
    "Open tasks",
    "Forbidden",
    "Next step",
)
"""The headings, in the order in which a summary has them."""
NOTHING = "None."
_TAG = "conversation-summary"
_MOST_INSTRUCTIONS = 4_000
"""Characters of what the user asked to be kept in mind."""
# ``## Goal``, and what models make of it: ``**Goal:**``, ``### 1. Goal``, ``## Goal（目标）``.
_HEADING = (
    rf"^[ \t]{{0,3}}(?:#{{1,6}}[ \t]*|(?=\*\*))(?:\*\*)?(?:\d+[.)][ \t]*)?({'|'.join(SECTIONS)})"
    r"[ \t]*(?:[(（][^)）\n]{0,40}[)）])?[ \t]*[:：]?[ \t]*(?:\*\*)?[ \t]*[:：]?[ \t]*#*$"
)
_EMPTY = r"[\s*_.-]*(?:none|n/a|nothing|无|没有|暂无)?[\s*_.。-]*"
_LONGEST_NOTHING = 20
_FENCED = r"```[^\n]*\n(.*)\n```"
_THOUGHT = r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>"

_STANDS_FOR = (
    "The earlier part of this conversation was taken out to save room. The record below stands for it: a "
    "model wrote it from that part, so that you can go on with the work."
)
_HOW_TO_READ = (
    "What the user forbade still holds. Do not do again what it says is done, nor try again what it says "
    "failed; read a file again before you change it."
)
_KEPT = (
    "Behind the record stand messages kept word for word: the list of tasks as it was set last, the user's "
    "own messages of before (the record covers them: do not answer them again), then the last messages of "
    "the conversation. Where they differ, the newer holds. Go on from there, and say nothing of this record."
)
_WRITING_TOOLS = frozenset({"write_file", "edit_file"})
_MOST_FILES = 60

Tokens = Callable[[str], int]


class Summary(msgspec.Struct, frozen=True):
    """What stands under each of `SECTIONS`, in their order; `NOTHING` where there is nothing."""

    sections: tuple[str, ...]

    @property
    def text(self) -> str:
        """The sections under their headings."""
        return "\n\n".join(
            f"## {heading}\n{body}" for heading, body in zip(SECTIONS, self.sections, strict=True)
        )

    def section(self, heading: str) -> str:
        """What stands under a heading."""
        return self.sections[SECTIONS.index(heading)]


class Problem(msgspec.Struct, frozen=True):
    """Why an answer is no summary, in words that follow "because"."""

    reason: str


@cache
def prompt() -> str:
    """The system prompt of the request for a summary. Read at the first use."""
    return Path(__file__).with_name("summary.md").read_text(encoding="utf-8").strip()


def request(
    messages: Sequence[Message],
    instructions: str = "",
    previous: str = "",
    *,
    budget: int,
    most: int = 8_000,
    tokens: Tokens = text_tokens,
) -> str:
    """The text that goes with `prompt`, of at most ``budget`` tokens: the messages as data.

    ``instructions``: what the user wants to be kept in mind. ``previous``: the text of the summary that
    stands for what went before; without one, that of a compaction among the messages is taken. ``most``:
    tokens that the answer may have. Takes time in proportion to the messages; call it in a thread.
    """
    earlier = [message for message in messages if message.origin == "compaction"]
    if not previous:
        previous = "\n\n".join(_inside(message.text) for message in earlier)
    rest = [message for message in messages if message.origin != "compaction"]
    previous = _at_most(redact(safe_text(previous)).strip(), budget // 3, tokens)
    head = [fenced_data("earlier-record", previous)] if previous else []
    tail = []
    if instructions.strip():
        asked = fenced_data("keep-in-mind", redact(safe_text(instructions[:_MOST_INSTRUCTIONS])))
        tail.append(f"The user asks that the record keep this in mind above all:\n{asked}")
    tail.append(_closing(most))
    left = budget - tokens("\n\n".join([*head, *tail])) - 20
    body = fenced_data("conversation", transcript(rest, tokens, max(left, 200)))
    return "\n\n".join([*head, body, *tail])


def _at_most(text: str, budget: int, tokens: Tokens) -> str:
    """Both ends of a text, of about so many tokens."""
    used = tokens(text)
    return text if used <= budget else both_ends(text, len(text) * budget // used)


def _closing(most: int) -> str:
    headings = ", ".join(f"`## {heading}`" for heading in SECTIONS)
    return (
        f"Write the record now: at most {most * 2 // 3:,} tokens, the sections {headings}, each once and in "
        "this order, in the language in which the user speaks."
    )


def read(
    answer: str,
    *,
    stop: StopReason = "end_turn",
    replaces: int | None = None,
    tokens: Tokens = text_tokens,
) -> Summary | Problem:
    """The summary in a model's answer, secrets redacted; or why there is none: empty, cut off (``stop``), a
    section missing or there twice, or no shorter than the ``replaces`` tokens that it is to stand for."""
    text = _plain_answer(answer)
    if not text:
        return Problem("the summary was empty")
    if stop in ("max_tokens", "context_window"):
        return Problem("the summary was cut off at the output limit")
    if stop == "refusal":
        return Problem("the model refused to summarize")
    headings = list(_headings(text))
    named = {name for name, _, _ in headings}
    if missing := [heading for heading in SECTIONS if heading not in named]:
        return Problem(f"the summary lacks {_listed(missing)}")
    if (chosen := _in_order(headings)) is None:
        return Problem("the summary has a section twice")
    ends = [*(start for _, start, _ in chosen[1:]), len(text)]
    found = {name: _body(text[begin:end]) for (name, _, begin), end in zip(chosen, ends, strict=True)}
    bodies = [found[heading] for heading in SECTIONS]
    if all(body == NOTHING for body in bodies):
        return Problem("the summary was empty")
    if bodies[0] == NOTHING:
        return Problem("the summary does not say what the user wants")
    summary = Summary(tuple(map(redact, bodies)))
    if replaces is not None and (size := tokens(summary.text)) >= replaces:
        return Problem(f"the summary ({size:,} tokens) is no shorter than what it replaces ({replaces:,})")
    return summary


def completed(summary: Summary, messages: Sequence[Message]) -> Summary:
    """The summary with the files that were written in ``messages`` and that it does not name."""
    text = summary.text
    missing = [path for path in _written(messages) if path not in text][-_MOST_FILES:]
    if not missing:
        return summary
    files = summary.section("Files")
    lines = [] if files == NOTHING else [files]
    lines.append("Also written, in the part that this stands for: " + ", ".join(missing))
    sections = list(summary.sections)
    sections[SECTIONS.index("Files")] = "\n".join(lines)
    return Summary(tuple(sections))


def _written(messages: Sequence[Message]) -> list[str]:
    """The files that were written, as they were named, the last one last."""
    done = {result.call_id for message in messages for result in message.tool_results if not result.is_error}
    found: dict[str, None] = {}
    for message in messages:
        for call in message.tool_calls:
            path = call.args.get("path") if call.name in _WRITING_TOOLS and call.id in done else None
            if isinstance(path, str) and (shown := safe_line(path, 400)):
                found.pop(shown, None)
                found[shown] = None
    return list(found)


def render(
    summary: Summary | str,
    ids: Sequence[str],
    archive: Path | str,
    *,
    kept: bool = True,
    message_id: str = "",
) -> Message:
    """The message that stands for the messages ``ids``, whose records are in the file ``archive``. ``kept``:
    whether messages follow it that were kept word for word."""
    text = summary if isinstance(summary, str) else summary.text
    lines = [_STANDS_FOR]
    if ids:
        lines.append(_where(ids, archive))
    lines.append(_HOW_TO_READ)
    if kept:
        lines.append(_KEPT)
    body = fenced_data(_TAG, re.sub(r"(?i)<(?=\s*/?\s*system-reminder)", "&lt;", text))
    content = (Text("\n".join([*lines, "", body])),)
    return Message(message_id or new_id(), "user", content, "compaction")


def _where(ids: Sequence[str], archive: Path | str) -> str:
    first, last = safe_line(ids[0], 64), safe_line(ids[-1], 64)
    which = f"record {first}" if len(ids) == 1 else f"{len(ids):,} records, {first} to {last}"
    return (
        f"It stands for {which} in {safe_line(str(archive), 1_000)}, one JSON object a line. Where you need "
        "a detail that it does not give (an exact text, an old result), grep that file and read the line."
    )


def _inside(text: str) -> str:
    """The record within a message that `render` made; the whole text of another one."""
    found = re.search(rf"<{_TAG}>\n(.*)\n</{_TAG}>", text, re.DOTALL)
    return found[1] if found else text


def _plain_answer(answer: str) -> str:
    """Without thought before it, and out of a fence around all of it."""
    text = safe_text(re.sub(_THOUGHT, "", answer, count=1, flags=re.DOTALL | re.IGNORECASE)).strip()
    fenced = re.fullmatch(_FENCED, text, re.DOTALL)
    return fenced[1].strip() if fenced else text


def _headings(text: str) -> Iterator[tuple[str, int, int]]:
    """The lines that are headings of ours, outside of code: name, start, end."""
    place, fence = 0, ""
    for line in text.splitlines(keepends=True):
        mark = line.strip()[:3]
        if mark in ("```", "~~~") and (not fence or mark == fence):
            fence = "" if fence else mark
        elif not fence and (found := re.match(_HEADING, line.rstrip(), re.IGNORECASE)):
            name = next(heading for heading in SECTIONS if heading.lower() == found[1].lower())
            yield name, place, place + len(line)
        place += len(line)


def _in_order(headings: Sequence[tuple[str, int, int]]) -> list[tuple[str, int, int]] | None:
    """One of each section: in their order, where a text under one may have such a line of its own; else in
    any order, where none is there twice."""
    if len(headings) == len(SECTIONS):
        return list(headings)
    chosen: list[tuple[str, int, int]] = []
    for heading in headings:
        if len(chosen) < len(SECTIONS) and heading[0] == SECTIONS[len(chosen)]:
            chosen.append(heading)
    return chosen if len(chosen) == len(SECTIONS) else None


def _body(text: str) -> str:
    body = text.strip()
    is_empty = len(body) <= _LONGEST_NOTHING and re.fullmatch(_EMPTY, body, re.IGNORECASE)
    return NOTHING if is_empty else body


def _listed(headings: Sequence[str]) -> str:
    named = [f'"{heading}"' for heading in headings]
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"
