"""`/copy`: the last answer, or one of its code blocks, to the clipboard."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mewcode.core.message import Message
from mewcode.repl.commands.registry import Copy, Desk, Outcome, Say

_OPENING = re.compile(r"( {0,3})(`{3,}(?=[^`]*$)|~{3,})")


async def copy(desk: Desk, argument: str) -> Outcome:
    answer = last_answer(desk.session.agent.conversation.messages)
    if not answer:
        return Say("there is no answer to copy yet")
    if not argument:
        return Copy(answer, "the last answer")
    if not argument.isdecimal() or not int(argument):
        return Say(f"{argument!r} is no number", "/copy 2 copies the second code block of the last answer.")
    blocks = code_blocks(answer)
    number = int(argument)
    if number > len(blocks):
        there = f"has {len(blocks)} code block{'s'[: len(blocks) != 1]}" if blocks else "has no code block"
        return Say(f"the last answer {there}", "/copy copies the whole answer.")
    return Copy(blocks[number - 1], f"code block {number}")


def last_answer(messages: Sequence[Message]) -> str:
    """The text of the model's last message that has any."""
    answers = (message.text.strip() for message in reversed(messages) if message.role == "assistant")
    return next(filter(None, answers), "")


def code_blocks(markdown: str) -> list[str]:
    """The texts of the fenced code blocks, in order, each ending in a newline unless it is empty. One that
    nothing closes reaches to the end; a fence within a longer fence is text."""
    blocks: list[str] = []
    lines: list[str] = []
    fence, indent = "", 0
    for line in markdown.split("\n"):
        if fence:
            bare = line.strip()
            if bare and set(bare) == {fence[0]} and len(bare) >= len(fence) and not line.startswith("    "):
                blocks.append("".join(lines))
                fence = ""
            else:
                spaces = len(line) - len(line.lstrip(" "))
                lines.append(line[min(spaces, indent) :] + "\n")
        elif opening := _OPENING.match(line):
            indent, fence, lines = len(opening[1]), opening[2], []
    if fence:
        blocks.append("".join(lines))
    return blocks
