"""The log: where the system keeps such files, opened when there is something to say.

It holds what went wrong inside MewCode, never the conversation: of an exception its kind and where it
happened, not its words, which may quote a path, a command or a key. ``--verbose`` shows those on standard
error.
"""

from __future__ import annotations

import copy
import logging
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mewcode.infra.terminal_text import safe_text, visible_text

if TYPE_CHECKING:
    from io import TextIOWrapper
    from types import TracebackType

    _ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]

_LIMIT_BYTES = 2_000_000
_MOST_CAUSES = 10


class LazyFileHandler(logging.Handler):
    """Appends records to ``mewcode.log``; finds and opens the file at the first one. A log that cannot be
    written is given up for this run: the program goes on, and its screen stays clean."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._target: logging.Handler | None = None

    def emit(self, record: logging.LogRecord) -> None:
        if self._target is None:
            self._target = _open_log(self._give_up)
        self._target.emit(record)

    def _give_up(self) -> None:
        failed, self._target = self._target, logging.NullHandler()
        if failed is not None:
            with suppress(OSError):  # what it still holds cannot be written either
                failed.close()

    def close(self) -> None:
        if self._target is not None:
            self._target.close()
        super().close()


def log_path() -> Path:
    """Where the log is."""
    import platformdirs

    return Path(platformdirs.user_log_dir("mewcode", appauthor=False)) / "mewcode.log"


def _open_log(give_up: Callable[[], None]) -> logging.Handler:
    from logging.handlers import RotatingFileHandler

    class LogFile(RotatingFileHandler):
        def _open(self) -> TextIOWrapper:
            # At each turn-over too: what is new must not follow the umask.
            return open(self.baseFilename, "a", encoding="utf-8", opener=_private)

        def handleError(self, record: logging.LogRecord) -> None:
            if isinstance(sys.exc_info()[1], OSError):
                give_up()
            else:
                super().handleError(record)

    path = log_path()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handler = LogFile(path, maxBytes=_LIMIT_BYTES, backupCount=1, encoding="utf-8")
        path.chmod(0o600)
    except OSError:
        return logging.NullHandler()
    handler.setFormatter(_LogFormatter("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"))
    return handler


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


class _OwnFormatter(logging.Formatter):
    """The words of a record on one line, nothing in them that steers a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        # The handlers show traces differently; `logging` would let them share the first one's.
        own = copy.copy(record)
        own.exc_text = None
        return super().format(own)

    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = visible_text(record.message).replace("\n", "\\n")
        return super().formatMessage(record)


class _LogFormatter(_OwnFormatter):
    def formatException(self, ei: _ExcInfo) -> str:
        """Frames and kinds of the exception and its causes."""
        import traceback

        parts: list[str] = []
        error = ei[1]
        while error is not None and len(parts) < _MOST_CAUSES:
            why = f" ({error.strerror})" if isinstance(error, OSError) and error.strerror else ""
            parts.append("".join(traceback.format_tb(error.__traceback__)) + type(error).__qualname__ + why)
            error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        return "\n-- after:\n".join(parts)


class _VerboseFormatter(_OwnFormatter):
    def formatException(self, ei: _ExcInfo) -> str:
        return safe_text(super().formatException(ei))


def start_logging(*, verbose: bool) -> None:
    """Sends our log to its file, and with ``verbose`` to standard error too. Called once, at the start."""
    logger = logging.getLogger("mewcode")
    logger.setLevel(logging.DEBUG if verbose else logging.INFO)
    logger.propagate = False
    logger.addHandler(LazyFileHandler())
    if verbose:
        shown = logging.StreamHandler(sys.stderr)
        shown.setFormatter(_VerboseFormatter("%(levelname)s %(name)s: %(message)s"))
        logger.addHandler(shown)
