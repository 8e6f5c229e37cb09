"""What the scripted model says. No model is behind it, and it says so itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from typing import Any

from mewcode.core.codec import encode_json
from mewcode.core.ids import new_call_id
from mewcode.core.message import Text, ToolCall, Usage
from mewcode.core.stream import BlockDelta, BlockEnd, BlockStart, Done, StreamEvent
from mewcode.providers.base import ModelRequest

MODEL = "scripted-demo"
PROMPT = "A test of this project fails. Find out why, mend it, and show that it works."

TEST_COMMAND = "python3 -m unittest -q"
ALLOWED = (f"bash({TEST_COMMAND})", "edit_file(stats.py)")
"""The rules that let the demo run where nobody can be asked."""

_Step = tuple[str, tuple[tuple[str, dict[str, Any]], ...]]

_STEPS: tuple[_Step, ...] = (
    (
        "I am **a script**: no model is behind this demo. The loop, the tools, the permissions and the "
        "archive are the real ones.\n\nFirst I look at the project.",
        (
            ("list_dir", {"path": "."}),
            ("read_file", {"path": "stats.py"}),
            ("read_file", {"path": "test_stats.py"}),
        ),
    ),
    ("Now I run the tests, to see the failure for myself.", (("bash", {"command": TEST_COMMAND}),)),
    (
        "`average` divides by `len(numbers) - 1`, one too few: the mean of 2, 4, 6 comes out as 6. "
        "That is a one-line change.",
        (
            (
                "edit_file",
                {
                    "path": "stats.py",
                    "edits": [
                        {
                            "old_text": "    return total(numbers) / (len(numbers) - 1)\n",
                            "new_text": "    return total(numbers) / len(numbers)\n",
                        }
                    ],
                },
            ),
        ),
    ),
    ("And once more the tests.", (("bash", {"command": TEST_COMMAND}),)),
    (
        "Done: `average` in `stats.py` divides by the number of numbers, and the tests were run again "
        "(their outcome stands above).\n\n"
        "## How to go on\n\n"
        "1. Choose a model: `export ANTHROPIC_API_KEY=...`, or `OPENAI_API_KEY` (with `OPENAI_BASE_URL` for "
        "any compatible service), or start a local server such as Ollama.\n"
        "2. Go to a project of yours and run `mewcode`.\n"
        "3. Leave with Ctrl-D; `mewcode -c` continues where you were.\n\n"
        "This was a script in a temporary folder; nothing of yours was touched.",
        (),
    ),
)
_AFTER = (
    "The demo's script ends here, and no model is behind it. `/exit` leaves; "
    "the README says how to set up a model."
)


class ScriptedProvider:
    """`providers.base.Provider` that plays the script. ``pace``: seconds between two words, for the eye."""

    name = "demo"

    def __init__(self, pace: float) -> None:
        self._pace = pace

    def warm(self) -> None:
        """There is nothing to load."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        said = sum(message.role == "assistant" for message in request.messages)
        text, calls = _STEPS[said] if said < len(_STEPS) else (_AFTER, ())
        yield BlockStart(0, "text")
        for word in _words(text):
            if self._pace:
                await asyncio.sleep(self._pace)
            yield BlockDelta(0, "text", word)
        yield BlockEnd(0, Text(text))
        for index, (name, args) in enumerate(calls, 1):
            call = ToolCall(new_call_id(), name, args)
            yield BlockStart(index, "tool_call", call.id, name)
            yield BlockDelta(index, "tool_call", encode_json(args).decode())
            yield BlockEnd(index, call)
        yield Done("tool_use" if calls else "end_turn", Usage())

    async def list_models(self) -> tuple[str, ...]:
        return (MODEL,)

    async def aclose(self) -> None:
        """There is nothing to close."""


def _words(text: str) -> Iterator[str]:
    rest = text
    while rest:
        end = rest.find(" ") + 1 or len(rest)
        yield rest[:end]
        rest = rest[end:]
