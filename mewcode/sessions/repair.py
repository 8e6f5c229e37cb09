"""Makes any list of messages one that a model's service accepts. Pure.

What both wire protocols demand: the first message is the user's; each tool call has exactly one result, and
the results stand right behind the calls, in their order; no result without its call; ids of calls are unique;
nothing is empty. An archive may break each of these: a crash between two records, lines that were lost, files
from elsewhere.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence

import msgspec

from mewcode.core.message import ContentBlock, Image, Message, Text, Thinking, ToolCall, ToolResult
from mewcode.sessions.wire import safe_call_id

INTERRUPTED = "interrupted: its effect is unknown"
"""The result of a call that has none: the model must look before it does it again."""
BEGINNING_LOST = "(The beginning of this conversation is missing.)"
_ORPHAN = "[Result of an earlier tool call that is no longer part of this conversation]"
_ORPHAN_ERROR = "[Error of an earlier tool call that is no longer part of this conversation]"


_UNFINISHED = "unfinished tool call"  # its result says that it was interrupted


class _Call(msgspec.Struct):
    """A call in the message at ``place``; ``id`` is unique. ``result``: where its result was found."""

    place: int
    id: str
    result: ToolResult | None = None
    result_place: int = -1


def repair_messages(messages: Sequence[Message]) -> tuple[tuple[Message, ...], list[str]]:
    """The messages as a service accepts them, and what was changed, in words. Nothing is mutated.

    A sound conversation comes back with the same message objects. Repairing twice changes nothing more.
    """
    if is_sound(messages):
        return tuple(messages), []
    return _Repair(messages).run()


def is_sound(messages: Sequence[Message]) -> bool:
    """Whether the messages are already what `repair_messages` makes of them; one quick pass."""
    if messages and messages[0].role != "user":
        return False
    seen: set[str] = set()
    open_calls: list[str] = []  # of the last assistant message, the next one last
    for message in messages:
        content = message.content
        if message.role == "tool":
            if not open_calls or not content or not isinstance(content[0], ToolResult):
                return False
            if content[0].call_id != open_calls.pop() or not all(map(_may_be_added, content[1:])):
                return False
            continue
        if open_calls or not content:
            return False
        if message.role == "user":
            if not all(map(_may_be_added, content)):
                return False
            continue
        if isinstance(content[-1], Thinking) or not all(map(_may_be_answered, content)):
            return False
        for block in content:
            if isinstance(block, ToolCall):
                if block.id in seen or safe_call_id(block.id) != block.id:
                    return False
                seen.add(block.id)
                open_calls.insert(0, block.id)
    return not open_calls


def _may_be_added(block: ContentBlock) -> bool:
    """What a user's message may hold, or a tool's behind its result: texts that say something, pictures."""
    if isinstance(block, Text):
        return _says_something(block.text)
    return isinstance(block, Image)


def _may_be_answered(block: ContentBlock) -> bool:
    """What an assistant's message may hold."""
    if isinstance(block, Text):
        return _says_something(block.text)
    return isinstance(block, ToolCall | Thinking)


def _says_something(text: str) -> bool:
    """As ``bool(text.strip())``, without a copy of a long text."""
    return bool(text) and not text.isspace()


