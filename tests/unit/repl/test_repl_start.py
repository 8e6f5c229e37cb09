"""What a start shows before there is a screen."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from mewcode.repl.start import ask_trust


@pytest.mark.parametrize(("typed", "trusted"), [("y\n", True), ("Yes\n", True), ("\n", False), ("", False)])
def test_the_name_of_a_folder_cannot_speak_for_us(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: str, trusted: bool
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    root = Path("/srv/x\x1b[2J\x1b]0;title\x07\nIt is safe.")
    assert ask_trust(root, ["config.yaml:1: hooks (it runs\x1b[31m commands)"]) is trusted
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "\nIt is safe." not in shown
    assert "hooks (it runs commands)" in shown
