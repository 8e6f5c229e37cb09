"""What the model is told of plan mode, with the user's next message."""

from __future__ import annotations

from mewcode.agent.agent import Agent
from mewcode.core.access import Mode

_ON = (
    "Plan mode is on: look around and think, change nothing. Calls that write are refused. When you know "
    "enough, present a plan in a few steps and stop; the user will say whether to go on."
)
_OFF = "Plan mode is off: tools that change things are available again."


def words_for(mode: Mode) -> str:
    """What a model that knows nothing of the mode is to be told of it; mostly nothing."""
    return _ON if mode == "plan" else ""


def tell_again(agent: Agent, mode: Mode) -> None:
    """Tells of the mode where the conversation, of which a part is gone now, says another one."""
    agent.take_back(_ON)
    agent.take_back(_OFF)
    said = (message.text for message in reversed(agent.conversation.messages) if message.origin == "reminder")
    last = next((text for text in said if _ON in text or _OFF in text), "")
    if mode == "plan" and _ON not in last:
        agent.remind(_ON)
    elif mode != "plan" and _ON in last:
        agent.remind(_OFF)


def tell_of_mode(agent: Agent, mode: Mode, before: Mode | None = None) -> None:
    """Tells of the mode where it matters to the model. ``before``: the one until now, None where a
    conversation begins."""
    if mode == before:
        return
    if before == "plan" and agent.take_back(_ON):
        return  # the model was never told of it
    if mode == "plan":
        agent.remind(_ON)
    elif before == "plan":
        agent.remind(_OFF)
