"""What a conversation takes: exact where the service said so, close where it did not yet."""

from __future__ import annotations

import random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from talk import CHINESE, CODE, WORDS, Tokenizer, call, counted, model, result, stand_in, step, user

from mewcode.context import meter as meter_module
from mewcode.context.meter import TokenMeter
from mewcode.context.pruning import apply
from mewcode.context.sizes import Size, size_of_message, size_of_text
from mewcode.core.message import Image, Message, Text, Thinking, Usage
from mewcode.core.tool_spec import ToolSpec

# By letters of a piece of a word, digits of a group, tokens of a Chinese character.
TOKENIZERS = {
    "as the prior": stand_in(5, 2, 0.8),
    "dense": stand_in(3, 1, 1.3),
    "sparse": stand_in(7, 3, 0.55),
    "good at English": stand_in(8, 3, 1.9),
    "good at Chinese": stand_in(4, 1, 0.5),
}
SYSTEM = ("You are a coding agent. " + " ".join(WORDS) * 20,)
TOOLS = (
    ToolSpec(
        "read_file", " ".join(WORDS) * 3, {"type": "object", "properties": {"path": {"type": "string"}}}
    ),
)


def prose(random_: random.Random, words: int) -> str:
    return " ".join(random_.choice(WORDS) for _ in range(words))


def texts(random_: random.Random) -> dict[str, str]:
    """A text of each kind."""
    return {
        "latin": prose(random_, 300),
        "code": "".join(f"{number:6}\t{line}\n" for number, line in enumerate((CODE * 12).splitlines(), 100)),
        "chinese": CHINESE * 12,
        "mixed": prose(random_, 80) + CODE * 4 + CHINESE * 5 + prose(random_, 40),
    }


class Service:
    """Counts as a service does, and answers with what it counted."""

    def __init__(self, tokenizer: Tokenizer, beside: int = 200) -> None:
        self.tokenizer = tokenizer
        self.messages: list[Message] = []
        fixed = (*SYSTEM, *(tool.name + tool.description + str(tool.input_schema) for tool in TOOLS))
        self.total = beside + sum(map(tokenizer, fixed))

    def say(self, *messages: Message) -> None:
        self.messages += messages
        self.total += sum(counted(self.tokenizer, message) for message in messages)

    def answer(self, message: Message, *, thought: int = 0, keeps_thought: bool = False) -> None:
        output = counted(self.tokenizer, message)
        cached = self.total // 2
        usage = Usage(self.total - cached - 10, output + thought, cached, 10)
        self.messages.append(msgspec.structs.replace(message, usage=usage))
        self.total += output + (thought if keeps_thought else 0)

    def estimate(self, meter: TokenMeter) -> int:
        return meter.conversation("m", self.messages, SYSTEM, TOOLS)


def talk(service: Service, meter: TokenMeter, turns: int, seed: int = 1) -> list[float]:
    """Turns with tools; how far each estimate was off."""
    random_ = random.Random(seed)
    errors: list[float] = []
    for turn in range(turns):
        kinds = texts(random_)
        service.say(user(f"u{turn}", CHINESE + prose(random_, 30)))
        for number, kind in enumerate(kinds):
            name = f"c{turn}-{number}"
            errors.append(service.estimate(meter) / service.total - 1)
            service.answer(model(f"a{name}", prose(random_, 20), call(name, path=f"src/{kind}.py")))
            service.say(result(name, kinds[kind]))
        errors.append(service.estimate(meter) / service.total - 1)
        service.answer(model(f"e{turn}", "完成了。" + prose(random_, 30)))
    return errors


@pytest.mark.parametrize("name", TOKENIZERS)
def test_after_three_turns_the_error_is_below_eight_per_cent(name: str) -> None:
    service, meter = Service(TOKENIZERS[name]), TokenMeter()
    talk(service, meter, 3)
    errors = talk(service, meter, 3, seed=2)
    assert max(map(abs, errors)) < 0.08
    for kind, text in texts(random.Random(9)).items():
        off = meter.text("m", text) / service.tokenizer(text) - 1
        assert abs(off) < (0.08 if kind == "mixed" else 0.15), (kind, off)


@pytest.mark.parametrize("name", TOKENIZERS)
def test_a_conversation_from_an_archive_teaches_at_once(name: str) -> None:
    service = Service(TOKENIZERS[name])
    talk(service, TokenMeter(), 4)
    meter = TokenMeter()
    assert service.estimate(meter) == pytest.approx(service.total, rel=0.01)
    text = texts(random.Random(9))["mixed"]
    assert meter.text("m", text) == pytest.approx(service.tokenizer(text), rel=0.08)


