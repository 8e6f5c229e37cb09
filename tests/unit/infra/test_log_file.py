"""The log: opened when there is something to say, given up where it cannot be written."""

from __future__ import annotations

import errno
import logging
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from mewcode.infra import log_file
from mewcode.infra.log_file import LazyFileHandler, log_path, start_logging


@pytest.fixture(autouse=True)
def logger() -> Iterator[logging.Logger]:
    """Our logger, as it was before and after."""
    ours = logging.getLogger("mewcode")
    handlers, level, propagate = list(ours.handlers), ours.level, ours.propagate
    ours.handlers.clear()
    yield ours
    for handler in ours.handlers:
        handler.close()
    ours.handlers[:], ours.propagate = handlers, propagate
    ours.setLevel(level)


def test_nothing_is_made_before_there_is_something_to_say() -> None:
    start_logging(verbose=False)
    logging.getLogger("mewcode.sample").debug("too small for the log")
    assert not log_path().parent.exists()


def test_a_record_goes_to_a_file_of_the_users_own() -> None:
    start_logging(verbose=False)
    logging.getLogger("mewcode.sample").warning("the index is %s", "неполный 不完整")
    path = log_path()
    line = path.read_text(encoding="utf-8")
    assert line.endswith(" WARNING mewcode.sample: the index is неполный 不完整\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert path.is_relative_to(Path.home())


def test_a_trace_goes_with_it(logger: logging.Logger) -> None:
    start_logging(verbose=False)
    try:
        raise LookupError("gone")
    except LookupError:
        logger.exception("failed")
    text = log_path().read_text()
    assert "in test_a_trace_goes_with_it" in text
    assert text.endswith("LookupError\n")


def test_the_words_of_an_exception_stay_out_of_it(
    logger: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    """They may quote arguments: paths, commands, keys. Who asks for them sees them, escapes made harmless."""
    start_logging(verbose=True)
    # Not where it is raised: a trace holds the lines of code.
    words, path = "the key sk-123 \x1b[2J", "/home/secret"
    try:
        try:
            raise ValueError(words)
        except ValueError as error:
            raise PermissionError(errno.EACCES, "Permission denied", path) from error
    except PermissionError:
        logger.exception("failed\nand \x1b[31mmore")
    text = log_path().read_text()
    assert "sk-123" not in text
    assert "/home/secret" not in text
    assert "ValueError" in text
    assert "PermissionError (Permission denied)" in text
    assert "failed\\nand \\x1b[31mmore\n" in text
    shown = capsys.readouterr().err
    assert "ValueError: the key sk-123" in shown
    assert "\x1b" not in shown


def test_what_it_turns_over_to_is_the_users_own_too(
    logger: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_file, "_LIMIT_BYTES", 100)
    start_logging(verbose=False)
    for number in range(5):
        logger.info("a line of some length, number %d", number)
    assert {stat.S_IMODE(path.stat().st_mode) for path in log_path().parent.iterdir()} == {0o600}


def test_it_appends_and_turns_over(logger: logging.Logger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_file, "_LIMIT_BYTES", 300)
    for number in range(2):
        start_logging(verbose=False)
        logger.info("run %d", number)
        logger.handlers.pop().close()
    assert [f"run {number}" in log_path().read_text() for number in range(2)] == [True, True]
    start_logging(verbose=False)
    for number in range(20):
        logger.info("filling %d %s", number, "x" * 60)
    logs = sorted(path.name for path in log_path().parent.iterdir())
    assert logs == ["mewcode.log", "mewcode.log.1"]
    assert all(path.stat().st_size <= 300 for path in log_path().parent.iterdir())


def test_verbose_says_it_on_standard_error_too(
    logger: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    start_logging(verbose=True)
    logger.debug("details")
    assert capsys.readouterr().err == "DEBUG mewcode: details\n"
    start_logging(verbose=False)


def test_nothing_goes_to_other_loggers(logger: logging.Logger, caplog: pytest.LogCaptureFixture) -> None:
    start_logging(verbose=False)
    logger.error("ours")
    assert caplog.records == []


def test_a_folder_that_cannot_be_made_costs_the_log_alone(
    logger: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    place = log_path().parent
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("in the way")
    start_logging(verbose=False)
    logger.error("one")
    logger.error("two")
    assert place.read_text() == "in the way"
    assert capsys.readouterr() == ("", "")


def test_a_disk_that_fills_up_costs_the_log_alone(
    logger: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    """No trace on the screen of a program that goes on."""
    start_logging(verbose=False)
    logger.error("before")
    [handler] = logger.handlers
    assert isinstance(handler, LazyFileHandler)
    stream = handler._target.stream  # type: ignore[union-attr]

    def fail(text: str) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    handler._target.stream = _Failing(stream, fail)  # type: ignore[union-attr]
    for number in range(3):
        logger.error("after %d", number)
    assert capsys.readouterr() == ("", "")
    assert log_path().read_text().count("\n") == 1


class _Failing:
    """A stream whose writes fail."""

    def __init__(self, stream, fail) -> None:
        self._stream = stream
        self.write = fail

    def __getattr__(self, name: str):
        return getattr(self._stream, name)


def test_a_defect_of_ours_is_still_told(logger: logging.Logger, capsys: pytest.CaptureFixture[str]) -> None:
    start_logging(verbose=False)
    logger.error("wrong number of %s %s", "arguments")
    assert "TypeError" in capsys.readouterr().err
    logger.error("and it goes on")
    assert "and it goes on" in log_path().read_text()


def test_closing_gives_the_file_back(logger: logging.Logger) -> None:
    handler = LazyFileHandler()
    handler.close()
    handler.emit(logging.LogRecord("mewcode", logging.ERROR, "", 0, "late", (), None))
    handler.close()
    assert "late" in log_path().read_text()
