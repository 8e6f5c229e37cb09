"""Whether a simple command only reads, and only within the workspace: then it runs without being asked
about."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from mewcode.permissions.folders import Folders, is_strict_mode
from mewcode.permissions.read_only_options import GIT, PROGRAMS, Program
from mewcode.permissions.shell_words import SimpleCommand, Word
from mewcode.permissions.workspace import Workspace


class Vetting(msgspec.Struct, frozen=True):
    """``free``: reads only, and only within the workspace. ``outside``: reads only, but elsewhere or unsure
    where. ``no``: not known to only read. ``recursive``: whole folders are read."""

    word: Literal["free", "outside", "no"]
    reason: str = ""
    recursive: bool = False


class _Reads(msgspec.Struct, frozen=True):
    """The operands that are files; ``recursive`` as in `Vetting`, ``plain_files`` as in `Program`."""

    files: tuple[Word, ...] = ()
    recursive: bool = False
    plain_files: bool = False


_NOT_KNOWN = Vetting("no", "it is not known to only read")


def vet(command: SimpleCommand, folders: Folders, workspace: Workspace, *, trusted: bool) -> Vetting:
    """``trusted``: the user trusts the folder, so that git may run what the repository's config names."""
    name, words = command.name, command.words
    if (
        not words
        or not name
        or command.assignments
        or any(redirect.expands for redirect in command.redirects)
    ):
        return _NOT_KNOWN
    reads = _Reads() if is_strict_mode(words) else _reads_of(name, words[1:])
    if reads is None:
        return _NOT_KNOWN
    if name == "git" and not (trusted and _own_repository(folders, workspace)):
        return Vetting("no", "git runs what a repository's own config names")
    if name == "cd":
        return _vet_files(reads, folders, workspace) if reads.files else _OUTSIDE_HOME
    if folders is None and (reads.files or reads.recursive or name in ("ls", "du")):
        return Vetting("outside", "the folder it runs in is not certain")
    if folders is not None and not all(_inside(folder, workspace) for folder in folders):
        return Vetting("outside", "it runs outside the workspace")
    if reads.recursive and any(_holds_guarded(folder, workspace) for folder in folders or ()):
        return Vetting("outside", "the folder it runs in holds keys or logins")
    return _vet_files(reads, folders, workspace)


_OUTSIDE_HOME = Vetting("outside", "it goes to the home folder")


def _inside(path: str, workspace: Workspace) -> bool:
    resolved = workspace.resolve(path)
    return resolved is not None and workspace.inside(resolved) and not workspace.guarded_read(resolved)


def _holds_guarded(path: str, workspace: Workspace) -> bool:
    resolved = workspace.resolve(path)
    return resolved is None or workspace.holds_guarded(resolved)


def _vet_files(reads: _Reads, folders: Folders, workspace: Workspace) -> Vetting:
    for word in reads.files:
        if not word.literal:
            return Vetting("outside", f"what {word.text} stands for is not known")
        if word.text == "-" and not word.tilde:
            continue
        text = workspace.home + word.text[1:] if word.tilde else word.text
        if folders is None and not text.startswith("/"):
            return Vetting("outside", "the folder it runs in is not certain")
        for folder in folders or ("/",):
            path = os.path.join(folder, text)
            if path == "/dev/null":
                continue
            if not _inside(path, workspace):
                return Vetting("outside", f"{word.text} is outside the workspace")
            if reads.recursive and _holds_guarded(path, workspace):
                return Vetting("outside", f"{word.text} holds keys or logins")
            if reads.plain_files and os.path.isdir(path):
                return Vetting("outside", f"{word.text} is a folder, whose links may lead outside")
    return Vetting("free", recursive=reads.recursive)


def _own_repository(folders: Folders, workspace: Workspace) -> bool:
    """Whether git finds the workspace's own repository from each folder.

    A repository within (an unpacked archive, or a folder that looks like a bare one) has a config of its own,
    which came with the files.
    """
    if folders is None:
        return False
    for folder in folders:
        here = workspace.resolve(folder)
        if here is None or not workspace.inside(here):
            return False
        while here != workspace.root:
            if (
                os.path.lexists(os.path.join(here, ".git"))
                or _looks_bare(here)
                or here == os.path.dirname(here)
            ):
                return False
            here = os.path.dirname(here)
    return os.path.lexists(os.path.join(workspace.root, ".git")) and not _looks_bare(workspace.root)


def _looks_bare(folder: str) -> bool:
    return all(os.path.lexists(os.path.join(folder, name)) for name in ("HEAD", "objects", "refs"))


def _reads_of(name: str, arguments: Sequence[Word]) -> _Reads | None:
    """The files a known program reads; None where the program or an argument is not known to be harmless."""
    if name in ("echo", ":", "true", "false"):
        return _Reads() if all(word.harmless for word in arguments) else None
    if name in _SPECIAL:
        return _SPECIAL[name](arguments)
    program = PROGRAMS.get(name)
    return _by_table(program, arguments) if program else None


def _by_table(program: Program, arguments: Sequence[Word]) -> _Reads | None:
    operands: list[Word] = []
    used: set[str] = set()
    at = 0
    while at < len(arguments):
        word = arguments[at]
        at += 1
        if not word.literal:
            if not _names_files(word):
                return None
            operands.append(word)
            continue
        text = word.text
        if text == "--":
            operands += arguments[at:]
            break
        if word.tilde or not text.startswith("-") or text == "-":
            operands.append(word)
        elif text.startswith("--"):
            option, equals, _ = text.partition("=")
            used.add(option)
            if option not in (program.long_values if equals else program.longs):
                return None
        elif program.digits and re.fullmatch(r"-\d+", text):
            continue
        else:
            takes_next = _cluster(program, text, used)
            if takes_next is None or (takes_next and (at == len(arguments) or not arguments[at].literal)):
                return None
            at += takes_next
    return _operands_read(program, operands, used)


