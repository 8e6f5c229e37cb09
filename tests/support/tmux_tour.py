"""A tour through the real program in real tmux, as a person at the keyboard would take it: the picker, a
rewind with files, two windows on one session, a kill in the middle of a tool.

    scripts/tour [--size 80x24] [--theme dark] [--act NAME] [--sessions 300] [--keep FOLDER]

Each act runs in a project and a home of its own against the fake model server, at each size and in each
theme. It says what did not come, and exits with 1 then; ``--keep`` writes every screen that was seen, with
its colours (look at them with ``cat``). The tests drive the same program in an emulated terminal; this shows
what a real one makes of it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.archive import head, make_session, said
from tests.support.fake_llm import FakeLLM, RecordedRequest, Reply
from tests.support.program import PROGRAM, environment
from tests.support.remembering_llm import answer_from_notes, note_what_is_told
from tests.support.tmux import Tmux, TmuxError, Window

MODEL = "claude-opus-5-5"
TITLE = "resume which session?"
WAIT = {"command": "echo started; sleep 600"}
SIZES = ((80, 24), (200, 50))
THEMES = ("dark", "light")


@dataclass
class Stage:
    """Where an act plays. ``sessions``: how many the picker has to choose from."""

    tmux: Tmux
    server: FakeLLM
    folder: Path
    columns: int
    rows: int
    theme: str
    sessions: int
    windows: list[Window] = field(default_factory=list)

    def __post_init__(self) -> None:
        (self.home / ".mewcode").mkdir(parents=True)
        (self.home / ".mewcode/config.yaml").write_text(f"ui: {{theme: {self.theme}}}\n")
        self.project.mkdir()

    @property
    def project(self) -> Path:
        return self.folder / "project"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def start(self, *arguments: str) -> Window:
        window = self.tmux.open(
            [*PROGRAM, "--model", MODEL, *arguments],
            cwd=self.project,
            env=environment(self.home, anthropic=self.server.url),
            columns=self.columns,
            rows=self.rows,
        )
        self.windows.append(window)
        return window

    def conversations(self) -> list[Path]:
        return sorted((self.project / ".mewcode/sessions").glob("*/conversation.jsonl"))


def ask(window: Window, text: str, answer: str) -> None:
    """Sends a message and waits until it is answered and the prompt is back."""
    ready(window)
    window.type(text)
    window.keys("Enter")
    window.wait_for(answer)
    ready(window)


def ready(window: Window) -> None:
    window.wait_until(
        lambda shown: f"{MODEL} · " in shown and "esc to stop" not in shown and "starting…" not in shown,
        "the prompt at rest",
    )


def expect(holds: bool, what: str) -> None:
    if not holds:
        raise TmuxError(what)


# ---- the acts


def empty_list(stage: Stage) -> None:
    """The picker where there is nothing to choose from."""
    window = stage.start("-r")
    window.wait_for("no sessions here")
    window.keys("Escape")
    window.wait_end()
    expect("no session was chosen" in window.history(), "it is not said that none was chosen")


def picker(stage: Stage) -> None:
    """Filter, preview, rename, pin, trash and back, order, places, other sizes."""
    now = time.time()
    for number in range(stage.sessions):
        then = now - number * 3_600
        name = time.strftime("%Y%m%d-%H%M%S", time.localtime(then)) + f"-{number % 65_536:04x}"
        lines = (
            head("x", then, branch="main", model=MODEL),
            said("u", f"fix the parser, part {number}" if number else "解析器的错误", then),
            said("a", f"The tokenizer was wrong in line {number}.", then, "assistant"),
        )
        make_session(stage.project / ".mewcode/sessions", name, *lines, mtime=then)
    window = stage.start("-r", "--trust")
    window.wait_for(f"newest first · {stage.sessions:,}")
    window.wait_gone("reading…")
    window.type("解析")
    window.wait_for(f"1 of {stage.sessions:,}")
    window.keys("C-u")
    window.type('"wrong in line 2"')
    window.wait_for(f"1 of {stage.sessions:,}")
    window.keys("C-u")
    window.type(r"re:line [12]\b")
    window.wait_for(f"2 of {stage.sessions:,}")
    window.keys("Escape", "Right")
    window.wait_for("The tokenizer was wrong in line 0.")
    for columns, rows in ((40, 10), (stage.columns, stage.rows)):
        window.resize(columns, rows)
        window.wait_until(lambda shown, rows=rows: shown.count("\n") == rows, f"{columns} by {rows}")  # type: ignore[misc]  # bound now
    window.keys("Left", "C-r", "C-u")
    window.type("名字 a name")
    window.keys("Enter")
    window.wait_for("❯     名字 a name")
    window.keys("C-p")
    window.wait_for("❯ *")
    window.keys("C-d")
    window.wait_for("move to the trash? (y/n)")
    window.type("y")
    window.wait_for("moved to the trash")
    window.keys("C-z")
    window.wait_for("brought back")
    window.keys("C-s")
    window.wait_for("by size")
    window.keys("Tab")
    shown = window.wait_for("this repository")
    expect(shown.count(TITLE) == 1, "the headline stands there more than once")
    window.keys("C-c")
    window.wait_end()


def rewind(stage: Stage) -> None:
    """Files that tools made and changed go with the message, and come back."""
    changed, made = stage.project / "a.txt", stage.project / "新.txt"
    changed.write_text("one\n")
    edits = [{"old_text": "one", "new_text": "two"}]
    stage.server.script(
        Reply.calls(("read_file", {"path": "a.txt"})),
        Reply.calls(
            ("edit_file", {"path": "a.txt", "edits": edits}),
            ("write_file", {"path": made.name, "content": "made\n"}),
        ),
        Reply.text("Both changed."),
    )
    window = stage.start("--permission-mode", "accept-edits")
    ask(window, "修改 a.txt", "Both changed.")
    window.keys("Escape", "Escape")
    window.wait_for("go back to before which message?")
    window.keys("Enter")
    window.wait_for("The conversation and the files")
    window.keys("Enter")
    window.wait_for("rewound to: 修改 a.txt")
    expect((changed.read_text(), made.exists()) == ("one\n", False), "the files were not restored")
    window.keys("C-c")
    ready(window)
    window.type("/rewind undo")
    window.keys("Enter")
    window.wait_for("back to where it was")
    expect((changed.read_text(), made.exists()) == ("two\n", True), "the files did not come back")
    window.keys("C-d")
    window.wait_end()


def two_windows(stage: Stage) -> None:
    """The second window on a session looks, forks, or waits until the first has left."""
    stage.server.script(Reply.text("First answer."), Reply.text("In the fork."))
    first = stage.start()
    ask(first, "hello", "First answer.")
    second = stage.start("-c")
    second.wait_for("open in another window")
    second.keys("2")
    second.wait_for("First answer.")
    ask(second, "go on here", "In the fork.")
    [session] = [path.parent.name for path in stage.conversations() if b"go on here" not in path.read_bytes()]
    third = stage.start("-r", session)
    third.wait_for("open in another window")
    third.keys("3")
    third.wait_for("waiting for process")
    first.keys("C-d")
    first.wait_end()
    third.wait_for("First answer.")
    for window in (second, third):
        window.keys("C-d")
        window.wait_end()


def killed(stage: Stage) -> None:
    """After a kill in the middle of a tool the session goes on, and says what it does not know."""
    stage.server.script(Reply.calls(("bash", WAIT)), Reply.text("On it goes."))
    window = stage.start("--permission-mode", "bypass")
    ready(window)
    window.type("wait")
    window.keys("Enter")
    window.wait_for("started")
    groups = _children(window.pid)
    os.kill(window.pid, signal.SIGKILL)
    window.wait_end()
    for group in groups:
        os.killpg(group, signal.SIGKILL)
    again = stage.start("-c")
    again.wait_for("repaired: 1 unfinished tool call")
    again.wait_for("its effect is unknown")
    ask(again, "go on", "On it goes.")
    again.keys("C-d")
    again.wait_end()


def notes(stage: Stage) -> None:
    """What is said becomes a note, which the next session knows, the browser shows and the guard holds."""
    stage.server.respond_with(answer_from_notes)
    stage.server.extract_with = note_what_is_told
    window = stage.start()
    ask(window, "Remember: the staging host is called quokka.", "unknown")
    window.wait_for("noted: Remember: the staging host")
    ask(window, "记住：不要推送到 main 分支。", "unknown")
    window.wait_for("noted: 记住")
    window.type("/memory")
    window.keys("Enter")
    window.wait_for("^T every type")
    window.type("推送")
    window.wait_gone("staging")
    window.keys("Right")
    window.wait_for("your own words")
    window.keys("Left", "Escape")
    window.wait_for("staging")
    window.keys("Tab", "Tab", "Tab")
    window.wait_for("created")
    window.keys("Escape")
    ready(window)
    window.keys("C-d")
    window.wait_end()
    again = stage.start()
    ask(again, "Which host is staging?", "quokka")  # what is recalled may come too late for this one
    ask(again, "Is staging still there?", "quokka")
    again.wait_for("recalled:")
    again.type("/memory why")
    again.keys("Enter")
    again.wait_for("quokka")
    ready(again)
    stage.server.respond_with(_unscripted)
    stage.server.script(Reply.calls(("bash", {"command": "git push origin main"})), Reply.text("I did not."))
    again.type("push it")
    again.keys("Enter")
    again.wait_for("Allow bash?")
    again.keys("Escape")
    again.wait_for("denied;")
    ready(again)
    again.keys("C-d")
    again.wait_end()


def _children(pid: int) -> list[int]:
    """The process groups of the commands that a process runs."""
    done = subprocess.run(
        ["ps", "-A", "-o", "ppid=,pgid="],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    pairs = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    own = os.getpgid(pid)
    return sorted({group for parent, group in pairs if parent == pid and group != own})


ACTS: dict[str, Callable[[Stage], None]] = {
    act.__name__: act for act in (empty_list, picker, rewind, two_windows, killed, notes)
}


# ---- the tour


def play(name: str, tmux: Tmux, columns: int, rows: int, theme: str, sessions: int, keep: Path | None) -> str:
    """Plays an act; what went wrong, else nothing."""
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(
                tempfile.TemporaryDirectory(prefix="mewcode-tour-", ignore_cleanup_errors=True)
            )
        )
        server = stack.enter_context(FakeLLM())
        server.aside = Reply.error(400, message="nothing beside the conversation")
        server.respond_with(_unscripted)
        stage = Stage(tmux, server, folder, columns, rows, theme, sessions)
        problem = ""
        try:
            ACTS[name](stage)
            shown = "\n".join(window.history() for window in stage.windows)
            problem = "a traceback is on the screen" if "Traceback" in shown else ""
        except TmuxError as error:
            problem = str(error)
        finally:
            if keep is not None:
                _keep(stage, keep / f"{name}-{columns}x{rows}-{theme}.txt")
            for window in stage.windows:
                window.close()
        return problem or "\n".join(server.problems)


def _unscripted(request: RecordedRequest) -> Reply:
    return Reply.text("An answer.")


def _keep(stage: Stage, path: Path) -> None:
    parts = [f"==== {what}\n{screen}" for window in stage.windows for what, screen in window.seen]
    path.write_text("\n".join(parts), encoding="utf-8")


def _size(text: str) -> tuple[int, int]:
    columns, _, rows = text.partition("x")
    if not (columns.isdecimal() and rows.isdecimal() and int(columns) >= 60 and int(rows) >= 16):
        raise argparse.ArgumentTypeError(f"{text!r} is no size such as 80x24, of 60x16 or more")
    return int(columns), int(rows)


def _sessions(text: str) -> int:
    if not text.isdecimal() or not 3 <= int(text) <= 100_000:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 3 to 100000")
    return int(text)


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/tour", description="The program in real tmux.")
    parser.add_argument(
        "--size", type=_size, action="append", metavar="COLUMNSxROWS", help="80x24 and 200x50"
    )
    parser.add_argument("--theme", choices=THEMES, action="append", help="both, unless one is named")
    parser.add_argument("--act", choices=tuple(ACTS), action="append", help="all, unless some are named")
    parser.add_argument("--sessions", type=_sessions, default=300, metavar="N", help="in the picker (300)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where the screens that were seen go")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """0 where all came as it should, 1 where not, 2 where there is no tmux."""
    options = make_parser().parse_args(arguments)
    if shutil.which("tmux") is None:
        sys.stderr.write("scripts/tour: there is no tmux on the path; install it, then run again.\n")
        return 2
    if options.keep is not None:
        options.keep.mkdir(parents=True, exist_ok=True)
    failed = 0
    with Tmux() as tmux:
        for columns, rows in options.size or SIZES:
            for theme in options.theme or THEMES:
                for name in options.act or ACTS:
                    began = time.monotonic()
                    problem = play(name, tmux, columns, rows, theme, options.sessions, options.keep)
                    failed += bool(problem)
                    took = f"{time.monotonic() - began:.1f} s"
                    where = f"{name}, {columns}x{rows}, {theme}"
                    sys.stdout.write(f"{'FAILED' if problem else 'ok'}  {where}  {took}\n")
                    sys.stdout.write(f"{problem}\n" if problem else "")
                    sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
