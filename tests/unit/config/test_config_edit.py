"""A rule is added to a config file and every other byte stays."""

from __future__ import annotations

import os
import stat
import subprocess
import sys

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.config.edit import (
    add_rule,
    remember_project_rule,
    with_item,
    with_rule,
    without_item,
)
from mewcode.config.trust import TrustStore, needs_trust
from mewcode.core.errors import ConfigError
from mewcode.infra.paths import Places

RULE = "bash(git status *)"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "permissions:\n  allow:\n    - 'R'\n"),
        ("# 只有注释", "# 只有注释\npermissions:\n  allow:\n    - 'R'\n"),
        ("---\n", "---\npermissions:\n  allow:\n    - 'R'\n"),
        ("{}\n", "{permissions: {allow: ['R']}}\n"),
        ("model: a # mine\n", "model: a # mine\npermissions:\n  allow:\n    - 'R'\n"),
        ("model: a", "model: a\npermissions:\n  allow:\n    - 'R'"),
        ("model: a\n\n# end\n", "model: a\npermissions:\n  allow:\n    - 'R'\n\n# end\n"),
        ("{model: a}\n", "{model: a, permissions: {allow: ['R']}}\n"),
        ("permissions:\n", "permissions:\n  allow:\n    - 'R'\n"),
        ("permissions: # rules\nmodel: a\n", "permissions: # rules\n  allow:\n    - 'R'\nmodel: a\n"),
        ("permissions: {}\n", "permissions: {allow: ['R']}\n"),
        ("permissions: {mode: plan}\n", "permissions: {mode: plan, allow: ['R']}\n"),
        ("permissions: {allow: [a], mode: plan}\n", "permissions: {allow: [a, 'R'], mode: plan}\n"),
        ("permissions:\n    mode: plan\n", "permissions:\n    mode: plan\n    allow:\n      - 'R'\n"),
        ("permissions:\n  allow:\nmodel: a\n", "permissions:\n  allow:\n    - 'R'\nmodel: a\n"),
        ("permissions:\n  allow: []\n", "permissions:\n  allow: ['R']\n"),
        ("permissions:\n  allow: [a, b,]  # x\n", "permissions:\n  allow: [a, b, 'R',]  # x\n"),
        ("permissions:\n  allow: [\n    a, # 一\n  ]\n", "permissions:\n  allow: [\n    a, 'R', # 一\n  ]\n"),
        (
            "permissions:\n  allow:\n    # why\n    - a  # 因为\n\n  # next\n  deny: [x]\n",
            "permissions:\n  allow:\n    # why\n    - a  # 因为\n    - 'R'\n\n  # next\n  deny: [x]\n",
        ),
        (
            "permissions:\n  allow:\n  - a\n  deny:\n  - x\n",
            "permissions:\n  allow:\n  - a\n  - 'R'\n  deny:\n  - x\n",
        ),
        ("permissions:\n  allow:\n    - a", "permissions:\n  allow:\n    - a\n    - 'R'"),
        (
            "permissions:\n  allow:\n    - >-\n      a\n      b\n",
            "permissions:\n  allow:\n    - >-\n      a\n      b\n    - 'R'\n",
        ),
        ("permissions:\n  allow:\n    - |\n      a\n\nmodel: x\n", None),
        (
            "permissions:\n  deny:\n    - x\nmodel: a\n",
            "permissions:\n  deny:\n    - x\n  allow:\n    - 'R'\nmodel: a\n",
        ),
        ('"permissions":\n  "allow": ["a"]\n', '"permissions":\n  "allow": ["a", \'R\']\n'),
        ("permissions:\n  allow:\n    - a\n...\n", "permissions:\n  allow:\n    - a\n    - 'R'\n...\n"),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_the_rule_lands_where_a_person_would_write_it(before, after, newline, bom):
    data = (bom + before).replace("\n", newline).encode()
    new = with_rule(data, "allow", RULE, "f")
    was = yaml.safe_load(data.decode("utf-8-sig")) or {}
    now = yaml.safe_load(new.decode("utf-8-sig"))
    rules = [*((was.get("permissions") or {}).get("allow") or []), RULE]
    assert now == {**was, "permissions": {**(was.get("permissions") or {}), "allow": rules}}
    if after is not None:
        ending = newline if "\n" in before else "\n"
        assert new.decode() == bom + after.replace("'R'", f"'{RULE}'").replace("\n", ending)
    assert with_rule(new, "allow", RULE, "f") == new


