"""The completion script for fish."""

from __future__ import annotations

from collections.abc import Mapping

from mewcode.completion.grammar import Grammar, Option

_HEAD = """\
# Completion of mewcode for fish. Once: mewcode completion fish > ~/.config/fish/completions/mewcode.fish
function __mewcode_command
    set -l typed (commandline -opc)
    test (count $typed) -ge 2; and contains -- $typed[2] COMMANDS; and echo $typed[2]
end
function __mewcode_in
    test "$argv[1]" = (__mewcode_command; or echo main)
end
function __mewcode_first
    test (count (commandline -opc)) -eq $argv[1]
end
function __mewcode_word
    set -l typed (commandline -opc)
    test (count $typed) -ge 3; and test $typed[3] = $argv[1]
end
complete -c mewcode -f
"""


def fish_script(grammars: Mapping[str, Grammar]) -> str:
    """`complete` commands, each bound to the sub-command it belongs to."""
    commands = {name: grammar for name, grammar in grammars.items() if name}
    lines = [_HEAD.replace("COMMANDS", " ".join(commands))]
    for name, grammar in commands.items():
        lines.append(f"complete -c mewcode -n '__mewcode_first 1' -a {name} -d {_quoted(grammar.help)}\n")
    for name, grammar in grammars.items():
        within = f"__mewcode_in {name or 'main'}"
        lines += [_complete(within, option) for option in grammar.options]
        for word in grammar.words:
            lines.append(f"complete -c mewcode -n '{within}; and __mewcode_first 2' -a {word}\n")
        for item in grammar.behind:
            place = f"__mewcode_word {item.word}" + ("" if item.is_many else "; and __mewcode_first 3")
            asked = f"(mewcode __complete {item.kind} described)"
            lines.append(f"complete -c mewcode -n '{within}; and {place}' -ka '{asked}'\n")
    return "".join(lines)


def _complete(within: str, option: Option) -> str:
    flags = "".join(
        f" -l {flag[2:]}" if flag.startswith("--") else f" -s {flag[1:]}" for flag in option.flags
    )
    asked = f" -{'' if option.optional else 'x'}ka '(mewcode __complete {option.kind} described)'"
    values = {
        "none": "", "text": " -x", "file": " -rF", "words": f" -x -a {_quoted(' '.join(option.words))}",
        "folder": " -x -a '(__fish_complete_directories)'",
    }.get(option.kind, asked)  # fmt: skip
    return f"complete -c mewcode -n '{within}'{flags}{values} -d {_quoted(option.help)}\n"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
