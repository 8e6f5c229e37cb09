"""The composition root: the only place that joins the packages into a session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from mewcode._version import __version__
from mewcode.agent.background_work import BackgroundWork
from mewcode.agent.fit import NewestPart
from mewcode.agent.loop import Limits
from mewcode.agent.news import News
from mewcode.agent.ports import Person
from mewcode.agent.session import Session
from mewcode.agent.surroundings import Surroundings
from mewcode.agent.tool_runner import ToolRunner
from mewcode.config.schema import Config
from mewcode.config.trust import TrustStore, is_own_folder
from mewcode.core.access import Mode
from mewcode.core.errors import UsageError
from mewcode.infra.paths import Places
from mewcode.note_source import note_folders, open_notes
from mewcode.note_tools.history import SessionHistory
from mewcode.note_tools.tools import SessionNotes
from mewcode.permissions.policy import Policy
from mewcode.permissions.repository import is_plain_repository
from mewcode.permissions.rules import Rule, RuleSet
from mewcode.prompt.environment import git_branch
from mewcode.prompting import SystemPrompt
from mewcode.providers.base import Provider
from mewcode.providers.catalog import Catalog, ModelInfo, ModelOverride
from mewcode.providers.registry import Service, key_variables, make_provider, preset_named
from mewcode.reopening import BUSY_WAIT, WorkspaceArchives
from mewcode.sessions.settings import SessionSettings, read_settings
from mewcode.sessions.tool_results import TOOL_RESULTS
from mewcode.sessions.workspaces import foreign_link
from mewcode.setup import Setup, kept_keys, named_providers
from mewcode.tools.base import AnyTool, ToolSession
from mewcode.tools.read_table import ReadTable
from mewcode.tools.registry import Registry, builtin_tools
from mewcode.tools.shell_session import SECRET_NAMES, ShellSession

if TYPE_CHECKING:
    from mewcode.agent.guarding import Guard
    from mewcode.agent.noting import Noting
    from mewcode.agent.recalling import Recalling
    from mewcode.infra.supervisor import TaskScope
    from mewcode.memory.recall.engine import Engine
    from mewcode.note_tools.docs import SessionDocs

_WINDOW_FOR_NOTES = 16_000
"""Tokens of a window from which on the tools for notes and past sessions are offered: they take 1,300 of each
request."""


def open_session(
    setup: Setup,
    person: Person | None,
    provider: Provider | None = None,
    tools: Sequence[AnyTool] = (),
    *,
    wait: float = BUSY_WAIT,
) -> Session:
    """A new session, or the one that the options name. ``provider`` replaces the service's own (the demo),
    ``tools`` are added to the built-in ones.

    Raises `SessionError` (`SessionBusy` after ``wait`` seconds), `UsageError`, `ConfigError`.
    """
    return _Assembly(setup).session(person, provider, tools, wait)


class ProjectRules:
    """`agent.ports.RuleKeeper`: keeps rules in the project's local config."""

    def __init__(self, places: Places, trust: TrustStore) -> None:
        self._places = places
        self._trust = trust

    def remember(self, rule: str) -> str | None:
        """See `RuleKeeper.remember`."""
        from mewcode.config.edit import remember_project_rule

        return remember_project_rule(self._places, self._trust, rule) or None


