"""A PDF in pieces, by the extra ``pdf``."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator

from mewcode.core.errors import MewCodeError
from mewcode.memory.knowledge.pieces import Piece, cut

_LOG = logging.getLogger("mewcode.recall")
_MOST_PAGES = 2_000


def pdf_pieces(data: bytes) -> Iterator[Piece]:
    """By pages; the number of the page is in the heading and stands for the line. Raises MewCodeError where
    PDF cannot be read here, or this one cannot."""
    try:
        from pypdf import PdfReader
        from pypdf.errors import PyPdfError
    except ImportError as error:
        raise MewCodeError("PDF files need the extra: pip install 'mewcode[pdf]'") from error
    try:
        pages = PdfReader(io.BytesIO(data)).pages
        count = min(len(pages), _MOST_PAGES)
        for number in range(count):
            text = pages[number].extract_text()
            for piece in cut("", 1, text):
                yield Piece(f"page {number + 1}", number + 1, piece.text)
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        # A file of this kind may be broken in any way, and the library then raises what it meets.
        raise MewCodeError(f"the PDF cannot be read: {type(error).__name__}") from error
