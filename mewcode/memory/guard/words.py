"""Words by which a rule in prose and a command in a shell are compared.

Both sides are made alike: lower case, without endings, verbs that mean the same made one, and the verbs of
Chinese rules put into the words that commands are made of.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import msgspec

_MOST_COMMAND = 10_000
"""Characters of a command that are looked at."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ALIKE = {
    "delete": "rm", "remove": "rm", "unlink": "rm", "erase": "rm",
    "change": "edit", "modify": "edit", "touch": "edit", "write": "edit", "overwrite": "edit",
    "alter": "edit", "update": "edit", "rewrite": "edit",
    "master": "main", "trunk": "main",
    "rebasing": "rebase", "merging": "merge", "releasing": "release", "amending": "amend",
}  # fmt: skip
_CHINESE = {
    "强制推送": "force push", "强推": "force push", "推送": "push", "推到": "push", "提交": "commit",
    "删除": "rm", "删掉": "rm", "合并": "merge", "安装": "install", "发布": "publish", "部署": "deploy",
    "修改": "edit", "编辑": "edit", "改动": "edit", "更改": "edit", "写入": "edit", "重置": "reset",
    "变基": "rebase", "主分支": "main", "主干": "main", "回滚": "revert",
}  # fmt: skip
_STOP = _words(
    """a an and any anything again all at be been branch branches by code command commands directly
    do done each ever every file files first folder folders for from here i in into is it its just
    me my of on onto or our over please project repo repository run running straight that the their
    them there these they this to use used using via we when with you your yourself hand manually
    myself someone"""
)
"""What a rule may say beside the words that count."""
_CHINESE_STOP = (
    "直接", "分支", "文件夹", "文件", "目录", "代码", "任何", "所有", "使用", "运行", "执行", "项目", "仓库",
    "命令", "里面", "这个", "那个", "我们", "请", "用", "跑", "到", "在", "往", "向", "把", "对", "里", "的",
    "了", "再", "去", "上",
)  # fmt: skip
_CODE = re.compile(r"`+([^`\n]+)`+")
_WORD = re.compile(r"--?[A-Za-z][\w-]*|[A-Za-z0-9_~.@*][\w./@~*+-]*|[一-鿿]+")
_OPERATORS = frozenset((";", "&", "&&", "|", "||", "\n", "(", ")", "|&", ";;"))
_FORCING = frozenset(("-f", "--force", "--force-with-lease"))
_WITH_VERBS = _words(
    """git hg svn gh npm pnpm yarn npx bun cargo go docker podman kubectl helm terraform pip pipx uv poetry
    conda brew apt apt-get dnf make just gradle mvn dotnet systemctl"""
)
"""Programs whose next word says what they do."""
_EDITING = _words("sed tee mv cp truncate patch dd install")


class Step(msgspec.Struct, frozen=True):
    """A simple command. ``first``: what is run, and what that is told to do. ``words``: all forms in which a
    rule may name a word of it."""

    first: tuple[str, ...]
    words: frozenset[str]


def stem(word: str) -> str:
    """An English word without its ending, and as the one of its kind; what is no word stays."""
    word = word.casefold()
    if word in _ALIKE:
        return _ALIKE[word]
    if not word.isascii() or not word.isalpha() or len(word) < 5:
        return word
    for ending in ("ing", "ed", "es", "s"):
        root = word.removesuffix(ending)
        if root != word and len(root) > 2 and not (ending == "s" and root.endswith("s")):
            if len(root) > 3 and root[-1] == root[-2] and root[-1] not in "ls":
                root = root[:-1]
            return _ALIKE.get(root, _ALIKE.get(f"{root}e", root))
    return word


_STOP_STEMS = frozenset(stem(word) for word in _STOP)


