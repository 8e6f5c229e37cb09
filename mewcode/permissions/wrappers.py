"""Commands within commands, as far as they can be seen: what deny and ask rules look at besides the line
itself.

Only for being stricter. A command found here is never a reason to allow anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from mewcode.permissions.shell import read_command
from mewcode.permissions.shell_words import SimpleCommand, Word

_MAX_DEPTH = 5
_MAX_COMMANDS = 2000
_MAX_SCRIPTS = 200
_MAX_INNER = 200  # words of a command within a command
_MORE_THAN_A_WORD = re.compile(r"[\s;|&$`'\"\\(){}<>!]")

# They run what their arguments say, at any place among their own options.
WRAPPERS = frozenset(
    {
        "sudo", "doas", "env", "nohup", "timeout", "time", "nice", "ionice", "stdbuf", "setsid", "xargs",
        "parallel", "exec", "command", "builtin", "eval", "sh", "bash", "dash", "zsh", "ksh", "fish", "ash",
        "mksh", "rbash", "busybox", "toybox", "ssh", "su", "runuser", "chroot", "unshare", "nsenter",
        "strace", "ltrace", "gdb", "watch", "script", "flock", "entr", "npx", "bunx", "uvx", "direnv",
        "nix-shell", "systemd-run", "at", "batch", "trap", "coproc", "tmux", "screen", "caffeinate", "arch",
        "chrt", "taskset", "cpulimit", "torify", "torsocks", "proxychains", "proxychains4", "firejail",
        "bwrap", "xvfb-run", "dbus-run-session", "unbuffer", "expect", "pkexec", "setarch", "linux32",
        "linux64", "prlimit", "numactl", "catchsegv", "valgrind", "perf", "hyperfine", "fakeroot", "proot",
        "rlwrap", "setpriv", "capsh", "ld.so", "start-stop-daemon", "daemonize", "find", "fd", "fdfind",
        "source", ".", "mapfile", "readarray", "compgen", "alias",
    }
)  # fmt: skip
# Of these only what stands behind such a word is a command.
_RUNNERS = {
    "docker": ("exec", "run"), "podman": ("exec", "run"), "kubectl": ("exec", "run"), "uv": ("run",),
    "poetry": ("run",), "pipenv": ("run",), "pdm": ("run",), "hatch": ("run",), "rye": ("run",),
    "conda": ("run",), "mamba": ("run",), "npm": ("exec", "x"), "pnpm": ("exec", "dlx"), "bun": ("x",),
    "yarn": ("exec", "dlx"), "bundle": ("exec",), "mise": ("exec", "x"), "asdf": ("exec",),
    "nix": ("run", "shell", "develop"), "find": ("-exec", "-execdir", "-ok", "-okdir"),
    "fd": ("-x", "-X", "--exec", "--exec-batch"), "fdfind": ("-x", "-X", "--exec", "--exec-batch"),
    "git": ("--exec", "-x", "foreach", "run"), "toolbox": ("run",), "distrobox": ("enter",),
    "vagrant": ("ssh",), "gh": ("exec",),
}  # fmt: skip
_SCRIPT_READERS = frozenset(
    {
        "sh", "bash", "dash", "zsh", "ksh", "fish", "ash", "mksh", "rbash", "python", "pypy", "node",
        "perl", "ruby", "php", "lua", "deno", "bun", "pwsh", "sudo", "su", "ssh",
    }
)  # fmt: skip
_RUN_INPUT = frozenset({"xargs", "parallel", "at", "batch", "crontab", "source", "."})
_GIT_SCRIPT_BEFORE = frozenset(
    {
        "-c", "-x", "--exec", "foreach", "--upload-pack", "--receive-pack", "--tree-filter", "--index-filter",
        "--msg-filter", "--config", "-u",
    }
)  # fmt: skip
_GIT_SCRIPT_START = (
    "--exec=",
    "--upload-pack=",
    "--receive-pack=",
    "--config=",
    "-c",
    "-x",
    "-O",
    "--extcmd=",
)
# Programs in other languages: their text is searched word by word.
INTERPRETERS = frozenset(
    {
        "python", "python2", "python3", "pypy", "pypy3", "ipython", "node", "nodejs", "deno", "bun", "perl",
        "ruby", "php", "lua", "luajit", "awk", "gawk", "mawk", "nawk", "sed", "tclsh", "osascript", "r",
        "rscript", "julia", "make", "gmake", "just", "ninja", "vim", "vi", "nvim", "ed", "ex", "emacs", "gdb",
        "lldb", "expect", "sqlite3", "psql", "mysql", "tar", "rsync", "scp", "sftp", "man", "less", "more",
        "zip", "pwsh", "jq", "socat", "nc", "ncat",
    }
)  # fmt: skip


def base_name(command: SimpleCommand) -> str:
    """The name without its folder and in lower case, versions left off (``python3.11``); empty if dynamic."""
    return re.sub(r"(?<=[a-z])[0-9.]+$", "", command.name.rpartition("/")[2].lower())


def reads_a_script(command: SimpleCommand) -> bool:
    """Whether it runs what it reads: a shell without a script of its own, xargs and their like."""
    name, options = base_name(command), re.compile(r"-|/dev/stdin$")
    if name in _RUN_INPUT:
        return True
    texts = [word.text for word in command.words[1:]]
    if name not in _SCRIPT_READERS or texts in (["--version"], ["-V"], ["-v"], ["--help"]):
        return False
    return all(word.literal and options.match(word.text) for word in command.words[1:])


def visible_commands(commands: tuple[SimpleCommand, ...]) -> tuple[list[SimpleCommand], list[str]]:
    """The commands, those that can be seen in their arguments, and texts that may hold more but do not
    parse."""
    found: list[SimpleCommand] = []
    texts: list[str] = []
    scripts = 0
    pending = [(command, 0) for command in reversed(commands)]
    while pending and len(found) < _MAX_COMMANDS:
        command, depth = pending.pop()
        found.append(command)
        if depth >= _MAX_DEPTH or not command.words:
            continue
        pending += [(SimpleCommand(suffix), depth + 1) for suffix in _suffixes(command)]
        name = base_name(command)
        if name in INTERPRETERS:
            texts += [word.text for word in command.words[1:] if _MORE_THAN_A_WORD.search(word.text)]
        for script in _scripts(command):
            scripts += 1
            if scripts > _MAX_SCRIPTS:
                texts.append(script)
                continue
            line = read_command(script)
            if line.problem:
                texts.append(script)
            pending += [(inner, depth + 1) for inner in line.commands]
    if pending:
        texts += [" ".join(word.text for word in command.words) for command, _ in pending]
    return found, texts


def _suffixes(command: SimpleCommand) -> Iterator[tuple[Word, ...]]:
    name, words = base_name(command), command.words
    if name in _RUNNERS:
        start = (
            next((at for at, word in enumerate(words) if at and word.text in _RUNNERS[name]), len(words)) + 1
        )
    elif name in WRAPPERS:
        start = 1
    else:
        return
    # Each word may be where the inner command begins: which options take a value is not known here.
    for at in range(start, min(len(words), start + 12)):
        yield words[at : at + _MAX_INNER]


def _scripts(command: SimpleCommand) -> Iterator[str]:
    """Arguments that are themselves lines of shell."""
    name, words = base_name(command), command.words
    if name == "git":
        for before, word in pairwise(words):
            # `-c alias.x='!rm y'`, `--exec 'make test'`; a commit message is no script.
            if before.text in _GIT_SCRIPT_BEFORE or word.text.startswith(_GIT_SCRIPT_START):
                yield (word.text.partition("=")[2] or word.text).lstrip("!")
        return
    if name not in WRAPPERS and name not in _RUNNERS:
        return
    if name in ("eval", "ssh", "watch", "trap", "xargs", "su", "parallel", "tmux"):
        yield " ".join(word.text for word in words[1:])
    for word in words[1:]:
        if _MORE_THAN_A_WORD.search(word.text):
            yield word.text
            # `--command=rm x`, `-c'rm x'`
            yield re.sub(r"^--?[A-Za-z-]+=?", "", word.text)