class _Assembly:
    """The parts that more than one step of joining a session needs."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._config = setup.loaded.config
        self._catalog = Catalog.load()
        self._add_dirs = tuple(_existing(path) for path in setup.options.add_dirs)
        self._service = setup.service
        self._secrets = self._key_names()
        self._settings = self._session_settings()
        self._sessions_dir = setup.places.project / "sessions"
        self._engine = cache(self._open_engine)
        self._notes = cache(lambda: open_notes(setup.places, setup.environ))
        self._note_folders = note_folders(setup.places, setup.environ)
        self._prompt = SystemPrompt(
            setup.places,
            setup.environ,
            self._config,
            self._settings,
            self._is_ours,
            self._add_dirs,
            no_memory=setup.options.no_memory,
        )

    def session(
        self, person: Person | None, provider: Provider | None, tools: Sequence[AnyTool], wait: float
    ) -> Session:
        setup, config = self._setup, self._config
        services = self._services if provider is None else None
        archives = WorkspaceArchives(setup, self._largest_window(), lambda: self._service, services)
        opened = archives.open_wanted(wait)
        policy = self._policy(opened.mode if opened else config.permissions.mode)
        notes = SessionNotes(setup, lambda: session.id)
        named = (opened.model if opened else "") or setup.options.model or config.model
        has_room = not named or self._find_model(named).context_window >= _WINDOW_FOR_NOTES
        docs = self._docs(lambda: session.background) if config.knowledge.paths else None
        found = docs.tools() if docs is not None else ()
        if has_room and notes.is_on:
            found += (*notes.tools(), *self._history(notes, lambda: session).tools())
        registry = Registry((*builtin_tools(), *found, *tools))
        tool_session = self._tool_session()
        tool_session.may_read = lambda path: policy.may_show(str(path))
        keeper = ProjectRules(setup.places, setup.trust)
        runner = ToolRunner(registry, tool_session, policy, person, keeper)
        if opened and opened.service:
            self._use_service(opened.service, tool_session.shell)
        provider = provider or _make_provider(self._service)
        around = self._surroundings()
        work = BackgroundWork(
            self._settings,
            self._sessions_dir,
            self._is_ours,
            self._small_model,
            make_noting=(lambda: self._noting(notes)) if notes.is_on else None,
            index_documents=docs.begin if docs is not None else None,
            make_recalling=(lambda: self._recalling(notes)) if notes.is_on else None,
        )
        session = Session(
            provider=provider,
            model=setup.options.model or config.model,
            tools=runner,
            policy=policy,
            catalog=self._catalog,
            find_model=self._find_model,
            prompt=self._prompt,
            archives=archives,
            compactor=NewestPart(),
            settings=self._settings,
            work=work,
            around=around,
            news=News(self._prompt.instructions, around),
            service=self._service,
            service_changed=lambda service: self._use_service(service, tool_session.shell),
            limits=Limits(config.max_turns, setup.options.max_cost),
            opened=opened,
            notices=[*setup.loaded.notices, *setup.trust.notices],
        )
        session.notes = notes if notes.is_on else None
        if config.memory.guard:
            runner.make_guard = lambda: self._guard(notes, policy)
        self._prompt.are_notes_off = lambda: notes.is_off
        policy.results = tool_session.results = lambda: session.archive.folder / TOOL_RESULTS
        return session

    def _session_settings(self) -> SessionSettings:
        """As the config has them; where sessions are not written, nothing is tidied up either."""
        settings = read_settings(self._config.sessions, self._config.origin)
        if self._setup.trusted or foreign_link(self._setup.places) is None:
            return settings
        return msgspec.structs.replace(settings, prune=False, briefs=False)

    def _largest_window(self) -> int:
        """Tokens of the largest window of any model that is known: which one it is going to be stands in what
        is read."""
        names = (*self._catalog.names(), *self._config.models)
        return max(self._find_model(name).context_window for name in names)

    def _surroundings(self) -> Surroundings:
        setup = self._setup
        return Surroundings(
            places=setup.places,
            environ=setup.environ,
            loaded=setup.loaded,
            trusted=setup.trusted,
            services=self._services,
            make=_make_provider,
            secret_names=self._secrets,
        )

    def _services(self) -> tuple[Service, ...]:
        """The services in reach, the one in use first, with that of the start under its name."""
        from mewcode.providers.ready import ready_services

        setup = self._setup
        found = {self._service.name: self._service, setup.service.name: setup.service}
        named, keys = named_providers(self._config), kept_keys(setup.places, setup.environ)
        for service in ready_services(named, setup.environ, keys, in_use=found):
            found.setdefault(service.name, service)
        return tuple(found.values())

    def _use_service(self, service: Service, shell: ShellSession) -> None:
        self._service = service
        self._secrets |= self._keys_of(service)
        shell.withhold(self._secrets)

    def _policy(self, mode: Mode) -> Policy:
        setup, config = self._setup, self._config
        return Policy(
            setup.places.root,
            self._add_dirs,
            mode,
            _rules(config),
            home=Path(setup.environ.get("HOME") or Path.home()),
            user_dir=setup.places.user,
            trusted_folder=setup.trusted or is_plain_repository(setup.places.root),
        )

    def _find_model(self, name: str) -> ModelInfo:
        entry = self._config.models.get(name)
        if entry is None:
            return self._catalog.find(name)
        fields = msgspec.to_builtins(entry)
        if entry.price is not None:
            # What is left out has the defaults; half a price is none, and leaves the catalogue's.
            known = {kind: value for kind, value in fields["price"].items() if value is not None}
            fields["price"] = known if {"input", "output"} <= known.keys() else None
        if entry.thinking is not None:
            style = "adaptive" if self._service.protocol != "openai" else "effort"
            fields["thinking"] = style if entry.thinking else "none"
        return self._catalog.find(name, msgspec.convert(fields, ModelOverride))

    def _small_model(self, service: Service) -> ModelInfo | None:
        """The config's, which is meant for the service of the start."""
        name = self._config.small_model
        return self._find_model(name) if name and service.name == self._setup.service.name else None

    def _note_model(self, service: Service) -> ModelInfo | None:
        """As `_small_model`, for keeping notes."""
        name = self._config.memory.model
        return self._find_model(name) if name and service.name == self._setup.service.name else None

    def _noting(self, notes: SessionNotes) -> Noting:
        from mewcode.agent.noting import Noting

        return Noting(notes, self._note_model, self._sessions_dir, self._is_made_here)

    def _recalling(self, notes: SessionNotes) -> Recalling | None:
        """None as long as there are no notes."""
        if not self._has_notes():
            return None
        from mewcode.agent.recalling import Recalling
        from mewcode.note_tools.recall_index import SessionIndex

        index = SessionIndex(self._note_folders, self._notes, self._engine, self._sessions_dir, self._is_ours)
        return Recalling(notes, index, self._selector)

    def _selector(self, session: Session) -> ModelInfo | None:
        """The model that chooses notes beside each turn, where one does."""
        named = self._note_model(session.service) or self._small_model(session.service)
        wanted = self._config.memory.selector
        return None if wanted == "local" else named or (session.model if wanted == "model" else None)

    def _guard(self, notes: SessionNotes, policy: Policy) -> Guard | None:
        """None as long as there is nothing that could forbid or demand anything."""
        root, sections = self._setup.places.root, self._prompt.sections
        if not (sections.get("instructions") or (notes.is_on and self._has_notes())):
            return None
        from mewcode.agent.guarding import Guard, instruction_texts, note_texts

        def texts() -> list[tuple[str, str]]:
            found = instruction_texts(self._prompt.sections.get("instructions", ""))
            if notes.is_on and not notes.is_off and self._has_notes():
                found += note_texts(self._notes().live())
            return found

        return Guard(texts, policy, root, lambda: git_branch(root))

    def _has_notes(self) -> bool:
        return any(folder.is_dir() for folder in self._note_folders)

    def _open_engine(self) -> Engine:
        from mewcode.recall_source import open_recall

        return open_recall(self._setup.places, self._setup.environ)

    def _docs(self, scope: Callable[[], TaskScope]) -> SessionDocs:
        from mewcode.knowledge_source import open_knowledge
        from mewcode.note_tools.docs import SessionDocs

        places, environ = self._setup.places, self._setup.environ
        return SessionDocs(lambda: open_knowledge(self._engine(), self._config, places, environ), scope)

    def _history(self, notes: SessionNotes, session: Callable[[], Session]) -> SessionHistory:
        return SessionHistory(
            self._engine,
            self._sessions_dir,
            self._is_ours,
            lambda: _in_view(session()),
            lambda: session().background,
            lambda: notes.is_off,
        )

    def _is_ours(self, session_id: str, seal: str) -> bool:
        """Whether this user's MewCode made a session here, or the user trusts what came with the folder."""
        return self._setup.trusted or self._is_made_here(session_id, seal)

    def _is_made_here(self, session_id: str, seal: str) -> bool:
        """Whether this user's MewCode made a session here: what others said in one that came with the folder
        is not the user's own word, whether they trust it or not."""
        setup = self._setup
        if is_own_folder(setup.places):
            return True
        return setup.trust.is_sealed(setup.places.root, session_id, seal)

    def _tool_session(self) -> ToolSession:
        places = self._setup.places
        return ToolSession(
            root=places.root,
            cwd=places.cwd,
            reads=ReadTable(),
            shell=ShellSession(
                places.cwd,
                _without_our_own(self._setup.environ),
                secrets=self._secrets,
                timeout=self._config.shell.timeout,
                max_timeout=self._config.shell.max_timeout,
            ),
            add_dirs=self._add_dirs,
        )

    def _key_names(self) -> set[str]:
        """The variables that hold keys of ours: commands do not get them."""
        named = (entry.api_key_env for entry in self._config.providers.values())
        return {*SECRET_NAMES, *filter(None, named), *self._keys_of(self._setup.service)}

    def _keys_of(self, service: Service) -> set[str]:
        """A service that is known by name has a variable of its own."""
        known = preset_named(service.name)
        return set(key_variables(known)) if known else set()


