"""The languages that code blocks are coloured for: their words, and how their tokens look."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from mewcode.repl.theme import Style

# Tokens, as groups that `highlight` knows. Quantifiers are possessive: a line of any text takes linear time.
_DOUBLE = r'(?P<string>"(?:[^"\\]|\\.)*+"?)'
_QUOTES = r"""(?P<string>"(?:[^"\\]|\\.)*+"?|'(?:[^'\\]|\\.)*+'?)"""
_NUMBER = (
    r"(?P<number>\b(?:0[xX][0-9a-fA-F_]++|0[bo][0-7_]++|"
    r"[0-9][0-9_]*+(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)\w*+)"
)
_WORD = r"(?P<word>[A-Za-z_][A-Za-z0-9_]*+)"
_SLASHES = r"(?P<comment>//.*)"
_HASH = r"(?P<comment>(?<![^\s;|&(])#.*)"


@dataclass(frozen=True)
class Language:
    """``pattern`` finds tokens; its group ``long`` begins what may go on for lines, up to the end that
    ``long_ones`` gives for it. ``line_styles`` instead colours whole lines by how they start."""

    pattern: str = ""
    keywords: frozenset[str] = frozenset()
    any_case: bool = False
    long_ones: Mapping[str, tuple[str, Style]] = field(default_factory=dict)
    line_styles: tuple[tuple[str, Style], ...] = ()

    @cached_property
    def tokens(self) -> re.Pattern[str]:
        """Compiled when the first block of the language is shown: it takes a millisecond or two."""
        return re.compile(self.pattern)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BLOCK_COMMENT: Mapping[str, tuple[str, Style]] = {"/*": ("*/", "comment")}
_LONG_COMMENT = r"(?P<long>/\*)"


def _c_like(keywords: str, strings: str = _QUOTES, ticks: bool = False) -> Language:
    """Comments as in C; with ``ticks`` strings in backticks that go over lines."""
    long_ones: dict[str, tuple[str, Style]] = dict(_BLOCK_COMMENT)
    if ticks:
        long_ones["`"] = ("`", "string")
    long = r"(?P<long>/\*|`)" if ticks else _LONG_COMMENT
    return Language(
        "|".join((_SLASHES, long, strings, _NUMBER, _WORD)), _words(keywords), long_ones=long_ones
    )


# A quote that no second one follows is a lifetime or a digit separator.
_CHAR_OR_DOUBLE = r"""(?P<string>"(?:[^"\\]|\\.)*+"?|'(?:[^'\\]|\\.[^']*+)')"""

