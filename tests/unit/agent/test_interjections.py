"""What the user says while the model works."""

from __future__ import annotations

import asyncio

from mewcode.agent.interjections import Brought, Interjections


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


def test_what_words_bring_is_got_when_they_are_said() -> None:
    async def scenario() -> None:
        queue, came = Interjections(), []

        async def bring() -> Brought:
            came.append(queue.waiting)
            return Brought(reminders=("a file",))

        queue.put("one", bring)
        queue.put("two")
        assert came == []
        assert await queue.next() == ("one", Brought(reminders=("a file",)))
        assert came == [("one", "two")], "it waits until all is there"
        assert await queue.next() == ("two", Brought())
        assert await queue.next() is None

    asyncio.run(scenario())


def test_words_that_are_taken_back_while_their_file_is_read_are_not_said() -> None:
    async def scenario() -> None:
        queue, reading, go = Interjections(), asyncio.Event(), asyncio.Event()

        async def bring() -> Brought:
            reading.set()
            await go.wait()
            return Brought()

        queue.put("one", bring)
        taking = asyncio.create_task(queue.next())
        await reading.wait()
        assert queue.take_last() == "one"
        go.set()
        assert await taking is None

        queue.put("two", bring)
        go.clear()
        reading.clear()
        taking = asyncio.create_task(queue.next())
        await reading.wait()
        taking.cancel()
        await asyncio.gather(taking, return_exceptions=True)
        assert queue.waiting == ("two",), "a turn that is stopped does not lose it"

    asyncio.run(scenario())
