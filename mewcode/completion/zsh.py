"""The completion script for zsh."""

from __future__ import annotations

from collections.abc import Mapping

from mewcode.completion.grammar import Grammar, Option

_HEAD = """\
#compdef mewcode
# Completion of mewcode for zsh. In ~/.zshrc, behind compinit: source <(mewcode completion zsh)
_mewcode_values() {
  local -a found shown
  local line
  for line in ${(f)"$(${words[1]:-mewcode} __complete $1 described 2>/dev/null)"}; do
    found+=("${line%%$'\\t'*}")
    shown+=("${line/$'\\t'/  }")
  done
  compadd -l -V values -d shown -a found
}
"""


def zsh_script(grammars: Mapping[str, Grammar]) -> str:
    """Functions for `_arguments`, one a command."""
    main, commands = grammars[""], {name: grammar for name, grammar in grammars.items() if name}
    text = _HEAD
    text += "_mewcode() {\n  local command=$words[2]\n  case $command in\n"
    for name in commands:
        text += f"    {name}) shift words; (( CURRENT-- )); words[1]=mewcode; _mewcode_{name} ;;\n"
    text += "    *) _mewcode_main ;;\n  esac\n}\n"
    described = " ".join(_quoted(f"{name}:{_plain(grammar.help)}") for name, grammar in commands.items())
    text += f"_mewcode_commands() {{\n  local -a commands=({described})\n  _describe command commands\n}}\n"
    text += _function("main", main, "'1:prompt:_mewcode_commands'")
    for name, grammar in commands.items():
        text += _behind(name, grammar)
        first = [f"'1:word:({' '.join(grammar.words)})'"] if grammar.words else []
        rest = [f"'*:value: _mewcode_behind_{name}'"] if grammar.behind else []
        text += _function(name, grammar, *first, *rest)
    return (
        text + 'if [[ $funcstack[1] == _mewcode ]]; then _mewcode "$@"; else compdef _mewcode mewcode; fi\n'
    )


def _behind(name: str, grammar: Grammar) -> str:
    """The function for what follows the words of a command."""
    if not grammar.behind:
        return ""
    text = f"_mewcode_behind_{name}() {{\n  case $words[2] in\n"
    for item in grammar.behind:
        only = "" if item.is_many else "(( CURRENT != 3 )) || "
        text += f"    {item.word}) {only}_mewcode_values {item.kind} ;;\n"
    return f"{text}  esac\n}}\n"


def _function(name: str, grammar: Grammar, *positional: str) -> str:
    lines = [spec for option in grammar.options for spec in _specs(option)] + [*positional]
    body = " \\\n    ".join(lines)
    return f"_mewcode_{name}() {{\n  _arguments -s -S \\\n    {body}\n}}\n"


def _specs(option: Option) -> list[str]:
    """One specification for each spelling of the flag; where one is given, the others are out."""
    others = "" if option.repeatable else f"({' '.join(option.flags)})"
    repeat = "*" if option.repeatable else ""
    return [
        _quoted(f"{others}{repeat}{flag}{_joined(flag, option)}[{_escaped(option.help)}]{_value(option)}")
        for flag in option.flags
    ]


def _joined(flag: str, option: Option) -> str:
    """`--flag=value` and `--flag value`; of a short flag only the latter."""
    return "=" if option.kind != "none" and flag.startswith("--") and not option.optional else ""


def _value(option: Option) -> str:
    if option.kind == "none":
        return ""
    # A blank in front: the function gets the words that stand here and no others.
    action = {
        "words": f"({' '.join(option.words)})", "folder": "_files -/", "file": "_files", "text": " ",
    }.get(option.kind, f" _mewcode_values {option.kind}")  # fmt: skip
    return f"{'::' if option.optional else ':'}value:{action}"


def _plain(text: str) -> str:
    return text.replace(":", ",").replace("\\", "")


def _escaped(text: str) -> str:
    """Within the brackets of a description."""
    return text.replace("\\", "").replace("[", "(").replace("]", ")").replace(":", ",")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
