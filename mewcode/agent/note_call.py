"""A side call for keeping notes: what it costs counts against the day's budget for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mewcode.agent.side_call import side_answer
from mewcode.core.message import Usage
from mewcode.core.tokens import text_tokens

if TYPE_CHECKING:
    from mewcode.agent.session import Session
    from mewcode.memory.budget import Budget
    from mewcode.providers.catalog import ModelInfo


class BudgetSpent(Exception):
    """Today's tokens for notes do not suffice for what would be asked."""


async def note_call(
    session: Session,
    model: ModelInfo,
    budget: Budget,
    words: str,
    question: str,
    *,
    schema: dict[str, Any],
    limit: float,
    most_output: int,
    temperature: float | None = None,
) -> str:
    """The answer's text as it is; ``words``: the system prompt; ``limit``: seconds. Raises `BudgetSpent` with
    nothing asked, and `ProviderError`."""
    if budget.left() < text_tokens(words) + text_tokens(question):
        raise BudgetSpent
    used = Usage()

    def count(name: str, usage: Usage) -> None:
        nonlocal used
        used += usage
        session.agent.conversation.count(name, usage)

    try:
        with session.in_use.held() as provider:
            answer, _ = await side_answer(
                provider,
                model,
                words,
                question,
                count,
                limit=limit,
                most_output=most_output,
                schema=schema,
                temperature=temperature,
            )
    finally:
        # Here, not in a thread: it is a write of 29 bytes, and what was used counts also at the end.
        budget.spend(used.context_tokens)
    return answer
