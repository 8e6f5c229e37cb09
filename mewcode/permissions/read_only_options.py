"""The programs that run freely within the workspace, and the options each may have.

A program is here only if, with these options, it writes no file, runs no other program, changes nothing and
reads nothing but its operands. An option is here only if the manual of every implementation in use (GNU,
BSD, busybox) gives it that same harmless meaning, or refuses it. What is missing asks.
"""

from __future__ import annotations

from typing import Literal

import msgspec


class Program(msgspec.Struct, frozen=True):
    """``flags``: short options without a value; ``values``: short options with one, which is never a path.

    ``longs`` likewise; ``long_values`` only as ``--name=value``, since with a blank some implementations
    take the next word for an operand. ``attached``: short options with a number directly behind.
    ``operands``: files, text that names no file, or none at all; the first ``text_first`` operands are text
    (a pattern), unless one of ``pattern_options`` gave it. ``count``: how many operands may be given.
    ``recursive``: options that read whole folders; ``always_recursive`` without. ``digits``: ``-5`` is a
    count. ``plain_files``: folders would be read through the links in them.
    """

    flags: str = ""
    values: str = ""
    longs: frozenset[str] = frozenset()
    long_values: frozenset[str] = frozenset()
    operands: Literal["files", "text", "none"] = "files"
    text_first: int = 0
    pattern_options: frozenset[str] = frozenset()
    count: int = 10_000
    recursive: frozenset[str] = frozenset()
    always_recursive: bool = False
    digits: bool = False
    attached: str = ""
    plain_files: bool = False


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_HASH = Program("bt")
_GREP = Program(
    "EFGPcHhilLnoqsvwxyaIr",
    "eABCm",
    _names(
        "--extended-regexp --fixed-strings --basic-regexp --perl-regexp --count --with-filename --no-filename"
        " --ignore-case --files-with-matches --files-without-match --line-number --only-matching --quiet"
        " --no-messages --invert-match --word-regexp --line-regexp --recursive --text --color --colour"
    ),
    _names(
        "--regexp --after-context --before-context --context --max-count --include --exclude --exclude-dir"
        " --color --colour --binary-files"
    ),
    text_first=1,
    pattern_options=_names("-e --regexp"),
    recursive=_names("-r --recursive"),
)

PROGRAMS: dict[str, Program] = {
    "ls": Program(
        "1aAlhtrSdFRpnogisucTx",
        "",
        _names(
            "--all --almost-all --human-readable --recursive --reverse --size --directory --full-time --color"
        ),
        _names("--color --sort --time-style"),
        recursive=_names("-R --recursive"),
    ),
    "pwd": Program("LP", operands="none"),
    "cat": Program("nbsEvTAet", "", _names("--number --number-nonblank --squeeze-blank --show-all")),
    "head": Program("q", "nc", _names("--quiet"), _names("--lines --bytes"), digits=True),
    "tail": Program("q", "nc", _names("--quiet"), _names("--lines --bytes"), digits=True),
    "wc": Program("lwcmL", "", _names("--lines --words --bytes --chars")),
    "nl": Program("", "bwsn"),
    "grep": _GREP,
    "egrep": _GREP,
    "fgrep": _GREP,
    "rg": Program(
        "nNiSslcvwFxoHIU",
        "eABCmgtT",
        _names(
            "--line-number --no-line-number --ignore-case --smart-case --case-sensitive --files-with-matches"
            " --count --invert-match --word-regexp --fixed-strings --only-matching --hidden --no-ignore"
            " --heading --no-heading --multiline --no-config --files-without-match --count-matches --column"
        ),
        _names(
            "--regexp --after-context --before-context --context --max-count --glob --type --type-not --color"
            " --max-depth --sort"
        ),
        text_first=1,
        pattern_options=_names("-e --regexp"),
        always_recursive=True,
    ),
    "echo": Program(operands="text"),
    "true": Program(operands="text"),
    "false": Program(operands="text"),
    ":": Program(operands="text"),
    "which": Program("a", operands="text"),
    "stat": Program("x", "c", _names("--terse"), _names("--format --printf")),
    "file": Program("bihI", "", _names("--brief --mime --mime-type --mime-encoding")),
    "basename": Program("a", "s", operands="text"),
    "dirname": Program(operands="text"),
    "realpath": Program("e", "", _names("--canonicalize-existing")),
    "readlink": Program("f"),
    "sort": Program(
        "nrubfghVdiMsc",
        "kt",
        _names("--numeric-sort --reverse --unique --ignore-case --version-sort --human-numeric-sort --check"),
        _names("--key --field-separator"),
    ),
    "uniq": Program("cdui", "", _names("--count --repeated --unique --ignore-case"), count=1),
    "cut": Program(
        "s", "dfcb", _names("--only-delimited"), _names("--delimiter --fields --characters --bytes")
    ),
    "tr": Program("dscC", "", _names("--delete --squeeze-repeats --complement"), operands="text"),
    "diff": Program(
        "uqwbBiyaN", "U", _names("--unified --brief --ignore-all-space --ignore-space-change --side-by-side"),
        _names("--unified --color"), plain_files=True,
    ),
    "cmp": Program("sl", "", _names("--silent --quiet")),
    "comm": Program("123"),
    "du": Program("shackm", "d", _names("--summarize --human-readable"), _names("--max-depth")),
    "uname": Program("asrmno", operands="none"),
    "whoami": Program(operands="none"),
    "id": Program("ung", operands="none"),
    "nproc": Program(operands="none"),
    "seq": Program("w", "s", operands="text"),
    "md5sum": _HASH,
    "sha1sum": _HASH,
    "sha256sum": _HASH,
}  # fmt: skip