@pytest.mark.parametrize(
    "text",
    [
        "permissions: null\n",
        "null\n",
        "permissions:\n  deny: ~\n",
        "hooks: {x: &l [a]}\npermissions:\n  deny: *l\n",
        "hooks: &p {}\npermissions: *p\n",
    ],
)
def test_what_cannot_be_added_to_is_left_alone_and_the_line_is_told(tmp_path, text):
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match="cannot be added without touching what you wrote") as caught:
        add_rule(path, "deny", RULE)
    assert caught.value.hint == f"Add this line to permissions.deny by hand: - '{RULE}'"
    assert caught.value.where == str(path)
    assert path.read_text() == text


@pytest.mark.parametrize(
    "rule", ["a: b # c", "it's", "[x]", "*", "- x", "中文 *", "a\nb", "\t", "é\u2028", "{", "null", "1"]
)
def test_any_rule_is_written_so_that_it_reads_back(rule):
    for before in ("", "permissions: {allow: [a]}\n", "permissions:\n  allow:\n    - a\n"):
        new = yaml.safe_load(with_rule(before.encode(), "allow", rule, "f"))
        assert new["permissions"]["allow"][-1] == rule


def test_a_wrong_file_is_refused_with_its_line():
    with pytest.raises(ConfigError, match=r"f:2: permissions.allow: expected a list"):
        with_rule(b"permissions:\n  allow: bash\n", "allow", RULE, "f")
    with pytest.raises(ConfigError, match="f:1: unknown key"):
        with_rule(b"permission: {}\n", "allow", RULE, "f")


ITEMS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=6)
SECTIONS = st.fixed_dictionaries(
    {},
    optional={kind: st.lists(ITEMS, max_size=3) for kind in ("allow", "ask", "deny")}
    | {"mode": st.just("plan")},
)
FILES = st.fixed_dictionaries(
    {},
    optional={
        "model": ITEMS,
        "hooks": st.dictionaries(ITEMS, st.lists(ITEMS, max_size=2), max_size=2),
        "permissions": SECTIONS,
        "ui": st.just({"theme": "dark"}),
    },
)


@settings(max_examples=200, deadline=None)
@given(
    FILES,
    ITEMS,
    st.sampled_from(["allow", "ask", "deny"]),
    st.sampled_from([True, False, None]),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.integers(1, 6),
)
def test_whatever_the_file_the_rule_is_added_and_the_old_text_stays(
    values, rule, kind, style, newline, final, indent
):
    text = yaml.safe_dump(values, default_flow_style=style, indent=indent, sort_keys=False, width=10**6)
    text = text.replace("\n", newline + "# 注\n".replace("\n", newline), 1)
    data = (text if final else text.rstrip("\r\n")).encode()
    new = with_rule(data, kind, rule, "f")
    old_rules = values.get("permissions", {}).get(kind, [])
    rules = old_rules if rule in old_rules else [*old_rules, rule]
    expected = {**values, "permissions": {**values.get("permissions", {}), kind: rules}}
    assert yaml.safe_load(new) == expected
    letters = iter(new)
    assert all(letter in letters for letter in data), "the old bytes stand in the new ones, in order"


