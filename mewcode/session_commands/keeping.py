"""`delete`, `restore`, `prune`, `check`, `rebuild`: what becomes of sessions. Nothing is lost by a slip: what
is removed goes to the trash first."""

from __future__ import annotations

import time

import msgspec

from mewcode.config.trust import TrustStore
from mewcode.core.errors import SessionError
from mewcode.session_commands.context import Context, age_text, size_text, tell
from mewcode.sessions.catalog import Catalog
from mewcode.sessions.check import Health, examine, repair_file
from mewcode.sessions.pruning import prune as apply_rule
from mewcode.sessions.retention import Retention
from mewcode.sessions.settings import read_settings
from mewcode.sessions.trash import list_trash, move_to_trash, restore_session
from mewcode.setup import load_settings


def delete(context: Context) -> int:
    folders = list(dict.fromkeys(context.find(wanted) for wanted in context.options.words[1:]))
    moved = [
        (folder.name, move_to_trash(context.sessions_dir, folder, now=context.now)) for folder in folders
    ]
    context.answer(
        [{"id": name, "trash": path} for name, path in moved],
        [f"{name} is in the trash. Back with: mewcode sessions restore {path.name}" for name, path in moved],
    )
    return 0


def restore(context: Context) -> int:
    wanted = context.options.words[1:]
    if not wanted:
        lying = list_trash(context.sessions_dir)
        context.answer(
            [{"id": item.id, "since": item.since} for item in lying],
            [f"{item.id}  in the trash for {age_text(context.now - item.since)}" for item in lying],
        )
        if not lying and not context.options.as_json:
            tell("the trash is empty")
        return 0
    restored = [restore_session(context.sessions_dir, name).name for name in wanted]
    context.answer([{"id": name} for name in restored], [f"{name} is back" for name in restored])
    return 0


def prune(context: Context) -> int:
    """Exits 1 where a session could not be moved."""
    options = context.options
    trusted = TrustStore(context.places.user).is_trusted(context.places.root)
    config = load_settings(options, context.environ, context.places, trusted=trusted).config
    rule = read_settings(config.sessions, config.origin)
    entries, is_dry = context.entries(), options.session_flags.dry_run
    pruned = apply_rule(context.sessions_dir, entries, rule, context.now, is_dry=is_dry)
    for failure in pruned.failures:
        tell(failure)
    removed, emptied = pruned.removed, pruned.emptied
    would = "would go" if is_dry else "went"
    lines = [f"{item.id}  {size_text(item.bytes):>9}  {item.reason}" for item in removed]
    lines.append(
        f"{len(removed)} of {len(entries)} sessions {would} to the trash,"
        f" {len(emptied)} {would} out of it for good"
    )
    kept = {name: getattr(rule, name) for name in Retention.__struct_fields__}
    said = (f"sessions.{name} {'no limit' if value is None else value}" for name, value in kept.items())
    lines.append(f"by {', '.join(said)}")
    trashed = [msgspec.structs.asdict(item) for item in removed]
    context.answer({"rule": kept, "trashed": trashed, "emptied": emptied, "dry_run": is_dry}, lines)
    return 1 if pruned.failures else 0


def check(context: Context) -> int:
    """Exits 1 where a session is damaged and was not repaired."""
    wanted = context.options.words[1:]
    if wanted:
        folders = [context.find(name) for name in wanted]
    else:
        folders = [entry.path for entry in context.entries()]
    found = []
    for folder in folders:
        health = examine(folder)
        if context.options.session_flags.repair and health.damage:
            health = _repaired(context, health)
        found.append(health)
    bad = [health for health in found if not health.is_sound]
    lines = []
    for health in found:
        if not health.is_sound or health.backup or health.repairs:
            lines += _health_lines(health)
    lines.append(f"{len(found)} sessions, {len(bad)} damaged")
    context.answer([_as_json(health) for health in found], lines)
    return 1 if bad else 0


def _repaired(context: Context, health: Health) -> Health:
    folder = context.sessions_dir / health.id
    try:
        backup = repair_file(folder, now=context.now)
    except SessionError as error:
        tell(error.message)
        return health
    after = examine(folder)
    return Health(
        after.id, after.messages, health.skipped, health.salvaged, after.damage, after.repairs, after.error,
        str(backup or ""),
    )  # fmt: skip


def _as_json(health: Health) -> dict[str, object]:
    return {"sound": health.is_sound} | {name: getattr(health, name) for name in health.__struct_fields__}


def _health_lines(health: Health) -> list[str]:
    state = "unreadable" if health.error else "sound" if health.is_sound else "damaged"
    lines = [f"{health.id}  {state}, {health.messages} messages can be read"]
    lines += [f"    {what}" for what in [health.error, *health.damage] if what]
    lines += [f"    mended at each resume: {what}" for what in health.repairs]
    if health.backup:
        lines.append(f"    repaired; the damaged file is kept: {health.backup}")
    return lines


def rebuild(context: Context) -> int:
    began = time.monotonic()

    def work(catalog: Catalog) -> tuple[int, int]:
        catalog.rebuild()
        entries = catalog.entries()
        return len(entries), sum(entry.messages for entry in entries)

    sessions, messages = context.with_catalog(work)
    seconds = time.monotonic() - began
    context.answer(
        {"sessions": sessions, "messages": messages, "seconds": round(seconds, 3)},
        [f"the index is new: {sessions} sessions, {messages} messages, {seconds:.1f} s"],
    )
    return 0


COMMANDS = {"delete": delete, "restore": restore, "prune": prune, "check": check, "rebuild": rebuild}
