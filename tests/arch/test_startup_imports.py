"""What a start loads, and that loading does nothing else. Each look is taken in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import mewcode
from tests.support.fake_llm import FakeLLM, Reply
from tests.support.program import ROOT, environment, run_program

MODEL = "claude-opus-5-5"

# Modules in all at the first request, Python's own and those of httpx included: 457 as measured with 3.11,
# and a tenth more. What makes the start slower shows here first.
MOST_MODULES = 500

HEAVY = frozenset({
    "rich", "prompt_toolkit", "yaml", "platformdirs", "filelock", "pathspec", "charset_normalizer",
    "tree_sitter", "tree_sitter_bash", "click", "anthropic", "multiprocessing", "unittest", "pydoc",
    "http.server", "xml", "sqlite3", "truststore", "pygments",
})  # fmt: skip

# Says at the process's first connection, which is the one for the first request, what is loaded by then.
_WATCH = """
import sys

def _on_event(event, arguments):
    if event == "socket.connect":
        with open({place!r}, "a", encoding="utf-8") as out:
            out.write(chr(10).join(sys.modules) + chr(10) * 2)

sys.addaudithook(_on_event)
"""


def _child(code: str, **more: str) -> str:
    """What this code prints in a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(Path.cwd(), **more),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _loaded_by(statement: str) -> set[str]:
    """The modules that a statement loads, beyond those of a bare interpreter."""
    code = (
        f"import sys, json; before = set(sys.modules)\n{statement}\n"
        "sys.stdout.write(json.dumps(sorted(set(sys.modules) - before)))"
    )
    return set(json.loads(_child(code)))


def _heavy(loaded: set[str], heavy: frozenset[str] = HEAVY) -> set[str]:
    return {name for name in heavy if name in loaded or any(item.startswith(f"{name}.") for item in loaded)}


def test_importing_the_package_loads_nothing_else() -> None:
    loaded = _loaded_by("import mewcode")
    assert {name for name in loaded if name.startswith("mewcode")} == {"mewcode", "mewcode._version"}
    assert not _heavy(loaded, HEAVY | {"httpx", "msgspec", "asyncio", "json", "logging", "argparse"})
    assert len(loaded) < 25, loaded


def test_its_names_come_when_they_are_used() -> None:
    loaded = _loaded_by("import mewcode; mewcode.Message")
    assert "mewcode.core.message" in loaded
    assert "mewcode.assembly" not in loaded
    assert not _heavy(loaded, HEAVY | {"httpx", "asyncio"})