def test_what_was_reported_is_exact() -> None:
    meter = TokenMeter()
    messages = [user("u")]
    meter.conversation("m", messages)
    messages.append(model("a", "ok", usage=Usage(700, 20, 200, 100)))
    assert meter.conversation("m", messages) == 1_020
    messages.append(user("v", "x" * 400))
    assert 1_020 < meter.conversation("m", messages) < 1_200


def test_the_fixed_part_is_estimated_by_what_the_whole_was_reported_to_be() -> None:
    """What the conversation teaches of a model need not hold for the tools' schemas."""
    system = ("You write code. " * 1_000,)
    meter = TokenMeter()
    alone = meter.fixed("m", system, ())
    whole = [user("u"), model("a", "ok", usage=Usage(round(alone * 1.2), 2))]
    for number in range(12):  # reports that make the model look as if it counted twice as much
        meter.learn("m", size_of_text("word " * 2_000), 2 * meter.text("n", "word " * 2_000))
        assert meter.fixed("m", system, ()) > alone, number
    meter.conversation("m", whole, system)
    assert abs(meter.fixed("m", system, ()) - alone * 1.2) < 0.05 * alone


def test_a_call_costs_what_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[str] = []

    def counting(message: Message, **options: bool) -> Size:
        measured.append(message.id)
        return size_of_message(message, **options)

    monkeypatch.setattr(meter_module, "size_of_message", counting)
    meter = TokenMeter()
    messages: list[Message] = []
    for number in range(300):
        messages += [user(f"u{number}"), model(f"a{number}", usage=Usage(1_000 + 20 * number, 10))]
        meter.conversation("m", messages, SYSTEM, TOOLS)
        assert len(measured) <= 2
        measured.clear()

    class Untouchable(list[Message]):
        def __iter__(self) -> object:  # type: ignore[override]  # it must not be called
            raise AssertionError("the whole history was walked")

    meter.conversation("m", Untouchable(messages), SYSTEM, TOOLS)


def test_a_pruned_conversation_is_estimated_anew() -> None:
    service, meter = Service(TOKENIZERS["dense"]), TokenMeter()
    talk(service, meter, 4)
    before = service.estimate(meter)
    replaced = {message.id: "[left out]" for message in service.messages if message.role == "tool"}
    pruned = apply(service.messages, replaced)
    freed = sum(counted(service.tokenizer, message) for message in service.messages)
    freed -= sum(counted(service.tokenizer, message) for message in pruned)
    meter.rebase()
    service.messages, service.total = pruned, service.total - freed
    after = service.estimate(meter)
    assert after < before
    assert after == pytest.approx(service.total, rel=0.08)
    service.answer(model("a", "ok"))
    assert service.estimate(meter) == service.total


def test_other_messages_are_seen_without_a_word() -> None:
    service, meter = Service(TOKENIZERS["dense"]), TokenMeter()
    talk(service, meter, 4)
    service.estimate(meter)
    # A summary in place of all but the last turn: reports of before are of a longer conversation.
    tail = service.messages[-6:]
    service.messages = [user("s", "summary " * 50, "compaction"), *tail]
    fresh = Service(service.tokenizer)
    fresh.say(*service.messages)
    assert service.estimate(meter) == pytest.approx(fresh.total, rel=0.15)
    # Back to an earlier message, and on from there.
    service.messages = [*service.messages[:3], user("w", "again")]
    fresh = Service(service.tokenizer)
    fresh.say(*service.messages)
    assert service.estimate(meter) == pytest.approx(fresh.total, rel=0.15)


def test_a_report_from_an_archive_on_another_part_is_not_believed() -> None:
    kept = [user("s", "summary", "compaction"), user("u"), model("a", "ok", usage=Usage(150_000, 10))]
    assert TokenMeter().conversation("m", kept, SYSTEM, TOOLS) < 3_000
    part = [user("u", "long " * 9_000), model("a", "ok", usage=Usage(100, 10))]
    assert TokenMeter().conversation("m", part, SYSTEM, TOOLS) > 9_000


def test_reports_of_another_model_are_not_taken() -> None:
    meter = TokenMeter()
    other = msgspec.structs.replace(model("a", "ok", usage=Usage(5_000, 10)), model="other")
    messages = [user("u", "x" * 4_000), other]
    assert meter.conversation("m", messages) < 2_000
    assert meter.conversation("other", messages) == pytest.approx(meter.conversation("m", messages), rel=0.2)


