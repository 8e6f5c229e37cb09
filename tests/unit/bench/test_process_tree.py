"""What the system says of a process: here of this one."""

from __future__ import annotations

import os
import sys

from bench.process_tree import cpu_of, memory_of, precise_cpu_of, written_by


def test_memory_of_this_process() -> None:
    memory = memory_of(os.getpid())
    assert memory.resident >= memory.proportional > 5_000_000


def test_processor_time_and_bytes_written_of_this_process_where_the_system_tells() -> None:
    told = sys.platform.startswith("linux")
    assert (cpu_of(os.getpid()) is not None) == told
    assert (written_by(os.getpid()) is not None) == told
    assert (precise_cpu_of(os.getpid()) is not None) == told


def test_a_process_that_is_no_more_uses_nothing() -> None:
    gone = 2**22 + 1  # beyond the highest id that Linux gives
    assert (memory_of(gone).resident, cpu_of(gone), written_by(gone)) == (0, None, None)
    assert precise_cpu_of(gone) is None
