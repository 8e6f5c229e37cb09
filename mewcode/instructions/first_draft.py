"""A first MEWCODE.md from what the project says of itself: its README, manifests, CI and layout. Reads files,
runs nothing; what cannot be read is left out."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mewcode.infra.terminal_text import safe_line

_MOST_BYTES = 200_000
_MOST_COMMANDS = 12
_MOST_CI = 8
_MOST_FOLDERS = 20
_MOST_WORKFLOWS = 10
_MOST_VALUES = 10_000
_WIDTH = 120
_README = re.compile(r"readme(\.(md|rst|txt|markdown))?$", re.IGNORECASE)
_TARGET = re.compile(r"^([A-Za-z][\w.-]*):(?!=)", re.MULTILINE)
_SKIPPED_FOLDERS = {"node_modules", "__pycache__", "target", "dist", "build", "venv"}
# Names that say what a person runs every day.
_DAILY = re.compile(r"test|check|lint|format|fmt|build|run|start|dev|type", re.IGNORECASE)


def first_draft(root: Path) -> str:
    """The draft, ending in a newline: a title, what the project is, how it is run, where what lies."""
    names = _names(root)
    parts = [f"# {_title(root, names)}"]
    about = _about(root, names)
    parts += [about] if about else []
    commands = list(dict.fromkeys(_commands(root, names)))[:_MOST_COMMANDS]
    parts += ["## Commands\n\n" + "\n".join(commands)] if commands else []
    ci = list(dict.fromkeys(_ci(root)))[:_MOST_CI]
    parts += ["## What CI runs\n\n" + "\n".join(f"- {_code(line)}" for line in ci)] if ci else []
    layout = [f"- `{name}/`" for name in names if _is_folder(root, name)][:_MOST_FOLDERS]
    parts += ["## Layout\n\n" + "\n".join(layout)] if layout else []
    parts.append("## Rules\n\n- (What must every change keep to? What was got wrong before?)")
    return "\n\n".join(parts) + "\n"


def _names(root: Path) -> list[str]:
    try:
        return sorted(os.listdir(root))
    except OSError:
        return []


def _is_folder(root: Path, name: str) -> bool:
    return not name.startswith(".") and name not in _SKIPPED_FOLDERS and (root / name).is_dir()


def _read(root: Path, name: str) -> str:
    """The beginning of a file of the project; a link that leads out of it is none."""
    path = root / name
    try:
        if not path.is_file() or not path.resolve().is_relative_to(root.resolve()):
            return ""
        with path.open("rb") as stream:
            return stream.read(_MOST_BYTES).decode("utf-8", "replace")
    except (OSError, RuntimeError):
        return ""


def _title(root: Path, names: list[str]) -> str:
    name = _manifest(root).get("name") or _package(root).get("name")
    return safe_line(str(name or root.name), _WIDTH)


def _manifest(root: Path) -> Mapping[str, Any]:
    """The project table of pyproject.toml, or the package of Cargo.toml."""
    import tomllib

    for file, table in (("pyproject.toml", "project"), ("Cargo.toml", "package")):
        try:
            found = tomllib.loads(_read(root, file)).get(table)
        except (ValueError, RecursionError):  # no TOML, or a number of thousands of digits
            continue
        if isinstance(found, dict):
            return found
    return {}


def _package(root: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(_read(root, "package.json"))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _about(root: Path, names: list[str]) -> str:
    """The first paragraph of the README that is one."""
    readme = next((name for name in names if _README.match(name)), "")
    for paragraph in re.split(r"\n\s*\n", _read(root, readme) if readme else ""):
        words = " ".join(paragraph.split())
        if words and words[0].isalnum() and not set(paragraph.strip()) <= set("=-\n "):
            return safe_line(words, 400)
    return ""


def _commands(root: Path, names: list[str]) -> Iterator[str]:
    for runner, file in (("make", "Makefile"), ("just", "justfile")):
        targets = [target for target in _TARGET.findall(_read(root, file)) if _DAILY.search(target)]
        yield from (f"- {_code(f'{runner} {target}')}" for target in targets)
    scripts = _package(root).get("scripts")
    if isinstance(scripts, dict):
        runner = "pnpm" if "pnpm-lock.yaml" in names else "yarn" if "yarn.lock" in names else "npm run"
        for name, what in scripts.items():
            if _DAILY.search(str(name)):
                yield f"- {_code(f'{runner} {name}')}: {_code(str(what))}"
    for name in _names(root / "scripts"):
        if _DAILY.search(name) and (root / "scripts" / name).is_file():
            yield f"- {_code(f'scripts/{name}')}"
    if "pyproject.toml" in names:
        text = _read(root, "pyproject.toml")
        for tool, command in (("pytest", "pytest"), ("ruff", "ruff check ."), ("mypy", "mypy .")):
            if f"[tool.{tool}" in text:
                yield f"- {_code(command)}"
    if "Cargo.toml" in names:
        yield from (f"- {_code(f'cargo {word}')}" for word in ("build", "test"))
    if "go.mod" in names:
        yield from (f"- {_code(f'go {word} ./...')}" for word in ("build", "test"))


def _ci(root: Path) -> Iterator[str]:
    folder = ".github/workflows"
    files = [f"{folder}/{name}" for name in _names(root / folder) if name.endswith((".yml", ".yaml"))]
    for name in [*files[:_MOST_WORKFLOWS], ".gitlab-ci.yml"]:
        yield from _runs(_parsed(_read(root, name)), set())


def _parsed(text: str) -> Any:
    if not text:
        return None
    import yaml

    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError):
        return None


def _runs(value: Any, seen: set[int]) -> Iterator[str]:
    """The lines of shell in a CI file, wherever they stand. ``seen``: ids of what was looked at; by way of
    YAML's anchors a few lines can name a value a billion times."""
    if id(value) in seen or len(seen) > _MOST_VALUES:
        return
    seen.add(id(value))
    if isinstance(value, list):
        for item in value:
            yield from _runs(item, seen)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key in ("run", "script") and isinstance(item, str | list):
                lines = item.split("\n") if isinstance(item, str) else [x for x in item if isinstance(x, str)]
                yield from (
                    line.strip() for line in lines if line.strip() and not line.strip().startswith("#")
                )
            else:
                yield from _runs(item, seen)


def _code(text: str) -> str:
    """A code span on one line, whatever backticks the text holds."""
    line = safe_line(text, _WIDTH)
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    return f"{fence} {line} {fence}" if "`" in line else f"`{line}`"
