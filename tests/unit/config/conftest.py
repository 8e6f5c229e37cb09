from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from mewcode.config.load import LoadedConfig, load_config
from mewcode.infra.paths import Places


class Folders:
    """A home with its user folder, a project, and a short way to load."""

    def __init__(self, base: Path) -> None:
        self.home = base / "home"
        self.root = base / "work" / "proj"
        self.places = Places(self.root, self.root, self.home / ".mewcode", self.root / ".mewcode")
        self.places.user.mkdir(parents=True)
        self.places.project.mkdir(parents=True)

    def write(self, level: str, text: str | bytes) -> Path:
        path = {
            "user": self.places.user / "config.yaml",
            "project": self.places.project / "config.yaml",
            "local": self.places.project / "config.local.yaml",
            "extra": self.root / "extra.yaml",
        }[level]
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def load(
        self, *, trusted: bool = True, environ: dict[str, str] | None = None, **options: Any
    ) -> LoadedConfig:
        return load_config(
            self.places, {"HOME": str(self.home), **(environ or {})}, trusted=trusted, **options
        )


@pytest.fixture
def child_env() -> dict[str, str]:
    """The environment in which another Python finds this package, wherever the test runs."""
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(tmp_path)