_DIFF_FLAGS = "wbMRzps"
_DIFF_LONGS = _names(
    "--stat --shortstat --numstat --name-only --name-status --summary --no-color --color --patch --no-patch"
    " --minimal --ignore-all-space --ignore-space-change --ignore-blank-lines --word-diff --find-renames"
    " --check --raw --no-renames --function-context --cached --staged --merge-base --exit-code --quiet"
    " --compact-summary --dirstat --no-ext-diff --no-textconv"
)
_DIFF_VALUES = _names("--stat --color --word-diff --diff-filter --find-renames --unified --abbrev")
_LOG_LONGS = _DIFF_LONGS | _names(
    "--oneline --graph --all --decorate --no-decorate --follow --merges --no-merges --first-parent --reverse"
    " --abbrev-commit --branches --tags --remotes --left-right --cherry-pick --date-order --topo-order"
    " --ignore-case --regexp-ignore-case --full-history"
)
_LOG_VALUES = _DIFF_VALUES | _names(
    "--format --pretty --since --until --after --before --author --committer --grep --date --max-count --skip"
    " --decorate"
)

# `git log -p` and `git diff` run what a repository's own config names: only where the folder is trusted.
GIT: dict[str, Program] = {
    "status": Program(
        "sbvz", "", _names("--short --branch --porcelain --long --ignored --show-stash"),
        _names("--porcelain --untracked-files"),
    ),
    "log": Program(_DIFF_FLAGS + "i", "nSG", _LOG_LONGS, _LOG_VALUES, digits=True, attached="U"),
    "show": Program(_DIFF_FLAGS, "n", _LOG_LONGS, _LOG_VALUES, attached="U"),
    "diff": Program(_DIFF_FLAGS, "SG", _DIFF_LONGS, _DIFF_VALUES, attached="U"),
    "branch": Program(
        "arv", "", _names("--list --all --remotes --show-current --verbose --no-color"), operands="none"
    ),
    "rev-parse": Program(
        longs=_names(
            "--show-toplevel --abbrev-ref --short --verify --git-dir --is-inside-work-tree --show-prefix"
        ),
        long_values=_names("--short"),
    ),
    "ls-files": Program(
        "mocdsz", "", _names("--modified --others --cached --deleted --stage --exclude-standard --full-name")
    ),
}  # fmt: skip
