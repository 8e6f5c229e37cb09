"""The log: where the system keeps such files, opened when there is something to say.

It holds what went wrong inside MewCode, never the conversation.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_LIMIT_BYTES = 2_000_000


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
    handler.setFormatter(logging.Formatter("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"))
    return handler


def start_logging(*, verbose: bool) -> None:
    """Sends our log to its file, and with ``verbose`` to standard error too. Called once, at the start."""
    logger = logging.getLogger("mewcode")
    logger.setLevel(logging.DEBUG if verbose else logging.INFO)
    logger.propagate = False
    logger.addHandler(LazyFileHandler())
    if verbose:
        shown = logging.StreamHandler(sys.stderr)
        shown.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
        logger.addHandler(shown)
