"""Starts a program on a machine that is short of something:

    python -m tests.support.adverse_start [--file-limit BYTES] [--obey-modes] -- PROGRAM [ARGUMENT...]

``--file-limit``: no file can grow beyond so many bytes, as on a disk that is full (the write fails with EFBIG
in place of ENOSPC; Python ignores the signal that comes with it). ``--obey-modes``: a file or folder that may
not be written or read cannot be, also where the tests run as the administrator.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import resource
import sys
from collections.abc import Sequence

# linux/prctl.h and linux/capability.h: what lets the administrator write and read in spite of the mode bits.
_PR_CAPBSET_DROP = 24
_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH = 1, 2


def adverse(program: Sequence[str], *, file_limit: int | None = None, obey_modes: bool = False) -> list[str]:
    """The command that starts ``program`` so."""
    limits = [*(["--file-limit", str(file_limit)] if file_limit else []), *(["--obey-modes"] * obey_modes)]
    return [sys.executable, "-m", "tests.support.adverse_start", *limits, "--", *program]


def _give_up_overrides() -> None:
    """Takes effect with the exec that follows, which gives the administrator what is left in the set."""
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in (_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH):
        if libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--file-limit", type=int)
    parser.add_argument("--obey-modes", action="store_true")
    parser.add_argument("program", nargs="+")
    options = parser.parse_args()
    if options.file_limit:
        # An interpreter that is short of room leaves half a compiled module behind.
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        resource.setrlimit(resource.RLIMIT_FSIZE, (options.file_limit, resource.RLIM_INFINITY))
    if options.obey_modes and os.geteuid() == 0:
        _give_up_overrides()
    os.execv(options.program[0], options.program)


if __name__ == "__main__":
    main()
