"""What a note's text names that can be there or not: paths, symbols, commands, links. By form alone, nothing
is looked at: untrusted text, of any length, in any script.

Rather a name too few than one too many: ``and/or``, a branch, a library's function are no reason to call a
note out of date.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Literal
from urllib.parse import unquote

import msgspec

Kind = Literal["path", "symbol", "command", "link"]

MOST_READ = 64_000
"""Characters of a text that are looked at."""
MOST = 60
"""References of a text that are given."""

_FENCED = re.compile(
    r"^[ \t]*(`{3,16}|~{3,16})[^\n]*\n(.*?)(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE
)
_PROMPT = re.compile(r"^[ \t]*\$[ \t]+(\S[^\n]*)$", re.MULTILINE)
_LINK = re.compile(
    r"\[[^\[\]\n]{0,200}\]\([ \t]*(?:<([^<>\n]{1,500})>|([^()\s<>]{1,500}))(?:[ \t][^()\n]{0,200})?\)"
)
_FILE_URL = re.compile(r"(?<![A-Za-z0-9])file://[^\s()<>\[\]\"'`]{1,500}", re.IGNORECASE)
_SPAN = re.compile(r"(?<!`)(`{1,8})([^`\n]{1,300})\1(?!`)")
_URL = re.compile(r"(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9+.-]{0,20}://\S*")
_WORDS = re.compile(r"(?<![A-Za-z0-9_./\\~$@:%{}*<>+-])/?(?:[A-Za-z0-9_.+@-]{1,255}/)+[A-Za-z0-9_.+@-]*")
_PATH = re.compile(r"/?(?:[\w.+@-]+/)*[\w.+@-]+/?")
_LINE_BEHIND = re.compile(r"(?::\d+(?:[:-]\d+)*|#[A-Za-z0-9_-]+)\Z")
_ENDING = re.compile(r"[\w+@-]\.([A-Za-z][A-Za-z0-9]{0,7})\Z")
_HOST = re.compile(
    r"(?:www\.)?(?:[a-z0-9-]+\.)+(?:com|org|net|io|dev|cn|ai|app|edu|gov|co|me|sh|de|uk)", re.I
)
_SYMBOL = re.compile(r"([A-Za-z_]\w*(?:(?:\.|::)[A-Za-z_]\w*)*)(\([^()]*\))?", re.ASCII)
_HUMPS = re.compile(r"(?=.*[a-z])[A-Za-z][a-z0-9]*[A-Z][A-Za-z0-9]*")
_SNAKES = re.compile(r"_*[a-z][a-z0-9]*(?:_+[a-z0-9]+)+")
_PRODUCT = re.compile(r"[A-Z][a-z]+\.js")
_PROGRAM = re.compile(r"[a-z][a-z0-9._+-]{0,60}")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=\S*")

# Of a file name that stands alone; `x.y` of any other ending is a symbol.
_FILES = frozenset({
    "bat", "c", "cc", "cfg", "conf", "cpp", "cs", "css", "csv", "dart", "env", "ex", "exs", "go",
    "gradle", "h", "hpp", "hs", "html", "ini", "ipynb", "java", "jl", "js", "json", "jsonl", "jsx",
    "kt", "less", "lock", "lua", "md", "mdx", "mjs", "mk", "php", "pl", "proto", "ps1", "py", "pyi",
    "r", "rb", "rs", "rst", "sass", "scala", "scss", "sh", "sql", "svelte", "svg", "swift", "tex", "tf",
    "toml", "ts", "tsx", "txt", "vue", "xml", "yaml", "yml", "zig",
})  # fmt: skip
_OF_THE_LANGUAGE = frozenset({
    "abs", "all", "any", "Array", "bool", "console", "Date", "dict", "document", "enumerate", "eval",
    "exec", "filter", "float", "format", "getattr", "hasattr", "id", "input", "int", "isinstance",
    "iter", "JSON", "len", "list", "map", "Math", "max", "min", "next", "Object", "object", "open",
    "print", "Promise", "range", "repr", "reversed", "round", "set", "setattr", "sorted", "str",
    "String", "sum", "super", "tuple", "type", "vars", "window", "zip",
})  # fmt: skip
_SELF = ("self", "cls", "this")
# What begins a line of code, or is of the shell itself.
_NO_PROGRAMS = frozenset({
    "alias", "async", "await", "cd", "class", "const", "create", "def", "delete", "do", "done", "echo",
    "else", "eval", "exec", "exit", "export", "false", "fn", "for", "from", "func", "function", "if",
    "import", "insert", "let", "new", "private", "public", "raise", "read", "return", "select", "set",
    "source", "static", "test", "then", "throw", "time", "trap", "true", "type", "unset", "update",
    "use", "using", "var", "wait", "while", "with", "yield",
})  # fmt: skip
# Where one of these stands first, the words are a command though no option follows.
_PROGRAMS = frozenset({
    "bun", "bundle", "cargo", "cmake", "composer", "deno", "docker", "git", "go", "gradle", "invoke",
    "just", "kubectl", "make", "mix", "mvn", "ninja", "nox", "npm", "npx", "pip", "pnpm", "poetry",
    "pre-commit", "pytest", "python", "python3", "rake", "ruff", "sbt", "task", "terraform", "tox",
    "uv", "yarn",
})  # fmt: skip


class Reference(msgspec.Struct, frozen=True):
    """``text``: as it is shown; ``target``: what to look for: a path, identifiers joined by dots, a
    command's words. ``is_sure``: False for a path that may be none: it counts where its first folder is
    there."""

    kind: Kind
    text: str
    target: str
    is_sure: bool = True


def references(text: str) -> tuple[Reference, ...]:
    """What the text names, each once, in no order of meaning; at most `MOST`, in the text's beginning. Takes
    time in proportion to the text."""
    found: dict[tuple[Kind, str], Reference] = {}
    for reference in _found(text[:MOST_READ]):
        found.setdefault((reference.kind, reference.target), reference)
        if len(found) == MOST:
            break
    return tuple(found.values())


def _found(text: str) -> Iterator[Reference]:
    for match in _FENCED.finditer(text):
        for line in _PROMPT.finditer(match[2]):
            yield from _of_command(line[1], is_sure=True)
    text = _FENCED.sub("\n", text)
    for match in _LINK.finditer(text):
        yield from _of_link(match[1] or match[2])
    text = _LINK.sub(" ", text)
    for match in _FILE_URL.finditer(text):
        yield from _of_link(match[0])
    text = _FILE_URL.sub(" ", text)
    for line in _PROMPT.finditer(text):
        yield from _of_command(line[1].replace("`", ""), is_sure=True)
    text = _PROMPT.sub("", text)
    for match in _SPAN.finditer(text):
        yield from _of_span(match[2].strip())
    yield from _of_words(_SPAN.sub(" ", text))


def _of_link(target: str) -> Iterator[Reference]:
    shown = target
    if target.lower().startswith("file://"):
        target = target[len("file://") :].removeprefix("localhost")
        if not target.startswith("/"):
            return
    elif re.match(r"[A-Za-z][A-Za-z0-9+.-]*:|//|#|\?", target) or _HOST.match(target.partition("/")[0]):
        return
    target = unquote(target.partition("#")[0].partition("?")[0])
    if target and not re.search(r"[\0\n*<>{}$|]|\A~", target):
        yield Reference("link", shown, target)


def _of_span(span: str) -> Iterator[Reference]:
    if span.startswith("$ "):
        yield from _of_command(span[2:].strip(), is_sure=True)
        return
    if "://" in span or _PRODUCT.fullmatch(span):
        return
    symbol = _SYMBOL.fullmatch(span)
    if symbol is None and re.search(r"\s", span):
        yield from _of_command(span, is_sure=False)
        return
    head, colons, rest = span.partition("::")
    if colons and _ENDING.search(head):
        yield from _of_span(head)
        yield from _of_span(f"{rest.rpartition('::')[2].partition('[')[0]}()")
        return
    path = _LINE_BEHIND.sub("", span)
    if _PATH.fullmatch(path) and ("/" in path or _names_a_file(path)):
        yield from _of_path(path)
    elif symbol is not None:
        yield from _of_symbol(symbol[1], is_called=symbol[2] is not None)


def _names_a_file(word: str) -> bool:
    ending = _ENDING.search(word)
    return ending is not None and ending[1].lower() in _FILES


def _of_symbol(name: str, *, is_called: bool) -> Iterator[Reference]:
    parts = re.split(r"\.|::", name)
    if len(parts) > 1 and parts[0] in _SELF:
        parts, is_called = parts[1:], True
    if parts[0] in sys.stdlib_module_names or parts[0] in _OF_THE_LANGUAGE:
        return
    if len(parts) > 1 or is_called or _HUMPS.fullmatch(parts[-1]) or _SNAKES.fullmatch(parts[-1]):
        yield Reference("symbol", name, ".".join(parts))


def _of_words(text: str) -> Iterator[Reference]:
    """The words of running text that look like paths."""
    text = _URL.sub(" ", text)
    for match in _WORDS.finditer(text):
        if text[match.end() : match.end() + 1] not in ("*", "?", "<", "{", "$", "[", "\\", "~"):
            yield from _of_path(match[0].rstrip(".+@-"))


def _of_path(path: str) -> Iterator[Reference]:
    first = path.partition("/")[0]
    if not path.strip("./") or "..." in path or path.startswith("path/to") or "//" in path:
        return
    if _HOST.fullmatch(first) or first.startswith("@"):  # a page, a package
        return
    is_sure = path.startswith(("./", "/")) or path.endswith("/") or _ENDING.search(path) is not None
    yield Reference("path", path, path, is_sure)


def _of_command(line: str, *, is_sure: bool) -> Iterator[Reference]:
    words = line.split()
    while words and (_ASSIGNMENT.fullmatch(words[0]) or words[0] == "sudo"):
        del words[0]
    if not words:
        return
    first, rest = words[0], words[1:]
    if "/" in first:
        if _PATH.fullmatch(first) and (is_sure or first.startswith("./") or not _HOST.match(first)):
            yield Reference("command", first, first, is_sure or first.startswith("./"))
    elif _PROGRAM.fullmatch(first) and first not in _NO_PROGRAMS:
        has_option = any(len(word) > 1 and word[0] == "-" for word in rest)
        if is_sure or has_option or first in _PROGRAMS:
            task = _task(first, rest)
            yield Reference("command", task or first, task or first)
    yield from _of_words(" ".join(rest))


def _task(program: str, rest: list[str]) -> str:
    """``make deploy``, ``npm run build``: what a file of the project defines; "" where it is none."""
    if program == "make" and rest:
        return f"make {rest[0]}" if re.fullmatch(r"[A-Za-z][\w-]*", rest[0]) else ""
    if program in ("npm", "pnpm", "yarn") and len(rest) > 1 and rest[0] == "run":
        return f"{program} run {rest[1]}" if re.fullmatch(r"[A-Za-z][\w:-]*", rest[1]) else ""
    return ""
