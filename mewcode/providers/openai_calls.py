"""Tool calls out of Chat Completions deltas.

By OpenAI's word each delta carries its call's index, and the first one id and name. Imitations leave out the
index, the id or both, repeat id and name, send all calls under index 0, or weave several calls together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from mewcode.core.codec import decode_json, encode_json
from mewcode.core.stream import StreamEvent
from mewcode.providers.assemble import BlockAssembly


class _Call(msgspec.Struct):
    """``block`` is None until the name is known: a block begins with it."""

    id: str
    name: str
    block: int | None = None
    arguments: list[str] = []

    @property
    def is_complete(self) -> bool:
        try:
            return isinstance(decode_json("".join(self.arguments)), dict)
        except ValueError:
            return False


class CallAssembly:
    """Calls in the making. ``next_index`` gives the index of the block of a new one."""

    def __init__(self, blocks: BlockAssembly, next_index: Callable[[], int]) -> None:
        self._blocks = blocks
        self._next_index = next_index
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}

    def __len__(self) -> int:
        return len(self._calls)

    def take(self, entry: dict[str, Any]) -> Iterator[StreamEvent]:
        """One item of a delta's ``tool_calls``."""
        function = entry.get("function") or {}
        name, call_id = function.get("name"), entry.get("id")
        index = entry.get("index")
        arguments = function.get("arguments")
        if arguments is not None and not isinstance(arguments, str):
            arguments = encode_json(arguments).decode()
        call = self._find(
            index if isinstance(index, int) else None,
            call_id if isinstance(call_id, str) else "",
            name if isinstance(name, str) else "",
            has_arguments=bool(arguments),
        )
        if arguments:
            call.arguments.append(arguments)
        if call.block is None and call.name:
            yield from self._begin(call)
        elif call.block is not None and arguments:
            yield from self._blocks.add(call.block, arguments)

    def end(self) -> Iterator[StreamEvent]:
        """Ends all calls, in the order in which they began."""
        for call in self._calls:
            if call.block is None:
                yield from self._begin(call)
            if call.block is not None:
                yield from self._blocks.end(call.block)

    def _begin(self, call: _Call) -> Iterator[StreamEvent]:
        call.block = self._next_index()
        yield from self._blocks.start(call.block, "tool_call", call.name)
        yield from self._blocks.add(call.block, "".join(call.arguments))

    def _find(self, index: int | None, call_id: str, name: str, *, has_arguments: bool) -> _Call:
        """The call that a delta belongs to; a new one where it begins one."""
        call = self._known(index, call_id, name)
        # A name without arguments under a known index is one that is repeated at the end.
        may_begin = index is None or has_arguments or bool(call_id)
        if call is None or (may_begin and _is_another(call, call_id, name)):
            call = _Call(call_id, name)
            self._calls.append(call)
            if index is not None:
                self._by_index[index] = call
        call.id = call.id or call_id
        call.name = call.name or name
        return call

    def _known(self, index: int | None, call_id: str, name: str) -> _Call | None:
        if index is not None:
            return self._by_index.get(index)
        if call_id:
            for call in reversed(self._calls):
                if call.id == call_id:
                    return call
            if name:
                return None
        return self._calls[-1] if self._calls else None


def _is_another(call: _Call, call_id: str, name: str) -> bool:
    """Whether a delta that seems to go on with ``call`` begins another one in truth: Gemini sends all calls
    of an answer under index 0, others give no index."""
    if not name or not call.name:
        return False
    if call_id and call.id:
        return call_id != call.id
    # No ids: a name opens a call, unless a server repeats it with each piece of one.
    return name != call.name or call.is_complete