PATHS = ("knowledge", "paths")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("knowledge:\n  paths:\n    - 'R'\n", "knowledge:\n  paths:\n"),
        ("knowledge:\n  paths:\n    - a # 一\n    - R # 二\n    # 三\n    - b\nmodel: x\n",
         "knowledge:\n  paths:\n    - a # 一\n    # 三\n    - b\nmodel: x\n"),
        ("knowledge:\n  paths:\n  - a\n  - R", "knowledge:\n  paths:\n  - a\n"),
        ("knowledge:\r\n  paths:\r\n  - R\r\n  - a\r\n", "knowledge:\r\n  paths:\r\n  - a\r\n"),
        ("knowledge: {paths: [R]}\n", "knowledge: {paths: []}\n"),
        ("knowledge: {paths: [R, a]}\n", "knowledge: {paths: [a]}\n"),
        ("knowledge: {paths: [a, R, b]} # 注\n", "knowledge: {paths: [a, b]} # 注\n"),
        ("knowledge: {paths: [a, 'R']}\n", "knowledge: {paths: [a]}\n"),
        ("knowledge:\n  paths: [\n    a,\n    R,\n  ]\n", "knowledge:\n  paths: [\n    a,\n  ]\n"),
        ("knowledge:\n  paths:\n    - R\n    - a\n    - R\n", "knowledge:\n  paths:\n    - a\n"),
        ("knowledge:\n  paths:\n    - >-\n      R\n    - a\n", "knowledge:\n  paths:\n    - a\n"),
        ("knowledge: {paths: [a]}\n", "knowledge: {paths: [a]}\n"),
        ("model: R\n", "model: R\n"),
        ("", ""),
    ],
)  # fmt: skip
def test_an_item_is_removed_and_the_rest_stays(before, after):
    assert without_item(before.encode(), PATHS, "R", "f").decode() == after


def test_what_cannot_be_removed_alone_is_said():
    for text in (
        "knowledge: {paths: &p [R]}\nhooks: {a: *p}\n",
        "knowledge:\n  paths:\n  - &a R\n  - *a\n  - b\n",
    ):
        with pytest.raises(ConfigError, match="the path cannot be removed") as caught:
            without_item(text.encode(), PATHS, "R", "f")
        assert caught.value.hint == "Remove it from knowledge.paths by hand: 'R'"


