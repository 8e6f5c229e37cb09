"""What is wrong in a config file is named with file, line, key and what would be right."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mewcode.core.errors import ConfigError

USER = "~/.mewcode/config.yaml"


def failure(folders, text, level="user", **options) -> ConfigError:
    folders.write(level, text)
    with pytest.raises(ConfigError) as caught:
        folders.load(**options)
    assert caught.value.exit_code == 2
    return caught.value


@pytest.mark.parametrize(
    ("text", "line", "key", "hint"),
    [
        ("modle: x\n", 1, "modle", "Did you mean model?"),
        ("# 注释\n\nmax-turns: 3\n", 3, "max-turns", "Did you mean max_turns?"),
        ("model: a\npermissions:\n  alow: []\n", 3, "permissions.alow", "Did you mean permissions.allow?"),
        (
            "providers:\n  mine:\n    base-url: x\n",
            3,
            "providers.mine.base-url",
            "Did you mean providers.mine.base_url?",
        ),
        ("models:\n  gpt-4.1:\n    price: {inputs: 1}\n", 3, "models.gpt-4.1.price.inputs", "price.input?"),
        ("ui:\r\n  Theme: dark\r\n", 2, "ui.Theme", "Did you mean ui.theme?"),
        ("shell: {qqqq: 1}\n", 1, "shell.qqqq", "Known here: timeout, max_timeout."),
        ("deny: []\n", 1, "deny", "There is also permissions.deny."),
        ("origins: {}\n", 1, "origins", ""),
        ("permissions_by_level: {}\n", 1, "permissions_by_level", ""),
    ],
)
def test_an_unknown_key_names_the_nearest_known_one(folders, text, line, key, hint):
    error = failure(folders, text)
    assert error.where == f"{USER}:{line}"
    assert error.message == f"{USER}:{line}: unknown key {key}"
    assert hint in error.hint


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("model: 4\n", 1, "model: expected text, found the number 4"),
        ("model: ''\n", 1, "model: expected text, found empty text"),
        ("model: [a]\n", 1, "model: expected text, found a list"),
        ("max_turns: many\n", 1, "max_turns: expected a whole number above 0, found other text"),
        ("max_turns: true\n", 1, "max_turns: expected a whole number above 0, found true"),
        ("max_turns: 0\n", 1, "max_turns: expected a whole number above 0, found the number 0"),
        ("max_turns: 1.5\n", 1, "max_turns: expected a whole number above 0, found the number 1.5"),
        ("models:\n  a: {vision: 1}\n", 2, "models.a.vision: expected true or false, found the number 1"),
        ("ui: dark\n", 1, "ui: expected a mapping of keys, found other text"),
        ("permissions:\n  allow: bash\n", 2, "permissions.allow: expected a list, found other text"),
        (
            "permissions:\n  allow:\n    - a\n    - 7\n",
            4,
            "permissions.allow.1: expected text, found the number 7",
        ),
        ("permissions:\n  deny: [a,\n    {b: c}]\n", 3, "permissions.deny.1: expected text, found a mapping"),
        ("permissions:\n  deny: [a, ~]\n", 2, "permissions.deny.1: expected text, found nothing"),
        ("providers: [a]\n", 1, "providers: expected a mapping of keys, found a list"),
        ("providers:\n  a: b\n", 2, "providers.a: expected a mapping of keys, found other text"),
        ("hooks: [a]\n", 1, "hooks: expected a mapping of keys, found a list"),
        (
            "shell:\n  timeout: .inf\n",
            2,
            "shell.timeout: expected a number of seconds above 0, found the number inf",
        ),
        ("models: {a: {price: {input: .nan}}}\n", 1, "models.a.price.input: expected a number of US dollars"),
        ("models: {a: {price: {input: -1}}}\n", 1, "expected a number of US dollars, 0 or more"),
        (
            "providers: {a: {base_url: 'file:///x'}}\n",
            1,
            "expected a URL that starts with http:// or https://",
        ),
        (
            "providers: {a: {headers: {x: 1}}}\n",
            1,
            "providers.a.headers.x: expected text, found the number 1",
        ),
    ],
)
def test_a_wrong_type_says_what_was_expected(folders, text, line, said):
    error = failure(folders, text)
    assert error.where == f"{USER}:{line}"
    assert said in error.message


def test_a_wrong_choice_names_the_choices_and_the_nearest(folders):
    error = failure(folders, "permissions:\n  mode: accept_edits\n")
    assert "expected one of default, accept-edits, plan, dont-ask, bypass" in error.message
    assert error.hint == "Did you mean accept-edits?"


def test_a_key_written_where_its_variable_belongs_is_not_repeated(folders):
    error = failure(folders, "providers: {a: {api_key_env: sk-ant-verysecret}}\n")
    assert "the name of an environment variable (never the key itself)" in str(error)
    assert "verysecret" not in str(error)


@pytest.mark.parametrize(
    ("text", "where", "said"),
    [
        ("model: [a\n", ":2", "is not valid YAML"),
        ("a: b: c\n", ":1", "is not valid YAML"),
        ("model: a\n\tmax_turns: 3\n", ":2", "is not valid YAML"),
        ("model: a\nmax_turns: \x01\n", ":2", "holds a control character"),
        ("model: a\n---\nmodel: b\n", ":2", "is not valid YAML"),
        ("model: *nothing\n", ":1", "is not valid YAML"),
        ("- model\n", ":1", "a config file is a mapping of keys"),
        ("just words\n", ":1", "a config file is a mapping of keys"),
        ("? [a]\n: b\n", ":1", "a key is text"),
        ("model: a\nui: {theme: dark}\nmodel: b\n", ":3", "model stands here a second time, first on line 1"),
        ("hooks:\n  a: 1\n  b: 2\n  a: 3\n", ":4", "hooks.a stands here a second time, first on line 2"),
        ("hooks:\n  <<: {a: 1}\n", ":2", "merge keys"),
        ("model: a\nhooks: {x: !!python/name:os.system ''}\n", ":2", "YAML tags are not taken"),
        ("hooks: {x: !!set {a}}\n", ":1", "YAML tags are not taken"),
        ("model: a\nhooks: {x: " + "1:" * 400_000 + "1}\n", ":2", "a number is too long"),
        ("max_turns: !!int x\n", ":1", "is not the value"),
        ("max_turns: " + "9" * 5000 + "\n", ":1", "a number is too long"),
        (b"model: a\nsmall_model: \xff\n", ":2", "is not UTF-8"),
        ("model: x\n".encode("utf-16"), ":1", "is not UTF-8"),
    ],
)
def test_a_file_that_is_no_plain_mapping_is_refused_with_its_line(folders, text, where, said):
    error = failure(folders, text)
    assert error.where == USER + where
    assert said in error.message


@pytest.mark.parametrize(
    "text",
    [
        "hooks: &a {b: *a}\n",
        "hooks:\n a: &a [x,x,x,x,x,x,x,x,x]\n"
        + "".join(
            f" {b}: &{b} [{','.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
        ),
        "hooks: " + "[" * 500 + "]" * 500 + "\n",
        "hooks: " + "[" * 200_000,
        "hooks:\n" + "- " * 200_000 + "x\n",
    ],
    ids=["cycle", "billion laughs", "deep", "very deep", "deep block"],
)
def test_a_file_made_to_exhaust_memory_or_the_stack_is_refused(folders, text):
    failure(folders, text)


def test_aliases_within_bounds_are_taken(folders):
    folders.write("user", "permissions:\n  allow: &rules [a, b]\n  ask: *rules\n")
    assert folders.load().config.permissions.ask == ["a", "b"]


def test_a_huge_file_is_refused_unread(folders):
    error = failure(folders, "# " + "x" * 1_000_000 + "\n")
    assert "larger than 1,000,000 bytes" in error.message


def test_what_is_no_regular_file_is_refused_and_nobody_waits(folders):
    path = folders.places.user / "config.yaml"
    os.mkfifo(path)
    with pytest.raises(ConfigError, match="not a regular file"):
        folders.load()
    path.unlink()
    path.mkdir()
    with pytest.raises(ConfigError, match="not a regular file"):
        folders.load()
    path.rmdir()
    path.symlink_to("/dev/zero")
    with pytest.raises(ConfigError, match="not a regular file"):
        folders.load()


def test_a_link_in_a_circle_is_refused(folders):
    path = folders.places.user / "config.yaml"
    path.symlink_to(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        folders.load()


def test_a_key_cannot_steer_the_terminal(folders):
    error = failure(folders, '"\\e]0;owned\\a\\e[2Jmodel\\u202e": x\n', level="project")
    assert str(error).isprintable() or "\n" in str(error)
    assert "\x1b" not in str(error)
    assert "\u202e" not in str(error)


def test_the_project_file_is_named_too(folders):
    error = failure(folders, "\nmodle: x\n", level="project")
    assert error.where == f"{folders.root}/.mewcode/config.yaml:2"


def test_an_extra_file_must_exist(folders):
    with pytest.raises(ConfigError, match=r"--config: there is no file .*nope\.yaml"):
        folders.load(extra_file=Path("nope.yaml"))


def test_a_wrong_flag_is_named(folders):
    with pytest.raises(ConfigError, match=r"--permission-mode: permissions.mode: expected one of") as caught:
        folders.load(flags={"permissions.mode": "plam"})
    assert caught.value.hint == "Did you mean plan?"
    with pytest.raises(ConfigError, match="--max-turns: max_turns: expected a whole number above 0"):
        folders.load(flags={"max_turns": 0})
    with pytest.raises(ConfigError, match=r"--base-url: providers.x.base_url: expected a URL"):
        folders.load(flags={"providers": {"x": {"base_url": "localhost"}}})


def test_time_limits_must_fit_together(folders):
    error = failure(folders, "shell:\n  timeout: 900\n")
    assert error.where.endswith("config.yaml:2")
    assert "shell.timeout (900 s) exceeds shell.max_timeout (600 s)" in error.message
    error = failure(folders, "shell:\n  max_timeout: 60\n")
    assert error.where.endswith("config.yaml:2")
