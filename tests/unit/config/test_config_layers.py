"""Layers: which wins, what is joined, where each value came from."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.config.describe import describe
from mewcode.config.layers import RULE_KINDS, Layer, merge_layer
from mewcode.config.schema import Config


def test_without_any_file_the_defaults_hold(folders):
    loaded = folders.load()
    assert loaded.config == Config()
    assert loaded.config.max_turns == 100
    assert (loaded.config.shell.timeout, loaded.config.shell.max_timeout) == (120, 600)
    assert loaded.config.permissions.mode == "default"
    assert loaded.config.origin("permissions.mode") == "default"
    assert loaded.notices == []


def test_each_layer_wins_over_those_before(folders):
    order = ["user", "project", "local", "extra"]
    for size, level in enumerate(order, 1):
        folders.write(level, f"# one\nmodel: {level}\n")
        extra = {"extra_file": Path("extra.yaml")} if size == 4 else {}
        config = folders.load(**extra).config
        assert config.model == level
    extra = {"extra_file": Path("extra.yaml"), "environ": {"MEWCODE_MODEL": "env", "MEWCODE_PROVIDER": ""}}
    config = folders.load(**extra).config
    assert (config.model, config.provider) == ("env", None)
    assert config.origin("model") == "environment variable MEWCODE_MODEL"
    config = folders.load(flags={"model": "flag", "provider": None}, **extra).config
    assert (config.model, config.provider) == ("flag", None)
    assert config.origin("model") == "flag --model"


def test_mappings_merge_and_say_where_each_part_came_from(folders):
    folders.write(
        "user", "models:\n  gpt-4.1:\n    vision: true\n    context_window: 1_000_000\n  gpt-4: {}\n"
    )
    folders.write("local", "models:\n  gpt-4.1:\n    price:\n      input: 2\n    vision: false\n")
    config = folders.load().config
    model = config.models["gpt-4.1"]
    assert (model.vision, model.context_window, model.price and model.price.input) == (False, 1_000_000, 2)
    user, local = (
        "user config ~/.mewcode/config.yaml",
        f"local config {folders.root}/.mewcode/config.local.yaml",
    )
    assert config.origin("models.gpt-4.1.context_window") == f"{user}:4"
    assert config.origin("models.gpt-4.1.vision") == f"{local}:5"
    assert config.origin("models.gpt-4.1") == f"{user}:4, {local}:4, {local}:5"
    assert config.origin("models.gpt-4.1.thinking") == "default"


def test_rules_of_all_levels_are_joined_and_kept_apart(folders):
    folders.write("user", "permissions:\n  mode: plan\n  deny:\n    - bash(rm *)\n    - web_fetch\n")
    folders.write("project", "permissions: {deny: [bash(git push *)], allow: [read_file]}\n")
    config = folders.load(flags={"permissions.allow": ["bash(ls *)"], "permissions.mode": "default"}).config
    assert config.permissions.deny == ["bash(rm *)", "web_fetch", "bash(git push *)"]
    assert config.permissions.allow == ["read_file", "bash(ls *)"]
    assert config.permissions.mode == "default"
    by_level = config.permissions_by_level
    assert {level: (rules.allow, rules.deny) for level, rules in by_level.items()} == {
        "user": ([], ["bash(rm *)", "web_fetch"]),
        "project": (["read_file"], ["bash(git push *)"]),
        "flags": (["bash(ls *)"], []),
    }
    assert config.origin("permissions.deny.1") == "user config ~/.mewcode/config.yaml:5"
    assert config.origin("permissions.deny.2").endswith("/.mewcode/config.yaml:1")
    assert config.origin("permissions.allow.1") == "flag --allow"
    assert config.origin("permissions.mode") == "flag --permission-mode"


def test_an_empty_key_is_as_if_not_written(folders):
    folders.write("user", "model: a\nui: {theme: dark}\n")
    folders.write("project", "model:\nui:\n# nothing yet\npermissions:\n  allow:\nproviders:\n")
    config = folders.load(trusted=False).config
    assert (config.model, config.ui.theme, config.permissions.allow) == ("a", "dark", [])


def test_empty_files_and_comments_are_fine(folders):
    for text in ("", "\n", "# only words\n", "---\n", "{}\n", "\ufeff", "\ufeffmodel: ü\n", "null\n"):
        folders.write("user", text)
        assert folders.load().config.max_turns == 100
    folders.write("user", "\ufeff# 中文\nmodel: ü\n")
    assert folders.load().config.origin("model").endswith(":2")


def test_keys_are_text_as_written_and_dates_stay_text(folders):
    folders.write(
        "user",
        "models:\n  4.10: {vision: true}\n  on: {}\nmodel: 2026-01-31\nsessions: {since: 2026-02-30}\n",
    )
    config = folders.load().config
    assert list(config.models) == ["4.10", "on"]
    assert (config.model, config.sessions) == ("2026-01-31", {"since": "2026-02-30"})


def test_the_sections_of_other_parts_take_any_mapping(folders):
    for section in ("sessions", "sandbox", "hooks"):
        folders.write("user", f"{section}:\n  a: [1, {{b: null}}]\n  c: {{d: x, e: 1.5}}\n")
        folders.write("project", f"{section}:\n  c: {{d: y}}\n  f: 2\n")
        config = folders.load().config
        assert getattr(config, section) == {"a": [1, {"b": None}], "c": {"d": "y", "e": 1.5}, "f": 2}
        assert config.origin(f"{section}.c.d").endswith("proj/.mewcode/config.yaml:2")
        assert config.origin(f"{section}.a.1.b") == "user config ~/.mewcode/config.yaml:2"


def test_the_paths_of_documents_are_those_of_all_levels(folders):
    folders.write("user", "knowledge: {paths: [~/手册]}\n")
    folders.write("project", "knowledge:\n  paths:\n  - docs\n")
    folders.write("local", "knowledge:\n  paths: [a.md, b.md]\n")
    loaded = folders.load()
    assert loaded.config.knowledge.paths == ["~/手册", "docs", "a.md", "b.md"]
    assert loaded.config.origin("knowledge.paths.1").endswith("proj/.mewcode/config.yaml:3")
    assert loaded.config.origin("knowledge.paths.3").endswith("proj/.mewcode/config.local.yaml:2")
    origin = next(row[2] for row in describe(loaded) if row[0] == "knowledge.paths")
    assert "user config ~/.mewcode/config.yaml:1" in origin


def test_flags_may_be_nested_and_the_caller_keeps_what_it_gave(folders):
    flags = {"providers": {"x": {"base_url": "http://localhost:1"}}, "permissions": {"mode": "plan"}}
    config = folders.load(flags={**flags, "permissions.deny": ["bash"]}).config
    assert config.providers["x"].base_url == "http://localhost:1"
    assert config.origin("providers.x.base_url") == "flag --base-url"
    assert (config.permissions.mode, config.permissions.deny) == ("plan", ["bash"])
    assert flags["permissions"] == {"mode": "plan"}


def test_the_user_folder_may_lie_elsewhere(folders, tmp_path):
    folders.write("user", "model: a\n")
    config = folders.load(environ={"HOME": str(tmp_path / "other")}).config
    assert config.origin("model") == f"user config {folders.places.user}/config.yaml:1"


def test_the_table_shows_every_setting_with_its_origin_and_no_secret(folders):
    folders.write(
        "user",
        "model: a\nproviders:\n  x:\n    base_url: https://me:pass@host/v1\n"
        "    headers: {Authorization: Bearer s3cret}\n",
    )
    rows = describe(folders.load())
    table = {key: (value, origin) for key, value, origin in rows}
    assert table["model"] == ("a", "user config ~/.mewcode/config.yaml:1")
    assert table["max_turns"] == (100, "default")
    assert table["permissions.deny"] == ([], "default")
    assert table["providers.x.base_url"][0] == "https://(hidden)@host/v1"
    assert table["providers.x.headers.Authorization"][0] == "(hidden)"
    assert "small_model" not in table
    assert [row[0] for row in rows] == sorted(table)
    assert "s3cret" not in repr(rows)


def test_a_start_without_files_imports_no_yaml(child_env):
    code = (
        "import sys; from pathlib import Path; from mewcode.config.load import load_config;"
        "from mewcode.infra.paths import Places; p = Path('/nonexistent');"
        "places = Places(p, p, p / 'u', p / 'p');"
        "load_config(places, {'MEWCODE_MODEL': 'x'}, flags={'max_turns': 3}, trusted=False);"
        "print([m for m in ('yaml', 'json', 'difflib', 'fcntl', 'hashlib', 'asyncio') if m in sys.modules])"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=child_env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_big_sections_in_two_layers_take_time_of_their_size(folders):
    for level, value in (("user", "{a: 1}"), ("project", "2")):
        folders.write(level, "hooks:\n" + "".join(f"  k{n}: {value}\n" for n in range(12_000)))
    loaded = folders.load()
    assert loaded.config.hooks == {f"k{n}": 2 for n in range(12_000)}
    assert len(describe(loaded)) > 12_000


KEYS = st.sampled_from(["a", "b", "c.d", "e"])
LEAVES = st.one_of(st.integers(), st.text(max_size=3), st.booleans(), st.lists(st.integers(), max_size=2))
TREES = st.dictionaries(
    st.just("hooks"),
    st.dictionaries(KEYS, st.recursive(LEAVES, lambda t: st.dictionaries(KEYS, t, max_size=3))),
)
RULES = st.dictionaries(
    st.sampled_from(RULE_KINDS), st.lists(st.sampled_from(["r1", "r2", "r3"]), max_size=3)
)
LAYERS = st.lists(
    st.tuples(TREES, RULES).map(lambda pair: {**pair[0], **({"permissions": pair[1]} if pair[1] else {})}),
    max_size=4,
)


def merge_all(layers: list[dict[str, Any]]) -> tuple[dict[str, Any], dict[tuple[str, ...], str]]:
    values: dict[str, Any] = {}
    origins: dict[tuple[str, ...], str] = {}
    for place, layer in enumerate(layers):
        values = merge_layer(values, origins, Layer("user", layer, {(): str(place)}))
    return values, origins


def leaves(value: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    if not isinstance(value, dict):
        return {path: value}
    return {where: leaf for key, item in value.items() for where, leaf in leaves(item, (*path, key)).items()}


@settings(max_examples=150, deadline=None)
@given(LAYERS)
def test_no_rule_is_ever_lost_and_the_order_is_that_of_the_layers(layers):
    values, origins = merge_all(layers)
    for kind in RULE_KINDS:
        every = [
            (rule, place)
            for place, layer in enumerate(layers)
            for rule in layer.get("permissions", {}).get(kind, [])
        ]
        merged = values.get("permissions", {}).get(kind, [])
        assert merged == [rule for rule, _ in every]
        for place, (_, level) in enumerate(every):
            assert origins["permissions", kind, str(place)] == f"user config {level}"


@settings(max_examples=150, deadline=None)
@given(LAYERS)
def test_a_merged_leaf_is_that_of_the_last_layer_that_says_anything_there(layers):
    before = [leaves(layer) for layer in layers]
    values, origins = merge_all(layers)
    for path, leaf in leaves({"hooks": values.get("hooks", {})}).items():
        sayers = [place for place, said in enumerate(before) if path in said]
        assert sayers
        assert before[sayers[-1]][path] == leaf
        assert origins[path] == f"user config {sayers[-1]}"


@settings(max_examples=100, deadline=None)
@given(LAYERS, LAYERS)
def test_merging_a_prefix_first_changes_nothing_and_layers_are_left_alone(first, second):
    kept = repr(first + second)
    whole, _ = merge_all(first + second)
    start, _ = merge_all(first)
    assert merge_all([start, *second])[0] == whole
    assert repr(first + second) == kept
