"""Prints the completion script of a shell."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping

from mewcode.completion.bash import bash_script
from mewcode.completion.fish import fish_script
from mewcode.completion.grammar import read_grammars
from mewcode.completion.zsh import zsh_script

_SCRIPTS = {"bash": bash_script, "zsh": zsh_script, "fish": fish_script}


def print_script(shell: str, parsers: Mapping[str, argparse.ArgumentParser]) -> int:
    """Writes the script for ``shell`` (bash, zsh, fish) to standard output."""
    sys.stdout.write(_SCRIPTS[shell](read_grammars(parsers)))
    return 0
