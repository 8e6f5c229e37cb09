"""The clipboard by sequence and by program."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode.repl.clipboard import OSC52_LIMIT, clipboard_program, copy_by_program, osc52


@given(st.text(max_size=300))
def test_the_sequence_holds_the_text(text: str) -> None:
    sequence = osc52(text)
    assert sequence.startswith("\x1b]52;c;")
    assert sequence.endswith("\x07")
    decoded = base64.b64decode(sequence[7:-1], validate=True)
    assert decoded == text.encode("utf-8", "backslashreplace")


def test_what_is_too_long_for_a_terminal_has_no_sequence() -> None:
    assert osc52("x" * OSC52_LIMIT)
    assert osc52("x" * (OSC52_LIMIT + 1)) == ""


def program(folder: Path, name: str, body: str) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("environ", "platform", "expected"),
    [
        ({}, "darwin", "pbcopy"),
        ({"WAYLAND_DISPLAY": "w"}, "linux", "wl-copy"),
        ({"DISPLAY": ":0"}, "linux", "xclip"),
        ({"WAYLAND_DISPLAY": "w", "DISPLAY": ":0"}, "linux", "wl-copy"),
        ({"WSL_DISTRO_NAME": "d"}, "linux", "clip.exe"),
        ({"TMUX": "t"}, "linux", "tmux"),
        ({"TMUX": "t", "DISPLAY": ":0"}, "linux", "xclip"),
        ({}, "linux", None),
    ],
)
def test_the_program_of_the_system(
    environ: dict[str, str], platform: str, expected: str | None, tmp_path: Path
) -> None:
    for name in ("pbcopy", "wl-copy", "xclip", "xsel", "clip.exe", "tmux"):
        program(tmp_path / "bin", name, "true")
    found = clipboard_program({"PATH": str(tmp_path / "bin"), **environ}, platform)
    assert (found and Path(found[0]).name) == expected
    assert clipboard_program({"PATH": "/nonexistent", **environ}, platform) is None


def test_the_text_goes_to_the_program(tmp_path: Path) -> None:
    program(tmp_path / "bin", "wl-copy", f"/bin/cat > {tmp_path}/held")
    environ = {"PATH": str(tmp_path / "bin"), "WAYLAND_DISPLAY": "w"}
    assert copy_by_program("文 x", environ) == "wl-copy"
    assert (tmp_path / "held").read_text() == "文 x"


def test_a_program_that_fails_is_none(tmp_path: Path) -> None:
    program(tmp_path / "bin", "wl-copy", "exit 3")
    environ = {"PATH": str(tmp_path / "bin"), "WAYLAND_DISPLAY": "w"}
    assert copy_by_program("x", environ) == ""
    (tmp_path / "bin/wl-copy").write_text("#!/nonexistent/sh\n")
    assert copy_by_program("x", environ) == ""
    assert copy_by_program("x", {"PATH": "/nonexistent"}) == ""
