"""Where things live."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import platformdirs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mewcode.infra.paths import Places, cache_dir, find_places, private_dir, project_dir


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def places(cwd: Path, home: Path, **environ: str) -> Places:
    cwd.mkdir(parents=True, exist_ok=True)
    return find_places(cwd, {"HOME": str(home), **environ})


def test_without_git_the_root_is_the_folder_started_in(tmp_path: Path, home: Path) -> None:
    cwd = tmp_path / "work"
    assert places(cwd, home) == Places(cwd, cwd, home / ".mewcode", cwd / ".mewcode")


@pytest.mark.parametrize("git", ["folder", "file"])
def test_the_root_is_the_top_of_the_work_tree(git: str, tmp_path: Path, home: Path) -> None:
    top = tmp_path / "work"
    top.mkdir()
    if git == "folder":
        (top / ".git").mkdir()
    else:
        (top / ".git").write_text("gitdir: elsewhere\n")  # a linked worktree, a submodule
    found = places(top / "a" / "b", home)
    assert (found.cwd, found.root, found.project) == (top / "a/b", top, top / ".mewcode")


def test_the_innermost_work_tree_counts(tmp_path: Path, home: Path) -> None:
    for folder in ("outer/.git", "outer/inner/.git"):
        (tmp_path / folder).mkdir(parents=True)
    assert places(tmp_path / "outer/inner/x", home).root == tmp_path / "outer/inner"


def test_a_link_to_the_folder_is_the_folder(tmp_path: Path, home: Path) -> None:
    real = tmp_path / "real"
    (real / ".git").mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(real)
    assert places(link, home).root == real


def test_the_user_folder_can_be_moved(tmp_path: Path, home: Path) -> None:
    assert places(tmp_path / "w", home, MEWCODE_HOME=str(tmp_path / "x")).user == tmp_path / "x"
    assert places(tmp_path / "w", home, MEWCODE_HOME="").user == home / ".mewcode"
    relative = places(tmp_path / "w", home, MEWCODE_HOME="some/where").user
    assert relative == Path.cwd() / "some/where"


def test_without_a_home_the_system_knows_it(tmp_path: Path) -> None:
    found = find_places(tmp_path, {})
    assert found.user == Path.home() / ".mewcode"


@pytest.mark.parametrize("system", ["linux", "another"])
@pytest.mark.parametrize("given", [None, "", "/some/where", "not/absolute"])
def test_caches_are_where_platformdirs_has_them(
    given: str | None, system: str, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    monkeypatch.setenv("HOME", str(home))
    if given is not None:
        monkeypatch.setenv("XDG_CACHE_HOME", given)
    expected = Path(platformdirs.user_cache_dir("mewcode", appauthor=False))
    assert cache_dir(os.environ, home, system) == expected


@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize("how", ["plain", "git", "linked", "moved"])
def test_started_in_home_the_project_is_none_of_the_users_folder(
    how: str, exists: bool, tmp_path: Path, home: Path
) -> None:
    """On the first start and ever after it is the same folder, also where HOME is a link."""
    environ = {"HOME": str(home)}
    user = home / ".mewcode"
    if how == "git":
        (home / ".git").mkdir()
    elif how == "linked":
        link = tmp_path / "link"
        link.symlink_to(home)
        environ["HOME"] = str(link)
        user = link / ".mewcode"
    elif how == "moved":
        environ = {"HOME": "/elsewhere", "MEWCODE_HOME": str(user)}
    if exists:
        (home / ".mewcode").mkdir()
    found = find_places(home, environ)
    assert (found.user, found.project) == (user, user / "home-project")


def test_finding_makes_nothing(tmp_path: Path, home: Path) -> None:
    cwd = tmp_path / "work"
    places(cwd, home)
    assert list(cwd.iterdir()) == list(home.iterdir()) == []


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    depth=st.integers(0, 4),
    git_at=st.none() | st.integers(0, 4),
    name=st.text("abcé ü中-", min_size=1, max_size=6).filter(lambda text: text.strip(" .")),
)
def test_the_root_contains_where_one_is(
    depth: int, git_at: int | None, name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    top = tmp_path_factory.mktemp("tree")
    chain = [top]
    for _ in range(depth):
        chain.append(chain[-1] / name)
    chain[-1].mkdir(parents=True, exist_ok=True)
    if git_at is not None and git_at < len(chain):
        (chain[git_at] / ".git").mkdir()
    found = find_places(chain[-1], {"HOME": str(top / "no-home")})
    expected = chain[git_at] if git_at is not None and git_at < len(chain) else chain[-1]
    assert found.root == expected
    assert found.cwd.is_relative_to(found.root)
    assert all(path.is_absolute() for path in (found.cwd, found.root, found.user, found.project))


# Folders of ours.


def test_private_folders(tmp_path: Path) -> None:
    before = os.umask(0o000)
    try:
        made = private_dir(tmp_path / "a" / "b" / "c")
    finally:
        os.umask(before)
    assert made == tmp_path / "a/b/c"
    assert [mode(tmp_path / path) for path in ("a", "a/b", "a/b/c")] == [0o700] * 3


def test_a_folder_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a").chmod(0o755)
    private_dir(tmp_path / "a" / "b")
    assert (mode(tmp_path / "a"), mode(tmp_path / "a/b")) == (0o755, 0o700)


@pytest.mark.parametrize("below", ["", "x", "x/y"])
def test_a_file_in_the_way_is_an_os_error(below: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a file")
    with pytest.raises(OSError, match="a"):
        private_dir(tmp_path / "a" / below)
    assert (tmp_path / "a").read_text() == "a file"


def test_the_project_folder_keeps_what_is_private_out_of_version_control(tmp_path: Path, home: Path) -> None:
    found = places(tmp_path / "work", home)
    assert project_dir(found) == found.project
    ignore = found.project / ".gitignore"
    assert {"sessions/", "memory/", "*.local.*"} <= set(ignore.read_text().splitlines())
    assert (mode(found.project), mode(ignore)) == (0o700, 0o600)
    assert not (found.root / ".gitignore").exists(), "never the root's"


def test_the_users_own_gitignore_stays(tmp_path: Path, home: Path) -> None:
    found = places(tmp_path / "work", home)
    project_dir(found)
    (found.project / ".gitignore").write_text("# mine\n")
    project_dir(found)
    assert (found.project / ".gitignore").read_text() == "# mine\n"
