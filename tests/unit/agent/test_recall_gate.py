"""What says too little to look for notes by it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode.agent.recall_gate import has_content


@pytest.mark.parametrize(
    "said",
    [
        "",
        " \n",
        "ok",
        "OK!",
        "yes, go on",
        "y",
        "api",
        "say hi",
        "thanks!",
        "1",
        "继续",
        "继续吧。",
        "好的，谢谢",
        "嗯",
        "端",
    ],
)
def test_says_nothing_to_look_for(said: str) -> None:
    assert not has_content(said)


@pytest.mark.parametrize(
    "said",
    [
        "port",
        "fix db",
        "why is CI red",
        "部署",
        "对象",
        "继续部署",
        "测试数据库的端口是多少",
        "поле",
        "ok, deploy it",
        "포트 번호",
    ],
)
def test_says_enough(said: str) -> None:
    assert has_content(said)


@given(st.text(max_size=60), st.text(max_size=60))
def test_more_words_never_say_less(one: str, other: str) -> None:
    assert has_content(f"{one} {other}") or not (has_content(one) or has_content(other))