_PYTHON = Language(
    "|".join(
        (
            r"(?P<comment>#.*)",
            r"""(?P<long>\b[rRbBuUfF]{0,2}(?:\"\"\"|''')|\"\"\"|''')""",
            r"""(?P<string>(?:\b[rRbBuUfF]{1,2})?(?:"(?:[^"\\]|\\.)*+"?|'(?:[^'\\]|\\.)*+'?))""",
            r"(?P<name>@[A-Za-z_][\w.]*+)",
            _NUMBER,
            _WORD,
        )
    ),
    _words(
        "and as assert async await break case class continue def del elif else except finally for "
        "from global if import in is lambda match nonlocal not or pass raise return try type while "
        "with yield None True False self"
    ),
    long_ones={'"""': ('"""', "string"), "'''": ("'''", "string")},
)
_JAVASCRIPT = _c_like(
    "abstract any as async await boolean break case catch class const constructor continue declare "
    "default delete do else enum export extends false finally for from function get if implements "
    "import in instanceof interface keyof let namespace never new null number of private protected "
    "public readonly return set static string super switch this throw true try type typeof undefined "
    "unknown var void while yield",
    ticks=True,
)
_RUST = _c_like(
    "as async await box break const continue crate dyn else enum extern false fn for if impl in let "
    "loop match mod move mut pub ref return self Self static struct super trait true type unsafe use "
    "where while Some None Ok Err bool char f32 f64 i8 i16 i32 i64 i128 isize str String u8 u16 u32 "
    "u64 u128 usize Vec Option Result Box",
    _CHAR_OR_DOUBLE,
)
_GO = _c_like(
    "any bool break byte case chan const continue default defer else error fallthrough false float32 "
    "float64 for func go goto if import int int8 int16 int32 int64 interface iota map nil package "
    "range return rune select string struct switch true type uint uint8 uint16 uint32 uint64 var",
    _CHAR_OR_DOUBLE,
    ticks=True,
)
_C = _c_like(
    "alignas auto bool break case catch char class co_await concept const constexpr const_cast "
    "continue decltype default delete do double dynamic_cast else enum explicit extern false final "
    "float for friend goto if inline int long mutable namespace new noexcept nullptr NULL operator "
    "override private protected public register requires return short signed sizeof static "
    "static_cast struct switch template this throw true try typedef typename union unsigned using "
    "virtual void volatile while",
    r"""(?P<keyword>^\s*+#\s*+[a-z]++)|""" + _CHAR_OR_DOUBLE,
)
_JAVA = _c_like(
    "abstract as assert async await base bool boolean break byte case catch char class const continue "
    "data decimal default defer do double else enum extends extension false final finally float for "
    "foreach fun func guard if implements import in init instanceof int interface internal is let "
    "long native new nil null object open operator out override package permits private protected "
    "public readonly record ref return sealed self short static string struct super switch "
    "synchronized this throw throws transient true try typeof using val var virtual void volatile "
    "when where while yield",
    r"(?P<name>@[A-Za-z_]\w*+)|" + _CHAR_OR_DOUBLE,
)
_JSON = Language(
    "|".join(
        (
            _SLASHES,
            r'(?P<name>"(?:[^"\\]|\\.)*+"(?=\s*+:))',
            _DOUBLE,
            r"(?P<number>-?\b[0-9][0-9.eE+-]*+)",
            _WORD,
        )
    ),
    _words("true false null"),
)
_BASH = Language(
    "|".join(
        (
            _HASH,
            r"(?P<name>\$(?:\w++|\{[^}]*+\}?|[@#?$!*-]))",
            r"""(?P<string>"(?:[^"\\]|\\.)*+"?|'[^']*+'?)""",
            r"(?P<word>[A-Za-z_][A-Za-z0-9_.-]*+)",
        )
    ),
    _words(
        "if then else elif fi for in do done while until case esac function return local export "
        "readonly declare set unset shift exit break continue trap source alias echo cd sudo"
    ),
)
_HTML = Language(
    "|".join(
        (
            r"(?P<long><!--)",
            r"(?P<keyword></?[A-Za-z][\w:.-]*+|/?>)",
            r"(?P<name>\b[A-Za-z_:@][\w:.-]*+(?==))",
            r"""(?P<string>"[^"]*+"?|'[^']*+')""",
            r"(?P<number>&#?\w++;)",
        )
    ),
    long_ones={"<!--": ("-->", "comment")},
)
_CSS = Language(
    "|".join(
        (
            _LONG_COMMENT,
            _QUOTES,
            r"(?P<keyword>@[\w-]++)",
            r"(?P<number>#[0-9a-fA-F]{3,8}\b|-?\b[0-9][0-9.]*+[a-z%]*+)",
            r"(?P<name>[\w-]++(?=\s*+:))",
        )
    ),
    long_ones=_BLOCK_COMMENT,
)
_YAML = Language(
    "|".join(
        (
            _HASH,
            r"(?P<name>(?:(?<=^)|(?<=[ \-]))[\w./-]++(?=:(?:\s|$)))",
            _QUOTES,
            r"(?P<number>(?<=[ \[,])-?[0-9][0-9.]*+(?=[\s,\]]|$))",
            r"(?P<keyword>^\[.*\]|---|[&*][A-Za-z]\w*+)",
            _WORD,
        )
    ),
    _words("true false null yes no on off"),
)
_TOML = Language(
    "|".join(
        (
            _HASH,
            r"(?P<keyword>^\s*+\[.*\])",
            r"(?P<name>^\s*+[\w.-]++(?=\s*+=))",
            _QUOTES,
            _NUMBER,
            _WORD,
        )
    ),
    _words("true false"),
)
_SQL = Language(
    "|".join((r"(?P<comment>--.*)", _LONG_COMMENT, r"""(?P<string>'(?:[^']|'')*+'?)""", _NUMBER, _WORD)),
    _words(
        "add all alter and as asc begin between by case cast check column commit constraint create "
        "cross database default delete desc distinct drop else end exists explain false foreign from "
        "full function group having if in index inner insert into is join key left like limit not "
        "null offset on or order outer over partition primary references replace returning right "
        "rollback select set table then transaction trigger true union unique update using values "
        "view when where with boolean bigint char date decimal float int integer json numeric real "
        "serial smallint text timestamp uuid varchar"
    ),
    any_case=True,
    long_ones=_BLOCK_COMMENT,
)
_DIFF = Language(
    line_styles=(
        ("+++", "name"),
        ("---", "name"),
        ("@@", "accent"),
        ("+", "added"),
        ("-", "removed"),
        ("diff ", "keyword"),
        ("index ", "comment"),
    )
)

_NAMES: dict[str, Language] = {
    name: language
    for names, language in (
        ("python py python3 pyi ipython starlark", _PYTHON),
        ("javascript js jsx mjs cjs typescript ts tsx node vue svelte", _JAVASCRIPT),
        ("rust rs", _RUST),
        ("go golang", _GO),
        ("c h cpp c++ cc cxx hpp cuda objective-c objc", _C),
        ("java kotlin kt scala swift csharp c# cs dart groovy php", _JAVA),
        ("json jsonc json5 jsonl", _JSON),
        ("bash sh shell zsh fish console shell-session dockerfile makefile make ruby rb perl", _BASH),
        ("html xml svg xhtml markup", _HTML),
        ("css scss less", _CSS),
        ("yaml yml", _YAML),
        ("toml ini conf cfg properties dotenv env", _TOML),
        ("sql postgresql postgres mysql sqlite plsql", _SQL),
        ("diff patch udiff", _DIFF),
    )
    for name in names.split()
}


def language_named(info: str) -> Language | None:
    """The language that a fence's info string names first ("python", "ts title=x", "{.rust}")."""
    for word in info.replace("{", " ").replace(",", " ").replace("}", " ").split():
        return _NAMES.get(word.lstrip(".").lower())
    return None
