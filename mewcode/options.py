"""What the command line asks for, as a value."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from mewcode.core.access import Mode

OutputFormat = Literal["text", "json", "stream-json"]
InputFormat = Literal["text", "stream-json"]
TaskKind = Literal["fact", "preference", "correction", "deadline", "decision", "silent", "stale"]
Command = Literal[
    "config", "doctor", "completion", "sessions", "memory", "knowledge", "instructions", "prompt", "eval"
]  # fmt: skip


class SessionFlags(msgspec.Struct, frozen=True):
    """The flags of `mewcode sessions`. ``limit``: hits of a search at most. ``output``: as typed.
    ``repository``: also the other work trees of this repository; ``everywhere``: all workspaces. ``again``:
    import what is here already."""

    limit: int = 20
    format: Literal["markdown", "json", "html"] = "markdown"
    output: Path | None = None
    with_secrets: bool = False
    repair: bool = False
    dry_run: bool = False
    repository: bool = False
    everywhere: bool = False
    again: bool = False


class MemoryFlags(msgspec.Struct, frozen=True):
    """The flags of `mewcode memory`, as typed; None where not given. ``aliases`` and ``tags`` by commas.
    ``all``: also notes that are not in force. ``limit``: changes of a history at most. ``force``: undo what
    was changed since."""

    type: str | None = None
    name: str | None = None
    description: str | None = None
    level: Literal["user", "project"] | None = None
    aliases: str | None = None
    tags: str | None = None
    all: bool = False
    limit: int = 20
    force: bool = False


class KnowledgeFlags(msgspec.Struct, frozen=True):
    """The flags of `mewcode knowledge`. ``limit``: passages at most; ``offset``: passages left out before."""

    limit: int = 5
    offset: int = 0


class EvalFlags(msgspec.Struct, frozen=True):
    """The flags of `mewcode eval`. ``dataset``: as typed. ``split``: the half of its questions that is asked;
    None for all. ``without_aliases``: as if the notes had none. ``only``: tasks of that kind, of these the
    first ``limit``; None for all. ``yes``: nobody need be asked first."""

    dataset: Path | None = None
    split: Literal["tune", "report"] | None = None
    without_aliases: bool = False
    only: TaskKind | None = None
    limit: int | None = None
    yes: bool = False


class Options(msgspec.Struct, frozen=True):
    """``headless``: ``-p`` was given. ``resume``: an id or prefix; "" asks for the picker. ``add_dirs`` and
    ``cwd`` are as typed. ``trust``: the user says that they trust the folder. ``command``: a sub-command,
    with its ``words`` and ``as_json``. The rest names itself."""

    prompt: str | None = None
    headless: bool = False
    output_format: OutputFormat = "text"
    input_format: InputFormat = "text"
    continue_newest: bool = False
    resume: str | None = None
    fork: bool = False
    model: str | None = None
    provider: str | None = None
    base_url: str | None = None
    max_turns: int | None = None
    max_cost: float | None = None
    mode: Mode | None = None
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    cwd: Path | None = None
    add_dirs: tuple[Path, ...] = ()
    config_file: Path | None = None
    no_memory: bool = False
    verbose: bool = False
    trust: bool = False
    plain: bool = False
    demo: bool = False
    command: Command | None = None
    words: tuple[str, ...] = ()
    as_json: bool = False
    session_flags: SessionFlags = SessionFlags()
    memory_flags: MemoryFlags = MemoryFlags()
    knowledge_flags: KnowledgeFlags = KnowledgeFlags()
    eval_flags: EvalFlags = EvalFlags()
