"""The completion script for bash; it runs in the bash 3.2 of macOS too."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping

from mewcode.completion.grammar import Grammar, Option

_HEAD = """\
# Completion of mewcode for bash. In ~/.bashrc: source <(mewcode completion bash)
_mewcode() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command= values= kind=
  # In `--flag=value` bash takes the sign for a word of its own.
  if [[ $cur == '=' ]]; then
    cur=
  elif [[ $prev == '=' && $COMP_CWORD -ge 2 ]]; then
    prev=${COMP_WORDS[COMP_CWORD-2]}
  fi
  if [[ $COMP_CWORD -ge 2 ]]; then command=${COMP_WORDS[1]}; fi
  COMPREPLY=()
"""

_TAIL = """\
  case $kind in
    folder) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- "$cur")); return ;;
    file) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$cur")); return ;;
    text) return ;;
    sessions|trashed|notes|providers|models) values=$("${COMP_WORDS[0]}" __complete "$kind" 2>/dev/null) ;;
  esac
  COMPREPLY=($(compgen -W "$values" -- "$cur"))
}
complete -F _mewcode mewcode
"""


def bash_script(grammars: Mapping[str, Grammar]) -> str:
    """A function that completes, and its registration. Session ids and the like are asked of the program."""
    main, commands = grammars[""], {name: grammar for name, grammar in grammars.items() if name}
    lines = [_HEAD]
    lines.append("  case $command in\n")
    for name, grammar in commands.items():
        lines.append(f"    {name})\n{_command(grammar)}      ;;\n")
    lines.append(f"    *)\n{_command(main, commands)}      ;;\n  esac\n")
    return "".join(lines) + _TAIL


def _command(grammar: Grammar, commands: Iterable[str] = ()) -> str:
    """The words and flags of one command, and what follows each flag."""
    flags = [flag for option in grammar.options for flag in option.flags]
    valued = [option for option in grammar.options if option.kind != "none"]
    text = "      case $prev in\n" if valued else ""
    for option in valued:
        text += f"        {'|'.join(option.flags)}) {_value(option)} ;;\n"
    text += "      esac\n" if valued else ""
    words = [*grammar.words, *commands]
    only_first = f"[[ $COMP_CWORD -eq {1 if not grammar.name else 2} ]]"
    text += "      if [[ -z $kind && $cur == -* ]]; then\n"
    text += f"        values={shlex.quote(' '.join(flags))}\n"
    if words:
        text += f"      elif [[ -z $kind ]] && {only_first}; then\n"
        text += f"        values={shlex.quote(' '.join(words))}\n"
    if grammar.behind:
        text += "      elif [[ -z $kind ]]; then\n        case ${COMP_WORDS[2]} in\n"
        for item in grammar.behind:
            only = "" if item.is_many else "[[ $COMP_CWORD -ne 3 ]] || "
            text += f"          {item.word}) {only}kind={item.kind} ;;\n"
        text += "        esac\n"
    return text + "      fi\n"


def _value(option: Option) -> str:
    if option.kind == "words":
        return f"kind=words values={shlex.quote(' '.join(option.words))}"
    if option.optional:  # a flag may follow as well
        return f"if [[ $cur != -* ]]; then kind={option.kind}; fi"
    return f"kind={option.kind}"
