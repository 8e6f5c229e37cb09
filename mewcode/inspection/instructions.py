"""`mewcode instructions`: what became of each file and line of them."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping

import msgspec

from mewcode.config.trust import TrustStore
from mewcode.core.codec import clean_value
from mewcode.infra.paths import Places
from mewcode.infra.terminal_text import safe_text
from mewcode.instruction_source import InstructionSource
from mewcode.instructions.lint import lint
from mewcode.instructions.report import as_data, as_lines, left_out, nodes_of
from mewcode.options import Options
from mewcode.setup import load_settings


def run_instructions(options: Options, environ: Mapping[str, str], places: Places) -> int:
    """Prints the report. With the word ``lint`` the exit code is 1 where something was left out."""
    trusted = TrustStore(places.user).is_trusted(places.root)
    config = load_settings(options, environ, places, trusted=trusted).config
    loaded = InstructionSource(places, environ, config).loader().load()
    path = environ.get("PATH", "")
    findings = lint(nodes_of(loaded), places.root, lambda name: shutil.which(name, path=path) is not None)
    if options.as_json:
        data = msgspec.json.format(msgspec.json.encode(clean_value(as_data(loaded, findings))), indent=2)
        sys.stdout.write(data.decode() + "\n")
    else:
        sys.stdout.write("".join(f"{safe_text(line)}\n" for line in as_lines(loaded, findings)))
    return 1 if options.words == ("lint",) and left_out(loaded) else 0
