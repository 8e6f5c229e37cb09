"""Runs a program and writes the most memory it had, in bytes, to a descriptor:

    python -S -E peak.py DESCRIPTOR PROGRAM [ARGUMENT...]

A process starts with the high-water mark of the one that started it: where that is a test run with much in
memory, the mark says nothing. This one is small.
"""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    descriptor, program = int(sys.argv[1]), sys.argv[2:]
    child = os.fork()
    if child == 0:
        os.close(descriptor)
        os.execv(program[0], program)
    _, status, usage = os.wait4(child, 0)
    unit = 1 if sys.platform == "darwin" else 1024
    os.write(descriptor, str(usage.ru_maxrss * unit).encode())
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    main()