class _Repair:
    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages
        self._notes: Counter[str] = Counter()
        self._output: list[Message] = []
        self._calls: dict[int, list[_Call]] = {}
        self._orphans: dict[int, list[ToolResult]] = {}
        self._done: set[int] = set()

    def run(self) -> tuple[tuple[Message, ...], list[str]]:
        self._match()
        for place, message in enumerate(self._messages):
            if place not in self._done:
                self._place(place, message)
        if self._output and self._output[0].role != "user":
            self._note("the beginning is missing: a word about it put first")
            self._output.insert(0, Message("repair-beginning", "user", (Text(BEGINNING_LOST),), "tool"))
        notes = [_counted(what, count) for what, count in self._notes.items()]
        return tuple(self._output), notes

    def _note(self, what: str) -> None:
        self._notes[what] += 1

    def _match(self) -> None:
        """Gives each call an id of its own and each result to its call."""
        known: dict[str, list[_Call]] = {}
        taken: dict[str, int] = {}
        for place, message in enumerate(self._messages):
            if message.role != "assistant":
                continue
            for call in message.tool_calls:
                mine = _Call(place, self._unique(safe_call_id(call.id), taken))
                self._calls.setdefault(place, []).append(mine)
                known.setdefault(safe_call_id(call.id), []).append(mine)
        for place, message in enumerate(self._messages):
            for result in message.tool_results:
                waiting = known.get(safe_call_id(result.call_id))
                if waiting is None:
                    self._orphans.setdefault(place, []).append(result)
                    self._note("a result without its call: made text")
                    continue
                if not waiting:
                    self._note("a second result of one call: dropped")
                    continue
                owner = _claim(waiting, place)
                owner.result, owner.result_place = result, place

    def _unique(self, wanted: str, taken: dict[str, int]) -> str:
        """``wanted``, or where an earlier call has it, one like it. ``taken``: how often each was wanted."""
        unique = wanted
        while unique in taken:
            taken[wanted] += 1
            suffix = f"-{taken[wanted]}"
            unique = wanted[: 64 - len(suffix)] + suffix
        taken[unique] = 1
        if unique != wanted:
            self._note("two calls of one id: the later got another")
        return unique

    def _place(self, place: int, message: Message) -> None:
        """Puts out a message without the results it holds, then the results of its own calls."""
        calls = self._calls.get(place, [])
        blocks = self._own_blocks(message, calls)
        if blocks and blocks == message.content and message.role != "tool":
            self._output.append(message)
        elif blocks:
            role = "user" if message.role == "tool" else message.role
            self._output.append(msgspec.structs.replace(message, role=role, content=blocks))
        elif not message.tool_results:
            self._note(f"an empty {message.role} message: dropped")
        behind = self._tool_messages_behind(place) if calls else range(0)
        for call in calls:
            self._place_result(call, behind)
        for number, result in enumerate(self._orphans.get(place, [])):
            content = (Text(_ORPHAN_ERROR if result.is_error else _ORPHAN), *_solid(result.content))
            self._output.append(Message(f"{message.id}-result{number}", "user", content, "tool"))

    def _tool_messages_behind(self, place: int) -> range:
        end = place + 1
        while end < len(self._messages) and self._messages[end].role == "tool":
            end += 1
        return range(place + 1, end)

    def _place_result(self, call: _Call, behind: range) -> None:
        """Puts the result of a call at its place. ``behind``: the tool messages that follow the call.

        One of those is taken as a whole, with what the system added to it; that they stand in the order in
        which they ended, and not in that of the calls, is as it should be in an archive.
        """
        if call.result is None:
            self._note(_UNFINISHED)
            result = ToolResult(call.id, (Text(INTERRUPTED),), True)
            self._output.append(Message(f"{call.id}-interrupted", "tool", (result,), "tool"))
            return
        result = call.result
        if result.call_id != call.id:
            result = msgspec.structs.replace(result, call_id=call.id)
        source = self._messages[call.result_place]
        if call.result_place in behind and len(source.tool_results) == 1:
            added = tuple(block for block in source.content if not isinstance(block, ToolResult))
            content = (result, *_solid(added))
            if content != source.content:
                source = msgspec.structs.replace(source, content=content)
            self._output.append(source)
            self._done.add(call.result_place)
            return
        self._note("a result away from its call: put behind it")
        self._output.append(Message(f"{call.id}-result", "tool", (result,), "tool"))

    def _own_blocks(self, message: Message, calls: list[_Call]) -> tuple[ContentBlock, ...]:
        """What stays in the message itself: no results, nothing empty, nothing that its role cannot say."""
        own: list[ContentBlock] = []
        numbered = iter(calls)
        for block in message.content:
            if isinstance(block, ToolResult):
                continue
            if message.role == "assistant":
                if isinstance(block, ToolCall):
                    call = next(numbered)
                    own.append(block if block.id == call.id else msgspec.structs.replace(block, id=call.id))
                elif isinstance(block, Image):
                    self._note("a picture in an assistant message: left out")
                    own.append(Text("[image]"))
                elif _may_be_answered(block):
                    own.append(block)
            elif isinstance(block, ToolCall):
                self._note(f"a call in a {message.role} message: made text")
                own.append(Text(f"[Call of the tool {block.name}]"))
            elif _may_be_added(block):
                own.append(block)
        while own and isinstance(own[-1], Thinking):  # an answer that broke off before it said anything
            own.pop()
        return tuple(own)


def _claim(waiting: list[_Call], place: int) -> _Call:
    """Takes from the calls of one id, in order of their places, the one that a result belongs to: the first
    of the nearest message that is not behind it, else the first of all."""
    reached = bisect_right(waiting, place, key=_place_of)
    if not reached:
        return waiting.pop(0)
    return waiting.pop(bisect_left(waiting, waiting[reached - 1].place, key=_place_of))


def _place_of(call: _Call) -> int:
    return call.place


def _solid(blocks: Sequence[ContentBlock]) -> tuple[ContentBlock, ...]:
    return tuple(block for block in blocks if _may_be_added(block))


def _counted(what: str, count: int) -> str:
    if what == _UNFINISHED:
        return f"{count} {what}" + ("s" if count > 1 else "")
    return f"{what} ({count} times)" if count > 1 else what
