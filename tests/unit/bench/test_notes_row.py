"""The rows that compare a run with notes to one without."""

from __future__ import annotations

from pathlib import Path

from bench.rows.notes import ROWS, WithNotes, _noted
from bench.stage import Place, Stage
from mewcode.infra.paths import find_places
from mewcode.note_source import open_notes


def test_the_notes_are_as_a_writer_leaves_them_and_fill_a_prompt() -> None:
    with Stage() as stage:
        place = _noted(stage)
        environ = stage.env(place)
        notes = open_notes(find_places(place.cwd, environ), environ)
        assert len(notes.live()) == 200
        assert all(look.is_settled and not look.withheld for look in notes.look().values())
        assert len(notes.prompt_text().splitlines()) > 150


def test_both_sides_are_measured_in_turn_from_the_same_state() -> None:
    runs: list[tuple[str, ...]] = []

    def measure(stage: Stage, place: Place, flags: tuple[str, ...]) -> list[float]:
        sessions = Path(place.cwd / ".mewcode/sessions")
        assert not sessions.exists()
        sessions.mkdir()
        runs.append(flags)
        return [3.0 if flags else 4.5]

    with Stage() as stage:
        samples = WithNotes("x", "x", measure).sample(stage)
    assert runs == [(), ("--no-memory",), ("--no-memory",), ()]
    assert samples == {"on": [4.5, 4.5], "off": [3.0, 3.0], "ratio": [1.5]}
    assert {figure.samples for row in ROWS for figure in row.figures} == set(samples)
