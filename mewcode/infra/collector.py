"""The cycle collector while the program starts and while it ends.

A start makes many objects that stay and hardly a cycle; to look through them again and again costs a tenth of
it, and to look through all of them once more at the exit as much again. Only the program itself says `pause`:
in another's process all of this does nothing.
"""

from __future__ import annotations

import gc

_paused = False


def pause() -> None:
    """Stops collecting until `start_done`. What starts the program calls it first of all."""
    global _paused
    _paused = True
    gc.disable()


def start_done() -> None:
    """Collects from now on, and leaves alone what is there: it stays to the end. A front end calls it once it
    has nothing to do but to wait; without `pause`, and when called again, it does nothing."""
    global _paused
    if _paused:
        _paused = False
        gc.freeze()
        gc.enable()


def finish() -> None:
    """Spares the interpreter its last collection, which frees what the system frees anyway. What is called at
    the exit still is; open files must be closed by their owners, as ever."""
    gc.disable()
    gc.freeze()
