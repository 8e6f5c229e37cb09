"""A question of the model's to the user."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from mewcode.core.events import Question
from mewcode.core.outcome import TextView, ToolOutcome
from mewcode.infra.terminal_text import safe_line, safe_text
from mewcode.tools.base import Tool, ToolContext, ToolSession


class Choice(Struct, frozen=True, forbid_unknown_fields=True):
    """An answer that the user may pick."""

    label: Annotated[str, Meta(description="The choice, in one to five words.", min_length=1, max_length=120)]
    description: Annotated[
        str, Meta(description="What it means or leads to, in one sentence.", max_length=500)
    ] = ""


class AskUserArgs(Struct, frozen=True, forbid_unknown_fields=True):
    """A question to the user, with two to four answers; they may also answer in their own words."""

    question: Annotated[str, Meta(description="One complete question.", min_length=1, max_length=2000)]
    choices: Annotated[
        list[Choice],
        Meta(description="Two to four answers, the recommended one first.", min_length=2, max_length=4),
    ]


class AskUserTool(Tool[AskUserArgs]):
    name = "ask_user"
    args_type = AskUserArgs

    def summary(self, args: AskUserArgs, session: ToolSession) -> str:
        return safe_line(args.question)

    async def run(self, args: AskUserArgs, context: ToolContext) -> ToolOutcome:
        """Waits for the answer, however long it takes; cancellation withdraws the question."""
        if context.ask is None:
            return ToolOutcome.text(
                "No user is there to answer. Decide yourself, take the choice that is easiest to undo, "
                "and state the assumption in your final answer.",
                TextView("nobody there"),
            )
        question = Question(
            safe_text(args.question),
            tuple((safe_line(choice.label), safe_line(choice.description, 500)) for choice in args.choices),
        )
        answer = await context.ask(question)
        if answer is None:
            return ToolOutcome.text(
                "The user declined to answer. Do not ask the same again; go on with what you know, or stop.",
                TextView("declined"),
            )
        return ToolOutcome.text(f"The user answered: {answer}", TextView(safe_line(answer)))
