"""`rename`, `pin`, `unpin`, `tag`, `untag`: each adds a record to the session, also while it is open."""

from __future__ import annotations

from mewcode.core.errors import UsageError
from mewcode.session_commands.context import Context
from mewcode.sessions.catalog_fold import label_text
from mewcode.sessions.labels import add_label
from mewcode.sessions.record import pin_record, tag_record, title_record


def rename(context: Context) -> int:
    folder = context.find(context.options.words[1])
    title = label_text(" ".join(context.options.words[2:]))
    add_label(folder, title_record(title, ts=context.now))
    words = f"{folder.name} is named {title}" if title else f"{folder.name} has no name of yours any more"
    context.answer({"id": folder.name, "title": title}, [words])
    return 0


def pin(context: Context) -> int:
    return _pin(context, True)


def unpin(context: Context) -> int:
    return _pin(context, False)


def _pin(context: Context, pinned: bool) -> int:
    folders = [context.find(wanted) for wanted in context.options.words[1:]]
    for folder in folders:
        add_label(folder, pin_record(pinned, ts=context.now))
    done = "is pinned" if pinned else "is pinned no more"
    context.answer(
        [{"id": folder.name, "pinned": pinned} for folder in folders],
        [f"{folder.name} {done}" for folder in folders],
    )
    return 0


def tag(context: Context) -> int:
    return _tag(context, adding=True)


def untag(context: Context) -> int:
    return _tag(context, adding=False)


def _tag(context: Context, *, adding: bool) -> int:
    folder = context.find(context.options.words[1])
    tags = [label_text(word.removeprefix("#")) for word in context.options.words[2:]]
    if not all(tags):
        raise UsageError("a tag cannot be empty")
    if adding:
        add_label(folder, tag_record(add=tags, ts=context.now))
    else:
        add_label(folder, tag_record(remove=tags, ts=context.now))
    [entry] = [entry for entry in context.entries() if entry.id == folder.name]
    shown = " ".join(f"#{name}" for name in entry.tags) or "no tags"
    context.answer({"id": folder.name, "tags": entry.tags}, [f"{folder.name}: {shown}"])
    return 0


COMMANDS = {"rename": rename, "pin": pin, "unpin": unpin, "tag": tag, "untag": untag}
