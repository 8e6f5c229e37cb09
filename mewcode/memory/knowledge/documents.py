"""Documents on the disk: which there are, whether they changed, and what they say."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from mewcode.core.codec import clean_text
from mewcode.core.errors import MewCodeError
from mewcode.memory.knowledge.pieces import Piece

MOST_FILES = 20_000
"""Documents of all paths together."""
MOST_BYTES = 8_000_000
"""Of one document."""

_TEXTS = {
    ".md": "markdown", ".markdown": "markdown", ".mdx": "markdown", ".txt": "text", ".text": "text",
    ".rst": "rst", ".html": "page", ".htm": "page", ".xhtml": "page", ".py": "docstrings", ".json": "json",
    ".jsonl": "json", ".ndjson": "json", ".csv": "csv", ".tsv": "tsv", ".pdf": "pdf",
}  # fmt: skip
_PLAIN_NAMES = ("README", "CHANGELOG", "NOTES", "HACKING", "INSTALL", "CONTRIBUTING", "LICENSE", "TODO")

Walk = Callable[[Path], Iterable[str]]
"""Gives the files of a folder, relative to it, without those that git ignores."""


class Document(msgspec.Struct, frozen=True):
    """``path``: absolute; ``shown``: as the user knows it; ``sign``: another one when the file changed."""

    path: Path
    shown: str
    sign: str


class Found(msgspec.Struct, frozen=True):
    """``documents`` in the order in which they were found; ``problems``: what could not be looked at."""

    documents: tuple[Document, ...]
    problems: tuple[str, ...]


def kind_of(name: str) -> str:
    """What a file of this name is read as; "" for what is not read."""
    suffix = os.path.splitext(name)[1].casefold()
    return _TEXTS.get(suffix, "text" if not suffix and name.upper() in _PLAIN_NAMES else "")


def find_documents(paths: Sequence[Path], root: Path, walk: Walk) -> Found:
    """The documents in these files and folders, each once. A link within a folder is not followed; a file
    that was named itself may be one. Never raises."""
    found: dict[Path, Document] = {}
    problems: list[str] = []
    for path in paths:
        try:
            if not path.exists():
                problems.append(f"{path} does not exist")
                continue
            is_folder = path.is_dir()
            for file in _files(path, walk) if is_folder else [path]:
                if len(found) >= MOST_FILES:
                    problems.append(f"only the first {MOST_FILES} documents are read")
                    return Found(tuple(found.values()), tuple(problems))
                document = _document(file, root, follow=not is_folder)
                if document is not None:
                    found.setdefault(document.path, document)
                elif not is_folder:
                    problems.append(f"{path} is no document that can be read")
        except OSError as error:  # a name too long, a folder above that may not be entered
            problems.append(f"{path} cannot be looked at: {error.strerror}")
        except RecursionError:
            problems.append(f"{path} has folders too deep within each other: not all of it is read")
    return Found(tuple(found.values()), tuple(problems))


def _files(folder: Path, walk: Walk) -> Iterator[Path]:
    return (folder / name for name in walk(folder))


def _document(path: Path, root: Path, *, follow: bool) -> Document | None:
    if not kind_of(path.name):
        return None
    try:
        status = path.stat(follow_symlinks=follow)
    except OSError:  # gone meanwhile
        return None
    if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_BYTES:
        return None
    path = Path(os.path.abspath(path))
    shown = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
    return Document(path, shown, f"{status.st_mtime_ns}-{status.st_size}-{status.st_ino}")


def pieces_of(path: Path) -> Iterator[Piece]:
    """What a document says. Raises MewCodeError and OSError where it cannot be read."""
    kind = kind_of(path.name)
    # What was a file when it was found may be a pipe by now, which would never end.
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise MewCodeError(f"{path} is no file")
        data = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise MewCodeError(f"{path} has more than {MOST_BYTES // 1_000_000} MB")
    if kind == "pdf":
        from mewcode.memory.knowledge.pdf import pdf_pieces

        return pdf_pieces(data)
    return _reader(kind)(_text(path, data))


def _reader(kind: str) -> Callable[[str], Iterator[Piece]]:
    if kind == "page":
        from mewcode.memory.knowledge.web_page import page_pieces

        return page_pieces
    if kind == "docstrings":
        from mewcode.memory.knowledge.docstrings import docstring_pieces

        return docstring_pieces
    if kind in ("json", "csv", "tsv"):
        from mewcode.memory.knowledge import rows

        if kind == "json":
            return rows.json_pieces
        return lambda text: rows.csv_pieces(text, delimiter="\t" if kind == "tsv" else ",")
    from mewcode.memory.knowledge import markup

    return {"markdown": markup.markdown_pieces, "rst": markup.rst_pieces}.get(kind, markup.text_pieces)


def _text(path: Path, data: bytes) -> str:
    """Raises MewCodeError for what is no text."""
    if b"\0" in data[:512] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise MewCodeError(f"{path} is no text")
    try:
        encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
        text = data.decode(encoding)
    except UnicodeDecodeError:
        from charset_normalizer import from_bytes  # slow to load, for files in old encodings alone

        best = from_bytes(data).best()
        if best is None:
            raise MewCodeError(f"{path} is text in no encoding that is known") from None
        text = str(best)
    return clean_text(text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", ""))
