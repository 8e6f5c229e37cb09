"""The part of a user's message that the person wrote for this message: not code, quotations or output of a
program that stand in it."""

from __future__ import annotations

import re

_END = 4_000
"""Characters at each end of a long message that are looked at: who pastes much says what it is for before or
behind it."""
_FENCE = r"[ \t]{0,3}(`{3,}|~{3,})(.*)"
# A line that a person quotes, or that a program wrote: a prompt with a command, a trace, a log, a diff, a
# compiler's or a test runner's report.
_NOT_TYPED = (
    r"[ \t]{0,3}>|\t|[ ]{4}|[ \t]*(?:[$%] \S|>>> |\+\+\+ |--- |@@ |Traceback \(most recent|File \"|E {3}|"
    r"={4}|-{4}|PASSED |FAILED |npm ERR!|\[?\d{4}-\d\d-\d\d[T ]\d\d:|\[?\d\d:\d\d:\d\d|\[?(?:INFO|DEBUG|"
    r"TRACE|WARN|WARNING|ERROR|FATAL|CRITICAL)\b|(?:error|warning|hint|fatal|remote)(?:\[\w+\])?: |"
    r"\S+\.\w{1,5}:\d+:|\w+(?:Error|Exception|Warning): )"
)
_QUOTED = (
    r"`[^`\n]{1,400}`|\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”|«[^»\n]{1,400}»|「[^」\n]{1,400}」|"
    r"『[^』\n]{1,400}』"
)
_PLACE = "_"
"""What stands where something was quoted within a line."""


def own_words(text: str) -> str:
    """The typed part of a message, also without what is quoted within a line."""
    return re.sub(_QUOTED, f" {_PLACE} ", typed_lines(text))


def typed_lines(text: str) -> str:
    """The typed lines of a message; of a long one those of both ends."""
    if len(text) <= 2 * _END:
        parts = _typed(text, "")
    else:
        begin = text.find("\n", len(text) - _END)
        begin = len(text) - _END if begin < 0 else begin + 1
        is_code = (text.count("\n```", 0, begin) + text.startswith("```")) % 2
        parts = [*_typed(text[:_END], ""), "", *_typed(text[begin:], "```" if is_code else "")]
    return "\n".join(parts)


def _typed(text: str, fence: str) -> list[str]:
    """The typed lines of a text that begins within a block of code where ``fence`` is what ends it."""
    lines: list[str] = []
    for line in text.replace("\r", "").split("\n"):
        mark = re.match(_FENCE, line)
        if fence:
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                fence = ""
        elif mark:
            fence = mark[1]
        elif not re.match(_NOT_TYPED, line):
            lines.append(line)
    return lines
