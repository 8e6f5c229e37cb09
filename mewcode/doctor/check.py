"""What a check found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from mewcode.config.load import LoadedConfig
from mewcode.infra.paths import Places
from mewcode.options import Options

Status = Literal["ok", "warn", "fail"]


class Check(msgspec.Struct, frozen=True):
    """``detail``: what was found, in words and figures. ``hint``: what to mend, empty where nothing is."""

    check: str
    status: Status
    detail: str
    hint: str = ""


class Subject(msgspec.Struct, frozen=True):
    """What is checked. ``loaded`` is None where the config is wrong: ``config_error`` says how."""

    options: Options
    environ: Mapping[str, str]
    places: Places
    loaded: LoadedConfig | None
    config_error: str = ""
    config_hint: str = ""
