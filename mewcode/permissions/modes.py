"""The permission modes, in a person's words and in the model's."""

from __future__ import annotations

from mewcode.core.access import Mode

# One line each, as `/permissions` and the status line show them.
DESCRIPTIONS: dict[Mode, str] = {
    "default": "asks before anything is changed, run or fetched",
    "accept-edits": "edits within the workspace run freely; the rest asks",
    "plan": "reads and plans; nothing is changed",
    "dont-ask": "never asks: what no rule allows is denied",
    "bypass": "never asks: everything runs but what a deny rule names",
}

# Read by the model, so it says what to do instead.
PLAN_REASON = (
    "Plan mode: nothing may be changed yet. Look around with read-only tools, then present your plan and let "
    "the user decide; do not try this again before they leave plan mode."
)


def next_mode(mode: Mode) -> Mode:
    """The mode that one press of the mode key leads to.

    The circle is default, accept-edits, plan; dont-ask and bypass are only ever chosen by name and lead
    back to default.
    """
    circle: tuple[Mode, ...] = ("default", "accept-edits", "plan")
    return circle[(circle.index(mode) + 1) % 3] if mode in circle else "default"
