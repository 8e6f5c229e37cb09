"""Notes stay where they belong: the user's with the user, a project's with its repository. A canary in each
of them, looked for through every way in which notes come out."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mewcode.infra.paths import find_places
from mewcode.note_source import open_notes
from mewcode.recall_source import open_recall, refresh_notes
from mewcode.repl.memory_browser_items import NoteItem
from mewcode.repl.memory_browser_source import NoteSource
from tests.support.fake_llm import FakeLLM, Reply
from tests.support.program import environment, run_program

MODEL = "claude-opus-5-5"
USERS = ("ann", "bob")
FOLDERS = ("one", "two", "x/same", "y/same")
CANARIES = {*(f"canary-{user}" for user in USERS), *(f"canary-{name.replace('/', '-')}" for name in FOLDERS)}

LOOKS = [
    ("one", "ann", {"canary-ann", "canary-one"}),
    ("one", "bob", {"canary-bob", "canary-one"}),
    ("one/sub", "ann", {"canary-ann", "canary-one"}),
    ("tree", "ann", {"canary-ann", "canary-one"}),
    ("two", "ann", {"canary-ann", "canary-two"}),
    ("x/same", "ann", {"canary-ann", "canary-x-same"}),
    ("y/same", "bob", {"canary-bob", "canary-y-same"}),
    ("empty", "ann", {"canary-ann"}),
]
"""A folder, a user, and whose canaries are heard there. ``tree`` is a linked work tree of ``one``."""


class Place:
    """A folder of the world, as a user sees it."""

    def __init__(self, world: Path, folder: str, user: str) -> None:
        self.cwd = world / folder
        self.home = world / "home"
        self.env = environment(self.home, MEWCODE_USER=user)

    def run(self, *words: str, llm: FakeLLM | None = None) -> str:
        """What the program prints. It must not fail."""
        env = self.env if llm is None else self.env | environment(self.home, anthropic=llm.url)
        done = run_program(words, cwd=self.cwd, env=env)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    def talk(self, llm: FakeLLM, *calls: tuple[str, dict[str, Any]]) -> str:
        """A session in which the model makes these calls; what it got of them."""
        llm.script(Reply.calls(*calls), Reply.text("done"))
        self.run("-p", "go", "--model", MODEL, "--output-format", "json", llm=llm)
        return json.dumps(llm.generations[-1].messages[-1], ensure_ascii=False)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Repositories and folders of one name, a canary of each in its notes, and one of each user."""
    root = tmp_path_factory.mktemp("world")
    for folder in ("home", "one/sub", "two", "x/same", "y/same", "empty"):
        (root / folder).mkdir(parents=True)
    for name in ("one", "two"):
        git = ["git", "-C", str(root / name), "-c", "user.name=a", "-c", "user.email=a@b.c"]
        for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
            subprocess.run([*git, *words], check=True, capture_output=True)
    linked = ["git", "-C", str(root / "one"), "worktree", "add", "-q", str(root / "tree")]
    subprocess.run(linked, check=True, capture_output=True)
    add = ("memory", "add", "--description", "a canary 金丝雀")
    for name in FOLDERS:
        canary = f"canary-{name.replace('/', '-')}"
        Place(root, name, "ann").run(*add, "--type", "project", "--name", canary, f"body of {canary}")
    for user in USERS:
        canary = f"canary-{user}"
        Place(root, "empty", user).run(*add, "--type", "user", "--name", canary, f"body of {canary}")
    return root


def searched(place: Place, llm: FakeLLM) -> str:
    return place.talk(llm, ("search_notes", {"query": "金丝雀", "limit": 50}))


def read(place: Place, llm: FakeLLM) -> str:
    """The bodies of the notes, asked for by their names: an error says the name, and never the body."""
    wanted = sorted(CANARIES)
    return place.talk(llm, *(("read_note", {"note": name}) for name in wanted)).replace("no note canary", "")


def exported(place: Place, llm: FakeLLM) -> str:
    searched(place, llm)
    newest = json.loads(place.run("sessions", "list", "--json"))[0]["id"]
    target = place.home / f"{newest}.md"
    place.run("sessions", "export", newest, "--output", str(target))
    return target.read_text("utf-8")


def why(place: Place, llm: FakeLLM) -> str:
    searched(place, llm)
    return place.run("memory", "why", "--json")


def asked(place: Place, llm: FakeLLM) -> str:
    """All that a request holds."""
    place.talk(llm, ("list_dir", {"path": "."}))
    return json.dumps(llm.generations[-1].payload, ensure_ascii=False)


def recalled(place: Place, llm: FakeLLM) -> str:
    """What a session in this place would be reminded of."""
    places = find_places(place.cwd, place.env)
    engine = open_recall(places, place.env)
    try:
        assert refresh_notes(engine, open_notes(places, place.env))
        return "\n".join(hit.id for hit in engine.search("金丝雀", limit=50))
    finally:
        engine.close()


def browsed(place: Place, llm: FakeLLM) -> str:
    places = find_places(place.cwd, place.env)
    source = NoteSource(lambda: open_notes(places, place.env), None)  # type: ignore[arg-type]  # notes alone
    items: list[NoteItem] = [*source.notes().items, *source.past().forgotten]
    return "\n".join(f"{item.entry.name} {source.texts(item)}" for item in items)


def shown(place: Place, llm: FakeLLM) -> str:
    """Each note by its name."""
    found = []
    for name in sorted(CANARIES):
        done = run_program(["memory", "show", name], cwd=place.cwd, env=place.env)
        found.append(done.stdout.decode())
    return "".join(found)


CHANNELS: dict[str, Callable[[Place, FakeLLM], str]] = {
    "list": lambda place, llm: place.run("memory", "list", "--all", "--json"),
    "show": shown,
    "history": lambda place, llm: place.run("memory", "history", "--json"),
    "completion": lambda place, llm: place.run("__complete", "notes", "described"),
    "prompt": lambda place, llm: place.run("prompt", "show"),
    "request": asked,
    "search_notes": searched,
    "read_note": read,
    "recall": recalled,
    "export": exported,
    "why": why,
    "browser": browsed,
}


@pytest.mark.parametrize("channel", CHANNELS)
def test_a_canary_is_heard_where_it_belongs_and_nowhere_else(
    channel: str, world: Path, fake_llm: FakeLLM
) -> None:
    for folder, user, expected in LOOKS:
        text = CHANNELS[channel](Place(world, folder, user), fake_llm)
        heard = {canary for canary in CANARIES if canary in text}
        assert heard == expected, (channel, folder, user)
