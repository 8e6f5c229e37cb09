"""The order of the policy, its modes, and the tools that are no files and no commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from mewcode.core.access import MODES, CommandAccess, FetchAccess, ReadAccess, WriteAccess
from mewcode.permissions import modes
from mewcode.permissions.policy import Policy
from mewcode.permissions.rules import RuleSet


def fetch(url: str, host: str) -> list[FetchAccess]:
    return [FetchAccess(url, host)]


class TestPlan:
    @pytest.mark.parametrize("tool", ["write_file", "edit_file"])
    def test_what_changes_something_is_denied_with_what_to_do(self, place, tool: str) -> None:
        policy = place.policy(allow=[tool], mode="plan")
        for path in ("a.txt", ".git/config"):
            verdict = policy.judge(tool, False, [WriteAccess(str(place.root / path))])
            assert verdict.decision == "deny"
            assert "Plan mode" in verdict.reason
            assert "present your plan" in verdict.reason

    @pytest.mark.parametrize(
        ("command", "word"),
        [
            ("ls -la", "allow"),
            ("git status && git diff | head -5", "allow"),
            ("grep -rn foo . 2>/dev/null", "allow"),
            ("cat /etc/hosts", "ask"),
            ("cat src/*.py", "ask"),
            ("cat < /etc/hosts", "ask"),
            ("git push", "deny"),
            ("ls > f", "deny"),
            ("A=1 ls", "deny"),
            ("ls $(touch f)", "deny"),
            ("sort $X", "deny"),
            ("sort * ", "deny"),
            ("cat '", "deny"),
            ("npm test", "deny"),
            ("$X", "deny"),
            ("find . -delete", "deny"),
        ],
    )
    def test_only_read_only_commands_pass(self, place, command: str, word: str) -> None:
        assert place.bash(command, "bash", mode="plan").decision == (
            "allow" if word == "allow" else word
        ) or (word == "ask" and place.bash(command, mode="plan").decision == "ask")
        assert place.bash(command, mode="plan").decision == word

    def test_other_tools(self, place) -> None:
        policy = place.policy(mode="plan", allow=["mcp__x__*"])
        assert policy.judge("read_file", True, [ReadAccess(str(place.root))]).decision == "allow"
        assert policy.judge("todo", True, []).decision == "allow"
        assert policy.judge("ask_user", False, []).decision == "allow"
        assert policy.judge("bash_stop", False, []).decision == "deny"
        assert policy.judge("mcp__x__y", False, []).decision == "deny"
        assert policy.judge("mcp__x__y", True, []).decision == "allow"
        assert policy.judge("read_file", True, [WriteAccess(str(place.root / "x"))]).decision == "deny"
        assert policy.judge("web_fetch", True, fetch("https://a.com/", "a.com")).decision == "ask"


def test_bypass_allows_everything_but_what_a_deny_rule_names(place) -> None:
    policy = place.policy(deny=["write_file(secret)"], ask=["bash(git *)"], mode="bypass")
    assert policy.judge("bash", False, [CommandAccess("git push; rm -rf / '", "/")]).decision == "allow"
    assert policy.judge("write_file", False, [WriteAccess("/etc/passwd")]).decision == "allow"
    assert policy.judge("mcp__x__y", False, []).decision == "allow"
    assert policy.judge("write_file", False, [WriteAccess(str(place.root / "secret"))]).decision == "deny"


def test_dont_ask_denies_and_names_the_rule_that_would_allow(place) -> None:
    policy = place.policy(mode="dont-ask", allow=["bash(npm test)"])
    verdict = policy.judge("bash", False, [CommandAccess("git push", str(place.root))])
    assert verdict.decision == "deny"
    assert "bash(git push)" in verdict.reason
    assert policy.judge("bash", False, [CommandAccess("npm test", str(place.root))]).decision == "allow"
    assert policy.judge("bash", False, [CommandAccess("ls", str(place.root))]).decision == "allow"
    verdict = policy.judge("edit_file", False, [WriteAccess(str(place.root / "a.txt"))])
    assert "edit_file(a.txt)" in verdict.reason
    verdict = policy.judge("bash", False, [CommandAccess("$X", str(place.root))])
    assert verdict.decision == "deny"
    assert "can allow it" not in verdict.reason


def test_the_mode_can_be_changed(place) -> None:
    policy = place.policy()
    access = [WriteAccess(str(place.root / "a"))]
    words = []
    for mode in MODES:
        policy.mode = mode
        words.append(policy.judge("write_file", False, access).decision)
    assert words == ["ask", "allow", "deny", "deny", "allow"]


@pytest.mark.parametrize("mode", MODES)
def test_the_list_and_questions_are_free(place, mode: str) -> None:
    policy = place.policy(mode=mode)
    assert policy.judge("todo", True, []).decision == "allow"
    assert policy.judge("ask_user", True, []).decision == "allow"


def test_tools_of_servers_ask_whatever_they_say_of_themselves(place) -> None:
    policy = place.policy()
    for read_only in (True, False):
        verdict = policy.judge("mcp__files__read", read_only, [])
        assert (verdict.decision, verdict.rule) == ("ask", "mcp__files__read")
    policy.add_session_rule("mcp__files__*")
    assert policy.judge("mcp__files__read", False, []).decision == "allow"
    assert policy.judge("mcp__other__read", False, []).decision == "ask"


class TestFetch:
    def test_each_host_asks_and_offers_itself(self, place) -> None:
        policy = place.policy()
        verdict = policy.judge("web_fetch", True, fetch("https://example.com/a", "example.com"))
        assert (verdict.decision, verdict.rule) == ("ask", "web_fetch(example.com)")
        policy.add_session_rule(verdict.rule)
        assert (
            policy.judge("web_fetch", True, fetch("https://example.com/b", "example.com")).decision == "allow"
        )
        for host in (
            "a.example.com",
            "example.com:8080",
            "example.org",
            "notexample.com",
            "example.com.evil.org",
        ):
            assert policy.judge("web_fetch", True, fetch(f"https://{host}/", host)).decision == "ask"

    def test_sub_domains_and_ports(self, place) -> None:
        policy = place.policy(
            allow=["web_fetch(*.example.com)", "web_fetch(localhost:8080)", "web_fetch([::1]:80)"]
        )
        for url, host, word in (
            ("https://a.example.com/", "a.example.com", "allow"),
            ("https://a.b.example.com/", "a.b.example.com", "allow"),
            ("https://example.com/", "example.com", "ask"),
            ("https://aexample.com/", "aexample.com", "ask"),
            ("http://localhost:8080/", "localhost:8080", "allow"),
            ("http://localhost/", "localhost", "ask"),
            ("https://[::1]:80/", "[::1]:80", "allow"),
            ("https://例え.jp/", "xn--r8jz45g.jp", "ask"),
        ):
            assert policy.judge("web_fetch", True, fetch(url, host)).decision == word, url

    def test_a_name_in_its_own_script(self, place) -> None:
        policy = place.policy(allow=["web_fetch(例え.jp)"])
        for url in ("https://例え.jp/", "https://xn--r8jz45g.jp/"):
            assert policy.judge("web_fetch", True, fetch(url, "xn--r8jz45g.jp")).decision == "allow"

    @pytest.mark.parametrize(
        ("url", "host"),
        [
            ("https://evil.com/", "good.com"),
            ("https://good.com@evil.com/", "good.com"),
            ("https://good.com:81/", "good.com"),
            ("https://[", "good.com"),
            ("nonsense", ""),
        ],
    )
    def test_a_host_that_is_not_the_address_is_no_ground(self, place, url: str, host: str) -> None:
        policy = place.policy(allow=["web_fetch(good.com)", "web_fetch(*)"])
        verdict = policy.judge("web_fetch", True, fetch(url, host))
        assert (verdict.decision, verdict.rule) == ("ask", "")


def test_all_accesses_of_a_call_must_be_allowed(place) -> None:
    policy = place.policy()
    inside, outside = ReadAccess(str(place.root)), ReadAccess(str(place.outside))
    assert policy.judge("grep", True, [inside, inside]).decision == "allow"
    assert policy.judge("grep", True, [inside, outside]).decision == "ask"
    assert policy.judge("grep", True, [inside, CommandAccess("rm x", str(place.root))]).decision == "ask"


def test_explain_lists_all_rules_as_they_are_looked_at(place) -> None:
    rules = {
        "user": RuleSet.parse(allow=["bash(ls *)"], deny=["bash(rm *)"]),
        "project": RuleSet.parse(ask=["web_fetch"], allow=["read_file"]),
    }
    policy = Policy(place.root, rules=rules, home=place.home, user_dir=place.home / ".mewcode")
    policy.add_session_rule("bash(git *)")
    policy.add_session_rule("bash(git *)")
    assert policy.explain() == [
        ("user", "deny", "bash(rm *)"),
        ("project", "ask", "web_fetch"),
        ("user", "allow", "bash(ls *)"),
        ("project", "allow", "read_file"),
        ("session", "allow", "bash(git *)"),
    ]


def test_git_is_free_only_in_a_trusted_folder_and_its_own_repository(place) -> None:
    assert place.bash("git status").decision == "allow"
    assert place.bash("git status", trusted_folder=False).decision == "ask"
    assert place.bash("cd src && git status").decision == "allow"
    (place.root / "vendor/evil/.git").mkdir(parents=True)
    assert place.bash("cd vendor/evil && git status").decision == "ask"
    assert place.bash("git status", cwd=place.root / "vendor/evil").decision == "ask"
    for name in ("HEAD", "objects", "refs"):
        (place.root / "bare" / name).mkdir(parents=True)
    assert place.bash("cd bare && git status").decision == "ask"
    (place.root / ".git").rmdir()
    assert place.bash("git status").decision == "ask"


def test_a_command_in_a_folder_elsewhere_asks(place) -> None:
    assert place.bash("ls", cwd=place.outside).decision == "ask"
    assert place.bash("npm test", "bash(npm *)", cwd=place.outside).decision == "ask"
    assert place.bash("npm test", "bash", cwd=place.outside).decision == "allow"


def test_reasons_are_safe_to_show(place) -> None:
    verdict = place.bash("frob '\x1b]0;x\x07' " + "y" * 5000)
    assert verdict.decision == "ask"
    assert "\x1b" not in verdict.reason
    assert len(verdict.reason) < 500


def test_modes() -> None:
    assert set(modes.DESCRIPTIONS) == set(MODES)
    assert [modes.next_mode(mode) for mode in MODES] == [
        "accept-edits",
        "plan",
        "default",
        "default",
        "default",
    ]


@pytest.mark.parametrize(
    "path", [".g\u200cit/hooks/x", ".mewcode/sessions/a/conversation.jsonl", ".MEWCODE/Sessions/x"]
)
def test_guarded_paths_in_other_words_ask_where_edits_are_free(place, path: str) -> None:
    policy = place.policy(mode="accept-edits")
    assert policy.judge("write_file", False, [WriteAccess(str(place.root / path))]).decision == "ask"


def test_a_path_in_a_question_is_one_line(place) -> None:
    path = str(place.root / "x\n> 1. No\x1b[2K")
    reason = place.policy().judge("write_file", False, [WriteAccess(path)]).reason
    assert reason == "x\\n> 1. No\\x1b[2K would be written"


def test_a_search_over_keys_and_logins_asks(place) -> None:
    """Also where the home folder is the workspace, or all of the disk is."""
    for root in (place.home, Path("/")):
        policy = Policy(root, home=place.home, user_dir=place.home / ".mewcode")
        search = [ReadAccess(str(place.home))]
        assert policy.judge("grep", True, search).decision == "ask"
        assert policy.judge("glob", True, search).decision == "allow"
        assert policy.judge("grep", True, [ReadAccess(str(place.home / "src"))]).decision == "allow"
        for command in (
            "grep -r key .",
            "rg --hidden key",
            f"grep -r key {place.home}",
            "grep -r key src/..",
        ):
            access = [CommandAccess(command, str(place.home))]
            assert policy.judge("bash", False, access).decision == "ask"
    everything = Policy(Path("/"), home=place.home, user_dir=place.home / ".mewcode")
    assert everything.judge("read_file", True, [ReadAccess("/proc/1/environ")]).decision == "ask"
    assert everything.judge("bash", False, [CommandAccess("cat /proc/1/environ", "/")]).decision == "ask"


@pytest.mark.parametrize(
    "command",
    ["cp a.txt $(echo /etc/x)", 'cp a.txt "$(printf .git/hooks/pre-commit)"', "cp a.txt `echo /etc/x`"],
)
def test_a_substitution_is_no_file_that_a_rule_covers(place, command: str) -> None:
    assert place.bash(command, "bash(cp *)").decision == "ask"
    assert place.bash("git commit -m \"$(cat <<'E'\nwords\nE\n)\"", "bash(git commit *)").decision == "allow"


def test_a_search_shows_no_file_that_a_rule_names(place) -> None:
    policy = place.policy(deny=["read_file(secrets/**)"], ask=["read_file(.env)"])
    root = place.root
    assert policy.may_show(str(root / "a.py"))
    assert not policy.may_show(str(root / "secrets/key"))
    assert not policy.may_show(str(root / ".env"))
    policy.mode = "bypass"
    assert policy.may_show(str(root / ".env"))
    assert not policy.may_show(str(root / "secrets/key"))
