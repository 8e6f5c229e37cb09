"""The form of rules, and what is said about those that are wrong."""

from __future__ import annotations

import pytest

from mewcode.core.errors import ConfigError
from mewcode.permissions.rules import Rule, RuleSet


@pytest.mark.parametrize(
    "text",
    [
        "bash",
        "bash(git *)",
        "bash(git commit -m 'a; b')",
        "bash(npm run test:*)",
        "bash(echo ')')",
        "read_file(src/**)",
        "read_file(~/notes/*)",
        "edit_file(/etc/hosts)",
        "write_file([a-z]*.py)",
        "list_dir",
        "glob(src)",
        "grep(~)",
        "todo",
        "ask_user",
        "web_fetch(example.com)",
        "web_fetch(domain:example.com)",
        "web_fetch(*.example.com)",
        "web_fetch(例え.jp)",
        "web_fetch([::1]:8080)",
        "web_fetch(*)",
        "mcp__server__tool",
        "mcp__server__*",
        "mcp__my-server__do_*",
        "some_extension",
    ],
)
def test_rules_that_are_right(text: str) -> None:
    rule = Rule.parse(f"  {text} ")
    assert rule.text == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not of the form"),
        ("bash(git *", "not of the form"),
        ("bash git", "not of the form"),
        ("bash()", "empty brackets"),
        ("bash(  )", "empty brackets"),
        ("bash('')x", "not of the form"),
        ("Bash(git *)", "did you mean 'bash'"),
        ("read-file(a)", "did you mean 'read_file'"),
        ("readfile", "did you mean 'read_file'"),
        ("frobnicate(a)", "no tool named 'frobnicate' takes a pattern"),
        ("bash*", "for MCP servers alone"),
        ("*", "not of the form"),
        ("mcp__*", "for MCP servers alone"),
        ("mcp__x__y(z)", "takes no pattern"),
        ("todo(x)", "takes no pattern"),
        ("bash(git | sh)", "'|' ends a simple command"),
        ("bash(a && b)", "'&' ends a simple command"),
        ("bash(a; b)", "';' ends a simple command"),
        ("bash(a > b)", "'>' ends a simple command"),
        ("bash(a\nb)", "a newline ends a simple command"),
        ("bash(git $X)", "has no meaning in a rule"),
        ("bash(git `x`)", "has no meaning in a rule"),
        ("bash(git 'x)", "a quote that is never closed"),
        ("bash(git x\\)", "a backslash at the end"),
        ("bash(git:*)", "write 'git *'"),
        ("bash(" + "x" * 3000 + ")", "longer than 2000"),
        ("read_file(../x)", "'..' in a pattern"),
        ("read_file(~root/x)", "only '~/' is known"),
        ("read_file([a)", "never closed"),
        ("read_file(a\\)", "a backslash at the end"),
        ("read_file(a\x00)", "control character"),
        ("web_fetch(https://example.com/x)", "give the host alone"),
        ("web_fetch(ex ample.com)", "no host name"),
        ("web_fetch(a.*.com)", "no host name"),
        ("web_fetch(*example.com)", "no host name"),
    ],
)
def test_rules_that_are_wrong_say_why_and_which(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Rule.parse(text, "config.yaml:3")
    assert said in caught.value.message
    assert caught.value.message.startswith("config.yaml:3: rule ")
    assert caught.value.hint
    assert caught.value.where == "config.yaml:3"


def test_a_set_names_the_list_that_holds_the_rule() -> None:
    with pytest.raises(ConfigError, match=r"user permissions\.deny: rule 'Bash'"):
        RuleSet.parse(deny=["Bash"], where="user")
    with pytest.raises(ConfigError, match=r"^--allow: rule 'Bash'"):
        RuleSet.parse(["Bash"], where="--allow")


def test_names_of_mcp_tools() -> None:
    rule = Rule.parse("mcp__files__*")
    assert rule.names("mcp__files__read")
    assert not rule.names("mcp__files2__read")
    assert not rule.names("mcp__files")
    assert not Rule.parse("mcp__files__read").names("mcp__files__read_all")


@pytest.mark.parametrize(
    ("pattern", "command", "covered"),
    [
        ("git *", "git", True),
        ("git *", "git status -s", True),
        ("git *", "gitk", False),
        ("git status", "git status", True),
        ("git status", "git status -s", False),
        ("git status", "git", False),
        ("git * main", "git push origin main", True),
        ("git * main", "git main", True),
        ("git * main", "git push main dev", False),
        ("git * main", "git push $X main", True),
        ("git log --since=*", "git log --since=today", True),
        ("git log --since=*", "git log --since=$X", False),
        ("git log --since=*", "git log --until=x", False),
        ("npm run test:*", "npm run test:unit", True),
        ("npm run test:*", "npm run test", False),
        ("git commit -m 'a b'", "git commit -m 'a b'", True),
        ("git commit -m 'a b'", 'git commit -m "a b"', True),
        ("git commit -m 'a b'", "git commit -m a b", False),
        ("echo '*' x", "tee '*'", False),
        ("tee '*'", "tee '*'", True),
        ("tee '*'", "tee *", False),
        ("tee '*'", "tee abc", False),
        ("tee *.txt", "tee a.txt", True),
        ("tee *.txt", "tee '*.txt'", True),
        ("tee *.txt", "tee *.txt", False),
        ("tee *.txt", "tee src/../../x.txt", False),
        ("*", "anything at all", True),
        ("*", "$X", False),
        ("sudo *", "sudo apt install x", True),
        ("py* *", "python3 x.py", True),
        ("py*", "python3", True),
        ("py*", "python3 x.py", False),
        ("cat /etc/hosts", "cat /etc/hosts", True),
        ("cat /etc/*", "cat /etc/hostname-none", True),
        ("cat /etc/*", "cat /etc/../root/x", False),
        ("cat *", "cat /etc/hosts", False),
        ("cat ~/notes/*", "cat ~/notes/a", True),
        ("cat ~/notes/*", "cat ~/notes/../x", False),
        ("tee 你好 *", "tee 你好 世界", True),
        ("git", "git", True),
        ("git", "git status", False),
    ],
)
def test_command_patterns(decide, pattern: str, command: str, covered: bool) -> None:
    assert (decide(command, f"bash({pattern})", trusted_folder=False) == "allow") == covered


def test_bash_without_a_pattern_covers_words_but_not_redirections(decide) -> None:
    assert decide("cat /etc/hosts", "bash") == "allow"
    assert decide("sudo rm -rf /tmp/x", "bash") == "allow"
    for command in ("$X", "a=1 b", "cat > f", "cat '", "tee .git/config", "cat > ~/.bashrc"):
        assert decide(command, "bash") == "ask"


@pytest.mark.parametrize("host", ["straße.de", "例え.jp", "bücher.example"])
def test_a_host_of_any_script_is_the_one_that_is_fetched(host: str) -> None:
    from mewcode.permissions.host_rules import parse_host_pattern
    from mewcode.tools.address_check import parse_address

    fetched = parse_address(f"https://{host}/x").netloc
    assert parse_host_pattern(host).host == fetched
    assert parse_host_pattern(f"*.{host}").host == f"*.{fetched}"
