"""The command line: its arguments and sub-commands. No logic lives here."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn, get_args

from mewcode._version import __version__
from mewcode.core.access import MODES
from mewcode.core.errors import MewCodeError, UsageError
from mewcode.infra.standard_streams import open_closed_streams
from mewcode.options import Command, EvalFlags, MemoryFlags, Options, SessionFlags, TaskKind

_DESCRIPTION = "MewCode: a coding agent for the terminal that remembers."
_EPILOG = """\
sub-commands:
  mewcode sessions        list, search, name, export and keep the sessions of this project; --help says how
  mewcode memory          list, add, edit, forget and restore notes, undo changes, say why; --help says how
  mewcode knowledge       the documents that can be searched: add, list, remove, search; --help says how
  mewcode instructions    what became of each line of MEWCODE.md; `lint` exits 1 where something was left out
  mewcode prompt show     the system prompt, part by part, and where each part comes from
  mewcode config          set up a model; `config show [--json]` lists the settings, `config path` the file
  mewcode eval            how well notes are found, and what memory is worth; --help says how
  mewcode doctor          check terminal, model, keys, tools and folders; --json for scripts
  mewcode completion      the completion script for bash, zsh or fish
  mewcode demo            a scripted session with no model behind it

`mewcode -p /context` says what fills the model's window, without a request; --output-format json for scripts.
A first word that names a sub-command is one; `mewcode -- demo` makes it a prompt.
Exit codes: 0 done, 1 failed, 2 wrong usage or configuration, 75 try again later, 130 interrupted."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message, "See `mewcode --help`.")


