"""What a program asks for notes, and the answer that there is nothing to note."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from .fake_llm_request import RecordedRequest

NOTHING_TO_NOTE = json.dumps({"notes": []})


_WORDS = Path(__file__).parents[2] / "mewcode/memory/extract/extract.md"


@cache
def _system_prompts() -> tuple[bytes, bytes]:
    """The system prompt as it stands in a body, with letters beyond ASCII escaped or not."""
    words = _WORDS.read_text(encoding="utf-8").strip()
    return json.dumps(words)[1:-1].encode(), json.dumps(words, ensure_ascii=False)[1:-1].encode()


def is_extraction(request: RecordedRequest) -> bool:
    """Whether a request asks for notes: by its system prompt."""
    if "tools" in request.payload:
        return False
    return any(words in request.body for words in _system_prompts())
