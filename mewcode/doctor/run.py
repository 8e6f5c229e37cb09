"""Runs the checks side by side and prints what they found."""

from __future__ import annotations

import queue
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping

import msgspec

from mewcode.config.trust import TrustStore
from mewcode.core.errors import ConfigError
from mewcode.doctor.check import Check, Subject
from mewcode.doctor.machine import check_archive, check_config, check_folders, check_programs
from mewcode.doctor.model import check_keys, check_model, check_network
from mewcode.doctor.terminal import check_terminal
from mewcode.infra.paths import Places
from mewcode.infra.terminal_text import safe_line
from mewcode.options import Options
from mewcode.setup import load_settings

# Seconds a check may take. What takes longer (a dead network disk) is left behind.
LIMIT = 5.0

Checking = Callable[[], Iterable[Check]]


def run_doctor(options: Options, environ: Mapping[str, str], places: Places) -> int:
    """Prints a line for each check; 1 where one failed, else 0."""
    subject = _subject(options, environ, places)
    found = run_checks(
        {
            "terminal": lambda: check_terminal(subject),
            "config": lambda: check_config(subject),
            "model": lambda: check_model(subject, LIMIT - 0.5),
            "keys": lambda: check_keys(subject),
            "network": lambda: check_network(subject),
            "programs": lambda: check_programs(subject),
            "folders": lambda: check_folders(subject),
            "archive": lambda: check_archive(subject),
        },
        LIMIT,
    )
    if options.as_json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(found), indent=2).decode() + "\n")
    else:
        sys.stdout.write(as_text(found))
    return 1 if any(check.status == "fail" for check in found) else 0


def _subject(options: Options, environ: Mapping[str, str], places: Places) -> Subject:
    try:
        trusted = TrustStore(places.user).is_trusted(places.root)
        return Subject(options, environ, places, load_settings(options, environ, places, trusted=trusted))
    except ConfigError as error:
        return Subject(options, environ, places, None, error.message, error.hint)


def run_checks(checks: Mapping[str, Checking], limit: float) -> list[Check]:
    """What each group found, in the order of ``checks``. A group that takes longer than ``limit`` seconds, or
    breaks, is a failure of its own."""
    done: queue.SimpleQueue[tuple[str, list[Check]]] = queue.SimpleQueue()

    def work(name: str, check: Checking) -> None:
        try:
            found = list(check())
        except Exception as error:  # noqa: BLE001 - told as what the check found
            found = [
                Check(name, "fail", f"could not be checked: {safe_line(str(error)) or type(error).__name__}")
            ]
        done.put((name, found))

    # Threads that nobody waits for: one that hangs must not keep the program from ending.
    for name, check in checks.items():
        threading.Thread(target=work, args=(name, check), name=f"check-{name}", daemon=True).start()
    results: dict[str, list[Check]] = {}
    deadline = time.monotonic() + limit
    while len(results) < len(checks):
        try:
            name, found = done.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            break
        results[name] = found
    late = f"no answer within {limit:g} s"
    return [item for name in checks for item in results.get(name, [Check(name, "fail", late)])]


def as_text(found: Iterable[Check]) -> str:
    """A line for each check, one more for what to mend, and a last one that sums up."""
    lines, counts = [], dict.fromkeys(("ok", "warn", "fail"), 0)
    for item in found:
        counts[item.status] += 1
        lines.append(f"{item.status:<5} {item.check:<15} {safe_line(item.detail, 300)}")
        if item.hint and item.status != "ok":
            lines.append(f"{'':<6}{'':<15} -> {safe_line(item.hint, 300)}")
    lines.append("")
    lines.append(f"{counts['ok']} ok, {counts['warn']} to look at, {counts['fail']} to mend")
    return "\n".join(lines) + "\n"
