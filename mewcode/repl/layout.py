"""The live part's windows, from top to bottom: what is in progress, the input, its menu, the status line."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition, has_completions
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples, to_formatted_text
from prompt_toolkit.layout import (
    BufferControl,
    ConditionalContainer,
    Dimension,
    FormattedTextControl,
    HSplit,
    Layout,
    Window,
)
from prompt_toolkit.layout.menus import CompletionsMenuControl

_INPUT_ROWS = 10
_MENU_ROWS = 8


class Drawn:
    """What the windows show. It is set with each frame; a key press draws what is there, so that no key
    waits for what only output changes."""

    def __init__(self, prompt: str) -> None:
        self.prompt: StyleAndTextTuples = to_formatted_text(ANSI(prompt))
        self.above: StyleAndTextTuples = []
        self.status: StyleAndTextTuples = []
        self.takes_input = True
        self._texts = ("", "")

    def show(self, above: Sequence[str], status: str, *, takes_input: bool) -> None:
        """ANSI lines above the input, the status line, and whether there is an input at all."""
        texts = ("\n".join(above), status)
        if texts[0] != self._texts[0] or not self.above:
            # A text of nothing is no line; one of a space is an empty one.
            self.above = to_formatted_text(ANSI(texts[0] or " "))
        if texts[1] != self._texts[1]:
            self.status = to_formatted_text(ANSI(texts[1]))
        self._texts = texts
        self.takes_input = takes_input


def make_layout(buffer: Buffer, drawn: Drawn) -> Layout:
    """The layout over what ``drawn`` holds."""

    def line_prefix(number: int, wrapped: int) -> StyleAndTextTuples:
        return drawn.prompt if number == 0 and wrapped == 0 else [("", "  ")]

    def text_window(text: Callable[[], StyleAndTextTuples]) -> Window:
        return Window(FormattedTextControl(text), dont_extend_height=True, wrap_lines=False)

    input_window = Window(
        BufferControl(buffer),
        height=lambda: Dimension(min=1, max=_INPUT_ROWS),
        dont_extend_height=True,
        wrap_lines=True,
        get_line_prefix=line_prefix,
    )
    menu = Window(
        CompletionsMenuControl(),
        height=Dimension(min=1, max=_MENU_ROWS),
        dont_extend_height=True,
    )
    body = HSplit(
        [
            text_window(lambda: drawn.above),
            ConditionalContainer(input_window, Condition(lambda: drawn.takes_input)),
            ConditionalContainer(menu, has_completions),
            text_window(lambda: drawn.status),
        ]
    )
    return Layout(body, focused_element=input_window)
