"""One line that asks for an include. Pure."""

from __future__ import annotations

import re

import msgspec

_LONG = re.compile(r" {0,3}@include(?:[ \t]+(.*))?$")
_SHORT = re.compile(r" {0,3}@(?=\S)(.*)$")
_END_PUNCTUATION = ".,;:!?)]}"


class Directive(msgspec.Struct, frozen=True):
    """``path`` as it was meant; ``problem`` says why there is none. ``line``: its number, from 1."""

    path: str
    line: int
    problem: str = ""


def parse_directive(line: str, number: int) -> Directive | None:
    """The include that a line asks for; None for a line of text.

    ``@include path`` may have quotes or escaped spaces. ``@path.md`` is the short form: it counts only
    where it names a Markdown file, since a line may begin with an @ for other reasons; punctuation behind it
    belongs to the sentence.
    """
    long = _LONG.match(line)
    if long is not None:
        return _long((long.group(1) or "").strip(), number)
    short = _SHORT.match(line)
    if short is None:
        return None
    path, rest = _first_word(short.group(1).rstrip().rstrip(_END_PUNCTUATION))
    if path is None or rest or not path.lower().endswith((".md", ".markdown")) or path.startswith("@"):
        return None
    return Directive(path, number)


def _long(argument: str, number: int) -> Directive:
    path, rest = _first_word(argument)
    if path is None:
        return Directive(argument, number, "a quote without its partner")
    if not path:
        return Directive("", number, "no path")
    if rest:
        return Directive(argument, number, "more than a path; one with spaces needs quotes")
    return Directive(path, number)


def _first_word(text: str) -> tuple[str | None, str]:
    """The first word without its quotes and escapes, and what stands behind it. None: a quote stays open."""
    if text[:1] in ("'", '"'):
        end = text.find(text[0], 1)
        return (None, "") if end < 0 else (text[1:end], text[end + 1 :].strip())
    if "\\" not in text:
        found, _, rest = text.replace("\t", " ").partition(" ")
        return found, rest.strip()
    word: list[str] = []
    place = 0
    while place < len(text) and text[place] not in " \t":
        if text[place] == "\\" and text[place + 1 : place + 2] in (" ", "\t", "\\", "'", '"'):
            place += 1
        word.append(text[place])
        place += 1
    return "".join(word), text[place:].strip()
