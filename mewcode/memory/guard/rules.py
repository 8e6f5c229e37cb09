"""Rules found in text: sentences that forbid ("never push to main") or demand ("run make fmt before commit").

Only such are found as can be held against a command or a file without a model. What says more than can be
compared is left to the model that reads it: to stop the user without cause is worse than to be silent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from mewcode.memory.guard.words import Step, rule_words

_MOST_TEXT = 200_000
"""Characters of one text that are looked at."""
_MOST_LINE = 1_000
_MOST_SAID = 300
MOST_RULES = 500
"""Rules of one text."""

_FORBIDS = re.compile(
    r"(?:\b(?:never|(?:do|must|should|shall|may)\s+not|(?:don|mustn|shouldn)['’]?t|under\s+no\s+circumstances|"
    r"(?:not\s+allowed|forbidden)\s+to)\b"
    r"|永远不要|绝对不要|千万不要|不要|不得|不准|不许|不可以|不可|禁止|切勿|严禁|绝不|永不|千万别|(?<!特|区|级|类|性|个|分)别)"
    r"\s*(?P<what>[^,;:，。；：！\n(（]{2,120})",
    re.IGNORECASE,
)
_MARKS = re.compile(r"never|not|n['’]t|circumstances|forbidden|before|[不禁切严绝永别前]", re.IGNORECASE)
"""What a line without holds no rule."""
_RUN = r"(?:run|execute|call)\s+"
_RUN_CHINESE = r"(?:运行|执行|跑一下|跑一遍|跑)\s*"
_WHAT = r"(?P<what>`[^`\n]+`|[^,;:，。；：\n(（]{2,80}?)"
_WHEN = r"(?P<when>[^,;:，。；：\n(（]{2,40}?)"
_END = r"(?=[,;:，。；：.!！\n(（]|\Z)"
_DEMANDS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b{_RUN}{_WHAT}\s+before\s+{_WHEN}{_END}",
        rf"\bbefore\s+{_WHEN},?\s+(?:(?:always|you|must|should|please|first|then|we)\s+)*{_RUN}{_WHAT}{_END}",
        rf"\b(?:never|do\s+not|don['’]?t)\s+{_WHEN}\s+without\s+(?:first\s+)?(?:running|having\s+run)\s+{_WHAT}{_END}",
        rf"(?:每次|在)?{_WHEN}\s*(?:之前|以前|前)\s*[，,]?\s*(?:都|请|务必|必须|一定|先|要|应该|应)*\s*{_RUN_CHINESE}{_WHAT}{_END}",
    )
)
_CONDITIONS = re.compile(
    r"\b(?:without|unless|except|until|if|when|because|since|but|before|after|instead)\b|除非|否则|因为|如果|而是|时候|前"
)
_VAGUE = frozenset(
    ("edit", "read", "rm", "make", "add", "change", "create", "install", "open", "test", "go", "git")
)
"""Alone they would hold for half of all that is done."""
_STRONG = re.compile(r"\*\*|__")
_FENCE = re.compile(r"^[ \t]*(```|~~~).*?^[ \t]*\1[^\n]*$", re.DOTALL | re.MULTILINE)


class GuardRule(msgspec.Struct, frozen=True):
    """``words``: what a command has to hold for the rule to be about it. ``needs``: what has to have been run
    before; none where the rule forbids. ``said``: the sentence, on one line. ``source``: where it stands."""

    words: tuple[str, ...]
    needs: tuple[str, ...]
    said: str
    source: str

    def is_about(self, step: Step) -> bool:
        """Whether the rule speaks of this step."""
        if not all(word in step.words for word in self.words):
            return False
        # One word may be a file's name by chance; as what is run it is no chance.
        return len(self.words) > 1 or self.words[0] in step.first or not self.words[0].isalpha()

    def is_met(self, done: Sequence[Step]) -> bool:
        """Whether what has to be run first was run."""
        return any(all(word in step.words for word in self.needs) for step in done)


def rules_in(text: str, source: str) -> tuple[GuardRule, ...]:
    """The rules that a text holds, in order; what stands in code blocks is none."""
    text = _FENCE.sub("", text[:_MOST_TEXT])
    found: list[GuardRule] = []
    for line in text.splitlines():
        if not _MARKS.search(line):
            continue
        # Each of many blanks would be tried as the one where a part of a rule ends.
        line = re.sub(r"\s+", " ", _STRONG.sub("", line[:_MOST_LINE]))
        for rule in _rules_of(line, source):
            if rule not in found:
                found.append(rule)
        if len(found) >= MOST_RULES:
            break
    return tuple(found[:MOST_RULES])


def _rules_of(line: str, source: str) -> Iterator[GuardRule]:
    demands = list(_demands(line, source))
    if demands:
        yield from demands
        return
    for match in _FORBIDS.finditer(line):
        # What follows a condition cannot be compared; the user who is asked can.
        what = _CONDITIONS.split(match["what"], maxsplit=1)[0]
        words = rule_words(what)
        if words and not (len(words) == 1 and words[0] in _VAGUE):
            yield GuardRule(words, (), _sentence(line), source)


def _demands(line: str, source: str) -> Iterator[GuardRule]:
    for pattern in _DEMANDS:
        for match in pattern.finditer(line):
            words, needs = rule_words(match["when"]), rule_words(match["what"])
            if words and needs and not (len(words) == 1 and words[0] in _VAGUE):
                yield GuardRule(words, needs, _sentence(line), source)


def _sentence(line: str) -> str:
    """What a line says, without the sign of a list or heading in front."""
    line = re.sub(r"\s+", " ", line).strip().lstrip("#-*> ").strip()
    return line if len(line) <= _MOST_SAID else f"{line[: _MOST_SAID - 1]}…"


def objections(
    rules: Sequence[GuardRule], steps: Sequence[Step], done: Sequence[Step]
) -> tuple[GuardRule, ...]:
    """The rules that ``steps``, in order, would break. ``done``: what was run before them."""
    found: dict[GuardRule, None] = {}
    for index, step in enumerate(steps):
        for rule in rules:
            if rule.is_about(step) and not (rule.needs and rule.is_met([*done, *steps[:index]])):
                found[rule] = None
    return tuple(found)
