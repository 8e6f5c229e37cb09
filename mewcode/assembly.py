"""The composition root: the only place that joins the packages into a session."""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Literal

import msgspec

from mewcode._version import __version__
from mewcode.agent.loop import Limits
from mewcode.agent.ports import Person
from mewcode.agent.session import Session
from mewcode.agent.surroundings import Surroundings
from mewcode.agent.tool_runner import ToolRunner
from mewcode.config.edit import remember_project_rule
from mewcode.config.schema import Config
from mewcode.config.trust import TrustStore, is_own_folder
from mewcode.core.access import MODES
from mewcode.core.errors import SessionError, UsageError
from mewcode.core.message import Image, Message, ToolResult
from mewcode.infra.paths import Places, project_dir
from mewcode.permissions.policy import Policy
from mewcode.permissions.repository import is_plain_repository
from mewcode.permissions.rules import Rule, RuleSet
from mewcode.prompt.builder import FIXED_SECTIONS, build_prompt
from mewcode.prompt.environment import environment_module
from mewcode.providers.base import Provider
from mewcode.providers.catalog import Catalog, ModelInfo, ModelOverride
from mewcode.providers.registry import Service, key_variables, make_provider, preset_named
from mewcode.sessions.archive import SessionWriter
from mewcode.sessions.find import find_session, newest_session
from mewcode.sessions.reader import LoadedSession, load_session
from mewcode.sessions.record import state_record, usage_record
from mewcode.sessions.repair import repair_messages
from mewcode.setup import Setup, kept_keys, named_providers
from mewcode.tools.base import AnyTool, ToolSession
from mewcode.tools.read_table import ReadTable
from mewcode.tools.registry import Registry, builtin_tools
from mewcode.tools.shell_session import SECRET_NAMES, ShellSession

# Seconds that a session held by another process is waited for.
_BUSY_WAIT = 5.0


def open_session(
    setup: Setup, person: Person | None, provider: Provider | None = None, tools: Sequence[AnyTool] = ()
) -> Session:
    """A new session, or the one that the options name. ``provider`` replaces the service's own (the demo),
    ``tools`` are added to the built-in ones.

    Raises `SessionError` (with `SessionBusy` after 5 s), `UsageError`, `ConfigError`.
    """
    return _Assembly(setup).session(person, provider, tools)


