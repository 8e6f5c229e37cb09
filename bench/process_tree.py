"""What a process and all below it use, as the system counts it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes. ``proportional`` shares pages out among those who map them, so that a sum over processes counts
    none twice; where the system does not tell, it is ``resident``."""

    resident: int
    proportional: int


def memory_of(pid: int) -> Memory:
    """The memory of the process and its descendants together; processes that end meanwhile do not count."""
    if not (_PROC / "self/smaps_rollup").is_file():
        resident = sum(kilobytes for _, kilobytes in _tree_by_ps(pid)) * 1024
        return Memory(resident, resident)
    resident = proportional = 0
    for member in _tree(pid):
        for line in _read(member, "smaps_rollup").splitlines():
            name, _, rest = line.partition(":")
            if name == "Rss":
                resident += int(rest.split()[0]) * 1024
            elif name == "Pss":
                proportional += int(rest.split()[0]) * 1024
    return Memory(resident, proportional)


def cpu_of(pid: int) -> float | None:
    """Seconds of processor time that the process and its descendants have used, to 10 ms or so; None where
    the system does not tell."""
    ticks = os.sysconf("SC_CLK_TCK")
    total = 0
    for member in _tree(pid):
        fields = _read(member, "stat").rpartition(")")[2].split()
        # utime, stime and those of children that have ended: fields 14 to 17 of proc(5), without the first 2.
        total += sum(int(field) for field in fields[11:15])
    return total / ticks if total else None


def precise_cpu_of(pid: int) -> float | None:
    """Seconds of processor time that the process alone has used, to the microsecond; None where the system
    does not tell. The clock's number is what clock_getcpuclockid(3) of Linux gives."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:  # it has ended
        return None


def written_by(pid: int) -> int | None:
    """Bytes that the process has given to ``write`` calls so far, to pipes and terminals as well; None where
    the system does not tell."""
    for line in _read(pid, "io").splitlines():
        name, _, value = line.partition(":")
        if name == "wchar":
            return int(value)
    return None


def _read(pid: int, name: str) -> str:
    try:
        return (_PROC / str(pid) / name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):  # it has ended, or this system has no such file
        return ""


def _tree(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in _PROC.glob("[0-9]*"):
        fields = _read(int(entry.name), "stat").rpartition(")")[2].split()
        if len(fields) > 1:
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    return _below(pid, children)


def _below(pid: int, children: dict[int, list[int]]) -> list[int]:
    found, waiting = [pid], [pid]
    while waiting:
        more = children.get(waiting.pop(), [])
        found += more
        waiting += more
    return found


def _tree_by_ps(pid: int) -> list[tuple[int, int]]:
    listed = subprocess.run(
        ["ps", "-axo", "pid=,ppid=,rss="], capture_output=True, text=True, check=True, timeout=10
    ).stdout
    rows = [tuple(map(int, line.split())) for line in listed.splitlines()]
    children: dict[int, list[int]] = {}
    for member, parent, _ in rows:
        children.setdefault(parent, []).append(member)
    tree = set(_below(pid, children))
    return [(member, kilobytes) for member, _, kilobytes in rows if member in tree]