@settings(max_examples=200, deadline=None)
@given(
    st.lists(ITEMS, max_size=4),
    ITEMS,
    st.sampled_from([True, False, None]),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_what_was_added_can_be_removed_again(items, item, style, newline, final):
    values = {"model": "m", "knowledge": {"paths": items}, "ui": {"theme": "dark"}}
    text = yaml.safe_dump(values, default_flow_style=style, sort_keys=False, width=10**6)
    text = text.replace("\n", newline)
    data = (text if final else text.rstrip("\r\n")).encode()
    added = with_item(data, PATHS, item, "f")
    assert item in yaml.safe_load(added)["knowledge"]["paths"]
    removed = without_item(added, PATHS, item, "f")
    left = [other for other in items if other != item]
    expected = {**values, "knowledge": {"paths": left}}
    said = yaml.safe_load(removed)
    said["knowledge"]["paths"] = said["knowledge"]["paths"] or []
    assert said == expected
    letters = iter(added)
    assert all(letter in letters for letter in removed), "what is left stood there in this order"


def test_files_are_made_private_and_keep_their_mode(tmp_path):
    path = tmp_path / "new" / "config.yaml"
    assert add_rule(path, "deny", RULE)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not add_rule(path, "deny", RULE)
    path.chmod(0o640)
    assert add_rule(path, "allow", RULE)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["config.yaml", "config.yaml.lock"]


def test_a_linked_config_is_written_through_the_link(tmp_path):
    target, link = tmp_path / "dotfiles.yaml", tmp_path / "config.yaml"
    target.write_text("model: a\n")
    link.symlink_to(target)
    assert add_rule(link, "ask", RULE)
    assert link.is_symlink()
    assert yaml.safe_load(target.read_text())["permissions"] == {"ask": [RULE]}


def test_a_folder_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        add_rule(tmp_path / "file" / "config.yaml", "allow", RULE)


def test_two_processes_add_rules_to_one_file(tmp_path, child_env):
    code = (
        "import sys; from pathlib import Path; from mewcode.config.edit import add_rule\n"
        "for n in range(15): add_rule(Path(sys.argv[1]), 'allow', f'bash({sys.argv[2]}{n})')\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "config.yaml")]
    children = [subprocess.Popen([*command, who], env=child_env) for who in "ab"]
    with children[0] as one, children[1] as two:
        assert [one.wait(60), two.wait(60)] == [0, 0]
    rules = yaml.safe_load((tmp_path / "config.yaml").read_text())["permissions"]["allow"]
    assert sorted(rules) == sorted(f"bash({who}{n})" for who in "ab" for n in range(15))


class TestRememberProjectRule:
    def test_in_an_untrusted_folder_the_rule_counts_at_the_next_start(self, folders):
        store = TrustStore(folders.places.user)
        for rule in (RULE, "bash(make *)", RULE):
            assert remember_project_rule(folders.places, store, rule) == ""
        loaded = folders.load(trusted=False)
        assert loaded.config.permissions_by_level["local"].allow == [RULE, "bash(make *)"]
        assert (loaded.notices, needs_trust(folders.places)) == ([], [])
        assert (folders.places.project / ".gitignore").exists()
        assert not store.is_trusted(folders.root)

    def test_a_local_file_of_strangers_does_not_become_trusted_by_it(self, folders):
        path = folders.write("local", "permissions: {allow: [bash]}\n")
        store = TrustStore(folders.places.user)
        said = remember_project_rule(folders.places, store, RULE)
        assert said.startswith(f"{path} is not trusted yet. The rule holds for this session. ")
        assert path.read_text() == "permissions: {allow: [bash]}\n"
        assert folders.load(trusted=False).config.permissions.allow == []

    def test_nor_one_that_was_changed_since_mewcode_wrote_it(self, folders):
        store = TrustStore(folders.places.user)
        assert remember_project_rule(folders.places, store, "a") == ""
        path = folders.places.project / "config.local.yaml"
        path.write_text(path.read_text() + "hooks: {x: y}\n")
        assert "not trusted yet" in remember_project_rule(folders.places, store, "b")
        assert not store.was_made(folders.root, path, path.read_bytes())

    def test_in_a_trusted_folder_the_users_own_file_is_added_to(self, folders):
        path = folders.write("local", "# 我的\npermissions:\n  allow: [a] # x\n")
        store = TrustStore(folders.places.user)
        store.trust(folders.root)
        assert remember_project_rule(folders.places, store, RULE) == ""
        assert path.read_text() == f"# 我的\npermissions:\n  allow: [a, '{RULE}'] # x\n"
        assert not store.was_made(folders.root, path, path.read_bytes())

    def test_a_link_is_never_written_through(self, folders, tmp_path):
        store = TrustStore(folders.places.user)
        store.trust(folders.root)
        (folders.places.project / "config.local.yaml").symlink_to(tmp_path / "bashrc")
        assert "link to elsewhere" in remember_project_rule(folders.places, store, RULE)
        assert not (tmp_path / "bashrc").exists()

    def test_nor_a_project_folder_that_is_one(self, folders, tmp_path):
        other = tmp_path / "other"
        other.mkdir()
        folders.places.project.rmdir()
        folders.places.project.symlink_to(other)
        said = remember_project_rule(folders.places, TrustStore(folders.places.user), RULE)
        assert "link to elsewhere" in said
        assert not (other / "config.local.yaml").exists()

    def test_in_the_project_folder_of_home_it_is_simply_kept(self, folders):
        places = Places(folders.home, folders.home, folders.places.user, folders.places.user / "home-project")
        places.project.mkdir()
        (places.project / "config.local.yaml").write_text("model: a\n")
        assert remember_project_rule(places, TrustStore(places.user), RULE) == ""

    def test_a_broken_file_or_disk_is_said_and_raises_nothing(self, folders):
        store = TrustStore(folders.places.user)
        store.trust(folders.root)
        folders.write("local", "permissions: [\n")
        said = remember_project_rule(folders.places, store, RULE)
        assert "is not valid YAML" in said
        assert "The rule holds for this session." in said
        folders.write("local", "permissions: null\n")
        assert f"by hand: - '{RULE}'" in remember_project_rule(folders.places, store, RULE)
        (folders.places.project / "config.local.yaml").unlink()
        for entry in folders.places.project.iterdir():
            entry.unlink()
        folders.places.project.rmdir()
        folders.places.project.write_text("")
        assert "cannot be written" in remember_project_rule(folders.places, store, RULE)

    def test_the_file_is_private(self, folders):
        old = os.umask(0)
        try:
            remember_project_rule(folders.places, TrustStore(folders.places.user), RULE)
        finally:
            os.umask(old)
        path = folders.places.project / "config.local.yaml"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
