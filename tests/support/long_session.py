"""Long sessions of mixed tool use against a service with a window, and what has to hold at each request."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from mewcode.agent.agent import Run
from mewcode.agent.session import Session
from mewcode.core.events import (
    AgentEvent,
    Compacted,
    CompactionFailed,
    MessageAdded,
    Notice,
    Pruned,
    RunResult,
)
from mewcode.core.message import Message
from mewcode.sessions.reader import load_history
from tests.cache.conversations import MODELS, World, check_extends, settings_of
from tests.support import fake_llm as fake
from tests.support.event_order import check_order
from tests.support.fake_llm import Block, FakeLLM, RecordedRequest, Reply
from tests.support.window_service import WindowService, messages_sent, results_in

Script = Generator[Reply, str, None]
"""A turn as the model takes it: gives its answers, and is sent the results of the tools that it called."""
OnEvent = Callable[[AgentEvent, Run], object]

_WORDS = ("parser", "the", "state", "returns", "a", "block", "when", "line", "and", "token", "of", "each")
_CODE = ("    if state.count > {n}:  # step {n}\n", "        return replace(state, count={n})\n")
_CHINESE = "解析器保留一个未闭合块的栈，每一行都会关闭它不再延续的那些块，然后继续处理第{n}步。"
_MODULE = '"""Part {n}."""\n\nVALUE = {n}\n'
RULE = "Rule R7Q1: all names are in English."


@dataclass
class Work:
    """What the user and the model do in turn after turn, each of about ``size`` tokens, of which a part can
    be had again. ``planted``: what has to be known from then on, every so many turns (``every``) a forbidden
    file, a failed attempt and a decision. Sessions of the same settings are the same."""

    project: Path
    size: int
    chinese: bool = False
    every: int = 40
    planted: list[str] = field(default_factory=list)
    todo: str = ""
    edits: int = 0

    def __post_init__(self) -> None:
        self._random = random.Random(7)
        self._script: Script | None = None

    # --- the user -----------------------------------------------------------------------------------------

    def begin(self, turn: int, steps: int = 1) -> str:
        """The prompt of a turn, from which on the model follows its script: so many times what it does in
        one."""
        self._script = self._turn(turn, steps)
        if turn % self.every == 1:
            never = f"绝不要改动 vault_{turn}.py。" if self.chinese else f"Never touch vault_{turn}.py."
            want = f"我要第{turn}阶段完成。" if self.chinese else f"I want stage {turn} done."
            self.planted += [f"vault_{turn}.py", f"attempt_{turn}x", f"sqlite_{turn}d"]
            return f"{want} {never} {self._prose(self.size // 10)}"
        if turn % 7 == 3:
            return f"Here is what I was sent:\n{self._prose(self.size // 3)}"
        return f"{'请继续，第' if self.chinese else 'Go on, step '}{turn}. {self._prose(self.size // 20)}"

    # --- the model ----------------------------------------------------------------------------------------

    def answer(self, request: RecordedRequest) -> Reply:
        """The model's next answer."""
        results = results_in(request)
        assert self._script is not None
        try:
            return self._script.send(results) if self._script.gi_frame.f_lasti > 0 else next(self._script)
        except StopIteration:
            return Reply.text("done")

    def _turn(self, turn: int, steps: int) -> Script:
        if turn % self.every == 1:
            yield from self._planting(turn)
        if turn % 10 == 1:
            self.todo = f"finish part {turn // 10}q of the plan"
            yield Reply.calls(("todo", {"items": [{"text": self.todo, "status": "in_progress"}]}))
        kinds = (self._reading, self._changing, self._looking, self._talking, self._running)
        for step in range(turn, turn + steps):
            yield from kinds[step % len(kinds)](step)
        thought = (fake.thinking(self._prose(self.size // 20), f"sig-{turn}"),) if turn % 4 == 0 else ()
        yield Reply.of(*thought, fake.text(f"Step {turn}: {self._prose(self.size // 6)}"))

    def _planting(self, turn: int) -> Script:
        """A decision, a failed attempt, a file that is written."""
        fails = {"command": f"echo 'FAILED attempt_{turn}x: cannot link'; exit 3"}
        yield Reply.calls(
            ("bash", fails), say=f"Decision: keep it in sqlite_{turn}d, it needs no server.\nI try it."
        )
        yield self._write(turn)

    def _write(self, turn: int) -> Reply:
        return Reply.calls(("write_file", {"path": f"mod_{turn}.py", "content": _MODULE.format(n=turn)}))

    def _reading(self, turn: int) -> Script:
        calls: list[Block] = []
        for place in range(3):
            name = f"page_{(turn // 5 + place) % 9}.txt"
            path = self.project / name
            if not path.exists():
                path.write_text(self._page(self.size // 4), encoding="utf-8")
            calls.append(fake.tool_call("read_file", {"path": name}))
        calls.append(fake.tool_call("read_file", {"path": f"no_such_{turn % 3}.txt"}))
        yield Reply.of(fake.text("I read."), *calls)

    def _changing(self, turn: int) -> Script:
        """Writes a module or changes the last one; reads it first where that is asked for."""
        name = f"mod_{turn - turn % 20}.py"
        if not (self.project / name).exists():
            yield self._write(turn - turn % 20)
            return
        lines = (self.project / name).read_text().splitlines()
        old = next(line for line in lines if line.startswith("VALUE"))
        edits = [{"old_text": old, "new_text": f"VALUE = {turn + 1000}"}]
        change = Reply.calls(("edit_file", {"path": name, "edits": edits}))
        told = yield change
        if "VALUE" not in told and "ead" in told:
            yield Reply.calls(("read_file", {"path": name}))
            yield change
        self.edits += 1

    def _looking(self, turn: int) -> Script:
        """What cannot be had again, in parallel."""
        said = self._prose(self.size // 8)
        calls = [("look", {"value": f"{said} t{turn}:{place}:2"}) for place in (0, 1)]
        yield Reply.calls(*calls, say="两件事" if self.chinese else None)

    def _talking(self, turn: int) -> Script:
        yield Reply.calls(("list_dir", {"path": "."}), say=self._prose(self.size // 2))

    def _running(self, turn: int) -> Script:
        yield Reply.calls(
            ("bash", {"command": f"head -c {self.size} page_0.txt; echo; echo run {turn}"}),
            ("grep", {"pattern": f"step {turn % 50}", "path": "."}),
        )

    # --- texts --------------------------------------------------------------------------------------------

    def _prose(self, tokens: int) -> str:
        """About so many tokens of words."""
        if self.chinese:
            return "".join(_CHINESE.format(n=self._random.randrange(900)) for _ in range(tokens // 36 + 1))
        return " ".join(self._random.choice(_WORDS) for _ in range(tokens * 2 // 3 + 1))

    def _page(self, tokens: int) -> str:
        lines = []
        for number in range(tokens // 18 + 1):
            lines.append(_CODE[number % 2].format(n=number))
            if number % 4 == 3 or self.chinese:
                lines.append(f"# {_CHINESE.format(n=number)}\n")
        return "".join(lines)


@dataclass
class Told:
    """What the events of a session said."""

    compacted: list[Compacted] = field(default_factory=list)
    failed: list[CompactionFailed] = field(default_factory=list)
    pruned: list[Pruned] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    added: list[Message] = field(default_factory=list)

    def take(self, event: AgentEvent) -> None:
        kinds: dict[type, list[Any]] = {
            Compacted: self.compacted,
            CompactionFailed: self.failed,
            Pruned: self.pruned,
            Notice: self.notices,
        }
        if isinstance(event, MessageAdded):
            self.added.append(event.message)
        elif type(event) in kinds:
            kinds[type(event)].append(event)

    @property
    def breaks(self) -> int:
        return len(self.compacted) + len(self.pruned)


class LongSession:
    """A session in a project whose model has a window, continued as often as is wanted. At each request it
    looks whether what was planted is known and the request repeats the one before it; ``breaks`` are the
    requests that did not."""

    def __init__(
        self,
        world: World,
        window: int,
        *,
        size: int,
        real: int = 0,
        chinese: bool = False,
        every: int = 40,
        instructions: str = RULE,
    ) -> None:
        """``real``: what the service takes, where that is less than the ``window`` it is said to take."""
        self.world = world
        self.window = window
        self.work = Work(world.project, size, chinese, every)
        self.service = WindowService(world.server, real or window, self.work.answer, seen=self._seen)
        self.told = Told()
        self.breaks = 0
        self._counted = 0, 0  # breaks, and marks of them, up to the last turn's end
        self.missing: list[str] = []
        self.is_lenient = False  # where no summary can be had, what was planted may be forgotten
        self._known: set[str] = set()
        self._before: RecordedRequest | None = None
        self._is_continued = False
        self._is_open = True
        self.turn = 0
        (world.project / "MEWCODE.md").write_text(f"{instructions}\n", encoding="utf-8")
        self.session = self.open()

    def open(self, **options: Any) -> Session:
        config = self.world.home / ".mewcode" / "config.yaml"
        config.parent.mkdir(exist_ok=True)
        entry = f"{{context_window: {self.window}, max_output: 8192}}"
        model = f"models: {{{MODELS[self.world.protocol]}: {entry}}}"
        config.write_text(f"{model}\nsessions: {{titles: false, briefs: false}}\n")
        return self.world.open(mode="bypass", max_turns=2_000, **options)

    async def take(self, *, steps: int = 1, on_event: OnEvent | None = None) -> RunResult:
        """One turn, after which all that was said has to hold."""
        self.turn += 1
        prompt = self.work.begin(self.turn, steps)
        events: list[AgentEvent] = []
        async with asyncio.timeout(60), self.session.run(prompt) as run:
            async for event in run:
                events.append(event)
                self.told.take(event)
                if on_event is not None:
                    on_event(event, run)
        check_order(events)
        broken, marked = self.breaks - self._counted[0], self.told.breaks - self._counted[1]
        self._counted = self.breaks, self.told.breaks
        assert broken <= marked, f"turn {self.turn}: the prefix broke {broken} times, {marked} were marked"
        assert not self.missing, f"turn {self.turn}: {self.missing}"
        return run.result

    async def go_on(self, turns: int, *, restarts: int = 0) -> None:
        """So many turns, in as many parts as there are ``restarts`` and one."""
        ends = {turns * part // (restarts + 1) for part in range(1, restarts + 1)}
        for number in range(1, turns + 1):
            result = await self.take()
            assert result.stop == "done", (self.turn, result)
            if number in ends:
                await self.restart()

    async def restart(self) -> None:
        """Ends the session and continues it: nothing may be another."""
        messages = contents_of(self.session.agent.conversation.messages)
        todos = list(self.session.tools.session.todos)
        reads = self.session.tools.session.reads.export()
        await self.close()
        self.session = self.open(continue_newest=True)
        self._is_open = True
        self._is_continued = True
        again = self.session
        # What is left out or summed up where a session is continued stands in no archive.
        if not self.told.compacted or self.told.compacted[-1].trigger != "resumed":
            assert contents_of(again.agent.conversation.messages) == messages
        assert list(again.tools.session.todos) == todos
        assert again.tools.session.reads.export() == reads

    async def close(self) -> None:
        """Lets go of the session, once."""
        is_open, self._is_open = self._is_open, False
        if is_open:
            await self.session.aclose()

    async def end(self) -> None:
        """Ends the session; its archive has all that was said."""
        folder = self.session.archive.folder
        assert [item.text for item in self.session.tools.session.todos] == [self.work.todo]
        await self.close()
        added = {message.id for message in self.told.added}
        whole = load_history(folder).messages
        said = [message for message in whole if message.id in added]
        assert contents_of(said) == contents_of(self.told.added)
        others = {message.origin for message in whole if message.id not in added}
        assert others <= {"compaction", "reminder"}  # what stands at the head of a compacted conversation
        sent = self._known if not self.is_lenient else {RULE, *self.work.planted}
        assert {RULE, *self.work.planted} <= sent, "not all of what was planted was ever sent"

    def _seen(self, request: RecordedRequest) -> None:
        before, self._before = self._before, request
        if before is not None and not _extends(before, request, self._is_continued):
            self.breaks += 1
        self._is_continued = False
        text = request.body.decode()
        for name in (RULE, self.work.todo, *(() if self.is_lenient else self.work.planted)):
            if name and name in text:
                self._known.add(name)
            elif name in self._known:
                self.missing.append(f"request {request.index} does not know {name!r}")

    def report(self) -> str:
        """How often room was made, and what was sent."""
        told, turns, asides = self.told, self.service.turns, self.service.asides
        ahead = sum(event.ahead for event in told.compacted)
        return (
            f"{self.world.protocol}, window {self.window:,}: {self.turn} turns, {turns.requests:,} requests, "
            f"{len(told.compacted)} compactions ({ahead} ahead of time), {len(told.pruned)} prunings of "
            f"{sum(event.results for event in told.pruned)} results; {turns.tokens:,} tokens sent, "
            f"{turns.cached * 100 // turns.tokens} % from the cache, the largest request {turns.largest:,}; "
            f"{asides.requests} summaries of {asides.tokens:,} tokens; {len(self.service.refused)} refused"
        )


def contents_of(messages: Sequence[Message]) -> list[tuple[str, Any]]:
    """Roles and contents; results of parallel calls, kept as they end, in the order of their ids."""
    contents: list[tuple[str, Any]] = []
    for role, group in groupby(messages, lambda message: message.role):
        same = [(role, message.content) for message in group]
        contents += sorted(same, key=lambda item: item[1][0].call_id) if role == "tool" else same
    return contents


def _extends(before: RecordedRequest, after: RecordedRequest, is_continued: bool) -> bool:
    """A session that is continued is told anew what lies in its folder; what was said is the same."""
    if messages_sent(after).startswith(messages_sent(before)):
        return is_continued or settings_of(after) == settings_of(before)
    try:
        check_extends(before, after)
    except AssertionError:
        return False
    return True


def long_session(protocol: Any, server: FakeLLM, at: Path, window: int, **settings: Any) -> LongSession:
    """A session in a new project."""
    return LongSession(World(protocol, server, at), window, **settings)
