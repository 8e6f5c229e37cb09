"""The contract of a tool.

A tool is a value without state; what lasts for a session stands in `ToolSession`, what belongs to one call in
`ToolContext`. Its arguments are a msgspec struct: the schema that the model is given comes from it, and so
does the check of what the model sends.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import msgspec

from mewcode.core.access import Access
from mewcode.core.events import Question
from mewcode.core.outcome import TodoItem, ToolOutcome, View

if TYPE_CHECKING:
    from mewcode.tools.read_table import ReadTable
    from mewcode.tools.shell_session import ShellSession

ArgsT = TypeVar("ArgsT", bound=msgspec.Struct)


class ToolSession(msgspec.Struct):
    """What tools share for the length of a session.

    ``root`` is the workspace's top, ``cwd`` the folder MewCode was started in: relative paths of the file
    tools start there. ``add_dirs`` are further folders the user opened. All absolute and resolved.
    ``vision``: the model takes images. ``may_read`` is the permission policy's word on a file that a search
    of a whole folder comes upon (absolute): what it refuses is left out. None: all may be read.
    ``results``: the folder with this session's large results. A session that was forked or moved names them
    where they were; one that is not there any more is found in this folder. ``before_write`` and
    ``after_write`` are called by `changing`.
    """

    root: Path
    cwd: Path
    reads: ReadTable
    shell: ShellSession
    add_dirs: tuple[Path, ...] = ()
    vision: bool = False
    may_read: Callable[[Path], bool] | None = None
    todos: list[TodoItem] = []
    before_write: Callable[[Path], None] | None = None
    after_write: Callable[[Path], None] | None = None
    results: Callable[[], Path] | None = None

    def resolve(self, path: str) -> Path:
        """The absolute, symlink-free path that the model means: ``~`` expanded, relative to ``cwd``."""
        resolved = (self.cwd / Path(path).expanduser()).resolve()
        if self.results is None or not _is_result(resolved) or resolved.exists():
            return resolved
        own = self.results() / resolved.name
        return own.resolve() if own.is_file() else resolved

    @contextmanager
    def changing(self, path: Path) -> Iterator[None]:
        """Within it a tool changes the file at ``path`` (resolved), in the thread in which it writes: what
        was there is kept before, and what is there is noted after, also where the change failed."""
        if self.before_write is not None:
            self.before_write(path)
        try:
            yield
        finally:
            if self.after_write is not None:
                self.after_write(path)

    def inside(self, path: Path) -> bool:
        """Whether a resolved path lies in the workspace or an added folder."""
        return any(path.is_relative_to(top) for top in (self.root, *self.add_dirs))

    def display(self, path: Path) -> str:
        """The path as a person reads it: relative to ``cwd`` where it lies below."""
        return str(path.relative_to(self.cwd)) if path.is_relative_to(self.cwd) else str(path)


def _is_result(path: Path) -> bool:
    """Whether the path is one of ``sessions/<id>/tool-results/<call id>``."""
    return path.parts[-2:-1] == ("tool-results",) and path.parts[-4:-3] == ("sessions",)


AskUser = Callable[[Question], Awaitable[str | None]]


class ToolContext(msgspec.Struct):
    """One call's surroundings.

    ``progress`` may be called from the event loop at any time with new output, already safe to show; it
    never blocks and never raises. ``ask`` is None where no user is there; it returns None when the user
    declined to answer. ``judged`` is what the policy allowed of this call (None: nothing was judged): a path
    that by now leads elsewhere is not to be opened.
    """

    session: ToolSession
    call_id: str
    progress: Callable[[str], None]
    ask: AskUser | None = None
    judged: Sequence[Access] | None = None


class Tool(ABC, Generic[ArgsT]):
    """One tool. Sub-classes set the class variables and write `run`; the rest has defaults."""

    name: ClassVar[str]
    read_only: ClassVar[bool] = False
    pages: ClassVar[bool] = False  # its results are bounded pages of what can be read again: never put aside
    args_type: type[ArgsT]

    @property
    def description(self) -> str:
        """The Markdown file beside the module, which the model reads."""
        import sys

        module_file = sys.modules[type(self).__module__].__file__
        assert module_file is not None
        return Path(module_file).with_suffix(".md").read_text(encoding="utf-8").strip()

    def accesses(self, args: ArgsT, session: ToolSession) -> Sequence[Access]:
        """What this call wants to touch, judged by the policy before it runs. Must not raise."""
        return ()

    def summary(self, args: ArgsT, session: ToolSession) -> str:
        """The argument worth a look, on one line, without its own escape codes."""
        return ""

    def preview(self, args: ArgsT, session: ToolSession) -> View | None:
        """What an approval shows: a diff, a command. May read files; raises `ToolError` only where `run`
        would too, and then the call is answered with that error and nobody is asked."""
        return None

    @abstractmethod
    async def run(self, args: ArgsT, context: ToolContext) -> ToolOutcome:
        """Do it. Raises `ToolError` with words for the model; cancellation must leave nothing running."""


AnyTool = Tool[Any]
