"""What can be completed in the input: commands, their arguments, and files after an ``@``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from mewcode.repl.commands import CommandRegistry
from mewcode.repl.file_index import FileIndex
from mewcode.repl.folder_list import list_folder
from mewcode.repl.mentions import mention_at, mention_of

if TYPE_CHECKING:
    from mewcode.agent.session import Session


def completes(document: Document) -> bool:
    """Whether there may be something to complete at the cursor; asked at each key."""
    if document.text[:1] == "/":
        return True
    return mention_at(document.current_line_before_cursor[-1024:]) is not None


class InputCompleter(Completer):
    """Commands are completed at once; files are searched in a thread, so that no key waits for them."""

    def __init__(
        self, registry: CommandRegistry, files: FileIndex, cwd: Path, session: Callable[[], Session | None]
    ) -> None:
        self._registry, self._files, self._cwd, self._session = registry, files, cwd, session

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        text = document.text_before_cursor
        if text.startswith("/") and "\n" not in text:
            yield from self._commands(text)

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        for completion in self.get_completions(document, complete_event):
            yield completion
        for completion in await self._looked_up(document.text_before_cursor):
            yield completion
        mention = mention_at(document.current_line_before_cursor[-1024:])
        if mention is None:
            return
        length, path = mention
        if path.startswith(("/", "~", "./", "../")):
            found = await asyncio.to_thread(list_folder, path, self._cwd)
        else:
            found = await self._files.find(path)
            if not found and "/" in path:  # what git ignores can still be spelt out
                found = await asyncio.to_thread(list_folder, path, self._cwd)
        for item in found:
            yield _file(item, length)

    def _commands(self, text: str) -> Iterator[Completion]:
        name, space, argument = text[1:].partition(" ")
        if not space:
            for command in self._registry.commands.values():
                if command.name.startswith(name):
                    yield Completion(
                        command.name, -len(name), f"/{command.name}", display_meta=command.summary
                    )
        else:
            for value, description in self._registry.choices(name, self._session()):
                if value.startswith(argument):
                    yield Completion(value, -len(argument), display_meta=description)

    async def _looked_up(self, text: str) -> list[Completion]:
        """Arguments of a command that are not known without looking."""
        name, space, argument = text[1:].partition(" ")
        command, session = self._registry.commands.get(name), self._session()
        if not text.startswith("/") or not space or "\n" in text or command is None or session is None:
            return []
        if command.look_up is None:
            return []
        found = await asyncio.to_thread(command.look_up, session, argument)
        return [Completion(value, -len(argument), display_meta=about) for value, about in found]


def _file(path: str, length: int) -> Completion:
    """A folder is open for more; a file is followed by a blank."""
    if path.endswith("/"):
        inner = mention_of(path)
        text = inner if inner == f"@{path}" else inner[:-1]
    else:
        text = mention_of(path) + " "
    return Completion(text, -length, path)
