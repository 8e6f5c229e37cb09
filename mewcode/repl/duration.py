"""Lengths of time as people say them."""

from __future__ import annotations


def duration(seconds: float, *, tenths: bool = False) -> str:
    """``7 s``, ``2 min 5 s``, ``3 h 20 min``, ``4 days``; with ``tenths`` below ten seconds ``1.5 s``."""
    whole = max(0, round(seconds))
    if tenths and seconds < 10:
        return f"{max(0.0, seconds):.1f} s"
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 48 * 3600:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86_400} days"
