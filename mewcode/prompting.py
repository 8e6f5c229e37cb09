"""The system prompt of a workspace: its modules, joined from the config, the instructions and the archive."""

from __future__ import annotations

import logging
import platform
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path

from mewcode.config.schema import Config
from mewcode.core.errors import NoteError
from mewcode.infra.paths import Places
from mewcode.instruction_source import InstructionSource
from mewcode.instructions.gate import InstructionGate
from mewcode.note_source import has_notes, prompt_notes, uses_notes
from mewcode.prompt.builder import fixed_modules, join_sections, render_sections
from mewcode.prompt.environment import environment_module
from mewcode.prompt.module import PromptModule
from mewcode.prompt.recent import RecentSession, recent_module
from mewcode.sessions.briefs import IsOurs, recent_briefs
from mewcode.sessions.settings import SessionSettings

_LOG = logging.getLogger("mewcode.memory")


class SystemPrompt:
    """``is_ours``: whether a session may be spoken of (see `sessions.briefs`). ``sections``: the texts of
    which the prompt was built last, by the modules' names. ``no_memory``: no notes, whatever the config says.
    """

    def __init__(
        self,
        places: Places,
        environ: Mapping[str, str],
        config: Config,
        settings: SessionSettings,
        is_ours: IsOurs,
        add_dirs: Sequence[Path] = (),
        *,
        no_memory: bool = False,
    ) -> None:
        source = InstructionSource(places, environ, config)
        self.instructions = InstructionGate(places, source.loader, source.cache)
        self._places = places
        self._environ = environ
        self._config = config
        self._settings = settings
        self._is_ours = is_ours
        self._add_dirs = tuple(add_dirs)
        self._uses_notes = uses_notes(config, no_memory=no_memory)
        self.sections: dict[str, str] = {}
        self.are_notes_off: Callable[[], bool] = lambda: False
        """Whether the user wants none in this session; asked each time that the prompt is made."""

    def build(self, model: str, session_id: str) -> tuple[str, ...]:
        """The texts for one model and session; see `build_prompt`."""
        rendered = render_sections(self.modules(model, session_id))
        self.sections = {module.name: text for module, text in rendered if text}
        return join_sections(rendered)

    def modules(self, model: str, session_id: str) -> tuple[PromptModule, ...]:
        """All modules, in no order. They read when they are rendered."""
        places, written = self._places, self._config.system_prompt
        environment = environment_module(
            cwd=places.cwd,
            root=places.root,
            platform=f"{platform.system()} {platform.release()}",
            shell=Path(self._environ.get("SHELL") or "bash").name,
            date=date.today().isoformat(),
            model=model,
            add_dirs=self._add_dirs,
        )
        instructions = PromptModule(
            "instructions", 80, "session", self.instructions.build, "the project's and the user's MEWCODE.md"
        )
        recent = recent_module(self._recent(session_id))
        notes = PromptModule("memory", 100, "session", self._notes, "the agent's notes")
        return (*fixed_modules(written.replace, written.append), environment, instructions, recent, notes)

    def _notes(self) -> str:
        """The notes as they are now. Where they cannot be read, the session goes on without."""
        if not self._uses_notes or self.are_notes_off() or not has_notes(self._places, self._environ):
            return ""
        from mewcode.prompt.notes import framed

        try:
            return framed(prompt_notes(self._places, self._environ))
        except NoteError as error:
            _LOG.warning("no notes in the prompt: %s", error.message)
            return framed(f"({error.message})")

    def _recent(self, session_id: str) -> Callable[[], Sequence[RecentSession]]:
        def find() -> Sequence[RecentSession]:
            if not self._settings.briefs:
                return ()
            found = recent_briefs(self._places.project / "sessions", session_id, self._is_ours)
            return tuple(RecentSession(brief.day, brief.title, brief.text) for brief in found)

        return find
