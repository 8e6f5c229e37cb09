"""From events to the bytes of an event stream, well-formed or as oddly formed as the faults ask."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from .fake_llm_reply import Comment, Cut, Faults, Gate, Happening, Raw, StreamError, UnknownEvent


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event. Data that is a string is sent as it is, anything else as JSON."""

    name: str | None
    data: object


Frame: TypeAlias = Event | Happening
Step: TypeAlias = bytes | Gate | Cut

# Large enough that a bulk answer takes few system calls, small enough that a reader gets it piecemeal.
_BULK = 64 * 1024


def steps(
    frames: Iterable[Frame], faults: Faults, error_event: Callable[[StreamError], Event]
) -> Iterator[Step]:
    """The stream as the bytes of one HTTP chunk each, with the gates and cuts between them."""
    return _chunked(_encoded(_placed(frames, faults), faults, error_event), faults)


def _placed(frames: Iterable[Frame], faults: Faults) -> Iterator[Frame]:
    """Put the happenings of `faults.at` ahead of the events they name."""
    if not faults.at:
        yield from frames
        return
    listed = list(frames)
    total = sum(isinstance(frame, Event) for frame in listed)
    waiting: dict[int, list[Happening]] = {}
    for index, happening in faults.at:
        place = index if index >= 0 else total + index
        if not 0 <= place <= total:
            raise ValueError(f"script: no event {index}: the stream has {total}")
        waiting.setdefault(place, []).append(happening)
    position = 0
    for frame in listed:
        if isinstance(frame, Event):
            yield from waiting.get(position, ())
            position += 1
        yield frame
    yield from waiting.get(total, ())


def _encoded(
    frames: Iterable[Frame], faults: Faults, error_event: Callable[[StreamError], Event]
) -> Iterator[Step]:
    end = faults.line_end
    for frame in frames:
        if isinstance(frame, Event):
            noise = f": ping{end}{end}" if faults.comments else ""
            if faults.unknown_events:
                noise += _lines(Event("surprise", {"type": "surprise", "object": "surprise"}), faults)
            if faults.blank_data:
                noise += f"data:{end}{end}"
            after = end * 2 if faults.blank_lines else ""
            yield (noise + _lines(frame, faults) + after).encode()
        elif isinstance(frame, StreamError):
            yield _lines(error_event(frame), faults).encode()
            if frame.ends:
                yield Cut("end")
        elif isinstance(frame, Comment):
            yield f": {frame.text}{end}{end}".encode()
        elif isinstance(frame, UnknownEvent):
            yield _lines(Event(frame.name, frame.data), faults).encode()
        elif isinstance(frame, Raw):
            yield frame.text.encode(frame.encoding)
        else:
            yield frame


def _lines(event: Event, faults: Faults) -> str:
    end = faults.line_end
    colon = ": " if faults.space_after_colon else ":"
    head = f"event{colon}{event.name}{end}" if event.name else ""
    if isinstance(event.data, str):
        data = event.data
    elif faults.multi_line_data:
        data = json.dumps(event.data, ensure_ascii=False, indent=1)
    else:
        data = json.dumps(event.data, ensure_ascii=False, separators=(",", ":"))
    body = "".join(f"data{colon}{line}{end}" for line in data.split("\n"))
    return f"{head}{body}{end}"


def _chunked(encoded: Iterable[Step], faults: Faults) -> Iterator[Step]:
    if faults.coalesce:
        encoded = _coalesced(encoded)
    if not faults.split_at and faults.split_every is None:
        yield from encoded
        return
    offset = 0
    for step in encoded:
        if not isinstance(step, bytes):
            yield step
            continue
        bounds = {place - offset for place in faults.split_at if offset < place < offset + len(step)}
        if faults.split_every is not None:
            bounds.update(range(-offset % faults.split_every, len(step), faults.split_every))
        bounds.discard(0)
        start = 0
        for bound in (*sorted(bounds), len(step)):
            yield step[start:bound]
            start = bound
        offset += len(step)


def _coalesced(encoded: Iterable[Step]) -> Iterator[Step]:
    held = bytearray()
    for step in encoded:
        if isinstance(step, bytes):
            held += step
            if len(held) < _BULK:
                continue
        if held:
            yield bytes(held)
            held.clear()
        if not isinstance(step, bytes):
            yield step
    if held:
        yield bytes(held)