def _cluster(program: Program, text: str, used: set[str]) -> int | None:
    """How many words after ``-abc`` belong to it; None where a letter is not known."""
    for place, letter in enumerate(text[1:], 1):
        used.add("-" + letter)
        if letter in program.values:
            return 0 if text[place + 1 :] else 1
        if letter in program.attached and text[place + 1 :].isdigit():
            return 0
        if letter not in program.flags:
            return None
    return 0


def _operands_read(program: Program, operands: list[Word], used: set[str]) -> _Reads | None:
    if program.operands == "none":
        return None if operands else _Reads()
    if len(operands) > program.count:
        return None
    if program.operands == "text":
        return _Reads() if all(word.literal for word in operands) else None
    skipped = program.text_first if not used & program.pattern_options else 0
    recursive = program.always_recursive or bool(used & program.recursive)
    return _Reads(tuple(operands[skipped:]), recursive, program.plain_files)


def _names_files(word: Word) -> bool:
    """Whether a word can only be names of files: literal, or a wildcard that cannot turn into an option."""
    if word.literal:
        return True
    return bool(word.wild_at) and not word.variables and not word.inside and not word.text.startswith("-")


def _find(arguments: Sequence[Word]) -> _Reads | None:
    files: list[Word] = []
    words = list(arguments)
    while words and (words[0].tilde or not re.match(r"[-(!]", words[0].text)):
        files.append(words.pop(0))
    valued = {
        "-name",
        "-iname",
        "-path",
        "-ipath",
        "-type",
        "-maxdepth",
        "-mindepth",
        "-size",
        "-mtime",
        "-mmin",
    }
    plain = {"-not", "!", "-o", "-or", "-a", "-and", "(", ")", "-print", "-print0", "-empty", "-prune"}
    while words:
        word = words.pop(0)
        if not word.literal or (word.text not in plain and word.text not in valued):
            return None
        if word.text in valued and (not words or not words.pop(0).literal):
            return None
    return _Reads(tuple(files)) if all(_names_files(word) for word in files) else None


def _sed(arguments: Sequence[Word]) -> _Reads | None:
    """Only `sed -n 5,10p FILE`: sed's language writes files and runs commands."""
    if len(arguments) < 2 or not all(word.literal for word in arguments[:2]) or arguments[0].text != "-n":
        return None
    if not re.fullmatch(r"(\d+|\$)(,(\d+|\$))?p", arguments[1].text):
        return None
    files = tuple(arguments[2:])
    harmless = all(_names_files(word) and not word.text.startswith("-") for word in files)
    return _Reads(files) if harmless else None


def _test(arguments: Sequence[Word]) -> _Reads | None:
    """Without `-v`, `-R` (which evaluate a subscript) and the connectives (whose reading is ambiguous)."""
    words = list(arguments)
    if words and words[0].text == "!":
        words.pop(0)
    if not all(word.literal for word in words):
        return None
    texts = [word.text for word in words]
    if len(words) == 2 and texts[0] in ("-e", "-f", "-d", "-s", "-r", "-w", "-x", "-L", "-h"):
        return _Reads((words[1],))
    if len(words) == 2 and texts[0] in ("-n", "-z"):
        return _Reads()
    if len(words) == 3 and texts[1] in ("=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"):
        return _Reads()
    return _Reads() if len(words) == 1 and texts[0] != "-" else None


def _bracket(arguments: Sequence[Word]) -> _Reads | None:
    return _test(arguments[:-1]) if arguments and arguments[-1].text == "]" else None


def _printf(arguments: Sequence[Word]) -> _Reads | None:
    """Not with an option: `-v` assigns."""
    harmless = bool(arguments) and all(word.harmless for word in arguments)
    return _Reads() if harmless and arguments[0].literal and not arguments[0].text.startswith("-") else None


def _date(arguments: Sequence[Word]) -> _Reads | None:
    """Only formats: a plain operand, `-s` and their like set the clock."""
    allowed = re.compile(r"\+.*|-u|--utc|-R|-I(date|hours|minutes|seconds)?|--iso-8601(=[a-z]+)?", re.DOTALL)
    return _Reads() if all(word.literal and allowed.fullmatch(word.text) for word in arguments) else None


def _command(arguments: Sequence[Word]) -> _Reads | None:
    """Only `command -v NAME`, which looks a program up."""
    texts = [word.text for word in arguments]
    literal = all(word.literal for word in arguments)
    return _Reads() if literal and len(texts) == 2 and texts[0] in ("-v", "-V") else None


def _cd(arguments: Sequence[Word]) -> _Reads | None:
    if len(arguments) > 1 or any(word.text.startswith("-") for word in arguments):
        return None
    return _Reads(tuple(arguments))


def _git(arguments: Sequence[Word]) -> _Reads | None:
    words = list(arguments)
    if words and words[0].literal and words[0].text == "--no-pager":
        words.pop(0)
    program = GIT.get(words[0].text) if words and words[0].literal else None
    return _by_table(program, words[1:]) if program else None


_SPECIAL: dict[str, Callable[[Sequence[Word]], _Reads | None]] = {
    "find": _find,
    "sed": _sed,
    "test": _test,
    "[": _bracket,
    "printf": _printf,
    "date": _date,
    "command": _command,
    "cd": _cd,
    "git": _git,
}
