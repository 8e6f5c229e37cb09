"""An answer as the shell prints it."""

from __future__ import annotations

import msgspec

from mewcode.infra.terminal_text import safe_text
from mewcode.memory.answers.view import Answer


def answer_text(answer: Answer, *, as_json: bool) -> str:
    """The value for scripts, or the lines for a person."""
    if as_json:
        return msgspec.json.format(msgspec.json.encode(answer.value, enc_hook=str), indent=2).decode() + "\n"
    return "".join(f"{safe_text(line)}\n" for line in answer.lines)


def beside_text(answer: Answer, *, as_json: bool) -> str:
    """What is said besides, for standard error."""
    hint = () if as_json or not answer.hint else (answer.hint,)
    return "".join(f"mewcode: {safe_text(words)}\n" for words in (*answer.beside, *hint))
