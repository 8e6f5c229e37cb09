"""Text of others put before a model as data."""

from __future__ import annotations

import re


def fenced_data(name: str, text: str) -> str:
    """``text`` between tags of this name, none of which it can close itself."""
    inside = re.sub(rf"<(?=\s*/\s*{re.escape(name)})", "&lt;", text, flags=re.IGNORECASE)
    return f"<{name}>\n{inside}\n</{name}>"
