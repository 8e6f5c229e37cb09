"""The archives of a workspace: a fresh one, one that is continued, one that forks off. Joins the sessions
with the config, the flags and the trust in the folder."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Unpack

import msgspec

from mewcode.agent.continuing import About, Opened
from mewcode.agent.ports import Past
from mewcode.config.trust import is_own_folder, needs_trust
from mewcode.core.access import MODES, Mode
from mewcode.core.errors import SessionError, SessionForeign
from mewcode.options import Options
from mewcode.prompt.environment import git_branch
from mewcode.providers.registry import Service
from mewcode.sessions.append_file import CONVERSATION
from mewcode.sessions.archive import SessionWriter, WriterOptions
from mewcode.sessions.find import find_session, first_prompt, newest_session
from mewcode.sessions.forking import fork_session
from mewcode.sessions.reader import LoadedSession, load_session, read_seal
from mewcode.sessions.record import Totals, state_record, usage_record
from mewcode.sessions.repair import repair_messages
from mewcode.sessions.workspaces import make_project
from mewcode.setup import Setup

_TO_SUM_UP = 120_000
"""Tokens of the end of a session that no window holds: what stays word for word, and what is summed up."""
BUSY_WAIT = 5.0
"""Seconds that a start waits for a session held by another process."""


class WorkspaceArchives:
    """`agent.continuing.Archives` for one workspace.

    ``in_use`` is the service that the session talks to, ``services`` gives those in reach; None where the
    session's provider is fixed. ``window``: tokens of the largest window of any model: more of a conversation
    is never read.
    """

    def __init__(
        self,
        setup: Setup,
        window: int,
        in_use: Callable[[], Service],
        services: Callable[[], tuple[Service, ...]] | None,
    ) -> None:
        self._setup = setup
        self._window = window
        self._in_use = in_use
        self._services = services
        self._folder = setup.places.project / "sessions"

    def new(self, **about: Unpack[About]) -> SessionWriter:
        """See `Archives.new`."""
        return SessionWriter.create(self._folder, cwd=self._setup.places.cwd, **about, **self._writing())

    def open(self, folder: Path, *, fork: bool = False) -> Opened:
        """See `Archives.open`."""
        if folder.parent.resolve() != self._folder.resolve():
            raise SessionError(
                f"session {folder.name} belongs to another folder",
                f"Start MewCode there: mewcode -r {folder.name}",
            )
        self._check_maker(folder)
        if fork:
            return self._opened(self._load(folder), Options(), None)
        return self._open(folder, Options(), 0.0)

    def open_wanted(self, wait: float = BUSY_WAIT) -> Opened | None:
        """The session that the options name, None where they name none. What the flags say besides holds for
        it from now on. Raises as `open` does, `SessionBusy` after ``wait`` seconds."""
        folder, options = self._wanted(), self._setup.options
        if folder is None:
            return None
        self._check_maker(folder)
        if options.fork:
            return self._opened(self._load(folder), options, None)
        return self._open(folder, options, wait)

    def fork(
        self, folder: Path, at: str | None, used: Totals, turns: int, **about: Unpack[About]
    ) -> SessionWriter:
        """See `Archives.fork`."""
        cwd = self._setup.places.cwd
        writer = fork_session(folder, self._folder, at=at, cwd=cwd, **about, **self._writing())
        from mewcode.sessions.checkpoint_store import link_checkpoints  # a start without a fork needs it not

        link_checkpoints(folder, writer.folder)
        # What the old session used is known here too, but it was used there.
        before = 0 if at is None else turns
        writer.append_record(usage_record(used, ts=time.time(), turns=before) | {"carried": True})
        return writer

    def _writing(self) -> WriterOptions:
        setup = self._setup
        places = setup.places
        return {
            "prepare": lambda: make_project(places, trusted=setup.trusted),
            "seal": lambda session_id: setup.trust.seal(places.root, session_id),
            "branch": git_branch(places.root),
        }

    def _wanted(self) -> Path | None:
        options = self._setup.options
        if options.continue_newest:
            newest = newest_session(self._folder)
            if newest is None:
                raise SessionError("there is no session to continue in this folder", "Start one: mewcode")
            return newest
        return None if options.resume is None else find_session(self._folder, options.resume)

    def _open(self, folder: Path, options: Options, wait: float) -> Opened:
        writer = SessionWriter.open(folder, wait=wait, **self._writing())
        try:
            loaded = self._load(folder)
            writer.follow(loaded)
            opened = self._opened(loaded, options, writer)
        except BaseException:
            writer.close()
            raise
        self._record_changes(opened, loaded)
        return opened

    def _check_maker(self, folder: Path) -> None:
        """What came with a folder is not taken for the user's own words: a session that this user's MewCode
        did not make here is continued only where the folder is trusted. Until that is known, nothing of it is
        read but its first record, and nothing is written beside it. Raises SessionForeign."""
        if not (folder / CONVERSATION).is_file():
            raise SessionError(f"There is no session in {folder}.")
        setup = self._setup
        root = setup.places.root
        if setup.trusted or is_own_folder(setup.places):
            return
        if setup.trust.is_sealed(root, folder.name, read_seal(folder)):
            return
        if setup.trust.is_trusted(root):  # since the start
            return
        raise SessionForeign(
            f"session {folder.name} was not made by you in this folder",
            f"It may have come with the folder. If you trust it: mewcode --trust -r {folder.name}",
            root,
            tuple(needs_trust(setup.places)),
        )

    def _load(self, folder: Path) -> LoadedSession:
        return load_session(folder, tokens=self._window, enough=_TO_SUM_UP)

    def _opened(self, loaded: LoadedSession, options: Options, writer: SessionWriter | None) -> Opened:
        """What was loaded, repaired, with what it goes on with. Without a ``writer`` a fork of it is made."""
        messages, notes = repair_messages(loaded.messages)
        if loaded.skipped:
            notes.insert(0, f"left out {loaded.skipped} damaged records ({'; '.join(loaded.damage[:3])})")
        folder, config = self._folder / loaded.id, self._setup.loaded.config
        service, mode = self._service_of(loaded, options), self._mode_of(loaded, options)
        known = loaded.model if self._has_its_model(loaded, options, service) else ""
        model = options.model or known or config.model or ""
        provider = (service or self._in_use()).name
        if writer is None:
            used, turns = loaded.totals, loaded.sure_turns
            writer = self.fork(folder, loaded.last_id, used, turns, mode=mode, model=model, provider=provider)
        return Opened(
            archive=writer,
            loaded=msgspec.structs.replace(loaded, messages=messages),
            notes=(f"repaired: {'; '.join(notes)}",) if notes else (),
            model=model,
            mode=mode,
            service=service,
            past=_past(writer.folder, loaded),
            paused=max(0.0, time.time() - loaded.last_ts) if loaded.last_ts else 0.0,
        )

    def _mode_of(self, loaded: LoadedSession, options: Options) -> Mode:
        """A session's mode comes back with it, but never the one that asks nothing."""
        if options.mode is not None:
            return options.mode
        configured = self._setup.loaded.config.permissions.mode
        # One that may have been changed since is not brought back: the user may have tightened it.
        recorded = "" if "mode" in loaded.unknown else loaded.mode
        mode = next((known for known in MODES if known == recorded), configured)
        return "default" if mode == "bypass" else mode

    def _service_of(self, loaded: LoadedSession, options: Options) -> Service | None:
        """The service that the session last talked to, where it is in reach and no flag names another; None
        for the one in use."""
        named = loaded.provider
        if self._services is None or not named or options.provider or options.base_url:
            return None
        if named == self._in_use().name:
            return None
        return next((service for service in self._services() if service.name == named), None)

    def _has_its_model(self, loaded: LoadedSession, options: Options, service: Service | None) -> bool:
        """Whether the session's model may be taken for one of the service that it goes on with: not where its
        own is out of reach, as is often so with an imported one."""
        if self._services is None or options.provider or options.base_url:
            return True
        return service is not None or loaded.provider in ("", self._in_use().name)

    def _record_changes(self, opened: Opened, loaded: LoadedSession) -> None:
        """What a flag changed of a continued session holds for the next time as well."""
        provider = (opened.service or self._in_use()).name
        changes = {
            "mode": opened.mode if opened.mode != loaded.mode or "mode" in loaded.unknown else "",
            "model": opened.model if opened.model != loaded.model else "",
            "provider": provider if provider != loaded.provider else "",
        }
        if any(changes.values()):
            opened.archive.append_record(state_record(ts=time.time(), **changes))


def _past(folder: Path, loaded: LoadedSession) -> Past:
    bases = sorted((path.name for path in folder.glob("base-*.jsonl")), key=lambda name: (len(name), name))
    names = (*bases, CONVERSATION)
    words = "" if loaded.is_whole else first_prompt(folder, names[0])
    return Past(tuple(folder / name for name in names), loaded.is_whole, words)
