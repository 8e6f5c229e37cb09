"""What the user says while the model works."""

from __future__ import annotations

from mewcode.agent.interjections import Interjections


def test_texts_come_out_in_the_order_in_which_they_were_put_and_once() -> None:
    queue = Interjections()
    queue.put("one")
    queue.put("two")
    assert queue.waiting == ("one", "two")
    assert len(queue) == 2
    assert queue.take_all() == ["one", "two"]
    assert queue.take_all() == []
    assert len(queue) == 0


def test_the_newest_can_be_taken_back() -> None:
    queue = Interjections()
    assert queue.take_last() is None
    queue.put("one")
    queue.put("two")
    assert queue.take_last() == "two"
    assert queue.take_all() == ["one"]
