"""Rules that the user gives in a session, and takes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from mewcode.core.access import CommandAccess, FetchAccess
from mewcode.core.errors import ConfigError
from mewcode.permissions.policy import Policy
from mewcode.permissions.rules import RuleSet

PUSH = "bash(git push *)"


def policy(folder: Path, **levels: RuleSet) -> Policy:
    return Policy(folder, rules=levels, home=folder / "home", user_dir=folder / "user")


def word(judged: Policy, folder: Path) -> str:
    return judged.judge("bash", False, [CommandAccess("git push origin", str(folder))]).decision


def test_each_kind_holds_until_it_is_taken_back(tmp_path: Path) -> None:
    judged = policy(tmp_path)
    assert word(judged, tmp_path) == "ask"
    for kind, expected in (("allow", "allow"), ("deny", "deny")):
        judged.add_session_rule(PUSH, kind)
        judged.add_session_rule(f" {PUSH} ", kind)
        assert judged.explain() == [("session", kind, PUSH)], "the same rule stands once"
        assert word(judged, tmp_path) == expected
        assert judged.remove_session_rule(PUSH)
        assert word(judged, tmp_path) == "ask"
        assert judged.explain() == []


def test_an_ask_rule_asks_for_what_a_config_allows(tmp_path: Path) -> None:
    judged = policy(tmp_path, user=RuleSet.parse(allow=["web_fetch(example.com)"]))
    page = [FetchAccess("https://example.com/", "example.com")]
    assert judged.judge("web_fetch", True, page).decision == "allow"
    judged.add_session_rule("web_fetch", "ask")
    assert judged.judge("web_fetch", True, page).decision == "ask"


def test_rules_of_the_config_are_not_taken_back(tmp_path: Path) -> None:
    judged = policy(tmp_path, user=RuleSet.parse(deny=[PUSH]))
    assert not judged.remove_session_rule(PUSH)
    judged.add_session_rule(PUSH)
    assert word(judged, tmp_path) == "deny"
    assert judged.remove_session_rule(PUSH)
    assert judged.explain() == [("user", "deny", PUSH)]


def test_what_is_no_rule_is_refused(tmp_path: Path) -> None:
    judged = policy(tmp_path)
    with pytest.raises(ConfigError):
        judged.add_session_rule("bash(", "deny")
    assert judged.explain() == []
