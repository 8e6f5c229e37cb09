"""The live part's windows, from top to bottom: what is in progress, a panel, the input, the status line."""

from __future__ import annotations

from collections.abc import Callable

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition, has_completions
from prompt_toolkit.formatted_text import ANSI, AnyFormattedText
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


def make_layout(
    buffer: Buffer,
    *,
    live: Callable[[], list[str]],
    panel: Callable[[], list[str]],
    prompt: Callable[[], str],
    status: Callable[[], str],
    takes_input: Callable[[], bool],
) -> Layout:
    """Each callable gives ANSI text and is asked at every drawing."""

    def lines_window(lines: Callable[[], list[str]]) -> ConditionalContainer:
        control = FormattedTextControl(lambda: ANSI("\n".join(lines())))
        window = Window(control, dont_extend_height=True, wrap_lines=False)
        return ConditionalContainer(window, Condition(lambda: bool(lines())))

    def line_prefix(number: int, wrapped: int) -> AnyFormattedText:
        return ANSI(prompt()) if number == 0 and wrapped == 0 else "  "

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
        style="class:completion-menu",
    )
    body = HSplit(
        [
            lines_window(live),
            lines_window(panel),
            Window(height=1, char=" "),
            ConditionalContainer(input_window, Condition(takes_input)),
            ConditionalContainer(menu, has_completions),
            Window(FormattedTextControl(lambda: ANSI(status())), height=1, dont_extend_height=True),
        ]
    )
    return Layout(body, focused_element=input_window)
