"""How reminders of instructions begin, by which they are known again in a conversation."""

from __future__ import annotations

CHANGED = "The instructions have changed on disk; from now on this holds:"
TOUCHED = "Instructions that hold for what was just touched:"


def tells_instructions(reminder: str) -> bool:
    """Whether a reminder may be one of instructions."""
    return TOUCHED in reminder or CHANGED in reminder