def _positive(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number") from None
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def _dollars(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number") from None
    if not 0 < value < float("inf"):  # NaN would be a limit that is never reached
        raise argparse.ArgumentTypeError("must be a number above 0")
    return value


_COMMANDS: dict[str, tuple[Command, str]] = {
    "config": ("config", "Sets up a model, and shows the configuration."),
    "doctor": ("doctor", "Checks what MewCode needs. Exits 1 where something fails."),
    "sessions": ("sessions", "Finds the sessions of this project again, and keeps them in order."),
    "memory": ("memory", "Lists the notes, and changes them; each change can be undone."),
    "knowledge": ("knowledge", "Says which documents are searched, and searches them."),
    "instructions": ("instructions", "Shows what became of each line of the project's instructions."),
    "prompt": ("prompt", "Shows the system prompt, part by part."),
    "eval": ("eval", "Measures what memory is worth, on a data set."),
    "completion": ("completion", "Prints a completion script, such as: source <(mewcode completion bash)"),
}
SHELLS = ("bash", "zsh", "fish")


def _command_parser(name: str) -> _Parser:
    parser = _Parser(prog=f"mewcode {name}", description=_COMMANDS[name][1], allow_abbrev=False)
    add = parser.add_argument
    if name == "completion":
        add("words", choices=SHELLS, metavar="SHELL", help="bash, zsh or fish")
    elif name == "config":
        add("words", nargs="?", choices=("show", "path"), help="each value and its origin; the user's file")
    elif name == "sessions":
        _add_sessions(parser)
    elif name == "memory":
        _add_memory(parser)
    elif name == "knowledge":
        from mewcode.knowledge_commands.words import add_arguments

        add_arguments(parser, _positive)
    elif name == "eval":
        _add_eval(parser)
    elif name == "instructions":
        add("words", nargs="?", choices=("lint",), help="exit with 1 where something was left out")
    elif name == "prompt":
        add("words", choices=("show",), help="the whole system prompt")
    if name != "completion":
        add("--json", dest="as_json", action="store_true", help="for scripts")
        if name not in ("sessions", "knowledge", "instructions"):
            _add_choice_of_model(parser)
        _add_places(parser)
    add("--verbose", action="store_true", help="log and tracebacks to standard error")
    return parser


def _add_sessions(parser: _Parser) -> None:
    from mewcode.session_commands.words import VERBS, describe_words  # a start of a session needs none of it

    add = parser.add_argument
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = f"words:\n{describe_words()}\n\nID is an id, as much of it as is unique, or a name."
    add("verb", choices=tuple(VERBS), metavar="WORD", help="what to do; see below")
    add("words", nargs="*", metavar="...", help="behind it: ids, a query, a title")
    # Left out where not given: most words take none of these.
    add("--limit", type=_positive, metavar="N", default=argparse.SUPPRESS, help="search: hits at most (20)")
    add("--format", choices=("markdown", "json", "html"), default=argparse.SUPPRESS, help="export: the form")
    add("--output", type=Path, metavar="FILE", default=argparse.SUPPRESS, help="export: to a new file")
    for flag, text in (
        ("--with-secrets", "export: black out nothing"),
        ("--repair", "check: mend the file, keep the damaged one beside it"),
        ("--dry-run", "prune: only say what would go"),
        ("--repository", "list, search: in all work trees of this repository"),
        ("--everywhere", "list, search: in all workspaces"),
        ("--again", "import: also what is here already"),
    ):
        add(flag, action="store_true", default=argparse.SUPPRESS, help=text)


def _add_memory(parser: _Parser) -> None:
    from mewcode.memory_commands.words import VERBS, describe_words  # as above

    add = parser.add_argument
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = (
        f"words:\n{describe_words()}\n\nNAME is a note's name, its file, or as much of either as is unique.\n"
        "Types: user_preference, correction_feedback, project_knowledge, reference_material; or user,\n"
        "feedback, project, reference."
    )
    add("verb", choices=tuple(VERBS), metavar="WORD", help="what to do; see below")
    add("words", nargs="*", metavar="...", help="behind it: names, a text")
    # Left out where not given: most words take none of these.
    add("--type", type=_note_type, metavar="TYPE", default=argparse.SUPPRESS, help="of a note; see below")
    add("--level", choices=("user", "project"), default=argparse.SUPPRESS, help="whose notes")
    for flag, metavar, text in (
        ("--name", "NAME", "add, edit: what the note is called"),
        ("--description", "TEXT", "add, edit: what the index says of it"),
        ("--aliases", "WORDS", "add, edit: how one would ask for it, by commas"),
        ("--tags", "WORDS", "add, edit: by commas"),
    ):
        add(flag, metavar=metavar, default=argparse.SUPPRESS, help=text)
    add("--limit", type=_positive, metavar="N", default=argparse.SUPPRESS, help="history: at most (20)")
    add("--all", action="store_true", default=argparse.SUPPRESS, help="list: also those not in force")
    add("--force", action="store_true", default=argparse.SUPPRESS, help="undo: also what was changed since")


def _add_eval(parser: _Parser) -> None:
    from mewcode.eval.words import VERBS, describe_words  # as above

    add = parser.add_argument
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = (
        f"words:\n{describe_words()}\n\nFILE is for recall LoCoMo's or LongMemEval's, or like\n"
        "evals/recall-notes.json; for memory like evals/memory-tasks.json, which it takes by itself."
    )
    add("verb", choices=tuple(VERBS), metavar="WORD", help="what to measure; see below")
    add(
        "--dataset",
        type=Path,
        metavar="FILE",
        default=argparse.SUPPRESS,
        help="recall: what is asked of what; memory: the tasks",
    )
    add("--split", choices=("tune", "report"), default=argparse.SUPPRESS, help="recall: one half of a set")
    add(
        "--without-aliases",
        action="store_true",
        default=argparse.SUPPRESS,
        help="recall: as if notes had none",
    )
    add("--only", choices=get_args(TaskKind), default=argparse.SUPPRESS, help="memory: tasks of one kind")
    add("--limit", type=_positive, metavar="N", default=argparse.SUPPRESS, help="memory: the first N tasks")
    add("--yes", action="store_true", default=argparse.SUPPRESS, help="memory: begin without asking")


def _note_type(text: str) -> str:
    from mewcode.memory.note import TYPES, type_of

    found = type_of(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(TYPES)}")
    return found


def parsers() -> dict[str, argparse.ArgumentParser]:
    """The parser of each sub-command by its name; that of the program itself by an empty one."""
    return {"": _parser(), **{name: _command_parser(name) for name in _COMMANDS}}


def _add_choice_of_model(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--model", metavar="NAME")
    add("--provider", metavar="NAME", help="anthropic, openai, deepseek, ..., or one of your config")
    add("--base-url", metavar="URL")


def _add_places(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--cwd", type=Path, metavar="DIR", help="work in this folder")
    add("--config", dest="config_file", type=Path, metavar="FILE")


def _parser() -> _Parser:
    parser = _Parser(
        prog="mewcode",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("prompt", nargs="*", help="sent first; with -p the only one")
    add(
        "-p", "--print", dest="headless", action="store_true", help="one answer to standard output, then exit"
    )
    add("--output-format", choices=("text", "json", "stream-json"), default="text")
    add("--input-format", choices=("text", "stream-json"), default="text")
    add(
        "-c",
        "--continue",
        dest="continue_newest",
        action="store_true",
        help="the newest session of this folder",
    )
    add("-r", "--resume", nargs="?", const="", metavar="ID", help="a session by id or unique prefix")
    add("--fork-session", dest="fork", action="store_true", help="continue into a new session, leave the old")
    _add_choice_of_model(parser)
    add("--max-turns", type=_positive, metavar="N", help="steps of the model in one turn (default 100)")
    add("--max-cost", type=_dollars, metavar="USD", help="stop when the session has cost this much")
    add("--permission-mode", dest="mode", choices=MODES)
    add("--allow", action="append", default=[], metavar="RULE", help='such as "bash(git status)"; repeatable')
    add("--deny", action="append", default=[], metavar="RULE")
    _add_places(parser)
    add("--add-dir", dest="add_dirs", type=Path, action="append", default=[], metavar="DIR")
    add("--no-memory", action="store_true", help="read and write no notes in this session")
    add("--trust", action="store_true", help="trust this folder from now on: its config and its sessions")
    add("--plain", action="store_true", help="lines only, for screen readers: no colours, nothing redrawn")
    add("--verbose", action="store_true", help="log and tracebacks to standard error")
    add("--version", action="version", version=f"mewcode {__version__}")
    return parser


def parse(arguments: Sequence[str]) -> Options:
    """The options that ``arguments`` say. Raises `UsageError`; ``--help`` and ``--version`` exit."""
    if arguments and arguments[0] in _COMMANDS:
        return _parse_command(arguments[0], arguments[1:])
    demo = bool(arguments) and arguments[0] == "demo"
    parsed = _parser().parse_args(list(arguments[1:] if demo else arguments))
    fields = vars(parsed)
    words = fields.pop("prompt")
    for name in ("allow", "deny", "add_dirs"):
        fields[name] = tuple(fields[name])
    if parsed.input_format == "stream-json" and parsed.output_format != "stream-json":
        raise UsageError("--input-format stream-json needs --output-format stream-json")
    if parsed.input_format == "stream-json" and words:
        raise UsageError("--input-format stream-json reads its prompts from standard input")
    if demo and words:
        raise UsageError("the demo takes no prompt", f"To send these words: mewcode -- {' '.join(arguments)}")
    if "--" not in arguments and not (demo or parsed.headless) and _is_command(words):
        said = " ".join(words)
        raise UsageError(
            f"{words[0]} is a sub-command; flags go behind it",
            f"Such as: mewcode {said} --cwd DIR. To send these words: mewcode -- {said}",
        )
    if parsed.continue_newest and parsed.resume is not None:
        raise UsageError("-c and -r exclude each other", "Use -c for the newest session, -r ID for another.")
    if parsed.fork and not (parsed.continue_newest or parsed.resume is not None):
        raise UsageError("--fork-session needs -c or -r")
    return Options(prompt=" ".join(words) if words else None, demo=demo, **fields)


def _is_command(words: Sequence[str]) -> bool:
    """Whether words behind flags would be a whole sub-command, and hardly a prompt."""
    if not words or words[0] not in _COMMANDS:
        return False
    try:
        _parse_command(words[0], words[1:])
    except UsageError:
        return False
    return True


def _parse_command(name: str, rest: Sequence[str]) -> Options:
    try:
        # The words of a search may stand around a flag.
        parser = _command_parser(name)
        parse = (
            parser.parse_intermixed_args if name in ("sessions", "memory", "knowledge") else parser.parse_args
        )
        fields = vars(parse(list(rest)))
    except UsageError as error:
        hint = f"See `mewcode {name} --help`. To send these words: mewcode -- {' '.join((name, *rest))}"
        raise UsageError(error.message, hint) from None
    if name == "sessions":
        return _session_options(fields)
    if name == "memory":
        return _memory_options(fields)
    if name == "knowledge":
        from mewcode.knowledge_commands.words import options_of

        return options_of(fields)
    if name == "eval":
        return _eval_options(fields)
    word = fields.pop("words", None)
    if fields.get("as_json") and name == "config" and word != "show":
        raise UsageError("--json needs something to list", "Such as: mewcode config show --json")
    return Options(command=_COMMANDS[name][0], words=(word,) if word else (), **fields)


def _session_options(fields: dict[str, Any]) -> Options:
    from mewcode.session_commands.words import check_words

    verb, words = fields.pop("verb"), tuple(fields.pop("words"))
    flags = {key: fields.pop(key) for key in SessionFlags.__struct_fields__ if key in fields}
    check_words(verb, words, set(flags))
    return Options(command="sessions", words=(verb, *words), session_flags=SessionFlags(**flags), **fields)


def _memory_options(fields: dict[str, Any]) -> Options:
    from mewcode.memory_commands.words import MODEL, check_words

    verb, words = fields.pop("verb"), tuple(fields.pop("words"))
    flags = {key: fields.pop(key) for key in MemoryFlags.__struct_fields__ if key in fields}
    check_words(verb, words, {*flags, *(key for key in MODEL if fields[key] is not None)})
    return Options(command="memory", words=(verb, *words), memory_flags=MemoryFlags(**flags), **fields)


def _eval_options(fields: dict[str, Any]) -> Options:
    from mewcode.eval.words import MODEL, check_words

    verb = fields.pop("verb")
    flags = {key: fields.pop(key) for key in EvalFlags.__struct_fields__ if key in fields}
    check_words(verb, {*flags, *(key for key in MODEL if fields[key] is not None)})
    return Options(command="eval", words=(verb,), eval_flags=EvalFlags(**flags), **fields)


def run(arguments: Sequence[str]) -> int:
    """Runs the program and returns its exit code; errors on purpose are told in their own words."""
    open_closed_streams()
    verbose = "--verbose" in arguments
    try:
        if arguments and arguments[0] == "__complete":  # what the completion scripts ask for
            from mewcode.completion.values import print_values

            return print_values(arguments[1:])
        options = parse(arguments)
        if options.command == "completion":
            from mewcode.completion.scripts import print_script

            return print_script(options.words[0], parsers())
        from mewcode.app import start

        return start(options)
    except MewCodeError as error:
        from mewcode.infra.terminal_text import safe_text

        # It may quote what a server or a file said.
        if verbose:
            import traceback

            sys.stderr.write(safe_text(traceback.format_exc()))
        sys.stderr.write(safe_text(f"mewcode: {error}\n"))
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read our output is gone; so is the reason to say so. What still waits goes nowhere.
        import os

        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        # A defect of ours. Its trace is for those who ask for it.
        if verbose:
            raise
        _tell_defect(error)
        return 1


def _tell_defect(error: Exception) -> None:
    import logging

    from mewcode.infra.log_file import log_path
    from mewcode.infra.terminal_text import safe_line

    logging.getLogger("mewcode").error("the program failed", exc_info=error)
    sys.stderr.write(f"mewcode: unexpected error: {type(error).__name__}: {safe_line(str(error))}\n")
    sys.stderr.write(f"This is a defect. --verbose shows the trace, and it is in {log_path()}\n")
