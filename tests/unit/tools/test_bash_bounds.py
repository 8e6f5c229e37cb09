import tracemalloc
from itertools import pairwise

from hypothesis import example, given, settings
from hypothesis import strategies as st

from mewcode.infra.terminal_text import safe_text
from mewcode.tools.bounded_output import (
    PROGRESS_INTERVAL,
    BoundedOutput,
    LiveText,
    RecentOutput,
    clean_bytes,
    complete_length,
)

parts = st.sampled_from(
    [
        b"line\n",
        b"\n",
        b"x" * 50,
        "中文\n".encode(),
        "é".encode(),
        b"\xff",
        b"\x1b[31m",
        b"\x1b]0;t\x07",
        b"10%\r",
    ]
)
floods = st.lists(parts | st.binary(max_size=5), max_size=400).map(b"".join)
cuts = st.lists(st.integers(0, 4_000), max_size=12)


def pieces(data, cuts):
    borders = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    return [data[start:end] for start, end in pairwise(borders)]


def bounded(chunks, limit):
    output = BoundedOutput(limit)
    for chunk in chunks:
        output.feed(chunk)
    return output


@settings(max_examples=300, deadline=None)
@given(floods, cuts, st.integers(120, 700))
def test_pieces_do_not_matter_and_the_limit_holds(data, cuts, limit):
    output = bounded(pieces(data, cuts), limit)
    text = output.text()
    assert text == bounded([data], limit).text()
    assert len(text) <= limit
    assert output.total == len(data)
    assert output.lines == data.count(b"\n")
    assert safe_text(text) == text


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from([b"a", b"bc\n", "中文".encode(), b"\n", b"\x1b[1mbold\n"]), max_size=2_500).map(
        b"".join
    )
)
@example("中".encode() * 5_000)
def test_head_and_tail_are_exact(data):
    whole = clean_bytes(data)
    text = bounded([data], 300).text()
    if len(whole) <= 300:
        assert text == whole
        return
    head, _, rest = text.partition("[... ")
    note, _, tail = rest.partition(" left out ...]\n")
    assert whole.startswith(head.removesuffix("\n"))
    assert whole.endswith(tail)
    assert len(head) + len(tail) > 100
    lines = int(note.split()[0].replace(",", ""))
    assert head.count("\n") + tail.count("\n") - lines <= whole.count("\n") + 1


def test_what_was_left_out_is_counted():
    data = b"".join(b"line %04d\n" % number for number in range(1, 10_001))
    text = bounded([data], 1_000).text()
    head, _, tail = text.partition("[... ")
    assert head.startswith("line 0001\nline 0002\n")
    assert tail.endswith("line 9999\nline 10000\n")
    shown = [line for line in text.splitlines() if line.startswith("line")]
    left_out = 10_000 - len(shown)
    size = len(data) - sum(len(line) + 1 for line in shown)
    assert f"[... {left_out:,} lines, {size:,} bytes left out ...]" in text


def test_escapes_and_progress_bars_do_not_use_up_the_room():
    bar = b"".join(b"\r\x1b[K%d%%" % number for number in range(5_000)) + b"\n"
    assert bounded([b"start\n", bar, b"end\n"], 30_000).text() == "start\n4999%\nend\n"


def test_bytes_that_are_no_text_are_spelt_out():
    assert clean_bytes(b"ok \xff\xfe caf\xe9 \xe4\xb8") == "ok \\xff\\xfe caf\\xe9 \\xe4\\xb8"


def test_memory_stays_bounded():
    chunk = b"y\n" * 32_768
    tracemalloc.start()
    output, live = BoundedOutput(), LiveText(lambda _: None, lambda: 0.0, lambda *_: Timer())
    recent = RecentOutput(100_000)
    for _ in range(2_000):
        output.feed(chunk)
        live.feed(chunk)
        recent.feed(chunk)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3_000_000
    assert output.total == 2_000 * len(chunk)
    assert output.text().endswith("y\ny\n")


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=8), st.integers(0, 30))
def test_only_an_unfinished_character_waits(text, cut):
    data = text.encode(errors="ignore")[:cut]
    complete = complete_length(data)
    assert data[:complete].decode() == data.decode(errors="ignore")


def test_invalid_bytes_do_not_wait_for_ever():
    assert complete_length(b"\xff") == 0  # may not be known yet
    assert complete_length(b"a\x80\x80\x80\x80") == 5
    assert complete_length(b"\xe4a") == 2
    assert complete_length(b"") == 0


# What a background process printed since the last look.


def test_each_look_shows_what_is_new():
    output = RecentOutput()
    output.feed("one\n中".encode()[:-1])
    assert output.take(final=False) == "one\n"
    assert output.unread == 2
    output.feed("中".encode()[-1:] + b"\n")
    assert output.take(final=False) == "中\n"
    assert output.take(final=True) == ""
    output.feed(b"\xe4")
    assert output.take(final=True) == "\\xe4"


def test_what_was_not_looked_at_in_time_is_counted():
    output = RecentOutput(limit=100)
    for number in range(1_000):
        output.feed(b"%09d\n" % number)
    text = output.take(final=True)
    assert text.startswith("[9,900 bytes of older output are gone]\n0000009")
    assert text.endswith("000000999\n")


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(st.sampled_from("ab\n中é"), max_size=10), max_size=20), cuts)
def test_looks_together_give_the_whole(texts, cuts):
    data = "".join(texts).encode()
    output = RecentOutput()
    seen = ""
    for piece in pieces(data, cuts):
        output.feed(piece)
        seen += output.take(final=False)
    assert seen + output.take(final=True) == data.decode()


# Progress.


class Timer:
    def cancel(self):
        self.cancelled = True


class Clock:
    """Time that passes when the test says so."""

    def __init__(self):
        self.now = 100.0
        self.due = None
        self.shown = []

    def later(self, delay, call):
        assert self.due is None
        self.due = (self.now + delay, call)
        return Timer()

    def advance(self, seconds):
        self.now += seconds
        if self.due is not None and self.due[0] <= self.now + 1e-9:
            call, self.due = self.due[1], None
            call()

    def live(self):
        return LiveText(self.shown.append, lambda: self.now, self.later)


def test_progress_comes_at_intervals():
    clock = Clock()
    live = clock.live()
    live.feed(b"first\n")
    assert clock.shown == ["first\n"]
    for number in range(10):
        live.feed(b"%d\n" % number)
    assert len(clock.shown) == 1
    clock.advance(PROGRESS_INTERVAL)
    assert clock.shown == ["first\n", "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n"]
    live.feed(b"last")
    live.close()
    assert clock.shown[-1] == "last"


@settings(max_examples=300, deadline=None)
@given(floods, cuts)
def test_a_sequence_split_between_pieces_never_shows(data, cuts):
    clock = Clock()
    live = clock.live()
    for piece in pieces(data, cuts):
        live.feed(piece)
        clock.advance(PROGRESS_INTERVAL)
    live.close()
    for shown in clock.shown:
        assert safe_text(shown) == shown
    if len(data) < 8_000 and not any(control in data for control in (b"\r", b"\b", b"\x1b[")):
        assert "".join(clock.shown) == clean_bytes(data)


def test_a_flood_shows_its_end_only():
    clock = Clock()
    live = clock.live()
    live.feed(b"begin\n")
    for number in range(100_000):
        live.feed(b"\x1b[3%dmline %d\x1b[0m\n" % (number % 8, number))
    live.close()
    assert len(clock.shown) == 2
    assert len(clock.shown[1]) < 20_000
    assert clock.shown[1].startswith("\nline ")
    assert clock.shown[1].endswith("line 99999\n")
