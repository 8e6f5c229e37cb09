"""What a look among notes or past sessions gave."""

from __future__ import annotations

import msgspec


class Found(msgspec.Struct, frozen=True):
    """``told`` to the model; ``shown`` to the user on one line, with ``body`` below it."""

    told: str
    shown: str
    body: str = ""
