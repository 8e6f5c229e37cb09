"""Where rows run: the model server, and folders that nothing else uses."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar, cast

from bench.errors import BenchError
from bench.model_server import Answer, ModelServer, Protocol, encode
from bench.program import environment
from tests.support.fake_llm import Reply

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Place:
    """A home and a folder to work in."""

    home: Path
    cwd: Path


class Stage:
    """Owns the server and the temporary folder of one run of the bench."""

    def __init__(self) -> None:
        self.server = ModelServer()
        self._folder = Path(tempfile.mkdtemp(prefix="mewcode-bench-"))
        self._places = 0
        self._made: dict[Hashable, object] = {}
        self.short_answer = {
            "anthropic": encode(Reply.text("Hello.")),
            "openai": encode(Reply.text("Hello."), "openai"),
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.server.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def fresh(self) -> Place:
        """A home and a working folder as on the first day."""
        self._places += 1
        folder = self._folder / str(self._places)
        place = Place(folder / "home", folder / "work")
        place.home.mkdir(parents=True)
        place.cwd.mkdir()
        return place

    def forget(self, place: Place) -> None:
        """Deletes a place, so that the disk does not fill with the runs."""
        shutil.rmtree(place.cwd.parent, ignore_errors=True)

    def once(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """What ``make`` gave when this key was first asked for: what many runs need and few can afford."""
        if key not in self._made:
            self._made[key] = make()
        return cast("_T", self._made[key])

    def env(self, place: Place, protocol: Protocol = "anthropic") -> dict[str, str]:
        return environment(place.home, self.server.url, protocol)

    def play_short(self, protocol: Protocol = "anthropic") -> None:
        """Answers each request with a word."""
        self.server.play([self.short_answer[protocol]])

    def first_request(self, started: float) -> float:
        """Seconds from ``started`` to the last byte of the first request. Raises `BenchError`."""
        if not self.server.exchanges:
            raise BenchError("the program sent no request")
        return self.server.exchanges[0].received - started


def answers(*replies: Reply) -> list[Answer]:
    """The replies for one run of the Messages protocol, each sent with one call."""
    return [encode(reply, serial=number) for number, reply in enumerate(replies, 1)]
