"""The user's word on an include from outside, kept by workspace, file and content."""

from __future__ import annotations

from pathlib import Path

import pytest

from mewcode.config.include_approvals import IncludeApprovals
from mewcode.core.errors import ConfigError


def test_an_approval_holds_for_its_workspace_and_file(tmp_path):
    user = tmp_path / "user"
    one, other = IncludeApprovals(user, tmp_path / "a"), IncludeApprovals(user, tmp_path / "b")
    assert one.digest(Path("/x/规则.md")) is None
    one.approve(Path("/x/规则.md"), "d1")
    other.approve(Path("/x/y.md"), "d2")
    assert one.digest(Path("/x/规则.md")) == "d1"
    again = IncludeApprovals(user, tmp_path / "a")
    assert again.digest(Path("/x/规则.md")) == "d1"
    assert again.digest(Path("/x/y.md")) is None
    assert (user / "includes.json").stat().st_mode & 0o777 == 0o600


def test_a_name_that_is_no_utf8_can_be_approved(tmp_path):
    path = Path("/x/caf\udce9.md")
    IncludeApprovals(tmp_path, tmp_path).approve(path, "d")
    assert IncludeApprovals(tmp_path, tmp_path).digest(path) == "d"


@pytest.mark.parametrize(
    "content", [b"[", b"[]", b"{}", b'{"%s": []}', b'{"%s": {"/x": 1, "y": "d"}}', b"\xff"]
)
def test_what_is_damaged_approves_nothing(tmp_path, content):
    path = tmp_path / "includes.json"
    path.write_bytes(content.replace(b"%s", str(tmp_path).encode()))
    approvals = IncludeApprovals(tmp_path, tmp_path)
    assert approvals.digest(Path("/x")) is None
    approvals.approve(Path("/x"), "d")
    assert IncludeApprovals(tmp_path, tmp_path).digest(Path("/x")) == "d"


def test_what_cannot_be_kept_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        IncludeApprovals(tmp_path / "file", tmp_path).approve(Path("/x"), "d")
