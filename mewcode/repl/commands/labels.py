"""`/rename`, `/pin` and `/tag`: what the user says of this session."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from mewcode.agent.session import Session
from mewcode.repl.commands.registry import Desk, Outcome, Say
from mewcode.sessions.append_file import CONVERSATION
from mewcode.sessions.catalog_fold import label_text
from mewcode.sessions.labels import add_label
from mewcode.sessions.record import pin_record, tag_record, title_record


async def rename(desk: Desk, argument: str) -> Outcome:
    """Without an argument takes the user's name away."""
    title = label_text(argument)
    await _label(desk.session, title_record(title, ts=time.time()))
    if not title:
        return Say("this session has no name of yours any more", "/rename TITLE gives it one.")
    failing = desk.session.archive.failing
    if failing is not None:
        return Say(f"this session is named {title}", f"It cannot be resumed as it is now: it is {failing}")
    return Say(f"this session is named {title}", f'mewcode -r "{title}" resumes it.')


async def pin(desk: Desk, argument: str) -> Outcome:
    """``off`` takes it back."""
    if argument not in ("", "on", "off"):
        return Say("/pin keeps this session; /pin off takes that back")
    await _label(desk.session, pin_record(argument != "off", ts=time.time()))
    if argument == "off":
        return Say("this session is pinned no more")
    return Say("this session is pinned", "It is kept whatever its age; /pin off takes that back.")


async def tag(desk: Desk, argument: str) -> Outcome:
    """Takes tags to add, and with a minus tags to remove."""
    words = argument.split()
    added = [tag for word in words if not word.startswith("-") and (tag := _tag(word))]
    removed = [tag for word in words if word.startswith("-") and (tag := _tag(word[1:]))]
    if not added and not removed:
        return Say("name a tag", "/tag bug adds one, /tag -bug takes it away.")
    await _label(desk.session, tag_record(add=added, remove=removed, ts=time.time()))
    shown = [f"#{tag}" for tag in added] + [f"no #{tag}" for tag in removed]
    return Say(f"tagged: {' '.join(shown)}")


def _tag(word: str) -> str:
    return label_text(word.removeprefix("#"))


async def _label(session: Session, record: dict[str, Any]) -> None:
    """Adds the record as a label; before the first message it waits for that. Raises SessionError."""
    folder = session.archive.folder
    if (folder / CONVERSATION).is_file():
        # It is made durable, for which a disk takes its time.
        await asyncio.to_thread(add_label, folder, record)
    else:
        session.archive.append_record(record, sync=True)