def test_what_the_package_exports_is_there() -> None:
    assert sorted(mewcode.__all__) == ["Agent", "AgentEvent", "Message", "Tool", "__version__"]
    for name in mewcode.__all__:
        assert getattr(mewcode, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        mewcode.nonsense  # noqa: B018 - asking is the test


def _first_request(tmp_path: Path, base: dict[str, str]) -> set[str]:
    watcher = tmp_path / "watch"
    watcher.mkdir()
    place = watcher / "modules"
    (watcher / "sitecustomize.py").write_text(_WATCH.format(place=str(place)), encoding="utf-8")
    env = environment(tmp_path, **base) | {"PYTHONPATH": f"{watcher}:{ROOT}"}
    done = run_program(["-p", "say hi", "--model", MODEL], cwd=tmp_path, env=env)
    assert (done.returncode, done.stdout) == (0, b"hi\n"), done.stderr
    looks = place.read_text(encoding="utf-8").strip().split("\n\n")
    return set(looks[0].splitlines())


@pytest.mark.parametrize("protocol", ["anthropic", "openai"])
def test_the_way_to_the_first_request(protocol: str, fake_llm: FakeLLM, tmp_path: Path) -> None:
    fake_llm.script(Reply.text("hi"))
    url = fake_llm.url if protocol == "anthropic" else fake_llm.openai_url
    loaded = _first_request(tmp_path, {protocol: url})
    assert "mewcode.assembly" in loaded
    assert not _heavy(loaded)
    assert not {
        name for name in loaded if name.startswith(("mewcode.repl", "mewcode.demo", "mewcode.library"))
    }
    assert not {
        name for name in loaded if name.startswith(("mewcode.agent.noting", "mewcode.memory.extract"))
    }
    other = {"anthropic": "openai_chat", "openai": "anthropic"}[protocol]
    assert f"mewcode.providers.{other}" not in loaded
    assert len(loaded) <= MOST_MODULES, f"{len(loaded)} modules; see MOST_MODULES"


def test_the_way_to_the_first_paint() -> None:
    """The parts of a session are loaded after the screen is there."""
    loaded = _loaded_by("import mewcode.cli, mewcode.app, mewcode.config.trust, mewcode.repl.start")
    assert "prompt_toolkit" in loaded
    assert not _heavy(
        loaded,
        frozenset({
            "httpx", "httpcore", "rich", "tree_sitter", "tree_sitter_bash", "mewcode.assembly", "yaml",
            "mewcode.prompt.builder", "mewcode.sessions.archive", "anthropic", "filelock", "platformdirs",
            "pathspec", "charset_normalizer", "sqlite3", "multiprocessing",
        }),
    )  # fmt: skip


def test_the_way_to_the_first_sight_of_the_picker() -> None:
    """The list of sessions is drawn before what reads keys is loaded."""
    loaded = _loaded_by("import mewcode.cli, mewcode.app, mewcode.repl.picker_start, mewcode.sessions.browse")
    assert not _heavy(loaded, HEAVY | {"httpx", "mewcode.assembly", "mewcode.repl.repl", "wcwidth"})


def test_the_command_line_alone_is_light() -> None:
    """`--version` and wrong usage need neither a loop nor a model."""
    loaded = _loaded_by("import mewcode.cli")
    assert not _heavy(loaded, HEAVY | {"httpx", "asyncio", "logging", "ssl", "mewcode.app", "mewcode.agent"})


def _modules() -> Iterator[str]:
    package = Path(mewcode.__file__).parent
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        if "project" not in parts and parts[-1] != "__main__":
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


# Imports each module under watch. Reading sources is what an import does; everything else is an effect. The
# modules are loaded once before, so that what libraries do when they are loaded is not taken for ours.
_IMPORT_ALL = """
import importlib, json, os, sys, threading, time

EFFECTS = (
    "socket.", "subprocess.", "os.system", "os.exec", "os.fork", "os.mkdir", "os.rename", "os.remove",
    "os.rmdir", "os.chmod", "os.putenv", "os.chdir", "os.spawn", "os.posix_spawn", "os.scandir",
    "os.listdir", "shutil.", "sqlite3.", "signal.", "tempfile.",
)
seen, watching, module = [], False, ""

def on_event(event, arguments):
    if not watching:
        return
    if event == "open":
        is_source = str(arguments[0]).endswith((".py", ".pyc", ".so"))
        if not is_source or arguments[2] & os.O_ACCMODE != os.O_RDONLY:
            seen.append((module, event, str(arguments[0])))
    elif event.startswith(EFFECTS) and not of_import():
        seen.append((module, event, repr(arguments)))

def of_import():
    "Whether the import system asks for its own purposes, not code of ours."
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name.startswith("mewcode"):
            return False
        if name.startswith("importlib._bootstrap"):
            return True
        frame = frame.f_back
    return True

def watch(owner, name):
    real = getattr(owner, name)
    def watched(*arguments, **more):
        if watching and not of_import():
            seen.append((module, name, repr(arguments[-1:])))
        return real(*arguments, **more)
    setattr(owner, name, watched)

names = json.loads(sys.argv[1])
for name in names:
    importlib.import_module(name)
for name in names:
    del sys.modules[name]
for name in ("get", "__getitem__", "__contains__", "__iter__"):
    watch(type(os.environ), name)
for name in ("getcwd", "stat", "lstat", "getpid", "urandom", "get_terminal_size", "isatty"):
    watch(os, name)
for name in ("time", "monotonic", "perf_counter", "time_ns", "localtime", "strftime"):
    watch(time, name)
sys.addaudithook(on_event)
threads = threading.active_count()
for module in names:
    watching = True
    importlib.import_module(module)
    watching = False
    if threading.active_count() != threads:
        seen.append((module, "thread", ""))
sys.stdout.write(json.dumps(seen))
"""


def _effects(names: list[str], folder: Path, *places: Path) -> list[tuple[str, str]]:
    """Module and effect of each effect that importing these modules has, in a folder that takes no file."""
    folder.mkdir()
    folder.chmod(0o500)
    done = subprocess.run(
        [sys.executable, "-B", "-c", _IMPORT_ALL, json.dumps(names)],
        cwd=folder,
        env={"PATH": "/nonexistent", "PYTHONPATH": ":".join(map(str, places))},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    folder.chmod(0o700)
    assert (done.returncode, done.stderr, list(folder.iterdir())) == (0, "", [])
    return [(module, effect) for module, effect, _ in json.loads(done.stdout)]


def test_importing_any_module_has_no_effect(tmp_path: Path) -> None:
    """No module reads environment, clock or disk at import, opens a socket or starts a process."""
    names = list(_modules())
    assert len(names) > 100
    assert _effects(names, tmp_path / "read-only", ROOT) == []


@pytest.mark.parametrize(
    ("line", "effect"),
    [
        ("import os; os.environ.get('HOME')", "get"),
        ("import os; 'HOME' in os.environ", "__contains__"),
        ("import time; time.time()", "time"),
        ("from pathlib import Path; Path.cwd()", "getcwd"),
        ("from pathlib import Path; Path('x').exists()", "stat"),
        ("from pathlib import Path; Path(__file__).with_suffix('.md').read_text()", "open"),
        ("import socket; socket.socket().close()", "socket.__new__"),
        ("import subprocess; subprocess.run(['/bin/true'])", "subprocess.Popen"),
    ],
)
def test_the_watch_sees(line: str, effect: str, tmp_path: Path) -> None:
    """The test above would notice."""
    (tmp_path / "mewcode_sample.py").write_text(line, encoding="utf-8")
    (tmp_path / "mewcode_sample.md").write_text("prose", encoding="utf-8")
    assert ("mewcode_sample", effect) in _effects(["mewcode_sample"], tmp_path / "read-only", tmp_path)
