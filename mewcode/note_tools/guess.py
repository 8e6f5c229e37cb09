"""What a note that the user typed is about. Only where the words leave no doubt is nobody asked."""

from __future__ import annotations

import re

import msgspec

from mewcode.memory.note import Level, Type, level_of, type_of

MOST_NAME = 80
"""Characters of a name that is made of the note's own words."""
_NAMED = re.compile(r"\s*([A-Za-z_-]{4,24})\s*[:：]\s*(\S.*)", re.DOTALL)
_LINK = re.compile(r"https?://\S")
_ABOUT_ME = re.compile(
    r"\b(i prefer|i like|i use|i am|i'm|my)\b|我(喜欢|习惯|偏好|是|的|用|叫)", re.IGNORECASE
)
_RULE = re.compile(
    r"\b(always|never|don't|do not|from now on|instead of|make sure|stop)\b|不要|别|必须|以后|总是|永远|禁止",
    re.IGNORECASE,
)
_PROJECT = re.compile(
    r"\b(we|our|us|team|deadline|release|deploys?|freeze|sprint|milestone|this (project|repo(sitory)?))\b"
    r"|我们|项目|部署|发布|截止|上线|团队|仓库",
    re.IGNORECASE,
)
_SENTENCE_ENDS = re.compile(r"(?<=[.!?])\s|[。！？；;]")


class Guess(msgspec.Struct, frozen=True):
    """``text``: the note's words, without a type that stood before them. ``is_sure``: nobody is asked."""

    type: Type
    level: Level
    text: str
    is_sure: bool


def guess(text: str) -> Guess:
    """The kind of note that these words are. ``project: text`` names it, with any name of a type."""
    named = _NAMED.fullmatch(text)
    kind = type_of(named[1]) if named else None
    if named and kind:
        return Guess(kind, level_of(kind), named[2].strip(), is_sure=True)
    text = text.strip()
    found: list[Type] = []
    if _LINK.search(text):
        found.append("reference_material")
    if _RULE.search(text):
        found.append("correction_feedback")
    if _ABOUT_ME.search(text):
        found.append("user_preference")
    if _PROJECT.search(text):
        found.append("project_knowledge")
    first = found[0] if found else "project_knowledge"
    # A rule may hold here or everywhere.
    is_sure = len(found) == 1 and first != "correction_feedback"
    level: Level = "project" if "project_knowledge" in found else level_of(first)
    return Guess(first, level, text, is_sure)


def name_of(text: str) -> str:
    """A name for a note of these words: its first sentence, shortened between words."""
    first = _SENTENCE_ENDS.split(" ".join(text.split()), maxsplit=1)[0].rstrip(".!?") or text.strip()
    if len(first) <= MOST_NAME:
        return first
    kept = first[: MOST_NAME - 1]
    if " " in kept[MOST_NAME // 2 :]:
        kept = kept[: kept.rfind(" ")]
    return kept + "…"
