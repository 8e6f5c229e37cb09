"""What one access, or one part of a command, comes to before the mode is applied."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class Question(msgspec.Struct, frozen=True):
    """Why a person must be asked, and the rule that would spare them next time (empty: none would)."""

    reason: str
    rule: str = ""


def one_question(questions: Iterable[Question]) -> Question | None:
    """All questions as one; a rule is offered only where it alone answers all of them."""
    all_of_them = list(questions)
    if not all_of_them:
        return None
    rules = {question.rule for question in all_of_them}
    reasons = list(dict.fromkeys(question.reason for question in all_of_them))
    shown = "; ".join(reasons[:3]) + (f"; and {len(reasons) - 3} more" if len(reasons) > 3 else "")
    return Question(shown, rules.pop() if len(rules) == 1 else "")
