"""The difference of two texts by lines, in bounded time, and of two lines by words."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Literal, NamedTuple

# Unchanged lines around a change, as `diff -u` shows.
CONTEXT = 3
# Pairs of lines that difflib may compare for one diff, and the size of a gap that it is given: it takes
# quadratic time and more. What goes beyond counts as replaced.
_BUDGET = 400_000
_GAP = 300
# Lines longer than this, or pairs after so many, get no words marked; nor do pairs that share less than this.
_WORDS_LINE = 500
_WORDS_PAIRS = 200
_WORDS_SHARED = 0.4
# Pairs of words that difflib may compare for one line. Beyond, all between the first and the last difference
# counts as changed.
_WORDS_BUDGET = 1_600

_WORD = re.compile(r"[A-Za-z0-9_]+| +|.", re.DOTALL)

Range = tuple[int, int]


class DiffLine(NamedTuple):
    """``old`` and ``new`` are line numbers from 1 (None: not in that text); ``words`` the changed ranges.
    A "skip" stands for the unchanged lines between two hunks."""

    kind: Literal["same", "removed", "added", "skip"]
    old: int | None
    new: int | None
    text: str
    words: tuple[Range, ...] = ()


class Change(NamedTuple):
    """Lines ``old`` (start, end) became lines ``new``; numbers from 0, ends exclusive."""

    old: Range
    new: Range


def text_lines(text: str) -> list[str]:
    """The lines of a text; a newline at its end begins no further one."""
    if not text:
        return []
    return text.removesuffix("\n").split("\n")


def changes(before: Sequence[str], after: Sequence[str]) -> list[Change]:
    """What changed, in order: few and small changes where that is cheap to find, coarse ones else."""
    differ = _Differ(before, after)
    differ.compare(0, len(before), 0, len(after))
    return differ.found


def count_changed(found: Sequence[Change]) -> tuple[int, int]:
    """Lines added and lines removed."""
    added = sum(change.new[1] - change.new[0] for change in found)
    return added, sum(change.old[1] - change.old[0] for change in found)


def diff_lines(
    before: Sequence[str], after: Sequence[str], found: Sequence[Change], context: int = CONTEXT
) -> Iterator[DiffLine]:
    """The unified diff, a hunk after the other with a "skip" between; made as it is asked for."""
    done = 0  # lines of `before` already given
    pairs = 0
    for number, change in enumerate(found):
        (old, old_end), (new, new_end) = change
        begin = max(done, old - context)
        if begin > done and number:
            yield DiffLine("skip", None, None, "")
        for at in range(begin, old):
            yield DiffLine("same", at + 1, at + 1 + new - old, before[at])
        marks = _marked_words(before[old:old_end], after[new:new_end], _WORDS_PAIRS - pairs)
        pairs += len(marks)
        for at in range(old, old_end):
            words = marks[at - old][0] if at - old < len(marks) else ()
            yield DiffLine("removed", at + 1, None, before[at], words)
        for at in range(new, new_end):
            words = marks[at - new][1] if at - new < len(marks) else ()
            yield DiffLine("added", None, at + 1, after[at], words)
        following = found[number + 1].old[0] if number + 1 < len(found) else len(before)
        done = min(following, old_end + context)
        for at in range(old_end, done):
            yield DiffLine("same", at + 1, at + 1 + new_end - old_end, before[at])


class _Differ:
    def __init__(self, before: Sequence[str], after: Sequence[str]) -> None:
        self._before = before
        self._after = after
        self._budget = _BUDGET
        self.found: list[Change] = []

    def compare(self, old: int, old_end: int, new: int, new_end: int) -> None:
        before, after = self._before, self._after
        while old < old_end and new < new_end and before[old] == after[new]:
            old, new = old + 1, new + 1
        while old < old_end and new < new_end and before[old_end - 1] == after[new_end - 1]:
            old_end, new_end = old_end - 1, new_end - 1
        if old == old_end or new == new_end:
            self._add(old, old_end, new, new_end)
            return
        for at_old, at_new in self._anchors(old, old_end, new, new_end):
            self._small(old, at_old, new, at_new)
            old, new = at_old + 1, at_new + 1
        self._small(old, old_end, new, new_end)

    def _anchors(self, old: int, old_end: int, new: int, new_end: int) -> list[tuple[int, int]]:
        """Lines that stand once in each part, in the longest order that both share (patience diff)."""
        once_old = _once(self._before, old, old_end)
        once_new = _once(self._after, new, new_end)
        pairs = [(at, once_new[line]) for line, at in once_old.items() if line in once_new]
        pairs.sort()
        ends: list[int] = []
        last: list[int] = []  # index into pairs, for each length
        before: list[int] = []
        for number, (_, at_new) in enumerate(pairs):
            length = bisect_left(ends, at_new)
            before.append(last[length - 1] if length else -1)
            if length == len(ends):
                ends.append(at_new)
                last.append(number)
            else:
                ends[length], last[length] = at_new, number
        chain: list[tuple[int, int]] = []
        at = last[-1] if last else -1
        while at >= 0:
            chain.append(pairs[at])
            at = before[at]
        return chain[::-1]

    def _small(self, old: int, old_end: int, new: int, new_end: int) -> None:
        cost = (old_end - old) * (new_end - new)
        if not cost or max(old_end - old, new_end - new) > _GAP or cost > self._budget:
            self._add(old, old_end, new, new_end)
            return
        from difflib import SequenceMatcher  # 3 ms to import, and most edits do without

        self._budget -= cost
        matcher = SequenceMatcher(None, self._before[old:old_end], self._after[new:new_end])
        for tag, a, a_end, b, b_end in matcher.get_opcodes():
            if tag != "equal":
                self._add(old + a, old + a_end, new + b, new + b_end)

    def _add(self, old: int, old_end: int, new: int, new_end: int) -> None:
        if old == old_end and new == new_end:
            return
        if self.found and self.found[-1].old[1] == old and self.found[-1].new[1] == new:
            last = self.found.pop()
            old, new = last.old[0], last.new[0]
        self.found.append(Change((old, old_end), (new, new_end)))


def _once(lines: Sequence[str], start: int, end: int) -> dict[str, int]:
    seen: dict[str, int] = {}
    for at in range(start, end):
        seen[lines[at]] = -1 if lines[at] in seen else at
    return {line: at for line, at in seen.items() if at >= 0 and line.strip()}


def _marked_words(
    before: Sequence[str], after: Sequence[str], pairs: int
) -> list[tuple[tuple[Range, ...], tuple[Range, ...]]]:
    """For the lines that stand in the same place of a change: what is different in each."""
    if len(before) != len(after):
        return []
    return [changed_words(*pair) for pair in list(zip(before, after, strict=True))[: max(0, pairs)]]


def changed_words(before: str, after: str) -> tuple[tuple[Range, ...], tuple[Range, ...]]:
    """The ranges of two lines that differ, by words; none where they have little in common or are long."""
    if max(len(before), len(after)) > _WORDS_LINE:
        return (), ()
    words, others = _WORD.findall(before), _WORD.findall(after)
    head = tail = 0
    least = min(len(words), len(others))
    while head < least and words[head] == others[head]:
        head += 1
    while tail < least - head and words[-1 - tail] == others[-1 - tail]:
        tail += 1
    changed = _changed_between(words[head : len(words) - tail], others[head : len(others) - tail])
    old = [(head + a, head + a_end) for a, a_end, _, _ in changed if a < a_end]
    new = [(head + b, head + b_end) for _, _, b, b_end in changed if b < b_end]
    differing = sum(len(word) for start, end in old for word in words[start:end])
    differing += sum(len(word) for start, end in new for word in others[start:end])
    total = len(before) + len(after)
    if total - differing < _WORDS_SHARED * total:
        return (), ()
    return _in_characters(words, old), _in_characters(others, new)


def _changed_between(words: list[str], others: list[str]) -> list[tuple[int, int, int, int]]:
    if not words or not others or len(words) * len(others) > _WORDS_BUDGET:
        return [(0, len(words), 0, len(others))]
    from difflib import SequenceMatcher  # see `_small`

    matcher = SequenceMatcher(str.isspace, words, others, autojunk=False)
    return [(a, a_end, b, b_end) for tag, a, a_end, b, b_end in matcher.get_opcodes() if tag != "equal"]


def _in_characters(words: Sequence[str], ranges: Sequence[Range]) -> tuple[Range, ...]:
    starts = [0, *accumulate(map(len, words))]
    return tuple((starts[start], starts[end]) for start, end in ranges)