@pytest.mark.parametrize("keeps", [True, False])
def test_thought_is_counted_as_the_service_keeps_it(keeps: bool) -> None:
    service, meter = Service(TOKENIZERS["as the prior"]), TokenMeter()
    for number in range(6):
        service.say(user(f"u{number}", " ".join(WORDS) * 5))
        service.estimate(meter)
        message = model(f"a{number}", " ".join(WORDS) * 5)
        thinking = Thinking("a word on it", "signed", "anthropic")
        message = msgspec.structs.replace(message, content=(thinking, *message.content))
        service.answer(message, thought=3_000, keeps_thought=keeps)
    assert service.estimate(meter) == pytest.approx(service.total, rel=0.08)


def test_a_broken_off_answer_counts_with_its_text() -> None:
    meter, text = TokenMeter(), " ".join(WORDS) * 50
    messages = [user("u")]
    meter.conversation("m", messages)
    messages.append(model("a", text, usage=Usage(900, 1)))
    assert meter.conversation("m", messages) > 900 + meter.text("m", text) * 3 // 4


def test_no_report_is_needed() -> None:
    service, meter = Service(TOKENIZERS["as the prior"]), TokenMeter()
    for number in range(5):
        service.say(user(f"u{number}", CHINESE * 5), model(f"a{number}", CODE * 5, usage=Usage(0, 12)))
        service.estimate(meter)
    assert service.estimate(meter) == pytest.approx(service.total, rel=0.25)


@given(st.lists(st.tuples(st.integers(0, 50_000), st.integers(0, 400_000)), max_size=30))
@settings(max_examples=60, deadline=None)
def test_no_report_makes_the_estimate_absurd(reports: list[tuple[int, int]]) -> None:
    meter = TokenMeter()
    for letters, tokens in reports:
        meter.learn("m", Size(letters, letters // 20, letters // 10, letters // 3), tokens)
    for size, plain in ((Size(4_000), 1_000), (Size(wide=1_000), 800), (Size(signs=1_000), 650)):
        assert plain * 0.39 <= meter.tokens("m", size) <= plain * 2.6


@given(st.lists(st.sampled_from(["say", "answer", "prune", "cut", "again"]), max_size=25))
@settings(max_examples=60, deadline=None)
def test_whatever_happens_the_next_report_settles_it(steps: list[str]) -> None:
    service, meter = Service(TOKENIZERS["sparse"]), TokenMeter()
    service.say(user("first", CHINESE))
    for number, what in enumerate(steps):
        if what == "say":
            service.say(user(f"u{number}", CODE * (number % 4 + 1)))
        elif what == "answer":
            service.answer(model(f"a{number}", " ".join(WORDS)))
        elif what == "prune":
            service.messages = [
                msgspec.structs.replace(m) if m.role == "user" else m for m in service.messages
            ]
            meter.rebase()
        elif what == "cut":
            service.messages = service.messages[: max(1, len(service.messages) // 2)]
            fresh = Service(service.tokenizer)
            fresh.say(*service.messages)
            service.total = fresh.total
        service.estimate(meter)
    service.answer(model("last", "ok"))
    assert service.estimate(meter) == service.total


@given(st.text(max_size=300), st.text(max_size=300))
def test_the_size_of_a_text_is_the_sum_of_its_parts(left: str, right: str) -> None:
    whole, parts = size_of_text(left + right), size_of_text(left) + size_of_text(right)
    for field in ("digits", "signs"):
        assert getattr(whole, field) == getattr(parts, field)
    assert abs(whole.letters - parts.letters) <= len(left + right)
    assert min(msgspec.structs.astuple(whole)) >= 0


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("abc de", Size(letters=5)),
        ("x = 12;\n", Size(letters=1, digits=2, signs=2)),
        ("中文ok", Size(letters=2, wide=2)),
        ("été", Size(letters=5)),
        ("😀", Size(wide=2)),
        ("\ud800", Size(wide=1)),
        (" " * 64, Size(letters=4)),
    ],
)
def test_characters_are_counted_by_what_they_cost(text: str, size: Size) -> None:
    assert size_of_text(text) == size


def test_pictures_count_as_services_scale_them() -> None:
    message = Message("u", "user", (Text("look"), Image("image/png", "aGk=" * 5_000)))
    assert 1_600 <= TokenMeter().message("m", message) < 1_700


def test_a_message_of_the_same_id_is_measured_for_itself() -> None:
    meter = TokenMeter()
    long, short = step("c", "bash", "x" * 9_000)[1], result("c", "short")
    assert meter.message("m", long) > 2_000
    assert meter.message("m", short) < 50
    assert meter.message("m", long) > 2_000
