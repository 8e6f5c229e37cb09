"""How a session is read back; see `reader`, which a program that may read none can afford to import."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mewcode.core.errors import SessionError
from mewcode.sessions.append_file import CONVERSATION
from mewcode.sessions.branch import UNREAD, conversation, history
from mewcode.sessions.earlier import Earlier, look_back
from mewcode.sessions.loaded import LoadedSession
from mewcode.sessions.reading import Reading
from mewcode.sessions.record_files import RecordFiles
from mewcode.sessions.tail import TOO_LARGE, WINDOW, WINDOW_OF_TOKEN, Newest, find_marker, newest


def load_conversation(folder: Path, tokens: int | None) -> LoadedSession:
    """See `reader.load_session`."""
    with _opened(folder) as files:
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
            found = _all(reading, way) if tokens is None else newest(reading, way, tokens)
            if before != UNREAD or (found.is_cut and not reading.may_be_torn):
                return _loaded(folder, files, reading, found, before, earlier)
            reach, skims = max(2 * reach, WINDOW), True
            start = files.line_at(max(0, files.end - reach))


def load_everything(folder: Path) -> LoadedSession:
    """See `reader.load_history`."""
    with _opened(folder) as files:
        reading = Reading(files, 0, skims=False)
        reading.run()
        before = conversation(reading.nodes, reading.head)[1]
        found = _all(reading, history(reading.nodes, reading.head))
        return _loaded(folder, files, reading, found, before, Earlier())


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
    seal = session.get("seal") if str(session.get("id")) == folder.name else ""
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
        seal=str(seal or ""),
        is_whole=is_whole,
        start=begins if is_whole or first is None else first.offset,
        turns=reading.turns,
        turn_of=_turn_of(reading, found),
        reads=reading.reads,
        title=titles.title,
        parent_session=parent_session if isinstance(parent_session, str) else "",
        unknown=tuple(sorted(unknown)),
    )


def _turn_of(reading: Reading, found: Newest) -> dict[str, int]:
    wanted = {message.id for message in found.messages if message.role == "user"}
    return {
        node.id: node.turn for node in reading.nodes if node.turn and not node.is_marker and node.id in wanted
    }
