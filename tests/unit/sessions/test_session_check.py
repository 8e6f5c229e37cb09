"""Damage is told, and mended on request: what was whole stays byte for byte, and so does the damaged file."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.core.errors import SessionBusy, SessionError
from mewcode.sessions.check import examine, repair_file
from mewcode.sessions.lock import SessionLock
from mewcode.sessions.reader import load_session
from tests.support.archive import asked, make_session, said

NOW = 1_700_000_000.0
LATER = b'{"type":"later","keep":[1,  2]}\n'


def test_a_sound_session(tmp_path):
    folder = make_session(tmp_path, "one", said("u", "x"), asked("a", "c1"))
    before = (folder / "conversation.jsonl").stat()
    health = examine(folder)
    assert (health.is_sound, health.messages) == (True, 2)
    assert health.repairs == ["1 unfinished tool call"]
    assert repair_file(folder, now=NOW) is None
    assert (folder / "conversation.jsonl").stat() == before
    assert sorted(path.name for path in folder.iterdir()) == ["conversation.jsonl", "conversation.lock"]


def test_damage_is_mended_and_the_damaged_file_kept(tmp_path):
    torn = b'{"role":"user","conte' + said("v", "saved")
    lines = [
        b"\xef\xbb\xbf" + said("u", "x"),
        torn,
        b"null\n",
        b"\xff\xfe\n",
        LATER,
        said("w", "last").rstrip(b"\n"),
    ]
    folder = make_session(tmp_path, "one", *lines)
    content = (folder / "conversation.jsonl").read_bytes()
    assert not examine(folder).is_sound
    assert (folder / "conversation.jsonl").read_bytes() == content
    backup = repair_file(folder, now=NOW)
    assert backup is not None
    assert backup.read_bytes() == content
    assert (folder / "conversation.jsonl").read_bytes() == said("u", "x") + said("v", "saved") + LATER + said(
        "w", "last"
    )
    assert [message.text for message in load_session(folder).messages] == ["x", "saved", "last"]
    assert (folder / "conversation.jsonl").stat().st_mode & 0o777 == 0o600


def test_what_is_open_is_left_alone(tmp_path):
    folder = make_session(tmp_path, "one", b"junk\n", said("u", "x"))
    lock = SessionLock.take(folder, since=1)
    try:
        with pytest.raises(SessionBusy):
            repair_file(folder, now=NOW)
    finally:
        lock.release()
    assert repair_file(folder, now=NOW) is not None


def test_labels_that_come_meanwhile_are_not_lost(tmp_path, monkeypatch):
    folder = make_session(tmp_path, "one", b"junk\n", said("u", "x"))
    from mewcode.sessions import check

    def copy(old, new):
        is_changed = real(old, new)
        with (folder / "conversation.jsonl").open("ab") as stream:
            stream.write(said("late", "in spite of the lock"))
        return is_changed

    real = check._copy_sound
    monkeypatch.setattr(check, "_copy_sound", copy)
    repair_file(folder, now=NOW)
    assert [message.id for message in load_session(folder).messages] == ["u", "late"]


def test_what_cannot_be_read_is_told(tmp_path):
    (tmp_path / "none").mkdir()
    assert "cannot be read" in examine(tmp_path / "none").error
    with pytest.raises(SessionError, match="cannot be repaired"):
        repair_file(tmp_path / "none", now=NOW)


PIECES = st.lists(
    st.one_of(
        st.builds(said, st.sampled_from("uvw"), st.text(max_size=5)),
        st.builds(
            lambda line, cut: line[:cut],
            st.builds(said, st.just("t"), st.text(max_size=5)),
            st.integers(0, 30),
        ),
        st.sampled_from([b"\n", b"null\n", b"\xff", b"{}\n", LATER]),
    ),
    max_size=8,
)


@settings(max_examples=80)
@given(PIECES)
def test_a_repair_changes_no_message(pieces):
    with tempfile.TemporaryDirectory() as name:
        folder = make_session(Path(name), "one", *pieces)
        before = load_session(folder)
        repair_file(folder, now=NOW)
        after = load_session(folder)
        assert [(m.role, m.content) for m in after.messages] == [(m.role, m.content) for m in before.messages]
        assert not [what for what in after.damage if "JSON" in what or "UTF-8" in what]
        assert repair_file(folder, now=NOW + 60) is None
