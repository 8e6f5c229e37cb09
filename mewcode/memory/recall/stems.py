"""English words made the same in all their forms (the Porter2 stemmer, with irregular forms and the short
forms that programmers type). Pure."""

from __future__ import annotations

import re
from functools import cache, lru_cache

_FORMS = """
be: am is are was were been being
become: became
begin: began begun
bend: bent
bind: bound
bite: bit bitten
blow: blew blown
break: broke broken
bring: brought
build: built
burn: burnt
buy: bought
catch: caught
choose: chose chosen
come: came
cut: cutting
deal: dealt
dig: dug
do: does did done doing
draw: drew drawn
dream: dreamt
drink: drank drunk
drive: drove driven
eat: ate eaten
fall: fell fallen
feed: fed
feel: felt
fight: fought
find: found
fly: flew flown
forbid: forbade forbidden
forget: forgot forgotten
forgive: forgave forgiven
freeze: froze frozen
get: got gotten getting
give: gave given
go: goes went gone
grow: grew grown
hang: hung
have: has had having
hear: heard
hide: hid hidden
hold: held
keep: kept
know: knew known
lead: led
learn: learnt
leave: left
lend: lent
lie: lying lain
lose: lost
make: made
mean: meant
meet: met
overwrite: overwrote overwritten
pay: paid
prove: proven
ride: rode ridden
ring: rang rung
rise: rose risen
run: ran running
say: said
see: saw seen
seek: sought
sell: sold
send: sent
set: setting
shake: shook shaken
shine: shone
shoot: shot
show: shown
shrink: shrank shrunk
sing: sang sung
sink: sank sunk
sit: sat
sleep: slept
speak: spoke spoken
spend: spent
split: splitting
stand: stood
steal: stole stolen
stick: stuck
strike: struck
swim: swam swum
take: took taken
teach: taught
tear: tore torn
tell: told
think: thought
throw: threw thrown
understand: understood
wake: woke woken
wear: wore worn
win: won
write: wrote written
child: children
foot: feet
index: indices indexes
man: men
mouse: mice
person: people
tooth: teeth
wife: wives
woman: women
application: app apps
argument: arg args
authentication: auth
configuration: config configs cfg conf
continuousintegration: ci
credential: creds cred
database: db dbs
dependency: dep deps
development: dev
directory: dir dirs
documentation: doc docs
environment: env envs
error: err errs
function: func fn
implementation: impl
infrastructure: infra
javascript: js
kubernetes: k8s
library: lib libs
message: msg msgs
package: pkg pkgs
parameter: param params
password: pwd passwd
performance: perf
postgresql: postgres pg
production: prod
python: py
repository: repo repos
request: req reqs
specification: spec specs
statistic: stats
temporary: tmp temp
typescript: ts
variable: var vars
"""
"""A word, and the forms that no rule leads to it."""
_APART = """
accessibility
accounting: accountant accountants
activity: activities
animation: animations animate animated
apartment: apartments
authorization: authorizations authorize authorizes authorized authorizing authorise authorised unauthorized
business: businesses
computer: computers
conversion: conversions
customer: customers
department: departments
disability: disabilities
engineer: engineers engineering
evening: evenings
executable: executables
executive: executives
experience: experiences experienced
experiment: experiments experimental
fry: fries fried frying
identity: identities
important: importance importantly
installment: installments
internal: internally
international: internationally internationalization
literal: literals literally
locale: locales localization localize localized
marketing
memorial: memorials
objective: objectives
organic
paste: pastes pasted pasting
personal: personally
personality: personalities
producer: producers
production: productions
relative: relatives
responsible: responsibility responsibilities
responsive: responsiveness
suite: suites
terminal: terminals
universal: universally
university: universities
utility: utilities util utils
wedding: weddings
"""
"""Words of which the rules would make the stem of a word of another meaning, and their forms."""
_FIXED = {
    "skis": "ski", "skies": "sky", "dying": "die", "tying": "tie", "idly": "idl", "gently": "gentl",
    "ugly": "ugli", "early": "earli", "only": "onli", "singly": "singl", "sky": "sky", "news": "news",
    "howe": "howe", "atlas": "atlas", "cosmos": "cosmos", "bias": "bias", "andes": "andes",
}  # fmt: skip
_FIXED_AFTER_PLURAL = frozenset(
    ("inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed")
)
_STEP_2 = {
    "ational": "ate", "ization": "ize", "fulness": "ful", "ousness": "ous", "iveness": "ive",
    "tional": "tion", "biliti": "ble", "lessli": "less", "entli": "ent", "ation": "ate", "alism": "al",
    "aliti": "al", "ousli": "ous", "iviti": "ive", "fulli": "ful", "enci": "ence", "anci": "ance",
    "abli": "able", "izer": "ize", "ator": "ate", "alli": "al", "bli": "ble",
}  # fmt: skip
_STEP_3 = {
    "ational": "ate", "tional": "tion", "alize": "al", "icate": "ic", "iciti": "ic", "ical": "ic",
    "ness": "", "ful": "",
}  # fmt: skip
_STEP_4 = (
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous", "ive", "ize",
    "al", "er", "ic",
)  # fmt: skip
_DOUBLES = ("bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt")
_REGION = r"[aeiouy][^aeiouy]"
_SHORT_END = r"(?:[^aeiouy][aeiouy][^aeiouywxY]|^[aeiouy][^aeiouy])$"
_VOWEL = "[aeiouy]"


