"""What a start does: the options, the folder and its config decide, then a front end takes over.

Only what is needed to decide is imported here. The parts of a session are joined in `mewcode.assembly`,
which a terminal loads after its first paint.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mewcode.core.errors import ConfigError, MewCodeError, NotConfigured, SessionError, UsageError
from mewcode.infra.log_file import start_logging
from mewcode.infra.paths import Places, find_places
from mewcode.infra.terminal_text import safe_text
from mewcode.options import Options
from mewcode.setup import Setup, load_settings

if TYPE_CHECKING:
    from mewcode.agent.ports import Person
    from mewcode.agent.session import Session
    from mewcode.repl.panel import Option
    from mewcode.sessions.catalog_entry import CatalogEntry


def start(options: Options) -> int:
    """Runs what the options ask for and returns the exit code. Raises `MewCodeError` for the user's eyes."""
    start_logging(verbose=options.verbose)
    environ = dict(os.environ)
    # A terminal that only prints gets lines; where there is a prompt already, just the answer.
    plain = options.plain or (not _draws(environ) and options.prompt is None)
    if not plain and _is_terminal() and (options.demo or not _draws(environ)) and not options.headless:
        plain = _configured_plain(options, environ)
    interactive = _is_terminal() and not options.headless and (plain or _draws(environ))
    if interactive and (options.output_format, options.input_format) != ("text", "text"):
        raise UsageError("--output-format and --input-format need -p", 'Such as: mewcode -p "..."')
    if not interactive and options.resume == "":
        raise UsageError("-r needs a session's id here", "Or use -c for the newest session of this folder.")
    if options.demo:
        from mewcode.demo.start import start_demo

        return start_demo(environ, interactive=interactive and not plain)
    if options.command is not None:
        return _command(options, environ, interactive)
    try:
        return _start(msgspec.structs.replace(options, plain=plain), environ, interactive)
    except KeyboardInterrupt:
        # Before the first turn; from there on the run itself says how it ended.
        _tell_failure(options, interactive, "interrupted")
        return 130
    except MewCodeError as error:
        if isinstance(error, NotConfigured) and not options.headless:
            if environ.get("MEWCODE_OFFER_DEMO") and options.prompt is None:
                from mewcode.demo.start import play_instead

                drawn = interactive and not plain and not _configured_plain(options, environ)
                return play_instead(environ, error, interactive=drawn)
            if interactive:
                return _first_start(options, environ, error)
        _tell_failure(options, interactive, error.message)
        raise


def _tell_failure(options: Options, interactive: bool, message: str) -> None:
    """Whoever asked for JSON gets the object also when nothing came of the run."""
    if not interactive and options.output_format != "text":
        from mewcode.headless.output import failure_object, write_line

        write_line(sys.stdout, failure_object(message))


def _command(options: Options, environ: dict[str, str], interactive: bool) -> int:
    places = find_places(_folder(options.cwd), environ)
    if options.command == "doctor":
        from mewcode.doctor.run import run_doctor

        return run_doctor(options, environ, places)
    if options.command == "sessions":
        from mewcode.session_commands.run import run_sessions

        return run_sessions(options, environ, places)
    if options.command == "memory":
        from mewcode.memory_commands.run import run_memory

        return run_memory(options, environ, places)
    if options.command == "knowledge":
        from mewcode.knowledge_commands.run import run_knowledge

        return run_knowledge(options, environ, places)
    if options.command == "eval":
        from mewcode.eval.run import run_eval

        return run_eval(options, environ, places)
    if options.command == "instructions":
        from mewcode.inspection.instructions import run_instructions

        return run_instructions(options, environ, places)
    if options.command == "prompt":
        from mewcode.inspection.prompt import run_prompt

        return run_prompt(options, environ, places)
    from mewcode.onboarding.start import configure

    return configure(options, environ, places, interactive=interactive)


def _first_start(options: Options, environ: dict[str, str], error: NotConfigured) -> int:
    """Lets the user set up a model, then starts what they asked for."""
    from mewcode.onboarding.start import first_start

    ready = first_start(options, environ, find_places(_folder(options.cwd), environ), error)
    return error.exit_code if ready is None else start(ready)


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _draws(environ: Mapping[str, str]) -> bool:
    """Whether the terminal can move its cursor."""
    return environ.get("TERM") not in ("dumb", "")


def _configured_plain(options: Options, environ: Mapping[str, str]) -> bool:
    """What ``ui.plain`` says, asked before the start itself reads the config: it decides what starts. A
    config that is wrong says nothing here; a start complains of it, the demo does without."""
    places = find_places(_folder(options.cwd), environ)
    try:
        return load_settings(options, environ, places, trusted=False).config.ui.plain
    except ConfigError:
        return False


def _start(options: Options, environ: dict[str, str], interactive: bool) -> int:
    places = find_places(_folder(options.cwd), environ)
    if not interactive:
        return asyncio.run(_headless(Setup(options, environ, places)))
    return _interactive(options, environ, places)