def _in_view(session: Session) -> str:
    """The session's id; "" where the beginning of its conversation has been summed up."""
    begun = session.agent.conversation.messages[:1]
    return "" if any(message.origin == "compaction" for message in begun) else session.id


def _rules(config: Config) -> dict[str, RuleSet]:
    """The rules by level. Raises `ConfigError` that names the place of one that is wrong."""
    kinds: tuple[Literal["allow", "ask", "deny"], ...] = ("allow", "ask", "deny")
    seen = dict.fromkeys(kinds, 0)
    levels: dict[str, RuleSet] = {}
    for level, permissions in config.permissions_by_level.items():
        parsed: dict[str, tuple[Rule, ...]] = {}
        for kind in kinds:
            rules: list[str] = getattr(permissions, kind)
            places = (config.origin(f"permissions.{kind}.{seen[kind] + i}") for i in range(len(rules)))
            parsed[kind] = tuple(Rule.parse(text, place) for text, place in zip(rules, places, strict=True))
            seen[kind] += len(rules)
        levels[level] = RuleSet(**parsed)
    return levels


def _make_provider(service: Service) -> Provider:
    return make_provider(service, f"mewcode/{__version__}")


def _existing(path: Path) -> Path:
    folder = path.expanduser().resolve()
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}", "Give an existing one with --add-dir.")
    return folder


def _without_our_own(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment for commands, without what only our own start script says."""
    return {name: value for name, value in environ.items() if name != "MEWCODE_OFFER_DEMO"}