def rule_words(text: str) -> tuple[str, ...] | None:
    """The words of a clause that a command has to hold; None where it says what no command can be held
    against. What stands in a code span counts word for word."""
    found: list[str] = []
    for code in _CODE.findall(text):
        for word in code.split():
            found += _forms(word)[:1]
    for word in _WORD.findall(_CODE.sub(" ", text)):
        if not word.isascii():
            mapped = _from_chinese(word)
            if mapped is None:
                return None
            found += mapped
            continue
        word = word.casefold().rstrip(".")
        if word in ("force-push", "force-pushing"):
            found += ["force", "push"]
        elif word not in _STOP:
            found += _forms(word)[:1]
    return tuple(dict.fromkeys(word for word in found if word and word not in _STOP_STEMS))


def _from_chinese(text: str) -> list[str] | None:
    """The words that Chinese text means; None where it says more than that."""
    found: list[str] = []
    for name, words in _CHINESE.items():
        if name in text:
            text = text.replace(name, " ")
            found += words.split()
    for word in _CHINESE_STOP:
        text = text.replace(word, " ")
    return None if text.strip() else found


def _forms(word: str) -> list[str]:
    """How a rule may name this word of a command, the nearest first."""
    word = word.casefold().strip("'\"")
    if word.startswith("--"):
        name = word[2:].partition("=")[0]
        return [name, *name.split("-")]
    if re.fullmatch(r"-[a-z]{2,4}", word):
        return ["".join(sorted(word[1:])), word]
    if word.startswith("-"):
        return [word.lstrip("-") or word]
    trimmed = word.removeprefix("./").rstrip("/") or word
    parts = [part for part in re.split(r"[/:]", trimmed) if part]
    return [stem(trimmed), *map(stem, parts)] if len(parts) > 1 else [stem(trimmed)]


def steps_of(command: str, branch: str = "") -> tuple[Step, ...]:
    """The simple commands of a line. ``branch``: where a push without a target goes to. What is quoted and
    holds blanks is text, and no word of the command."""
    lexer = shlex.shlex(command[:_MOST_COMMAND].replace("\n", " ; "), posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        words = list(lexer)
    except ValueError:  # a quote without its end: the shell would not run it either
        words = command[:_MOST_COMMAND].split()
    steps: list[Step] = []
    step: list[str] = []
    for word in [*words, ";"]:
        if word not in _OPERATORS:
            step.append(word)
        elif step:
            steps.append(_step(step, branch))
            step = []
    return tuple(steps)


def _step(words: list[str], branch: str) -> Step:
    while words and re.match(r"[A-Za-z_]\w*=", words[0]):
        words = words[1:]
    words = [word for word in words if not re.search(r"\s", word)]
    forms = {form for word in words for form in _forms(word)}
    plain = [word for word in words if not word.startswith("-")]
    if plain[:2] == ["git", "push"] and _FORCING & set(words):
        forms.add("force")
    # Without a target it goes to the branch that is checked out, as a commit always does.
    if branch and (plain[:2] == ["git", "commit"] or (plain[:2] == ["git", "push"] and len(plain) < 4)):
        forms |= {stem(branch), branch.casefold()}
    program = plain[0].rpartition("/")[2] if plain else ""
    if program in _EDITING or any(word.startswith(">") for word in words):
        forms.add("edit")
    first = tuple(stem(word) for word in (program, *plain[1:2]))[: 2 if program in _WITH_VERBS else 1]
    return Step(first, frozenset(forms | set(first)))


def path_words(path: str) -> Step:
    """A file that is written, as a step."""
    parts = path.split("/")
    forms = {*_forms(path), *map(stem, parts)}
    forms |= {"/".join(parts[:depth]).casefold() for depth in range(2, len(parts))}
    return Step(("edit",), frozenset({"edit", *forms, *_endings(path)}))


def _endings(path: str) -> Iterator[str]:
    """``*.lock`` for what ends so."""
    name = path.rpartition("/")[2].casefold()
    while "." in name:
        name = name.partition(".")[2]
        yield f"*.{name}"


def page_words(url: str, host: str) -> Step:
    """A page that is fetched, as a step."""
    parts = host.split(".")
    hosts = {".".join(parts[index:]) for index in range(len(parts))}
    return Step(("fetch",), frozenset({"fetch", "open", "visit", url.casefold(), *hosts}))