def _interactive(options: Options, environ: dict[str, str], places: Places) -> int:
    setup = Setup(options, environ, places)
    if options.resume == "" and not (options.plain or setup.loaded.config.ui.plain):
        picked = _pick_session(setup)
        if isinstance(picked, int):
            return picked
        options = msgspec.structs.replace(options, resume=picked.id)
        if Path(picked.sessions_dir) != places.project / "sessions":
            # It goes on where it was, with that folder's config and trust.
            places = _places_of(picked, environ)
            setup = Setup(options, environ, places)
    from mewcode.config.trust import needs_trust
    from mewcode.repl.start import Look, ask_trust, run_repl

    if (brings := needs_trust(places)) and ask_trust(places.root, brings):
        setup.trust.trust(places.root)
        setup = Setup(options, environ, places)

    def open_session(person: Person, picked: str | None, fork: bool) -> Session:
        from mewcode.assembly import open_session

        wanted = options.resume if picked is None else picked
        setup.options = msgspec.structs.replace(options, resume=wanted, fork=fork or options.fork)
        # Whoever sits at a terminal is asked at once.
        return open_session(setup, person, wait=0.0)

    def trust(root: Path) -> None:
        nonlocal setup
        setup.trust.trust(root)
        setup = Setup(options, environ, places)

    ui = setup.loaded.config.ui
    look = Look(
        places.cwd,
        places.root,
        ui.theme,
        options.prompt,
        title=ui.title,
        notify=ui.notify,
        vi_mode=ui.vi_mode,
    )
    if options.plain or ui.plain:
        from mewcode.repl.plain import run_plain

        list_sessions = (lambda: _session_options(places)) if options.resume == "" else None
        return run_plain(open_session, look, list_sessions, trust)
    return run_repl(open_session, environ, look, trust)


def _pick_session(setup: Setup) -> CatalogEntry | int:
    """The session that the user picks, of any folder; an exit code after a signal. Raises `SessionError`
    where they pick none."""
    from mewcode.repl.picker_start import pick_at_start
    from mewcode.repl.theme import choose_theme
    from mewcode.sessions.browse import SessionBrowser

    theme = choose_theme(setup.loaded.config.ui.theme, setup.environ)
    picked = pick_at_start(SessionBrowser(setup.places), theme, setup.environ, _load_session_parts)
    if picked is None:
        raise SessionError("no session was chosen", "Start a new one: mewcode")
    return picked


def _load_session_parts() -> None:
    """What a session needs, loaded while the user looks for one."""
    import mewcode.assembly
    import mewcode.repl.start  # noqa: F401
    from mewcode.infra.collector import start_done

    start_done()


def _places_of(picked: CatalogEntry, environ: Mapping[str, str]) -> Places:
    """The places of a session that another folder has. Raises `SessionError` where that is gone."""
    for folder in (picked.cwd, picked.folder):
        if folder and Path(folder).is_dir():
            places = find_places(Path(folder), environ)
            if places.project / "sessions" == Path(picked.sessions_dir):
                return places
    raise SessionError(
        f"session {picked.id} belongs to {picked.folder}, which is no such folder now",
        "Look at it with: mewcode sessions show",
    )


def _session_options(places: Places) -> tuple[Option, ...]:
    """The newest sessions of this folder to pick from."""
    from mewcode.repl.session_list import session_options

    return session_options(places.project / "sessions", time.time())


async def _headless(setup: Setup) -> int:
    from mewcode.assembly import open_session
    from mewcode.headless.context import asks_for_context
    from mewcode.headless.output import SessionFacts, make_output
    from mewcode.headless.run import run_headless

    options = setup.options
    if asks_for_context(options):
        return await _tell_context(setup)
    prompts = _prompts(options)
    session = open_session(setup, person=None)
    try:
        session.on_saving = _tell_saving
        for notice in session.notices:
            sys.stderr.write(safe_text(f"mewcode: {notice}\n"))
        await session.prepare()
        facts = SessionFacts(
            session.id,
            session.model.name,
            session.provider.name,
            str(setup.places.cwd),
            session.mode,
            tuple(spec.name for spec in session.tools.registry.specs()),
        )
        return await run_headless(session.agent, prompts, make_output(options.output_format), facts)
    finally:
        await session.aclose()


async def _tell_context(setup: Setup) -> int:
    """What fills the window of the session that the options name, or of a new one; no request is made."""
    from mewcode.assembly import open_session
    from mewcode.headless.context import write_context

    session = open_session(setup, person=None)
    try:
        await session.prepare(fits=False)
        # A new one is no session yet: nobody could continue it.
        name = session.id if session.agent.conversation.messages else ""
        write_context(session.keeper.measure(), name, setup.options.output_format, sys.stdout)
    finally:
        await session.aclose()
    return 0


def _tell_saving(failing: str | None) -> None:
    sys.stderr.write(safe_text(f"mewcode: {failing or 'the session is being saved again'}\n"))


def _prompts(options: Options) -> AsyncGenerator[str, None]:
    from mewcode.headless.prompts import join_prompt, read_piped, read_stream_json

    if options.input_format == "stream-json":
        return read_stream_json()
    piped, notice = read_piped()
    if notice:
        sys.stderr.write(safe_text(f"mewcode: {notice}\n"))
    prompt = join_prompt(options.prompt, piped)

    async def single() -> AsyncGenerator[str, None]:
        yield prompt

    return single()


def _folder(path: Path | None) -> Path:
    """The folder to work in: ``path``, else the one started in."""
    try:
        folder = (path or Path.cwd()).expanduser().resolve()
    except FileNotFoundError:
        raise UsageError(
            "the folder started in is gone", "Change to another, or name one with --cwd."
        ) from None
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}", "Give an existing one with --cwd.")
    return folder