@cache
def _forms() -> dict[str, str]:
    return _words_of(_FORMS)


@cache
def _apart() -> dict[str, str]:
    words = (line.partition(":")[0] for line in _APART.strip().splitlines())
    return {word: word for word in words} | _words_of(_APART)


def _words_of(lines: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in lines.split("\n"):
        word, _, forms = line.partition(":")
        found |= dict.fromkeys(forms.split(), word)
    return found


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """The stem of a word in small letters. What is not English by its letters, or shorter than three of them,
    stays as it is, but for known short forms."""
    word = _forms().get(word, word)
    if word in _apart():
        return _apart()[word]
    if len(word) < 3 or not (word.isascii() and word.isalpha()):
        return word
    if word in _FIXED:
        return _FIXED[word]
    # A y that begins a syllable is a consonant; it stands as Y.
    word = re.sub(r"^y|(?<=[aeiouy])y", "Y", word)
    word = _singular(word)
    if word in _FIXED_AFTER_PLURAL:
        return word
    first = _first_region(word)
    word = _without_ending(word, first)
    if len(word) > 2 and word[-1] in "yY" and word[-2] not in "aeiouy":
        word = word[:-1] + "i"
    second = _region_after(word, first)
    word = _step_2(word, first)
    word = _step_3(word, first, second)
    word = _step_4(word, second)
    return _step_5(word, first, second).lower()


def _first_region(word: str) -> int:
    for start in ("gener", "commun", "arsen"):
        if word.startswith(start):
            return len(start)
    return _region_after(word, 0)


def _region_after(word: str, start: int) -> int:
    found = re.compile(_REGION).search(word, start)
    return found.end() if found else len(word)


def _singular(word: str) -> str:
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith(("ied", "ies")):
        return word[:-2] if len(word) > 4 else word[:-1]
    if word.endswith("s") and not word.endswith(("us", "ss")) and re.search(_VOWEL, word[:-2]):
        return word[:-1]
    return word


def _without_ending(word: str, first: int) -> str:
    """Without -ed and -ing."""
    for ending in ("eedly", "eed"):
        if word.endswith(ending):
            return word[: -len(ending)] + "ee" if len(word) - len(ending) >= first else word
    for ending in ("ingly", "edly", "ing", "ed"):
        if word.endswith(ending):
            base = word[: -len(ending)]
            return _mended(base, first) if re.search(_VOWEL, base) else word
    return word


def _mended(base: str, first: int) -> str:
    if base.endswith(("at", "bl", "iz")):
        return base + "e"
    if base.endswith(_DOUBLES):
        return base[:-1]
    if first >= len(base) and re.search(_SHORT_END, base):
        return base + "e"
    return base


def _step_2(word: str, first: int) -> str:
    for ending, instead in _STEP_2.items():
        if word.endswith(ending):
            base = word[: -len(ending)]
            return base + instead if len(base) >= first else word
    if word.endswith("ogi") and word[-4:-3] == "l" and len(word) - 3 >= first:
        return word[:-1]
    if word.endswith("li") and word[-3:-2] in tuple("cdeghkmnrt") and len(word) - 2 >= first:
        return word[:-2]
    return word


def _step_3(word: str, first: int, second: int) -> str:
    for ending, instead in _STEP_3.items():
        if word.endswith(ending):
            base = word[: -len(ending)]
            return base + instead if len(base) >= first else word
    if word.endswith("ative") and len(word) - 5 >= second:
        return word[:-5]
    return word


def _step_4(word: str, second: int) -> str:
    for ending in _STEP_4:
        if word.endswith(ending):
            base = word[: -len(ending)]
            return base if len(base) >= second else word
    if word.endswith("ion") and word[-4:-3] in ("s", "t") and len(word) - 3 >= second:
        return word[:-3]
    return word


def _step_5(word: str, first: int, second: int) -> str:
    if word.endswith("e"):
        place = len(word) - 1
        if place >= second or (place >= first and not re.search(_SHORT_END, word[:-1])):
            return word[:-1]
    elif word.endswith("ll") and len(word) - 1 >= second:
        return word[:-1]
    return word
