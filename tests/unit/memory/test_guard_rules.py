"""Sentences that forbid or demand, held against commands and files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode.memory.guard.rules import objections, rules_in
from mewcode.memory.guard.words import path_words, steps_of


def broken(text: str, command: str, *before: str, branch: str = "feature") -> bool:
    done = [step for line in before for step in steps_of(line, branch)]
    return bool(objections(rules_in(text, "a note"), steps_of(command, branch), done))


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("Never push to main.", "git push origin main"),
        ("never push to main", "cd app && git push origin HEAD:main"),
        ("never push to main", "git push -u origin main 2>&1 | tail -3"),
        ("Avoid surprises: do not push to master", "git push origin main"),
        ("Never force-push.", "git push -f origin feature"),
        ("don't force push", "git push --force-with-lease"),
        ("Don't use npm, use pnpm", "npm install left-pad"),
        ("You must not run `git push --force`", "git push --force origin x"),
        ("never amend commits", "git commit --amend -m x"),
        ("Do not use rm -rf", "rm -fr build"),
        ("never delete migrations/", "rm migrations/0001.py"),
        ("never use --no-verify", "git commit --no-verify -m x"),
        ("Never edit package-lock.json", "sed -i s/a/b/ package-lock.json"),
        ("Never commit directly to main unless I say so", "git commit -m x"),
        ("不要直接推送到 main 分支", "git push origin main"),
        ("禁止使用 npm", "npm ci"),
        ("千万不要强制推送", "git push --force"),
        ("别用 npm 安装", "npm install x"),
        ("不要修改 package-lock.json", "echo > package-lock.json"),
    ],
)
def test_what_is_forbidden_is_found(rule: str, command: str) -> None:
    assert broken(rule, command, branch="main" if "commit directly" in rule else "feature")


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("Never push to main.", "git push origin main-fix"),
        ("Never push to main.", "git push"),
        ("Never push to main.", "git commit -m 'never push to main'"),
        ("Never push to main.", "git fetch origin main"),
        ("Don't use npm, use pnpm", "pnpm install"),
        ("Don't use npm", "ls node_modules/npm"),
        ("This test never fails.", "pytest tests/test_fail.py"),
        ("I don't know", "git status"),
        ("Never edit.", "sed -i s/a/b/ x"),
        ("```\nnever push\n```", "git push"),
        ("It does not push.", "ls"),
        ("特别推送", "git push"),
        ("不要把界面做得太复杂", "git push"),
        ("Push to main when it is green.", "git push origin main"),
    ],
)
def test_what_is_not_meant_is_let_be(rule: str, command: str) -> None:
    assert not broken(rule, command)


def test_a_push_without_a_target_goes_to_the_branch_that_is_checked_out() -> None:
    assert broken("never push to main", "git push", branch="main")
    assert broken("never push to main", "git push origin", branch="main")
    assert not broken("never push to main", "git push origin topic", branch="main")


@pytest.mark.parametrize(
    "rule",
    [
        "Always run make fmt before commit.",
        "Run `make fmt` before you commit",
        "Before committing, always run make fmt.",
        "Before each commit you must run `make fmt`",
        "Never commit without running make fmt",
        "提交前先运行 make fmt",
        "每次提交之前，必须执行 `make fmt`",
    ],
)
def test_what_is_demanded_has_to_be_run_before(rule: str) -> None:
    assert broken(rule, "git commit -m x")
    assert broken(rule, "git commit -m 'make fmt'")
    assert broken(rule, "git commit -m x && make fmt")
    assert not broken(rule, "make fmt && git commit -m x")
    assert not broken(rule, "git commit -m x", "make fmt")
    assert not broken(rule, "git status")


def test_files_are_named_by_path_folder_or_ending() -> None:
    def hits(rule: str, path: str) -> bool:
        return bool(objections(rules_in(rule, "n"), [path_words(path)], []))

    assert hits("Never edit files in db/migrations/", "db/migrations/0001.sql")
    assert hits("Do not touch `src/generated`", "src/generated/api.py")
    assert hits("don't change *.lock files", "poetry.lock")
    assert hits("不要编辑 vendor 目录", "vendor/x.c")
    assert not hits("Never edit files in db/migrations/", "db/models.py")
    assert not hits("Never edit main.py", "src/other.py")


def test_a_rule_says_where_it_stands() -> None:
    [rule] = rules_in("- **Never** do that by hand.\n- never push to main.\n", "MEWCODE.md")
    assert rule.said == "never push to main."
    assert rule.source == "MEWCODE.md"


@given(
    st.text(alphabet="nevrpushto main`\n不要推送前运行.,'\"-/;&|", max_size=300),
    st.text(alphabet="gitpush main'\"\\`$();&|<>\n-", max_size=200),
)
def test_any_text_and_any_command_is_taken(text: str, command: str) -> None:
    rules = rules_in(text, "n")
    for rule in objections(rules, steps_of(command, "main"), []):
        assert rule in rules
        assert all(rule.words)


@pytest.mark.parametrize(
    "line", [f"never{' ' * 990}!", f"run {' ' * 900}before x", f"before{' x' * 30}{' ' * 900}"]
)
def test_lines_of_blanks_come_to_an_end(line: str) -> None:
    """Tried one by one, they would take minutes each."""
    assert rules_in(f"{line}\n" * 5_000 + "never push to main\n", "x") == ()
    assert rules_in(f"{line}\n" * 190 + "never push to main\n", "x")[-1].words == ("push", "main")
