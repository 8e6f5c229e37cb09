"""Names of notes, and the names of their files.

A note is the same as another where level, type and name are: the name in Unicode's composed form (NFC), case
folded, blanks as one. File names are made to be read, and safe on every file system.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from mewcode.infra.terminal_text import safe_line

SUFFIX = ".md"
MOST_SLUG = 80
"""Bytes of a slug."""
MOST_NAME = 500
"""Characters of a name that are kept."""
_HASH = 6
"""Hexadecimal digits of the hash in a file name."""
_PREFIXES = (
    "user_preference|correction_feedback|project_knowledge|reference_material|user|feedback|project|reference"
)


def one_line(text: str, limit: int = MOST_NAME) -> str:
    """The text on one line, its blanks made one, without what a terminal would act on."""
    return safe_line(text, limit)


def name_key(name: str) -> str:
    """What two names of one note have in common."""
    if name.isascii():
        return " ".join(name.lower().split())
    folded = _folded(name)
    return " ".join(folded.split())


def identity(level: str, kind: str, name: str) -> str:
    """What two notes that are the same have in common."""
    return f"{level}/{kind}/{name_key(name)}"


def slug(name: str) -> str:
    """The letters and digits of a name, of any script, with ``-`` for what is between them; at most
    `MOST_SLUG` bytes, "" where none are left."""
    import unicodedata

    words: list[str] = []
    is_open = False
    size = 0
    for char in name_key(name):
        kind = unicodedata.category(char)
        # Vowel signs and accents stand behind a letter.
        is_kept = kind[0] == "L" or kind == "Nd" or (kind[0] == "M" and is_open)
        if is_kept:
            piece = char if is_open or not words else f"-{char}"
            size += len(piece.encode())
            if size > MOST_SLUG:
                break
            words.append(piece)
        is_open = is_kept
    return "".join(words)


def file_name(kind: str, name: str, is_taken: Callable[[str], bool]) -> str:
    """The file of a new note: ``<type>_<slug>.md``, with a short hash of the name where that ``is_taken`` or
    nothing is left of the name. ``is_taken`` judges a file name as `file_key` makes it."""
    base = slug(name)
    import hashlib  # only for a new note

    digest = hashlib.blake2b(name_key(name).encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()
    if base and not is_taken(file_key(f"{kind}_{base}{SUFFIX}")):
        return f"{kind}_{base}{SUFFIX}"
    # As long as it takes: files may have been named by hand.
    for length in range(_HASH, len(digest) + 1):
        cut = _cut_bytes(base, MOST_SLUG - length - 1)
        found = f"{kind}_{cut}-{digest[:length]}{SUFFIX}" if cut else f"{kind}_{digest[:length]}{SUFFIX}"
        if not is_taken(file_key(found)):
            return found
    number = 2
    while is_taken(file_key(f"{kind}_{digest}-{number}{SUFFIX}")):
        number += 1
    return f"{kind}_{digest}-{number}{SUFFIX}"


def file_key(file: str) -> str:
    """What two names have in common that some file system takes for one file."""
    return file.lower() if file.isascii() else _folded(file)


def name_in_file(file: str) -> tuple[str, str]:
    """The type and the name that a file's name says; the type "" where it says none."""
    stem = file.rpartition("/")[2].removesuffix(SUFFIX)
    found = re.match(rf"({_PREFIXES})_", stem)
    kind = found[1] if found else ""
    rest = stem[found.end() :] if found else stem
    return kind, one_line(rest.replace("-", " ").replace("_", " ")) or one_line(stem) or "note"


def _folded(text: str) -> str:
    import unicodedata  # only where a name is not plain ASCII

    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def _cut_bytes(text: str, limit: int) -> str:
    return text.encode()[:limit].decode("utf-8", "ignore").rstrip("-")
