"""Standard input, output and error, there whatever the caller did."""

from __future__ import annotations

import os
import sys


def open_closed_streams() -> None:
    """A standard stream that the caller has closed becomes the null device: nobody has to ask whether it is
    there, and no file of ours takes its number. Called once, before anything is opened."""
    for name, flag, mode in (
        ("stdin", os.O_RDONLY, "r"),
        ("stdout", os.O_WRONLY, "w"),
        ("stderr", os.O_WRONLY, "w"),
    ):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, flag)
            setattr(sys, name, open(descriptor, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
