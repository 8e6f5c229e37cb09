"""A choice in the live part of the screen: approvals, pickers, the model's questions."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from mewcode.infra.terminal_text import safe_line
from mewcode.repl.theme import Theme

# So many options are shown at once; the others scroll.
_SHOWN = 10
# Lines of a title: a question of a model's must not push the options off the screen.
_TITLE_LINES = 8


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
    """``outcome`` is None after Esc. ``writing`` is the option whose words are being typed.

    ``accepts_from``: before this moment (of the loop's clock) no key takes an option, since it may have been
    meant for what the user was typing when the panel came up.
    """

    title: str
    options: tuple[Option, ...]
    selected: int = 0
    accepts_from: float = 0.0
    writing: Option | None = None
    outcome: asyncio.Future[Chosen | None] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    def move(self, by: int) -> None:
        self.selected = (self.selected + by) % len(self.options)

    def choose(self, index: int | None = None) -> None:
        """Takes the selected option, or the one at ``index``; a digit beyond the last is ignored, and so is a
        key that comes too early."""
        index = self.selected if index is None else index
        too_early = self.outcome.get_loop().time() < self.accepts_from
        if too_early or not 0 <= index < len(self.options) or self.outcome.done():
            return
        self.selected = index
        option = self.options[index]
        if option.asks_text:
            self.writing = option
        else:
            self.outcome.set_result(Chosen(option.value))

    def write(self, text: str) -> None:
        """The words typed for the option that asked for them."""
        if self.writing is not None and not self.outcome.done():
            self.outcome.set_result(Chosen(self.writing.value, text))

    def cancel(self) -> None:
        """Esc: first out of the writing, then out of the panel."""
        if self.writing is not None:
            self.writing = None
        elif not self.outcome.done():
            self.outcome.set_result(None)

    def lines(self, theme: Theme, width: int) -> list[str]:
        parts = self.title.split("\n")
        lines = [theme.paint("bold", safe_line(part, width - 1)) for part in parts[:_TITLE_LINES]]
        if len(parts) > _TITLE_LINES:
            lines.append(theme.paint("dim", f"… {len(parts) - _TITLE_LINES} more lines"))
        first = max(0, min(self.selected - _SHOWN // 2, len(self.options) - _SHOWN))
        last = min(first + _SHOWN, len(self.options))
        lines += [self._option_line(index, theme, width) for index in range(first, last)]
        hidden = len(self.options) - _SHOWN
        keys = "enter takes it · digits choose · esc " + ("goes back" if self.writing else "cancels")
        more = f" · {hidden} more" if hidden > 0 else ""
        hint = "type your words, then enter · esc goes back" if self.writing else keys + more
        return [*lines, theme.paint("dim", safe_line(hint, width - 1))]

    def _option_line(self, index: int, theme: Theme, width: int) -> str:
        option = self.options[index]
        chosen = index == self.selected
        label = ("❯ " if chosen else "  ") + safe_line(f"{index + 1}. {option.label}", width - 3)
        room = width - len(label) - 4
        description = safe_line(option.description, room) if option.description and room > 10 else ""
        text = theme.paint("accent", label) if chosen else label
        return f"{text}  {theme.paint('dim', description)}" if description else text
