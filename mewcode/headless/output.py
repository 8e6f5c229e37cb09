"""The three output formats of ``-p``. Data goes to standard output, everything else to standard error."""

from __future__ import annotations

import os
import sys
from typing import Any, Protocol, TextIO

import msgspec

from mewcode.context.words import room_words
from mewcode.core.codec import clean_text, encode_json
from mewcode.core.errors import MewCodeError
from mewcode.core.events import (
    AgentEvent,
    Compacted,
    CompactionFailed,
    Notice,
    Pruned,
    RetryScheduled,
    RunResult,
    TurnEnded,
)
from mewcode.core.message import Usage
from mewcode.infra.terminal_text import safe_text
from mewcode.options import OutputFormat


class SessionFacts(msgspec.Struct, frozen=True):
    """What the first object of stream-json says."""

    session_id: str
    model: str
    provider: str
    cwd: str
    permission_mode: str
    tools: tuple[str, ...]


class Output(Protocol):
    """Writes one session's output. Each method may raise BrokenPipeError when the reader is gone, and
    `MewCodeError` when the output cannot be written, as on a full disk."""

    def begin(self, facts: SessionFacts) -> None: ...

    def event(self, event: AgentEvent) -> None: ...

    def end(self, results: list[RunResult]) -> None:
        """Called once, also after a failure; ``results`` has one entry a turn."""
        ...


class TextOutput:
    """The answer's text alone. To a terminal it goes without escape sequences."""

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out = out
        self._err = err

    def begin(self, facts: SessionFacts) -> None:
        pass

    def event(self, event: AgentEvent) -> None:
        tell(event, self._err)
        if isinstance(event, TurnEnded):
            self._write(event.result)

    def end(self, results: list[RunResult]) -> None:
        pass

    def _write(self, result: RunResult) -> None:
        text = clean_text(result.text)
        if text:
            shown = safe_text(text) if self._out.isatty() else text
            write_text(self._out, shown if shown.endswith("\n") else shown + "\n")
        if result.error:
            self._err.write(f"mewcode: {safe_text(result.error)}\n")
            if result.hint:
                self._err.write(f"{safe_text(result.hint)}\n")


class JsonOutput:
    """One object at the end, whatever happened."""

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out = out
        self._err = err
        self._session_id = ""

    def begin(self, facts: SessionFacts) -> None:
        self._session_id = facts.session_id

    def event(self, event: AgentEvent) -> None:
        tell(event, self._err)

    def end(self, results: list[RunResult]) -> None:
        write_line(self._out, result_object(results, self._session_id))


class StreamJsonOutput:
    """An object for each event, the first of type ``init``, one of type ``result`` after each turn."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._session_id = ""

    def begin(self, facts: SessionFacts) -> None:
        self._session_id = facts.session_id
        write_line(self._out, {"type": "init", **msgspec.structs.asdict(facts)})

    def event(self, event: AgentEvent) -> None:
        if isinstance(event, TurnEnded):
            write_line(self._out, result_object([event.result], self._session_id))
        else:
            write_line(self._out, event)

    def end(self, results: list[RunResult]) -> None:
        if not results:
            write_line(self._out, result_object(results, self._session_id))


def result_object(results: list[RunResult], session_id: str) -> dict[str, Any]:
    """The object of ``--output-format json``: the last turn's answer, and sums over all turns."""
    last = results[-1] if results else None
    return {
        "type": "result",
        "result": last.text if last else "",
        "is_error": any(result.is_error for result in results) or last is None,
        "stop": last.stop if last else "error",
        "error": last.error if last else "nothing was asked",
        "session_id": session_id,
        "num_turns": sum(result.steps for result in results),
        # As a plain dict it has all four counts, also those that are 0.
        "usage": msgspec.structs.asdict(sum((result.usage for result in results), Usage())),
        "total_cost_usd": last.cost_usd if last else None,
        "duration_ms": sum(result.duration_ms for result in results),
    }


def failure_object(message: str, session_id: str = "") -> dict[str, Any]:
    """The same object for a run that failed before it began."""
    return {**result_object([], session_id), "error": message}


def write_line(out: TextIO, value: Any) -> None:
    """Writes ``value`` as one line of JSON, at once. Raises as the methods of `Output` do."""
    write_text(out, encode_json(value).decode("utf-8") + "\n")


def write_text(out: TextIO, text: str) -> None:
    """Writes ``text`` as it is, at once. Raises as the methods of `Output` do."""
    try:
        out.write(text)
        out.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        # What its buffer still holds would be tried again at the program's end, and fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC), out.fileno())
        raise MewCodeError(
            f"the output cannot be written: {error.strerror or error}",
            "The conversation is kept: make room, then go on with mewcode -c.",
        ) from error


def tell(event: AgentEvent, err: TextIO) -> None:
    """What a person at the other end of standard error should know."""
    if isinstance(event, Notice):
        err.write(f"mewcode: {safe_text(event.text)}{f' ({safe_text(event.hint)})' if event.hint else ''}\n")
    elif isinstance(event, RetryScheduled):
        err.write(
            f"mewcode: {safe_text(event.reason)}; attempt {event.attempt} of {event.max_attempts} "
            f"in {event.delay:.0f} s\n"
        )
    elif isinstance(event, Pruned | Compacted | CompactionFailed):
        err.write(f"mewcode: {safe_text(room_words(event))}\n")


def make_output(kind: OutputFormat) -> Output:
    """The output for ``--output-format``."""
    if kind == "stream-json":
        return StreamJsonOutput(sys.stdout)
    return (JsonOutput if kind == "json" else TextOutput)(sys.stdout, sys.stderr)
