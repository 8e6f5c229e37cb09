"""Single values set in a config file: what the user wrote stays."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.config.assign import set_values, with_value
from mewcode.core.errors import ConfigError


@pytest.mark.parametrize(
    ("old", "key", "value", "new"),
    [
        ("", ("model",), "m", "model: m\n"),
        ("# mine\n", ("model",), "m", "# mine\nmodel: m\n"),
        ("a: 1", ("model",), "m", "a: 1\nmodel: m"),
        (
            "model: old # why\nui: {theme: light}\n",
            ("model",),
            "new",
            "model: new # why\nui: {theme: light}\n",
        ),
        ("model: 'old'\n", ("model",), "a: b", "model: 'a: b'\n"),
        ("model:\n# next\n", ("model",), "m", "model: m\n# next\n"),
        ("model: |\n  old\nb: 1\n", ("model",), "m", "model: m\nb: 1\n"),
        ("a: 1\r\nb: 2\r\n", ("model",), "m", "a: 1\r\nb: 2\r\nmodel: m\r\n"),
        ("model: yes\n", ("model",), "no", "model: 'no'\n"),
        ("model: x\n", ("model",), None, ""),
        ("a: 1\nmodel: x # gone\nb: 2\n", ("model",), None, "a: 1\nb: 2\n"),
        ("a: 1\n", ("model",), None, "a: 1\n"),
        ("model: m\n", ("model",), "m", "model: m\n"),
        (
            "providers:\n  one: {protocol: openai}\n",
            ("providers", "two", "base_url"),
            "http://h/v1",
            "providers:\n  one: {protocol: openai}\n  two:\n    base_url: http://h/v1\n",
        ),
        (
            "providers:\n  one:\n    protocol: openai # same\n",
            ("providers", "one", "base_url"),
            "http://h/v1",
            "providers:\n  one:\n    protocol: openai # same\n    base_url: http://h/v1\n",
        ),
        ("providers: {}\n", ("providers", "a", "protocol"), "openai", "providers: {a: {protocol: openai}}\n"),
        (
            "providers:\n",
            ("providers", "a", "protocol"),
            "openai",
            "providers:\n  a:\n    protocol: openai\n",
        ),
        ("{model: old}\n", ("provider",), "p", "{model: old, provider: p}\n"),
    ],
)
def test_one_value_changes(old: str, key: tuple[str, ...], value: str | None, new: str) -> None:
    found = with_value(old.encode(), key, value, "config.yaml").decode()
    assert found.rstrip("\r\n") == new.rstrip("\r\n")


def test_a_mark_at_the_beginning_stays() -> None:
    assert with_value(b"\xef\xbb\xbfmodel: a\n", ("model",), "b", "c") == b"\xef\xbb\xbfmodel: b\n"


@pytest.mark.parametrize(
    ("old", "key", "value"),
    [
        ("model: &x a\nsmall_model: *x\n", ("model",), "b"),
        ("{model: a, ui: {}}\n", ("model",), None),
        ("providers: null\n", ("providers", "a", "protocol"), "openai"),
    ],
)
def test_what_only_a_person_can_change_is_left_alone(
    old: str, key: tuple[str, ...], value: str | None
) -> None:
    with pytest.raises(ConfigError, match="cannot be changed without touching"):
        with_value(old.encode(), key, value, "config.yaml")


TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1, max_size=12)


@settings(max_examples=80)
@given(
    st.dictionaries(TEXTS, TEXTS, max_size=4),
    st.lists(TEXTS, min_size=1, max_size=3),
    st.one_of(st.none(), TEXTS),
    st.booleans(),
)
def test_any_value_can_be_set_and_read_back(
    values: dict[str, str], key: list[str], value: str | None, flow: bool
) -> None:
    old = yaml.safe_dump(values, allow_unicode=True, default_flow_style=flow).encode()
    try:
        new = with_value(old, tuple(key), value, "c")
    except ConfigError:  # it said so, and changed nothing
        return
    expected = dict(values)
    if value is None and len(key) == 1:
        expected.pop(key[0], None)
    read = yaml.safe_load(new) or {}
    for name in expected.keys() - {key[0]}:
        assert read[name] == expected[name]
    found = read
    for part in key:
        found = found.get(part) if isinstance(found, dict) else None
    assert found == value


def test_the_file_is_made_private_and_a_link_followed(tmp_path: Path) -> None:
    path = tmp_path / "user/config.yaml"
    assert set_values(path, {("model",): "m", ("provider",): None})
    assert path.read_text() == "model: m\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not set_values(path, {("model",): "m"})
    link = tmp_path / "link.yaml"
    link.symlink_to(path)
    set_values(link, {("model",): "other"})
    assert link.is_symlink()
    assert path.read_text() == "model: other\n"


def test_a_wrong_file_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("a: [\n")
    with pytest.raises(ConfigError, match=r"config\.yaml:\d"):
        set_values(tmp_path / "config.yaml", {("model",): "m"})
    assert (tmp_path / "config.yaml").read_text() == "a: [\n"
