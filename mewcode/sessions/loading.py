"""How a session is read back; see `reader`, which a program that may read none can afford to import."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from mewcode.core.errors import SessionError
from mewcode.core.message import Image, Message
from mewcode.sessions.append_file import CONVERSATION
from mewcode.sessions.branch import UNREAD, conversation, history
from mewcode.sessions.earlier import Earlier, look_back
from mewcode.sessions.loaded import LoadedSession
from mewcode.sessions.pruned import prune_messages
from mewcode.sessions.reading import Reading
from mewcode.sessions.record_files import RecordFiles
from mewcode.sessions.tail import EVIDENT, TOO_LARGE, WINDOW, WINDOW_OF_TOKEN, Newest, find_marker, newest


def load_conversation(folder: Path, tokens: int | None, enough: int | None = None) -> LoadedSession:
    """See `reader.load_session`."""
    with _opened(folder) as files:
        if tokens is not None and enough is not None and enough < tokens:
            end = _load_end(folder, files, tokens, enough)
            if end is not None:
                return end
        reach = files.end if tokens is None else max(WINDOW, WINDOW_OF_TOKEN * tokens)
        marker = find_marker(files, down_to=max(0, files.end - reach))
        start = files.line_at(max(0, files.end - reach)) if marker is None else marker
        largest = None if tokens is None else TOO_LARGE
        skims = tokens is not None
        while True:
            earlier = look_back(files, start, is_marker=start == marker)
            reading = Reading(files, start, skims=skims, earlier=earlier, largest=largest)
            reading.run()
            way, before = conversation(reading.nodes, reading.head)
            found = _all_pruned(reading, way) if tokens is None else newest(reading, way, tokens)
            if before != UNREAD or (found.is_cut and not reading.may_be_torn):
                return _loaded(folder, files, reading, found, before, earlier)
            reach, skims = max(2 * reach, WINDOW), True
            start = files.line_at(max(0, files.end - reach))


def _load_end(folder: Path, files: RecordFiles, tokens: int, enough: int) -> LoadedSession | None:
    """The newest ``enough`` tokens of a conversation that evidently has more than ``tokens``; None where it
    may have fewer: its bytes may be pictures, an answer may have told a smaller size, or what leads to its
    head may stand elsewhere."""
    evidence = files.end - EVIDENT * tokens
    start = files.line_at(max(0, files.end - WINDOW_OF_TOKEN * enough))
    if evidence <= 0 or start <= evidence or find_marker(files, down_to=evidence) is not None:
        return None
    earlier = look_back(files, start, is_marker=False)
    reading = Reading(files, start, skims=True, earlier=earlier, largest=TOO_LARGE)
    reading.run()
    way, before = conversation(reading.nodes, reading.head)
    found = newest(reading, way, enough)
    if before != UNREAD or not found.is_cut or reading.may_be_torn:
        return None
    told = next((one.usage.context_tokens for one in reversed(found.messages) if one.usage is not None), 0)
    if 0 < told <= tokens or any(map(_has_picture, found.messages)):
        return None
    return _loaded(folder, files, reading, found, before, earlier)


def _has_picture(message: Message) -> bool:
    results = (part for result in message.tool_results for part in result.content)
    return any(isinstance(block, Image) for block in (*message.content, *results))


def load_everything(folder: Path) -> LoadedSession:
    """See `reader.load_history`."""
    with _opened(folder) as files:
        reading = Reading(files, 0, skims=False)
        reading.run()
        before = conversation(reading.nodes, reading.head)[1]
        nodes, way = reading.nodes, history(reading.nodes, reading.head)
        loaded = _loaded(folder, files, reading, _all(reading, way), before, Earlier())
        parents = ((nodes[place].id, nodes[place].parent) for place in way)
        follows = {name: nodes[parent].id if parent >= 0 else None for name, parent in parents}
        return msgspec.structs.replace(loaded, follows=follows)


def load_seal(folder: Path) -> str:
    """See `reader.read_seal`."""
    with _opened(folder) as files:
        return _seal_of(files, folder)


def _seal_of(files: RecordFiles, folder: Path) -> str:
    """The mark of the session record, empty where that names another session."""
    session = files.session
    return str(session.get("seal") or "") if str(session.get("id")) == folder.name else ""


@contextmanager
def _opened(folder: Path) -> Iterator[RecordFiles]:
    """The files, with the cycle collector paused: reading makes no cycles but many objects, and to look
    through all of them again and again takes a third of the time."""
    is_collecting = gc.isenabled()
    gc.disable()
    try:
        with RecordFiles.open(folder) as files:
            yield files
    except OSError as error:
        path = folder / CONVERSATION
        raise SessionError(
            f"Session {folder.name} cannot be read: {error.strerror or error} ({path})"
        ) from error
    finally:
        if is_collecting:
            gc.enable()


def _all(reading: Reading, way: list[int]) -> Newest:
    messages = [message for place in reversed(way) if (message := reading.message(place)) is not None]
    return Newest(tuple(messages), way[-1] if way else None, False)


def _all_pruned(reading: Reading, way: list[int]) -> Newest:
    found = _all(reading, way)
    return msgspec.structs.replace(found, messages=prune_messages(found.messages, reading.replaced))


def _loaded(
    folder: Path, files: RecordFiles, reading: Reading, found: Newest, before: int, earlier: Earlier
) -> LoadedSession:
    nodes, about, session = reading.nodes, reading.about, files.session
    first = nodes[found.first] if found.first is not None else None
    is_whole = before != UNREAD and (not found.is_cut or first is None or first.parent == before)
    begins = nodes[before].offset if before >= 0 else 0
    titles, unknown = reading.titles, earlier.unknown - reading.known
    unknown -= {"title"} if titles.is_settled else set()
    titles.join(earlier.titles)
    parent_session = session.get("parent_session")
    return LoadedSession(
        id=folder.name,
        messages=found.messages,
        mode=about.get("mode", ""),
        model=about.get("model", ""),
        provider=about.get("provider", ""),
        cwd=about.get("cwd", ""),
        totals=reading.totals,
        skipped=reading.skipped,
        salvaged=reading.salvaged,
        damage=reading.damage,
        last_ts=reading.last_ts,
        last_id=nodes[reading.head].id if reading.head >= 0 else None,
        seal=_seal_of(files, folder),
        is_whole=is_whole,
        start=begins if is_whole or first is None else first.offset,
        turns=reading.turns,
        turn_of=_turn_of(reading, found),
        reads=reading.reads,
        replaced=reading.replaced,
        title=titles.title,
        parent_session=parent_session if isinstance(parent_session, str) else "",
        unknown=tuple(sorted(unknown)),
        noted=next((one.id for one in reversed(found.messages) if reading.is_noted(one.id)), ""),
    )


def _turn_of(reading: Reading, found: Newest) -> dict[str, int]:
    wanted = {message.id for message in found.messages if message.role == "user"}
    return {
        node.id: node.turn for node in reading.nodes if node.turn and not node.is_marker and node.id in wanted
    }
