"""A certificate for 127.0.0.1 and name.test, its key, and the authority that signed it: for tests alone.

They are valid from 2020 to 2120. They were made once with openssl; the authority's own key was thrown away.
"""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).with_name("certificates")

AUTHORITY = _FOLDER / "test-authority.pem"
SERVER = _FOLDER / "test-server.pem"
SERVER_KEY = _FOLDER / "test-server-key-not-secret.pem"
