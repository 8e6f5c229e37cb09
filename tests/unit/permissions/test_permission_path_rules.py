"""Path patterns, the bounds of the workspace, and what is guarded."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.core.access import CommandAccess, ReadAccess, WriteAccess
from mewcode.core.errors import ConfigError
from mewcode.permissions.path_rules import exact_path_pattern, parse_path_pattern
from mewcode.permissions.rules import Rule
from mewcode.permissions.workspace import Workspace, below

WORKSPACE = Workspace("/srv/proj", ("/srv/extra",), "/home/ada", "/home/ada/.mewcode")


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("src/**", ["/srv/proj/src/a", "/srv/proj/src/a/b", "/srv/proj/src"], ["/srv/proj/srcx", "/src/a"]),
        ("src/*", ["/srv/proj/src/a"], ["/srv/proj/src/a/b", "/srv/proj/src"]),
        ("src/", ["/srv/proj/src/a/b"], ["/srv/proj/src2/a"]),
        ("*.py", ["/srv/proj/a.py"], ["/srv/proj/src/a.py", "/srv/extra/a.py"]),
        ("**/*.py", ["/srv/proj/a.py", "/srv/proj/src/x/a.py"], ["/srv/proj-evil/a.py"]),
        ("./a", ["/srv/proj/a"], ["/srv/proj/b"]),
        (
            "~/notes/*",
            ["/home/ada/notes/a"],
            ["/home/ada/notes/a/b", "/srv/proj/~/notes/a", "/home/ada/notesx/a"],
        ),
        ("~", ["/home/ada"], ["/home/ada/x"]),
        ("/etc/hosts", ["/etc/hosts"], ["/etc/hosts/x", "/etc/hostsx", "/srv/proj/etc/hosts"]),
        ("/**", ["/", "/etc/x"], []),
        ("a[!b]", ["/srv/proj/ac"], ["/srv/proj/ab"]),
        ("笔记/**", ["/srv/proj/笔记/甲"], ["/srv/proj/笔"]),
    ],
)
def test_allow_patterns(pattern: str, yes: list[str], no: list[str]) -> None:
    parsed = parse_path_pattern(pattern)
    assert all(parsed.covers(path, WORKSPACE) for path in yes)
    assert not any(parsed.covers(path, WORKSPACE) for path in no)


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        (
            ".env",
            ["/srv/proj/.env", "/srv/proj/a/.env", "/srv/extra/.env", "/tmp/.env", "/srv/proj/.ENV"],
            ["/x"],
        ),
        ("secrets", ["/srv/proj/secrets/a/b", "/srv/proj/a/secrets/b"], ["/srv/proj/secrets2"]),
        ("src/*.py", ["/srv/proj/src/a.py", "/srv/proj/src/a.py/below"], ["/srv/proj/x/src/a.py"]),
        ("/etc", ["/etc/passwd", "/etc"], ["/etcx"]),
        ("~/.ssh/**", ["/home/ada/.ssh/id", "/home/ada/.ssh"], ["/home/ada/.sshx"]),
        ("caf\u00e9", ["/srv/proj/cafe\u0301", "/srv/proj/CAF\u00c9"], ["/srv/proj/cafe"]),
    ],
)
def test_deny_patterns_are_broad(pattern: str, yes: list[str], no: list[str]) -> None:
    parsed = parse_path_pattern(pattern)
    assert all(parsed.hits([path], WORKSPACE) for path in yes)
    assert not parsed.hits(no, WORKSPACE)


_NAMES = st.text("ab*?[\\~. é你", min_size=1, max_size=5).filter(lambda name: name not in (".", ".."))


@given(st.lists(_NAMES, min_size=1, max_size=4))
@settings(max_examples=300)
def test_an_exact_pattern_covers_its_path_alone(names: list[str]) -> None:
    for top in ("/srv/proj", "/home/ada", ""):
        path = "/".join([top, *names])
        pattern = exact_path_pattern(path, WORKSPACE)
        if not pattern:
            continue
        parsed = Rule.parse(f"edit_file({pattern})").pattern
        assert parsed.covers(path, WORKSPACE)
        assert not parsed.covers(path + "x", WORKSPACE)
        assert not parsed.covers(os.path.dirname(path) + "/other", WORKSPACE)


@given(st.lists(st.sampled_from(["a", "b", "*", "**", "c"]), min_size=1, max_size=5), st.data())
@settings(max_examples=300)
def test_a_deny_pattern_hits_whatever_it_would_allow(parts: list[str], data) -> None:
    parsed = parse_path_pattern("/".join(parts))
    names = data.draw(st.lists(st.sampled_from(["a", "b", "c"]), max_size=5))
    path = "/".join(["/srv/proj", *names])
    if parsed.covers(path, WORKSPACE):
        assert parsed.hits([path], WORKSPACE)


@given(st.lists(st.sampled_from(["a", "b", "..", ".", "link"]), max_size=6))
@settings(max_examples=200)
def test_inside_means_that_the_file_system_says_so(shared_place, names: list[str]) -> None:
    (shared_place.root / "a" / "b").mkdir(parents=True, exist_ok=True)
    if not (shared_place.root / "link").is_symlink():
        (shared_place.root / "link").symlink_to(shared_place.outside)
    path = "/".join([str(shared_place.root), *names])
    policy = shared_place.policy()
    inside = Path(path).resolve().is_relative_to(shared_place.root.resolve())
    verdict = policy.judge("read_file", True, [ReadAccess(path)])
    assert (verdict.decision == "allow") == inside


def test_a_prefix_of_the_text_is_no_folder() -> None:
    assert not below("/srv/proj-evil/x", "/srv/proj")
    assert below("/srv/proj", "/srv/proj")
    assert below("/x", "/")


class TestReads:
    def test_within_the_workspace_they_are_free(self, place) -> None:
        policy = place.policy(add_dirs=[place.outside])
        for path in (place.root, place.root / "a.txt", place.root / ".git/config", place.outside / "x"):
            for tool in ("read_file", "list_dir", "glob", "grep"):
                assert policy.judge(tool, True, [ReadAccess(str(path))]).decision == "allow"

    def test_elsewhere_they_ask_and_offer_the_very_path(self, place) -> None:
        verdict = place.policy().judge("read_file", True, [ReadAccess(str(place.outside / "x"))])
        assert verdict.decision == "ask"
        policy = place.policy(allow=[verdict.rule])
        assert policy.judge("read_file", True, [ReadAccess(str(place.outside / "x"))]).decision == "allow"
        assert policy.judge("read_file", True, [ReadAccess(str(place.outside / "y"))]).decision == "ask"
        assert policy.judge("grep", True, [ReadAccess(str(place.outside / "x"))]).decision == "ask"

    @pytest.mark.parametrize("path", ["link-out", "link-out/x", "../ws-evil/x", "src/../../x"])
    def test_the_resolved_path_counts(self, place, path: str) -> None:
        verdict = place.policy().judge("read_file", True, [ReadAccess(f"{place.root}/{path}")])
        assert verdict.decision == "ask"

    def test_a_rule_for_a_folder_does_not_follow_a_link_within_the_workspace(self, place) -> None:
        policy = place.policy(allow=["read_file(link-out/**)", f"read_file({place.root}/link-out/**)"])
        assert policy.judge("read_file", True, [ReadAccess(f"{place.root}/link-out/x")]).decision == "ask"

    def test_a_rule_follows_a_link_that_the_user_named(self, place) -> None:
        (place.home / "notes").symlink_to(place.outside)
        policy = place.policy(allow=["read_file(~/notes/*)"])
        assert policy.judge("read_file", True, [ReadAccess(f"{place.home}/notes/x")]).decision == "allow"
        assert policy.judge("read_file", True, [ReadAccess(f"{place.home}/x")]).decision == "ask"

    def test_the_user_folder_and_keys_ask_even_within_a_workspace(self, place) -> None:
        from mewcode.permissions.policy import Policy

        policy = Policy(place.home, home=place.home, user_dir=place.home / ".mewcode")
        for name in (
            ".mewcode/config.yaml",
            ".mewcode/trust.json",
            ".ssh/id_rsa",
            ".aws/credentials",
            ".netrc",
        ):
            assert policy.judge("read_file", True, [ReadAccess(str(place.home / name))]).decision == "ask"
            assert (
                policy.judge("bash", False, [CommandAccess(f"cat {name}", str(place.home))]).decision == "ask"
            )
        own = place.home / ".mewcode/home-project/sessions/1/tool-results/x"
        assert policy.judge("read_file", True, [ReadAccess(str(own))]).decision == "allow"
        assert policy.judge("read_file", True, [ReadAccess(str(place.home / "a"))]).decision == "allow"

    def test_archives_of_the_project_are_free(self, place) -> None:
        path = place.root / ".mewcode/sessions/1/conversation.jsonl"
        assert place.policy().judge("read_file", True, [ReadAccess(str(path))]).decision == "allow"

    @pytest.mark.parametrize("path", ["relative", "", "/x\0y", "~/x", "/\ud800"])
    def test_what_is_no_path_asks(self, place, path: str) -> None:
        assert place.policy().judge("read_file", True, [ReadAccess(path)]).decision == "ask"


GUARDED = [
    ".git/config",
    ".git/hooks/pre-commit",
    ".git",
    ".GIT/config",
    "sub/.git/config",
    ".mewcode/config.yaml",
    ".mewcode/config.local.yaml",
    ".mewcode/permissions.yaml",
    ".MewCode/Config.yaml",
    "sub/.mewcode/config.yaml",
    ".mewcode",
    ".envrc",
    ".bashrc",
    "src/../.git/config",
]
GUARDED_HOME = [
    ".bashrc",
    ".bash_profile",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".config/fish/config.fish",
    ".config/fish/conf.d/x.fish",
    ".config/git/config",
    ".gitconfig",
    ".ssh/authorized_keys",
    ".ssh/config",
    ".mewcode/config.yaml",
    ".mewcode/trust.json",
    ".mewcode/memory/MEMORY.md",
]


class TestWrites:
    @pytest.mark.parametrize("tool", ["write_file", "edit_file", "mcp__x__y"])
    def test_guarded_places_always_ask_but_in_bypass(self, place, tool: str) -> None:
        paths = (
            [f"{place.root}/{name}" for name in GUARDED]
            + [f"/{place.home}/.bashrc"]
            + [f"{place.home}/{name}" for name in GUARDED_HOME]
        )
        allow = [tool] if tool.startswith("mcp") else [tool, f"{tool}(/**)", f"{tool}(**)", f"{tool}(~/**)"]
        for mode in ("default", "accept-edits"):
            policy = place.policy(allow=allow, mode=mode)
            for path in paths:
                verdict = policy.judge(tool, False, [WriteAccess(path)])
                assert (verdict.decision, verdict.rule) == ("ask", ""), path
        policy = place.policy(mode="bypass")
        assert all(policy.judge(tool, False, [WriteAccess(path)]).decision == "allow" for path in paths)
        policy = place.policy(allow=allow, mode="dont-ask")
        assert all(policy.judge(tool, False, [WriteAccess(path)]).decision == "deny" for path in paths)

    @pytest.mark.parametrize(
        "name", [".gitignore", ".github/x.yml", ".mewcode/MEWCODE.md", ".mewcode/skills/a", "a.git"]
    )
    def test_their_neighbours_do_not(self, place, name: str) -> None:
        policy = place.policy(mode="accept-edits")
        assert policy.judge("write_file", False, [WriteAccess(f"{place.root}/{name}")]).decision == "allow"

    def test_a_link_to_a_guarded_place_asks(self, place) -> None:
        (place.root / "innocent").symlink_to(place.root / ".git" / "config")
        policy = place.policy(allow=["edit_file"], mode="accept-edits")
        assert policy.judge("edit_file", False, [WriteAccess(f"{place.root}/innocent")]).decision == "ask"

    def test_redirections_and_commands_into_guarded_places_ask(self, place) -> None:
        allow = ["bash", "bash(*)", "write_file", "write_file(**)", "write_file(~/**)"]
        for command in (
            "echo x > .git/config",
            "echo x >> .git/hooks/post-checkout",
            "cd .git && echo x > config",
            "cd .git && tee config",
            "tee .git/config",
            "cp a.txt .mewcode/config.yaml",
            "rm -rf .git",
            "tee ~/.bashrc",
            "dd if=a.txt of=.git/config",
            "echo x > ~/.ssh/authorized_keys",
            "install --target-directory=.git/hooks a.txt",
            'cp a.txt ".git/$X"',
        ):
            assert place.bash(command, *allow, mode="accept-edits").decision == "ask", command

    def test_default_asks_and_offers_the_very_path_for_this_tool(self, place) -> None:
        access = WriteAccess(str(place.root / "src/main.py"))
        verdict = place.policy().judge("edit_file", False, [access])
        assert (verdict.decision, verdict.rule) == ("ask", "edit_file(src/main.py)")
        policy = place.policy(allow=[verdict.rule])
        assert policy.judge("edit_file", False, [access]).decision == "allow"
        assert policy.judge("write_file", False, [access]).decision == "ask"

    def test_accept_edits_is_for_the_workspace(self, place) -> None:
        policy = place.policy(mode="accept-edits", add_dirs=[place.outside])
        for path, word in (
            (place.root / "new/x", "allow"),
            (place.outside / "x", "allow"),
            (place.home / "x", "ask"),
            (place.top / "ws-evil/x", "ask"),
        ):
            assert policy.judge("write_file", False, [WriteAccess(str(path))]).decision == word
            command = CommandAccess(f"echo x > '{path}'", str(place.root))
            assert policy.judge("bash", False, [command]).decision == word

    def test_a_rule_for_writing_covers_a_redirection(self, place) -> None:
        assert place.bash("ls > out/list", "write_file(out/**)").decision == "allow"
        assert place.bash("ls > out/list", "edit_file(out/**)").decision == "ask"
        assert place.bash("cd out && ls > list", "write_file(out/**)").decision == "allow"
        assert place.bash("ls > link-out/list", "write_file(link-out/**)").decision == "ask"

    def test_several_files_offer_no_rule(self, place) -> None:
        accesses = [WriteAccess(str(place.root / "a")), WriteAccess(str(place.root / "b"))]
        assert place.policy().judge("edit_file", False, accesses).rule == ""


def test_a_session_rule_that_is_none_is_refused(place) -> None:
    with pytest.raises(ConfigError):
        place.policy().add_session_rule("bash(")
