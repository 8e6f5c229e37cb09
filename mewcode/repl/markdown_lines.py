"""What a single line of Markdown is, by itself. Lines come without their end and their indent (up to three
spaces). By string methods where they do: a compiled expression costs a third of a millisecond at start."""

from __future__ import annotations

import re
from typing import NamedTuple

# A paragraph is committed in parts of about this many characters (25 lines of 80), so that what is still
# open, and drawn anew at each frame, stays small.
LONG_PARAGRAPH = 2000

# The tags that CommonMark lets begin a block of HTML.
_BLOCK_TAGS = (
    "address article aside blockquote body caption center col colgroup dd details dialog dir div dl dt "
    "fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 head header hr html iframe legend li link "
    "main menu nav ol option p pre script section source style summary table tbody td textarea tfoot th "
    "thead title tr track ul"
)
_BLOCK_TAG_NAMES = frozenset(_BLOCK_TAGS.split(" "))
_TAG = re.compile(r"</?([A-Za-z][A-Za-z0-9-]*)(?=[ />]|$)([^<>]*>)?")


class Fence(NamedTuple):
    """The opening of a code block: its character, how many of it, the info string."""

    char: str
    size: int
    info: str

    def closed_by(self, line: str) -> bool:
        """Whether a line (with its indent) is the block's end."""
        text = line.strip(" ")
        return (
            text.startswith(self.char * self.size)
            and not text.strip(self.char)
            and not line.startswith("    ")
        )


def read_fence(text: str) -> Fence | None:
    char = text[0]
    if not text.startswith(("```", "~~~")):
        return None
    info = text.lstrip(char)
    if char == "`" and "`" in info:
        return None
    return Fence(char, len(text) - len(info), info.strip(" "))


def read_heading(text: str) -> tuple[int, str] | None:
    """Level and title of ``## Title ##``."""
    title = text.lstrip("#")
    level = len(text) - len(title)
    if not 1 <= level <= 6 or (title and title[0] != " "):
        return None
    title = title.strip(" ")
    bare = title.rstrip("#")
    return level, bare.rstrip(" ") if not bare or bare.endswith(" ") else title


def is_underline(text: str) -> bool:
    """A line that makes the paragraph before it a heading."""
    text = text.rstrip(" ")
    return text == text[0] * len(text)


def is_rule(text: str) -> bool:
    """A thematic break: ``***``, ``- - -``."""
    marks = text.replace(" ", "")
    return len(marks) > 2 and marks[0] in "*-_" and marks == marks[0] * len(marks)


def begins_html(text: str, within_paragraph: bool) -> bool:
    """A block tag, a comment or a declaration; outside a paragraph also any tag alone on its line."""
    if text.startswith(("<!", "<?")):
        return text.startswith(("<!--", "<?")) or text[2:3].isalpha()
    tag = _TAG.match(text)
    if tag is None:
        return False
    if tag[1].lower() in _BLOCK_TAG_NAMES:
        return True
    return not within_paragraph and tag[2] is not None and not text[tag.end() :].strip(" ")


def interrupts(line: str) -> bool:
    """Whether a line (with its indent) ends a paragraph that it would otherwise go on with."""
    text = line.lstrip(" ")
    if len(line) - len(text) > 3:
        return False
    return bool(read_fence(text) or read_heading(text) or is_rule(text) or begins_html(text, True))


def cut_paragraph(raw: str) -> tuple[int, int]:
    """Where a long paragraph's first part ends and the next begins: before and after a space, such that no
    code, bold text or link is open there, if there is such a place."""
    end = start = min(len(raw), LONG_PARAGRAPH)
    fallback = -1
    for _ in range(16):
        end = raw.rfind(" ", LONG_PARAGRAPH // 2, end)
        if end < 0:
            break
        fallback = max(fallback, end)
        head = raw[:end]
        if head.count("`") % 2 == 0 and head.count("**") % 2 == 0 and head.count("[") == head.count("]"):
            return end, end + 1
    return (fallback, fallback + 1) if fallback >= 0 else (start, start)
