"""Every test gets a home and a working folder of its own, and no key of the person who runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.fixtures import fake_llm

__all__ = ["fake_llm"]

_OURS = ("ANTHROPIC_", "OPENAI_", "MEWCODE_")
_KEPT = ("MEWCODE_SOAK", "MEWCODE_PYTHON")
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "ssl_cert_file", "ssl_cert_dir")


@pytest.fixture(autouse=True)
def _clean_surroundings(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    import os

    for name in list(os.environ):
        if (name.startswith(_OURS) and name not in _KEPT) or name.lower() in _PROXIES:
            monkeypatch.delenv(name)
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path_factory.mktemp("cwd"))
    return home
