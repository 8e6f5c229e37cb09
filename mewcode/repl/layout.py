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
    HSplit,
    Layout,
    UIContent,
    UIControl,
    Window,
)
from prompt_toolkit.layout.controls import GetLinePrefixCallable
from prompt_toolkit.layout.menus import CompletionsMenuControl
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput
from prompt_toolkit.layout.utils import explode_text_fragments

_INPUT_ROWS = 10
_MENU_ROWS = 8


class Lines(UIControl):
    """Lines of ANSI text as they are. prompt-toolkit's own control for text takes it apart character by
    character, several times a drawing; this one parses a line once, however often it is drawn."""

    def __init__(self) -> None:
        self._texts: tuple[str, ...] = ()
        self._fragments: list[StyleAndTextTuples] = []

    def show(self, texts: Sequence[str]) -> bool:
        """Returns whether these are others than before."""
        texts = tuple(texts)
        if texts == self._texts:
            return False
        known = dict(zip(self._texts, self._fragments, strict=True))
        self._fragments = [known.get(text) or fragments_of(text) for text in texts]
        self._texts = texts
        return True

    def preferred_height(
        self,
        width: int,
        max_available_height: int,
        wrap_lines: bool,
        get_line_prefix: GetLinePrefixCallable | None,
    ) -> int:
        return len(self._texts)

    def create_content(self, width: int, height: int) -> UIContent:
        return UIContent(self._fragments.__getitem__, len(self._fragments), show_cursor=False)


def fragments_of(text: str) -> StyleAndTextTuples:
    """The text in runs of one style."""
    runs: StyleAndTextTuples = []
    for style, char, *_ in to_formatted_text(ANSI(text)):
        if runs and runs[-1][0] == style:
            runs[-1] = (style, runs[-1][1] + char)
        else:
            runs.append((style, char))
    return runs


class _CursorMark(Processor):
    """Shows where the cursor would be, while the terminal's own is elsewhere."""

    def __init__(self, drawn: Drawn) -> None:
        self._drawn = drawn

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        fragments, document = transformation_input.fragments, transformation_input.document
        if not self._drawn.marks_cursor() or transformation_input.lineno != document.cursor_position_row:
            return Transformation(fragments)
        marked = explode_text_fragments([*fragments, ("", " ")])
        column = transformation_input.source_to_display(document.cursor_position_col)
        style, char, *_ = marked[column]
        marked[column] = (f"{style} reverse", char)
        return Transformation(marked)


class Drawn:
    """What the windows show. It is set with each frame; a key press draws what is there, so that no key
    waits for what only output changes."""

    def __init__(self, prompt: str) -> None:
        self.prompt: StyleAndTextTuples = fragments_of(prompt)
        self.above = Lines()
        self.status = Lines()
        self.takes_input = True
        self.marks_cursor: Callable[[], bool] = lambda: False

    def set_prompt(self, prompt: str) -> None:
        self.prompt = fragments_of(prompt)

    def show(self, above: Sequence[str], status: str, *, takes_input: bool) -> bool:
        """ANSI lines above the input, the status line, and whether there is an input at all. Returns whether
        anything has changed."""
        changed = self.above.show(above) | self.status.show([status])
        changed |= takes_input != self.takes_input
        self.takes_input = takes_input
        return changed


def make_layout(buffer: Buffer, drawn: Drawn) -> Layout:
    """The layout over what ``drawn`` holds."""

    def line_prefix(number: int, wrapped: int) -> StyleAndTextTuples:
        return drawn.prompt if number == 0 and wrapped == 0 else [("", "  ")]

    def text_window(lines: Lines) -> Window:
        return Window(lines, dont_extend_height=True, wrap_lines=False)

    input_window = Window(
        BufferControl(buffer, input_processors=[_CursorMark(drawn)]),
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
            text_window(drawn.above),
            ConditionalContainer(input_window, Condition(lambda: drawn.takes_input)),
            ConditionalContainer(menu, has_completions),
            text_window(drawn.status),
        ]
    )
    return Layout(body, focused_element=input_window)