class ProjectRules:
    """`agent.ports.RuleKeeper`: keeps rules in the project's local config."""

    def __init__(self, places: Places, trust: TrustStore) -> None:
        self._places = places
        self._trust = trust

    def remember(self, rule: str) -> str | None:
        """See `RuleKeeper.remember`."""
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

    def session(self, person: Person | None, provider: Provider | None, tools: Sequence[AnyTool]) -> Session:
        setup, config = self._setup, self._config
        loaded, archive, notices = self._archive()
        named = setup.options.model or (loaded.model if loaded else "") or config.model or ""
        policy = self._policy(loaded)
        registry = Registry((*builtin_tools(), *tools))
        tool_session = self._tool_session()
        tool_session.may_read = lambda path: policy.may_show(str(path))
        keeper = ProjectRules(setup.places, setup.trust)
        runner = ToolRunner(registry, tool_session, policy, person, keeper)
        if loaded is not None:
            if provider is None:
                self._use_service(self._service_of(loaded), tool_session.shell)
            _record_changes(loaded, archive, policy.mode, named, self._service.name)
        provider = provider or _make_provider(self._service)
        session = Session(
            provider=provider,
            model=named or None,
            tools=runner,
            policy=policy,
            archive=archive,
            catalog=self._catalog,
            find_model=self._find_model,
            build_system=self._build_system,
            new_archive=lambda: self._new_archive(policy.mode),
            around=self._surroundings(),
            service=self._service,
            service_changed=lambda service: self._use_service(service, tool_session.shell),
            limits=Limits(config.max_turns, setup.options.max_cost),
            loaded=loaded.messages if loaded else (),
            used=loaded.totals if loaded else None,
            notices=[*setup.loaded.notices, *setup.trust.notices, *notices],
        )
        session.remind_of_plan()
        if loaded and not session.model.vision and _holds_image(loaded.messages):
            session.notices.append("this session holds images, which the model does not take; it is told so")
        return session

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

    def _service_of(self, loaded: LoadedSession) -> Service:
        """The service that a continued session last talked to, where it is in reach and no flag names
        another; else that of the start."""
        options, chosen = self._setup.options, self._setup.service
        if not loaded.provider or loaded.provider == chosen.name or options.provider or options.base_url:
            return chosen
        return next((service for service in self._services() if service.name == loaded.provider), chosen)

    def _policy(self, loaded: LoadedSession | None) -> Policy:
        setup, config = self._setup, self._config
        mode = config.permissions.mode
        if loaded and setup.options.mode is None:
            # A session's mode comes back with it, but never the one that asks nothing.
            mode = next((known for known in MODES if known == loaded.mode), mode)
            mode = "default" if mode == "bypass" else mode
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

    def _build_system(self, model: str) -> tuple[str, ...]:
        places, environ = self._setup.places, self._setup.environ
        environment = environment_module(
            cwd=places.cwd,
            root=places.root,
            platform=f"{platform.system()} {platform.release()}",
            shell=Path(environ.get("SHELL") or "bash").name,
            date=date.today().isoformat(),
            model=model,
            add_dirs=self._add_dirs,
        )
        return build_prompt((*FIXED_SECTIONS, environment))

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

    def _archive(self) -> tuple[LoadedSession | None, SessionWriter, list[str]]:
        """The session that the options name, repaired, and the writer that continues it."""
        folder = self._wanted_session()
        if folder is None:
            return None, self._new_archive(self._config.permissions.mode), []
        writer = None if self._setup.options.fork else SessionWriter.open(folder, wait=_BUSY_WAIT)
        loaded = load_session(folder)
        self._check_origin(loaded, writer)
        messages, notes = repair_messages(loaded.messages)
        loaded = msgspec.structs.replace(loaded, messages=tuple(messages))
        if loaded.skipped:
            notes.insert(0, f"left out {loaded.skipped} damaged records ({'; '.join(loaded.damage[:3])})")
        if writer is None:
            writer = self._new_archive(loaded.mode)
            for message in messages:
                writer.append(message)
            # What the old session used is known here too, but it was used there.
            writer.append_record(usage_record(loaded.totals, ts=time.time()) | {"carried": True})
        return loaded, writer, [f"repaired: {note}" for note in notes]

    def _check_origin(self, loaded: LoadedSession, writer: SessionWriter | None) -> None:
        """What came with a folder is not taken for the user's own words: a session that this user's MewCode
        did not make here is continued only where the folder is trusted."""
        setup = self._setup
        trust, root = setup.trust, setup.places.root
        if setup.trusted or is_own_folder(setup.places) or trust.is_sealed(root, loaded.id, loaded.seal):
            return
        if writer is not None:
            writer.close()
        raise SessionError(
            f"session {loaded.id} was not made by you in this folder",
            "It may have come with the folder. If you trust it: mewcode --trust",
        )

    def _wanted_session(self) -> Path | None:
        options, folder = self._setup.options, self._setup.places.project / "sessions"
        if options.continue_newest:
            newest = newest_session(folder)
            if newest is None:
                raise SessionError("there is no session to continue in this folder", "Start one: mewcode")
            return newest
        return None if options.resume is None else find_session(folder, options.resume)

    def _new_archive(self, mode: str) -> SessionWriter:
        places = self._setup.places
        return SessionWriter.create(
            places.project / "sessions",
            cwd=places.cwd,
            provider=self._service.name,
            model=self._setup.options.model or self._config.model or "",
            mode=mode,
            prepare=lambda: project_dir(places),
            seal=lambda session_id: self._setup.trust.seal(places.root, session_id),
        )


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


def _holds_image(messages: Sequence[Message]) -> bool:
    blocks = (block for message in messages for block in message.content)
    return any(
        isinstance(block, Image)
        or (isinstance(block, ToolResult) and any(isinstance(part, Image) for part in block.content))
        for block in blocks
    )


def _make_provider(service: Service) -> Provider:
    return make_provider(service, f"mewcode/{__version__}")


def _record_changes(
    loaded: LoadedSession, archive: SessionWriter, mode: str, model: str, provider: str
) -> None:
    """What a flag changed of a continued session holds for the next time as well."""
    changes = {
        "mode": mode if mode != loaded.mode else "",
        "model": model if model != loaded.model else "",
        "provider": provider if provider != loaded.provider else "",
    }
    if any(changes.values()):
        archive.append_record(state_record(ts=time.time(), **changes))


def _existing(path: Path) -> Path:
    folder = path.expanduser().resolve()
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}", "Give an existing one with --add-dir.")
    return folder


def _without_our_own(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment for commands, without what only our own start script says."""
    return {name: value for name, value in environ.items() if name != "MEWCODE_OFFER_DEMO"}
