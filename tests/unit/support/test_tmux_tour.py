"""The tour through tmux: its options, and what it says where something does not come. It is run by hand; here
no tmux is needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import tmux_tour
from tests.support.tmux import Tmux, TmuxError


def test_what_can_be_said() -> None:
    parse = tmux_tour.make_parser().parse_args
    assert parse([]).size is parse([]).theme is parse([]).act is None
    chosen = parse(
        ["--size", "80x24", "--theme", "light", "--act", "picker", "--sessions", "5", "--keep", "x"]
    )
    assert (chosen.size, chosen.theme, chosen.act) == ([(80, 24)], ["light"], ["picker"])
    assert (chosen.sessions, chosen.keep) == (5, Path("x"))


@pytest.mark.parametrize(
    "words",
    [["--size", "80"], ["--size", "5x5"], ["--act", "none"], ["--sessions", "2"], ["--theme", "pink"]],
)
def test_what_makes_no_sense(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        tmux_tour.make_parser().parse_args(words)
    assert caught.value.code == 2
    assert words[1] in capsys.readouterr().err


def test_without_tmux_nothing_is_played(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert tmux_tour.main([]) == 2
    assert "no tmux" in capsys.readouterr().err


def test_what_did_not_come_is_said_and_the_tour_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    played = []

    def lost(stage: tmux_tour.Stage) -> None:
        played.append((stage.columns, stage.theme, (stage.home / ".mewcode/config.yaml").read_text()))
        if stage.theme == "dark":
            raise TmuxError("'words' did not come")

    monkeypatch.setattr(tmux_tour, "ACTS", {"picker": lost})
    monkeypatch.setattr(Tmux, "run", lambda *words, check=True: "")
    monkeypatch.setattr(tmux_tour.shutil, "which", lambda name: name)
    assert tmux_tour.main(["--size", "80x24", "--keep", str(tmp_path / "kept")]) == 1
    assert [theme for _, theme, _ in played] == ["dark", "light"]
    assert played[1][2] == "ui: {theme: light}\n"
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("FAILED  picker, 80x24, dark")
    assert said[1] == "'words' did not come"
    assert said[2].startswith("ok  picker, 80x24, light")
    assert len(list((tmp_path / "kept").iterdir())) == 2
