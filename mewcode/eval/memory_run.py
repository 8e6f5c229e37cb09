"""Runs `mewcode eval memory`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence

from mewcode.eval.memory import Pair, least_requests, measure
from mewcode.eval.memory_arm import ARMS, ArmRunner
from mewcode.eval.memory_report import as_json, as_table
from mewcode.eval.memory_tasks import Task, own_tasks, read_tasks
from mewcode.infra.paths import Places
from mewcode.infra.terminal_text import safe_line
from mewcode.options import Options
from mewcode.setup import Setup


def run_memory_tasks(options: Options, environ: Mapping[str, str], places: Places) -> int:
    """Takes the tasks with and without memory, and prints what came of them, also where it was broken off;
    the exit code: 1 where no task got an answer. Raises `MewCodeError`."""
    flags = options.eval_flags
    path = flags.dataset or own_tasks()
    tasks = read_tasks(path, flags.only, flags.limit)
    setup = Setup(options, environ, places)
    if not _may_begin(tasks, setup, is_agreed=flags.yes):
        return 1
    runner, pairs = ArmRunner(setup), list[Pair]()
    try:
        asyncio.run(measure(tasks, runner, pairs, _say))
    except KeyboardInterrupt:
        _say(f"interrupted after {len(pairs)} of {len(tasks)} tasks")
        return 130
    finally:
        if pairs:  # they were paid for
            write = as_json if options.as_json else as_table
            sys.stdout.write(write(path.name, runner.model, pairs))
    return 1 if all(pair.of(arm).error for pair in pairs for arm in ARMS) else 0


def _may_begin(tasks: Sequence[Task], setup: Setup, *, is_agreed: bool) -> bool:
    """Says what it takes, and asks whoever sits there."""
    model = setup.loaded.config.model or "the model it offers"
    _say(
        f"tasks: {len(tasks)}, each with and without memory: at least {least_requests(tasks)} requests to "
        f"{safe_line(setup.service.name)}, {safe_line(model)}"
    )
    if is_agreed or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return True
    sys.stderr.write("Go on? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _say(text: str) -> None:
    sys.stderr.write(f"{safe_line(text)}\n")
    sys.stderr.flush()
