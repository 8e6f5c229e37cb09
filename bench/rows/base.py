"""What a row is."""

from __future__ import annotations

from typing import Protocol

from bench.figures import Figure, Samples
from bench.stage import Stage


class Row(Protocol):
    """Something that is measured again and again. ``runs``: at most so many times, where one run gives many
    samples or always the same ones."""

    @property
    def name(self) -> str: ...

    @property
    def figures(self) -> tuple[Figure, ...]: ...

    @property
    def runs(self) -> int: ...

    def sample(self, stage: Stage) -> Samples:
        """Runs it once. Raises `BenchError` where the program does not do what is measured."""
        ...
