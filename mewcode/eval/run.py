"""Runs a word of `mewcode eval`."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from mewcode.core.errors import UsageError
from mewcode.eval.datasets import read_dataset
from mewcode.eval.recall import measure
from mewcode.eval.report import as_json, as_table
from mewcode.infra.paths import Places
from mewcode.memory.recall.semantic import embedder_loader
from mewcode.options import Options


def run_eval(options: Options, environ: Mapping[str, str], places: Places) -> int:
    """Measures what ``options.words`` say (see `words.check_words`) and prints it; the exit code. Raises
    `MewCodeError`."""
    if options.words == ("memory",):
        from mewcode.eval.memory_run import run_memory_tasks

        return run_memory_tasks(options, environ, places)
    flags = options.eval_flags
    if flags.dataset is None:
        raise UsageError("there is no data set", "Name one with --dataset FILE.")
    corpora = read_dataset(flags.dataset, aliases=not flags.without_aliases, split=flags.split or "")
    measured = measure(corpora, embedder_loader())
    if not measured.is_asked:
        raise UsageError(f"{flags.dataset} has no such question", "Leave --split away.")
    name = flags.dataset.name
    sys.stdout.write(as_json(name, measured) if options.as_json else as_table(name, measured))
    return 0
