"""Long results: both ends in the conversation, all of it in a file."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mewcode.agent.conversation import Conversation
from mewcode.agent.offload import LIMIT, SHOWN, StepRoom, _where, both_ends, put_aside
from mewcode.core.codec import clean_text
from mewcode.core.events import ToolEnded
from mewcode.core.message import Image, Text, ToolResult
from mewcode.core.outcome import TextView, ToolOutcome, Whole
from mewcode.sessions.archive import SessionWriter
from mewcode.sessions.reader import load_session
from mewcode.tools.text_page import LINE_WIDTH
from tests.support.sample_agent import MemoryArchive, sample_agent, sample_tool
from tests.support.scripted_provider import ScriptedProvider, call

PATH = Path("/s/tool-results/c")
texts = st.builds(
    lambda parts, times: "".join(parts) * times,
    st.lists(
        st.sampled_from(["a", "line of text\n", "中文", "\n", "é", "😀\u0301", "x" * 3_000, "\r\n", "\ud800"])
    ),
    st.integers(1, 600),
)


def kept(call_id: str, text: str) -> Path:
    return PATH


def size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


@settings(max_examples=150, deadline=None)
@given(texts)
@example("中" * (LIMIT // 3))
@example("中" * (LIMIT // 3 + 1))
@example("x" * LIMIT)
@example("x" * (LIMIT + 1))
def test_too_long_is_told_in_bytes(text):
    assert StepRoom().has_for(ToolOutcome.text(text), pages=False) == (size(text) <= LIMIT)
    half = len(text) // 2
    parts = (Text(text[:half]), Image("image/png", "aGk="), Text(text[half:]))
    assert StepRoom().has_for(ToolOutcome(parts), pages=False) == (size(text) <= LIMIT)


@settings(max_examples=150, deadline=None)
@given(texts.filter(lambda text: len(text) > 3 * SHOWN).map(clean_text))
@example("中" * 20_000)
@example("short\n" + "x" * 60_000)
@example("x" * 60_000 + "\nshort\n")
def test_both_ends_are_the_text_and_the_rest_is_counted(text):
    shown = both_ends(text, text, ". Look there")
    head, _, rest = shown.partition("[... ")
    note, _, tail = rest.partition(" left out. Look there ...]\n")
    if head and not text.startswith(head):
        head = head.removesuffix("\n")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert SHOWN // 2 - 8 < size(head) <= SHOWN
    assert SHOWN // 2 - 8 < size(tail) <= SHOWN
    lines, left_out = (int(note.split()[place].replace(",", "")) for place in (0, 2))
    assert left_out == size(text) - size(head) - size(tail)
    assert lines == text.count("\n") - head.count("\n") - tail.count("\n")


def test_the_cut_is_at_lines():
    text = "".join(f"line {number}\n" for number in range(10_000))
    head, _, rest = both_ends(text, text, "").partition("[... ")
    tail = rest.partition("]\n")[2]
    assert head.endswith("\n")
    assert all(line.startswith("line ") for line in (head + tail).splitlines())
    assert tail.endswith("line 9999\n")


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from([0, 1, 700, LINE_WIDTH - 1, LINE_WIDTH, LINE_WIDTH + 1]), max_size=9),
    st.booleans(),
)
def test_lines_that_reading_would_cut_are_told_of(lengths, ended):
    text = "\n".join("x" * length for length in lengths) + ("\n" if ended else "")
    assert ("cut -c" in _where(PATH, text)) == any(length > LINE_WIDTH for length in lengths)


def test_what_is_shown_says_where_all_of_it_is():
    asked = []

    def keep(call_id: str, text: str) -> Path:
        asked.append((call_id, text))
        return PATH

    image = Image("image/png", "aGk=")
    outcome = ToolOutcome((Text("a\n" * 20_000), image, Text("b\n" * 20_000)))
    shown = put_aside(outcome, "c", keep)
    assert asked == [("c", "a\n" * 20_000 + "\n" + "b\n" * 20_000)]
    text, after = shown.content
    assert isinstance(text, Text)
    assert after == image
    assert (
        f"The whole text is in {PATH}: read_file with offset and limit pages through it ...]\n" in text.text
    )
    assert "cut -c" not in text.text
    assert shown.view == TextView("40,001 lines, 80,001 bytes: the model sees both ends")
    assert size(text.text) < 2 * SHOWN + 400
    assert put_aside(ToolOutcome.text("x" * 60_000), "c", keep).content[0].text.count("cut -c") == 1


def test_where_it_could_not_be_kept_that_is_said():
    shown = put_aside(ToolOutcome.text("a\n" * 40_000, TextView("mine")), "c", lambda *_: None)
    assert "left out; the whole text could not be kept ...]\n" in shown.content[0].text
    assert shown.view == TextView("mine")


def test_a_tool_that_cut_its_own_result_gets_the_place_said_in_its_note():
    text = "head\n[... 3 lines left out ...]\ntail"
    outcome = ToolOutcome.text(text, is_error=True)
    outcome = ToolOutcome(outcome.content, None, True, Whole("head\na\nb\nc\ntail", text.index(" ...]\n")))
    assert not StepRoom().has_for(outcome, pages=False)
    shown = put_aside(outcome, "c", kept)
    assert shown.content[0].text == (
        f"head\n[... 3 lines left out. The whole text is in {PATH}: read_file with offset and limit pages "
        "through it ...]\ntail"
    )
    assert (shown.whole, shown.is_error) == (None, True)


def test_one_that_is_too_long_even_so_is_cut_like_the_others():
    text = "中" * 30_000 + "\nexit code 1"
    outcome = ToolOutcome((Text(text),), whole=Whole("中" * 90_000, 100))
    shown = put_aside(outcome, "c", kept).content[0].text
    assert size(shown) < 2 * SHOWN + 400
    assert shown.endswith("exit code 1")
    assert str(PATH) in shown


class Step:
    """One call of one tool, in a conversation with this archive."""

    def __init__(self, archive, outcome: ToolOutcome, *, pages: bool = False) -> None:
        async def work(args, context) -> ToolOutcome:
            return outcome

        tool = sample_tool("work", work)
        type(tool).pages = pages
        self.runner = sample_agent(ScriptedProvider(), tool).tools
        self.conversation = Conversation(archive)
        self.events: list = []
        self.call = call("work")

    async def run(self) -> None:
        await self.runner.run((self.call,), self.conversation, self.events.append)

    def result(self) -> ToolResult:
        (message,) = self.conversation.messages
        return message.tool_results[0]


def test_what_stands_in_the_conversation_is_what_is_archived_and_read_back(tmp_path):
    archive = SessionWriter.create(tmp_path, cwd="/", provider="p", model="m", mode="default")
    step = Step(archive, ToolOutcome.text("中\ud800 text\n" * 20_000))
    asyncio.run(step.run())
    archive.close()
    (message,) = load_session(archive.folder).messages
    assert message == step.conversation.messages[0]
    path = archive.folder / "tool-results" / step.call.id
    assert path.read_text(encoding="utf-8") == "中\ufffd text\n" * 20_000
    assert str(path) in step.result().content[0].text
    assert (archive.folder / "conversation.jsonl").stat().st_size < 12_000
    (ended,) = [event for event in step.events if isinstance(event, ToolEnded)]
    assert ended.outcome.content == step.result().content


def test_a_short_result_and_a_page_stay_as_they_are(tmp_path):
    for outcome, pages in ((ToolOutcome.text("x" * LIMIT), False), (ToolOutcome.text("x" * 70_000), True)):
        archive = MemoryArchive()
        archive.results = tmp_path
        step = Step(archive, outcome, pages=pages)
        asyncio.run(step.run())
        assert step.result().content == outcome.content
        assert archive.kept == {}


def test_without_an_archive_the_ends_are_shown_all_the_same():
    step = Step(MemoryArchive(), ToolOutcome.text("x\n" * 40_000))
    asyncio.run(step.run())
    assert "could not be kept" in step.result().content[0].text


class SlowArchive(MemoryArchive):
    """Keeps a result once it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = threading.Event()
        self.free = threading.Event()

    def keep_result(self, call_id: str, text: str) -> Path | None:
        self.asked.set()
        assert self.free.wait(30)
        return PATH


@pytest.mark.parametrize("in_time", [True, False])
def test_a_turn_stopped_meanwhile_loses_no_result(monkeypatch, in_time):
    monkeypatch.setattr("mewcode.agent.tool_runner._PATIENCE", 30.0 if in_time else 0.001)

    async def stop() -> None:
        task = asyncio.ensure_future(step.run())
        assert await asyncio.to_thread(archive.asked.wait, 30)
        task.cancel()
        if in_time:
            archive.free.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        archive.free.set()

    archive = SlowArchive()
    step = Step(archive, ToolOutcome.text("x\n" * 40_000))
    asyncio.run(stop())
    text = step.result().content[0].text
    assert text.startswith("x\nx\n")
    assert (str(PATH) in text) == in_time


def test_the_loop_goes_on_while_it_is_written():
    async def work() -> None:
        task = asyncio.ensure_future(step.run())
        assert await asyncio.to_thread(archive.asked.wait, 30)
        await asyncio.sleep(0)  # the loop is free though the disk is not
        archive.free.set()
        await task

    archive = SlowArchive()
    step = Step(archive, ToolOutcome.text("x\n" * 40_000))
    asyncio.run(work())
    assert str(PATH) in step.result().content[0].text
