"""Judges a shell command: every simple command in it, and every redirection, must be free or covered."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import msgspec

from mewcode.core.access import CommandAccess
from mewcode.infra.terminal_text import safe_line
from mewcode.permissions.command_rules import CommandPattern, Hit, bare_words
from mewcode.permissions.finding import Question
from mewcode.permissions.folders import Folders, Placed, place_commands
from mewcode.permissions.globs import Glob
from mewcode.permissions.path_judge import WRITERS, ask_read, ask_write, hits_path
from mewcode.permissions.path_rules import PathPattern
from mewcode.permissions.path_words import guarded_word, path_candidates, resolved_candidates, stays_inside
from mewcode.permissions.read_only import vet
from mewcode.permissions.rules import Rule
from mewcode.permissions.shell import read_command
from mewcode.permissions.shell_words import CommandLine, Redirect, SimpleCommand, Word
from mewcode.permissions.suggest import suggest_rule
from mewcode.permissions.workspace import Workspace
from mewcode.permissions.wrappers import base_name, reads_a_script, visible_commands

# Their operands are written, moved or removed: a rule that denies writing a path means them as well.
_FILE_CHANGERS = frozenset(
    {
        "tee", "cp", "mv", "rm", "touch", "mkdir", "dd", "ln", "install", "chmod", "chown", "chgrp", "rmdir",
        "unlink", "shred", "rsync", "truncate", "sed", "patch", "unzip", "tar", "sponge", "ed", "ex",
    }
)  # fmt: skip
_MAX_WORDS = 3000  # different words of one command line
_NO_FILE = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin"})


class CommandJudge(msgspec.Struct, frozen=True):
    """``allow``: the allow rules. ``reads_restricted``: some rule denies or asks about reading a path, so
    that commands which read whole folders are not free. ``edits_free``: mode accept-edits."""

    workspace: Workspace
    trusted: bool
    allow: Sequence[Rule] = ()
    reads_restricted: bool = False
    edits_free: bool = False

    def questions(self, access: CommandAccess) -> list[Question]:
        """Why the command must be asked about; empty where it may run."""
        line = read_command(access.command)
        if not os.path.isabs(access.cwd):
            return [Question("the folder it would run in is not known")]
        if line.program is None:
            return [Question(f"the command cannot be checked: {line.problem}")]
        found: list[Question] = []
        for placed in place_commands(line.program, access.cwd, self.workspace.home):
            found += self._command(placed)
        return found

    def only_reads(self, access: CommandAccess) -> bool:
        """Whether all of it is made of built-in read-only commands, wherever they read (for plan mode)."""
        line = read_command(access.command)
        if line.program is None:
            return False
        for placed in place_commands(line.program, access.cwd, self.workspace.home):
            command = placed.command
            if any(redirect.kind == "write" and not _is_stream(redirect) for redirect in command.redirects):
                return False
            if command.assignments:
                return False
            if command.words and self._vet(placed) == "no":
                return False
        return True

    def _vet(self, placed: Placed) -> str:
        vetting = vet(placed.command, placed.folders, self.workspace, trusted=self.trusted)
        return (
            "outside"
            if vetting.word == "free" and vetting.recursive and self.reads_restricted
            else vetting.word
        )

    def _command(self, placed: Placed) -> Iterator[Question]:
        command, folders = placed.command, placed.folders
        for redirect in command.redirects:
            if question := self._redirect(redirect, folders):
                yield question
        if not all(stays_inside(word, folders, self.workspace) for word in placed.loop_words):
            yield Question("the loop goes through paths outside the workspace or unknown ones")
        if command.assignments:
            names = ", ".join(safe_line(word.text.partition("=")[0], 40) for word in command.assignments)
            yield Question(f"it sets {names}, which no rule covers")
        elif command.words and (question := self._simple(placed)):
            yield question

    def _simple(self, placed: Placed) -> Question | None:
        command, folders = placed.command, placed.folders
        shown = safe_line(" ".join(word.text for word in command.words), 80)
        if not command.name:
            return Question(f"which program {shown!r} runs is not known")
        vetting = vet(command, folders, self.workspace, trusted=self.trusted)
        if vetting.word == "free" and not (vetting.recursive and self.reads_restricted):
            return None
        for word in command.words[1:]:
            if guarded := guarded_word(word, folders, self.workspace):
                return Question(f"{guarded}; a command with it always asks")
        if any(self.covers(rule, placed) for rule in self.allow):
            return None
        reason = f"{shown}: {vetting.reason}" if vetting.word == "outside" else f"no rule allows: {shown}"
        if vetting.word == "free":
            reason = f"{shown}: it reads whole folders, and a rule keeps some files from being read"
        return Question(reason, suggest_rule(command, lambda rule: self.covers(rule, placed)))

    def covers(self, rule: Rule, placed: Placed) -> bool:
        """Whether an allow rule covers a simple command where it stands.

        A ``*`` does not lead outside the workspace: what it stands for must be no path elsewhere, and the
        command must run inside. ``bash`` without a pattern covers what it is given.
        """
        command, folders = placed.command, placed.folders
        if not rule.names("bash") or command.assignments or not command.name:
            return False
        if rule.pattern is None:
            return True
        if not isinstance(rule.pattern, CommandPattern) or folders is None:
            return False
        if not all(self._is_inside(folder) for folder in folders):
            return False

        changes_files = base_name(command) in _FILE_CHANGERS

        def swallow(word: Word, pattern: Glob | None) -> bool:
            # What a substitution gives is some argument to most programs, and a file to these.
            if changes_files and word.inside:
                return False
            return stays_inside(word, folders, self.workspace, pattern)

        return rule.pattern.covers(command.words, swallow)

    def _is_inside(self, folder: str) -> bool:
        path = self.workspace.resolve(folder)
        return path is not None and self.workspace.inside(path)

    def _redirect(self, redirect: Redirect, folders: Folders) -> Question | None:
        target = redirect.target
        if redirect.kind == "none" or target is None or _is_stream(redirect):
            return None
        shown = safe_line(target.text, 80)
        text = self.workspace.home + target.text[1:] if target.tilde and target.literal else target.text
        if not target.literal or text.startswith(("/dev/tcp/", "/dev/udp/")):
            return Question(f"a redirection to or from {shown}, which is not known to be a file")
        if folders is None and not text.startswith("/"):
            return Question(f"a redirection to or from {shown} in a folder that is not certain")
        for folder in folders or ("/",):
            path = self.workspace.resolve(text, folder)
            if path is None or path.startswith(("/dev/tcp/", "/dev/udp/")):
                return Question(f"a redirection to or from {shown}, which is no path")
            if redirect.kind == "read":
                question = ask_read("read_file", path, self.allow, self.workspace)
            else:
                question = ask_write(
                    "write_file", path, self.allow, self.workspace, edits_free=self.edits_free
                )
            if question:
                return question
        return None

    def hit(self, rule: Rule, access: CommandAccess) -> Hit:
        """Whether a deny or ask rule hits the command or anything visible in it."""
        line = read_command(access.command)
        if rule.names("bash"):
            return self._pattern_hit(rule, line)
        if rule.tool in ("read_file", *WRITERS):
            return self._path_hit(rule, line, access.cwd)
        return "no"

    @staticmethod
    def _pattern_hit(rule: Rule, line: CommandLine) -> Hit:
        if not isinstance(rule.pattern, CommandPattern):
            return "yes"
        commands, texts = visible_commands(line.commands)
        hits = {rule.pattern.hits(command.words) for command in commands}
        if "yes" in hits or any(rule.pattern.hits_text(text) for text in texts):
            return "yes"
        # A here-document or a pipe may hold the script: `bash <<EOF`, `echo rm x | sh`.
        unseen = line.program is None or any(reads_a_script(command) for command in commands)
        if unseen and rule.pattern.hits_text(line.text):
            return "yes"
        return "maybe" if "maybe" in hits else "no"

    def _path_hit(self, rule: Rule, line: CommandLine, cwd: str) -> Hit:
        folders: set[str] = {cwd}
        words: list[Word] = []
        if line.program is not None:
            for placed in place_commands(line.program, cwd, self.workspace.home):
                folders |= placed.folders or set()
                words += placed.loop_words
        commands, _ = visible_commands(line.commands)
        words += (word for command in commands for word in self._touched(rule, command))
        texts = {word.text for word in words}
        if line.program is None and (rule.tool == "read_file" or not line.commands):
            texts |= set(bare_words(line.text)) if rule.pattern is not None else set()
        # Nobody writes so many; to look at them all would hold up everything else.
        if len(texts) > _MAX_WORDS:
            return "yes"
        paths = (path for text in texts for path in self._paths(text, frozenset(folders)))
        if hits_path(rule, (rule.tool,), paths, self.workspace):
            return "yes"
        pattern = rule.pattern
        guess = isinstance(pattern, PathPattern) and any(
            pattern.may_hit(word.text) for word in words if word.wild_at is not None
        )
        return "maybe" if guess else "no"

    def _touched(self, rule: Rule, command: SimpleCommand) -> Iterator[Word]:
        reads = rule.tool == "read_file"
        for redirect in command.redirects:
            if redirect.target is not None and redirect.kind == ("read" if reads else "write"):
                yield redirect.target
        # Which words are files is not known: any word that names a file that may not be read counts.
        if rule.pattern is not None and (reads or base_name(command) in _FILE_CHANGERS):
            yield from command.words[1:]
        if rule.pattern is not None:
            yield from command.assignments

    def _paths(self, text: str, folders: frozenset[str]) -> Iterator[str]:
        yield from resolved_candidates(text, folders, self.workspace)
        for piece in path_candidates(text):
            for folder in folders:
                yield os.path.normpath(os.path.join(folder, piece))


def _is_stream(redirect: Redirect) -> bool:
    """Whether a redirection goes to /dev/null or a descriptor, which needs no rule."""
    target = redirect.target
    return target is not None and target.literal and target.text in _NO_FILE
