"""Every test gets a home and a working folder of its own, and no key of the person who runs it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support.fixtures import fake_llm

__all__ = ["fake_llm"]

# The same examples in every run: a commit is judged by what it changed, not by luck. `scripts/soak` draws new
# ones. How long drawing takes is a matter of the machine.
settings.register_profile(
    "commit", derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("soak", deadline=None, print_blob=True)
settings.load_profile("soak" if os.environ.get("MEWCODE_SOAK") else "commit")

_OURS = ("ANTHROPIC_", "OPENAI_", "MEWCODE_")
_KEPT = ("MEWCODE_SOAK", "MEWCODE_PYTHON")
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "ssl_cert_file", "ssl_cert_dir")


@pytest.fixture(autouse=True)
def _clean_surroundings(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in list(os.environ):
        if (name.startswith(_OURS) and name not in _KEPT) or name.lower() in _PROXIES:
            monkeypatch.delenv(name)
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path_factory.mktemp("cwd"))
    return home
