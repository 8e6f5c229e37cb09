"""What the preview of the browser shows of an item: what is known of it, and its text."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from mewcode.core.outcome import DiffView
from mewcode.infra.redact import redact
from mewcode.infra.terminal_text import safe_line, safe_text
from mewcode.memory.history import Step
from mewcode.memory.note import Level
from mewcode.repl.diff_render import render_diff
from mewcode.repl.line_wrap import break_lines
from mewcode.repl.markdown_stream import MarkdownStream
from mewcode.repl.memory_browser_items import ChangeItem, FileItem, Item, NoteItem
from mewcode.repl.memory_browser_rows import STANDING_WORDS, by_words, updated_words, use_words
from mewcode.repl.memory_browser_source import Text
from mewcode.repl.screen_lines import TAB
from mewcode.repl.theme import Style, Theme

_LABEL = 12
_MOST_LINES = 2_000
"""Lines of one text, or of one file's change."""
_MOST_FACT = 2_000
_EMPTY = "(no text)"

Fact = tuple[str, str]


def preview_lines(item: Item, texts: Sequence[Text], theme: Theme, width: int, now: float) -> list[str]:
    """The lines of the preview, each at most ``width`` cells."""
    width = max(20, width)
    lines: list[str] = []
    if isinstance(item, NoteItem):
        lines += _facts(_note_facts(item, now), theme, width)
        for text in texts:
            lines.append("")
            if text.title:
                lines += [*_wrapped(f"── {text.title}", "warn", theme, width), ""]
            if text.dead:
                lines += [*_wrapped(f"! {text.dead}", "warn", theme, width), ""]
            lines += _markdown(text.body, theme, width)
    elif isinstance(item, FileItem):
        lines += _facts([("file", item.shown), ("size", item.about)], theme, width)
        for problem in item.problems:
            lines += _wrapped(f"! {problem}", "warn", theme, width)
        for text in texts:
            lines += ["", *_wrapped(text.body, "plain", theme, width)]
    else:
        lines += _facts(_change_facts(item), theme, width)
        for level, change in item.parts:
            for step in change.steps:
                lines += ["", *_step(level, step, theme, width)]
    return lines


def _note_facts(item: NoteItem, now: float) -> Iterator[Fact]:
    entry = item.entry
    yield "type", entry.type
    yield "level", entry.level
    yield "state", _state_words(item)
    noted = f"noted {entry.created[:10]}" if entry.created else ""
    yield "age", " · ".join(filter(None, (updated_words(item, now), noted)))
    if entry.valid_from or entry.valid_to:
        yield "holds", f"{entry.valid_from or 'always'} to {entry.valid_to or 'now'}"
    sure = "" if entry.confidence is None else f", {entry.confidence:.0%} sure"
    yield "origin", {"user": "your own words"}.get(entry.origin, f"from the {entry.origin}") + sure
    yield "source", ", ".join(entry.source)
    yield "use", use_words(item, now) or "not used yet"
    yield "tags", ", ".join(entry.tags)
    yield "aliases", ", ".join(entry.aliases)
    yield "supersedes", ", ".join(entry.supersedes)
    yield "contradicts", entry.conflicts_with
    yield "file", entry.file
    yield "problem", entry.problem
    yield "about", entry.description


def _state_words(item: NoteItem) -> str:
    entry = item.entry
    words = [STANDING_WORDS.get(item.standing, item.standing)]
    if item.deletion is not None:
        words.append(f"by {by_words(item.deletion.by)}")
    if entry.superseded_by:
        words.append(f"by {entry.superseded_by}")
    if entry.pinned:
        words.append("· pinned")
    return " ".join(words)


def _change_facts(item: ChangeItem) -> Iterator[Fact]:
    first = item.first
    yield "change", first.id
    yield "when", time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(first.ts))
    yield "by", by_words(first.by)
    yield "what", item.what
    yield "source", first.source
    yield "reason", first.reason
    yield "undoes", first.undoes
    yield "state", "taken back" if item.is_undone else ""


def _step(level: Level, step: Step, theme: Theme, width: int) -> list[str]:
    """What became of a file, as a diff; of one that moved, where to: the text stands there."""
    created = step.before is None and step.after is not None
    view = DiffView(step.file, step.before or "", step.after or "", created=created)
    stat, body = render_diff(view, theme, width, _MOST_LINES, wrap=True)
    if step.moved:
        stat, body = f"moved to {step.moved}", []
    elif step.after is None:
        stat = "deleted"
    return [*_wrapped(f"{level}/{step.file}  {stat}", "heading", theme, width), *body]


def _facts(facts: Iterator[Fact] | Sequence[Fact], theme: Theme, width: int) -> list[str]:
    lines: list[str] = []
    for label, value in facts:
        # What holds no word on anything is left out.
        if value := safe_line(redact(value), _MOST_FACT):
            style: Style = "warn" if label in ("problem", "contradicts") else "plain"
            shown = _wrapped(value, style, theme, width - _LABEL)
            heads = [theme.paint("dim", label.ljust(_LABEL)), *[" " * _LABEL] * (len(shown) - 1)]
            lines += [head + line for head, line in zip(heads, shown, strict=True)]
    return lines


def _wrapped(text: str, style: Style, theme: Theme, width: int) -> list[str]:
    safe = safe_text(text).expandtabs(TAB)
    return [theme.paint(style, safe[start:end]) for start, end in break_lines(safe, width)[:_MOST_LINES]]


def _markdown(text: str, theme: Theme, width: int) -> list[str]:
    stream = MarkdownStream(width, theme)
    shown = (stream.feed(text or _EMPTY) + stream.finish()).rstrip("\n").split("\n")
    return shown[:_MOST_LINES]
