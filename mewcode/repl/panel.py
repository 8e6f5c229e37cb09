"""A choice in the live part of the screen: approvals, pickers, the model's questions."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from mewcode.infra.terminal_text import safe_line, safe_text
from mewcode.repl.theme import Theme

MID_WORD = 1.0
"""Seconds for which a key still belongs to the words that a panel interrupted."""

# So many options are shown at once; the others scroll.
_SHOWN = 10
# Of more options than these, those are shown that hold what is typed.
FILTER_FROM = 11
# Lines of a title: a question of a model's must not push the options off the screen.
_TITLE_LINES = 8
_FILTER_LENGTH = 80


@dataclass(frozen=True, slots=True)
class Option:
    """``value`` is what the choice yields. ``asks_text``: choosing it opens the input for words of the
    user's own."""

    value: str
    label: str
    description: str = ""
    asks_text: bool = False


@dataclass(frozen=True, slots=True)
class Chosen:
    value: str
    text: str = ""


@dataclass(slots=True)
class Panel:
    """``outcome`` is None after Esc. ``writing`` is the option whose words are being typed. ``filter`` are
    the words typed to find an option among many; ``selected`` counts among those that hold them all.

    ``accepts_from``: before this moment (of the loop's clock) no key takes an option, since it may have been
    meant for what the user was typing when the panel came up.
    """

    title: str
    options: tuple[Option, ...]
    selected: int = 0
    accepts_from: float = 0.0
    filter: str = ""
    writing: Option | None = None
    outcome: asyncio.Future[Chosen | None] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    @property
    def filters(self) -> bool:
        """Whether letters and digits look for an option, instead of digits choosing one."""
        return len(self.options) >= FILTER_FROM

    @property
    def found(self) -> tuple[Option, ...]:
        """The options that hold every word of the filter, in any case."""
        words = self.filter.casefold().split()
        if not words:
            return self.options
        texts = ((option, f"{option.label} {option.description}".casefold()) for option in self.options)
        return tuple(option for option, text in texts if all(word in text for word in words))

    def look_for(self, text: str) -> None:
        """More of the filter was typed or pasted. Where there is none, the user writes for the input: the
        words' digits and their Enter are no choice."""
        if not self.filters:
            self.accepts_from = self.outcome.get_loop().time() + MID_WORD
        else:
            typed = safe_text(text[:_FILTER_LENGTH]).replace("\n", " ").replace("\t", " ")
            self._use_filter((self.filter + typed).lstrip()[:_FILTER_LENGTH])

    def erase(self) -> None:
        """Backspace: one character less of the filter."""
        self._use_filter(self.filter[:-1])

    def _use_filter(self, text: str) -> None:
        """The option that was selected stays so where it is still there."""
        before = self.found[self.selected] if self.found else None
        self.filter = text
        self.selected = self.found.index(before) if before in self.found else 0

    def move(self, by: int) -> None:
        if self.found:
            self.selected = (self.selected + by) % len(self.found)

    def choose(self, index: int | None = None) -> None:
        """Takes the selected option, or the one at ``index``; a digit beyond the last is ignored, and so is a
        key that comes too early."""
        index = self.selected if index is None else index
        too_early = self.outcome.get_loop().time() < self.accepts_from
        if too_early or not 0 <= index < len(self.found) or self.outcome.done():
            return
        self.selected = index
        option = self.found[index]
        if option.asks_text:
            self.writing = option
        else:
            self.outcome.set_result(Chosen(option.value))

    def write(self, text: str) -> None:
        """The words typed for the option that asked for them."""
        if self.writing is not None and not self.outcome.done():
            self.outcome.set_result(Chosen(self.writing.value, text))

    def cancel(self) -> None:
        """Esc: first out of the writing or the filter, then out of the panel."""
        if self.writing is not None:
            self.writing = None
        elif self.filter:
            self._use_filter("")
        elif not self.outcome.done():
            self.outcome.set_result(None)

    def lines(self, theme: Theme, width: int, rows: int = 100) -> list[str]:
        """At most ``rows`` lines as far as that is possible: fewer of the title, then fewer options."""
        titles = max(1, min(_TITLE_LINES, rows - 5))
        parts = self.title.split("\n")
        lines = [theme.paint("bold", safe_line(part, width - 1)) for part in parts[:titles]]
        if len(parts) > titles and rows > 4:
            lines.append(theme.paint("dim", f"… {len(parts) - titles} more lines"))
        options = self.found
        if self.filters:
            words = self.filter or theme.paint("dim", "type to filter")
            lines.append(
                theme.paint("accent", "/ ") + (safe_line(words, width - 3) if self.filter else words)
            )
        room = max(1, min(_SHOWN, rows - len(lines) - 1))
        first = max(0, min(self.selected - room // 2, len(options) - room))
        last = min(first + room, len(options))
        lines += [self._option_line(index, theme, width) for index in range(first, last)]
        hidden = len(options) - room
        if not options:
            lines.append(theme.paint("dim", "  nothing matches"))
        digits = "" if self.filters else "digits choose · "
        keys = f"enter takes it · {digits}esc " + (
            "goes back" if self.writing else "clears the filter" if self.filter else "cancels"
        )
        more = f" · {hidden} more" if hidden > 0 else ""
        hint = "type your words, then enter · esc goes back" if self.writing else keys + more
        return [*lines, theme.paint("dim", safe_line(hint, width - 1))]

    def _option_line(self, index: int, theme: Theme, width: int) -> str:
        option = self.found[index]
        chosen = index == self.selected
        number = "" if self.filters else f"{index + 1}. "
        label = ("❯ " if chosen else "  ") + safe_line(f"{number}{option.label}", width - 3)
        room = width - len(label) - 4
        description = safe_line(option.description, room) if option.description and room > 10 else ""
        text = theme.paint("accent", label) if chosen else label
        return f"{text}  {theme.paint('dim', description)}" if description else text
