"""Messages as hypothesis makes them, and a disk that can be made to fail."""

from __future__ import annotations

import errno
import os

from hypothesis import strategies as st

from mewcode.core.message import Image, Message, Text, Thinking, ToolCall, ToolResult, Usage
from mewcode.sessions.append_file import FileCalls

ODD = 'a \n\r\t\u2028\u2029\x00\x1b\x85"\\{}[]中é😀'
WRITABLE = st.text(st.one_of(st.sampled_from(ODD), st.characters(exclude_categories=["Cs"])), max_size=20)
ANY_TEXT = st.one_of(
    WRITABLE, st.text(st.one_of(st.sampled_from("\ud800\udfffa"), st.characters()), max_size=8)
)
SAFE_IDS = st.from_regex(r"[A-Za-z0-9_-]{1,12}", fullmatch=True)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), ANY_TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(ANY_TEXT, inner, max_size=4)),
    max_leaves=12,
)
# what comes back exactly: a float may be written shorter, so whole values of other kinds only
ARGS = st.dictionaries(
    WRITABLE,
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(-(2**60), 2**60), WRITABLE),
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(WRITABLE, inner, max_size=3)),
        max_leaves=6,
    ),
    max_size=3,
)


def blocks(text: st.SearchStrategy[str], ids: st.SearchStrategy[str]) -> st.SearchStrategy:
    shown = st.one_of(st.builds(Text, text), st.builds(Image, st.just("image/png"), st.just("aGk=")))
    return st.one_of(
        shown,
        st.builds(Thinking, text, text, text, text),
        st.builds(ToolCall, ids, text, ARGS, text),
        st.builds(ToolResult, ids, st.lists(shown, max_size=3).map(tuple), st.booleans()),
    )


def messages(
    text: st.SearchStrategy[str] = WRITABLE,
    ids: st.SearchStrategy[str] = SAFE_IDS,
    message_ids: st.SearchStrategy[str] = SAFE_IDS,
) -> st.SearchStrategy[Message]:
    content = st.lists(blocks(text, ids), max_size=5).map(tuple)
    counts = st.integers(0, 2**40)
    usage = st.one_of(st.none(), st.builds(Usage, counts, counts, counts, counts))
    origins = st.sampled_from(["user", "model", "tool", "reminder", "recall", "compaction"])
    spoken = st.builds(
        Message, message_ids, st.sampled_from(["user", "tool"]), content, origins, st.just(""), usage, ARGS
    )
    answered = st.builds(Message, message_ids, st.just("assistant"), content, origins, text, usage, ARGS)
    return st.one_of(spoken, answered)


class FailingCalls(FileCalls):
    """System calls that fail as told: ``limit`` bytes fit on the disk (None: no limit), the next
    ``interrupts`` writes are interrupted, ``fail_open`` and ``fail_sync`` are error numbers, ``most`` is how
    much one write takes. ``fail_at``: the call of that number (from 0, of all kinds but syncs) fails, once;
    ``no_links``: the error number that links fail with."""

    def __init__(self) -> None:
        self.limit: int | None = None
        self.most: int | None = None
        self.interrupts = 0
        self.fail_open = 0
        self.fail_sync = 0
        self.fail_at: int | None = None
        self.no_links = 0
        self.calls = 0
        self.writes: list[bytes] = []
        self.syncs = 0

    def _count(self):
        self.calls += 1
        if self.fail_at == self.calls - 1:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    def make_folder(self, path):
        self._count()
        super().make_folder(path)

    def rename(self, old, new):
        self._count()
        super().rename(old, new)

    def link(self, old, new):
        self._count()
        if self.no_links:
            raise OSError(self.no_links, os.strerror(self.no_links))
        super().link(old, new)

    def open(self, path, flags, mode):
        self._count()
        if self.fail_open:
            raise OSError(self.fail_open, os.strerror(self.fail_open))
        return super().open(path, flags, mode)

    def write(self, descriptor, data):
        self._count()
        if self.interrupts:
            self.interrupts -= 1
            raise InterruptedError(errno.EINTR, os.strerror(errno.EINTR))
        room = len(data) if self.most is None else min(self.most, len(data))
        if self.limit is not None:
            if self.limit <= 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            room = min(room, self.limit)
            self.limit -= room
        self.writes.append(bytes(data[:room]))
        return super().write(descriptor, data[:room])

    def sync(self, descriptor):
        if self.fail_sync:
            raise OSError(self.fail_sync, os.strerror(self.fail_sync))
        self.syncs += 1
        super().sync(descriptor)


def user(name: str, text: str = "") -> Message:
    return Message(name, "user", (Text(text or f"text of {name}"),))


def assistant(name: str, *calls: str, text: str = "") -> Message:
    said = (Text(text or f"answer {name}"),)
    return Message(name, "assistant", (*said, *(ToolCall(call, "bash", {}) for call in calls)), "model", "m1")


def tool(name: str, call: str, text: str = "output") -> Message:
    return Message(name, "tool", (ToolResult(call, (Text(text),)),), "tool")
