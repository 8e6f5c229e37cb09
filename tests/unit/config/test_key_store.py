"""Where keys are kept: the keyring where there is one, else a file of the user's alone."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode.config.key_store import KeyStore, check_key, origin
from mewcode.config.keyring import Keychain, SecretTool, find_keyring
from mewcode.core.errors import ConfigError

URL = "https://api.example.com/v1"

# Keeps each secret in a file named for its account; notes how it was called.
FAKE_TOOL = """\
#!/bin/sh
dir=$(dirname "$0"); echo "$*" >> "$dir/calls"
action=$1; for last; do :; done
file="$dir/$(echo "$last" | tr -c 'a-z0-9' '_')"
case $action in
  store) cat > "$file" ;;
  lookup) [ -f "$file" ] && cat "$file" ;;
esac
"""


class Ring:
    title = "a ring"

    def __init__(self, works: bool = True) -> None:
        self.works, self.keys = works, {}

    def keep(self, account: str, key: str) -> bool:
        if self.works:
            self.keys[account] = key
        return self.works

    def find(self, account: str) -> str | None:
        return self.keys.get(account)


def test_without_a_keyring_it_is_a_private_file(tmp_path: Path) -> None:
    store = KeyStore(tmp_path / "user", None)
    assert store.find("groq", URL) is None
    assert not store.path.exists()
    assert store.keep("groq", URL, "sk-1") == "file"
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(store.path.parent.stat().st_mode) == 0o700
    again = KeyStore(tmp_path / "user", None)
    assert again.find("groq", URL) == "sk-1"
    assert again.where("groq", URL) == again.any_place("groq") == "file"
    again.keep("other", URL, "sk-2")
    again.keep("groq", URL, "sk-3")
    assert (store.find("groq", URL), store.find("other", URL)) == ("sk-3", "sk-2")


def test_a_keyring_keeps_the_key_and_the_file_only_that_there_is_one(tmp_path: Path) -> None:
    ring = Ring()
    store = KeyStore(tmp_path, ring)
    assert store.keep("groq", URL, "sk-1") == "keyring"
    assert "sk-1" not in store.path.read_text()
    assert store.find("groq", URL) == "sk-1"
    assert store.where("groq", URL) == "keyring"
    ring.keys.clear()
    with pytest.raises(ConfigError, match="does not give it out"):
        store.find("groq", URL)


def test_a_keyring_that_takes_nothing_is_no_obstacle(tmp_path: Path) -> None:
    store = KeyStore(tmp_path, Ring(works=False))
    assert store.keep("groq", URL, "sk-1") == "file"
    assert store.find("groq", URL) == "sk-1"


@pytest.mark.parametrize(
    "elsewhere",
    ["https://evil.example/v1", "http://api.example.com/v1", "https://api.example.com:8443/v1", "", "x"],
)
def test_a_key_goes_to_the_address_it_was_given_for(elsewhere: str, tmp_path: Path) -> None:
    store = KeyStore(tmp_path, None)
    store.keep("groq", URL, "sk-1")
    assert store.find("groq", elsewhere) is None
    assert store.find("groq", "https://API.example.com:443/other") == "sk-1"


@pytest.mark.parametrize("text", ["{", "[]", '{"keys": {"a": 3}}', "\x00"])
def test_a_damaged_file_is_told_and_not_quoted(text: str, tmp_path: Path) -> None:
    store = KeyStore(tmp_path, None)
    store.path.write_text(text + " sk-secret")
    with pytest.raises(ConfigError) as raised:
        store.find("groq", URL)
    assert "sk-secret" not in str(raised.value)
    assert "mewcode config" in raised.value.hint


@pytest.mark.parametrize("key", ["", "two words", "line\nbreak", "schlüssel", "x" * 5000, "tab\t"])
def test_what_no_header_can_carry_is_no_key(key: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no API key"):
        KeyStore(tmp_path, None).keep("groq", URL, key)
    with pytest.raises(ConfigError):
        check_key(key)


@given(st.text(max_size=40))
def test_any_text_has_an_origin_or_none(text: str) -> None:
    assert isinstance(origin(text), str)


@pytest.fixture
def tool(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/secret-tool"
    program.write_text(FAKE_TOOL)
    program.chmod(0o755)
    return program


def test_secret_tool_gets_the_key_on_its_input(tool: Path, tmp_path: Path) -> None:
    environ = {"DBUS_SESSION_BUS_ADDRESS": "unix:x", "PATH": f"{tool.parent}:/usr/bin:/bin"}
    store = KeyStore(tmp_path / "user", find_keyring(environ, "linux"))
    assert store.keep("groq", URL, "sk-1$`\"'") == "keyring"
    assert store.find("groq", URL) == "sk-1$`\"'"
    assert "sk-1" not in (tool.parent / "calls").read_text()
    assert "sk-1" not in store.path.read_text()


def test_where_there_is_no_desktop_no_program_is_started(tool: Path, tmp_path: Path) -> None:
    assert find_keyring({"PATH": str(tool.parent)}, "linux") is None
    assert find_keyring({"PATH": "relative:", "DBUS_SESSION_BUS_ADDRESS": "x"}, "linux") is None
    assert find_keyring({"HOME": str(tmp_path)}, "darwin") is None
    assert not (tool.parent / "calls").exists()


def test_a_tool_that_fails_keeps_nothing(tmp_path: Path) -> None:
    assert not SecretTool("/bin/false", {}).keep("a", "k")
    assert SecretTool("/nonexistent/tool", {}).find("a") is None


def test_the_keychain_takes_its_command_on_its_input(tmp_path: Path) -> None:
    program = tmp_path / "security"
    program.write_text(
        '#!/bin/sh\ndir=$(dirname "$0")\n'
        'if [ "$1" = -i ]; then cat > "$dir/command"; else cat "$dir/answer"; fi\n'
    )
    program.chmod(0o755)
    (tmp_path / "answer").write_text("sk-1\n")
    ring = Keychain({"PATH": "/usr/bin:/bin"}, str(program))
    assert ring.keep("groq https://h:443", "sk-1")
    assert (tmp_path / "command").read_text() == (
        f'add-generic-password -U -s mewcode -a "groq https://h:443" -X {b"sk-1".hex()}\n'
    )
    assert not ring.keep('a" -w b', "sk-1"), "nothing that would be read as more than a name"


def test_the_file_is_one_that_another_version_can_read(tmp_path: Path) -> None:
    store = KeyStore(tmp_path, None)
    store.keep("groq", URL, "sk-1")
    assert json.loads(store.path.read_text()) == {
        "version": 1, "keys": {"groq": {"origin": "https://api.example.com:443", "key": "sk-1"}},
    }  # fmt: skip
