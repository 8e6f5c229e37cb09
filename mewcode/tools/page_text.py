"""The bytes of a page as text: which encoding, and whether it is text at all."""

from __future__ import annotations

import codecs
import re

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# HTML wants its encoding named within the first 1,024 bytes; some pages are late.
_META_WINDOW = 4_096
_META = re.compile(rb"<meta[^>]{0,500}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_XML = re.compile(rb"^\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9_.:-]{1,40})")
# Labels that stand for more than they say (WHATWG Encoding).
_WIDER = {
    "ascii": "cp1252",
    "us-ascii": "cp1252",
    "iso-8859-1": "cp1252",
    "iso8859-1": "cp1252",
    "latin1": "cp1252",
    "latin-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "x-gbk": "gb18030",
    "shift_jis": "cp932",
    "shift-jis": "cp932",
    "x-sjis": "cp932",
    "euc-kr": "cp949",
    "ks_c_5601-1987": "cp949",
    "x-cp1252": "cp1252",
}
# Encodings of text alone: Python knows others (zlib, punycode) that a page must not be able to call.
_OF_TEXT = re.compile(r"(?:utf|iso|cp\d|koi8|gb|big5|euc|shift|mac|tis|hz|johab|kz|ptcp)")

_HTML_TYPES = ("text/html", "application/xhtml+xml")
_TEXT_TYPES = frozenset(
    "application/" + name
    for name in (
        "json",
        "xml",
        "javascript",
        "ecmascript",
        "x-javascript",
        "typescript",
        "x-typescript",
        "yaml",
        "x-yaml",
        "toml",
        "x-ndjson",
        "jsonlines",
        "graphql",
        "sql",
        "x-sh",
        "x-httpd-php",
        "x-www-form-urlencoded",
        "rtf",
    )
)


def page_kind(content_type: str, body: bytes) -> str:
    """``html``, ``text``, or ``""`` for what is neither. A type that says nothing is judged by the body."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind in _HTML_TYPES:
        return "html"
    if kind.startswith("text/") or kind in _TEXT_TYPES or kind.endswith(("+json", "+xml", "+yaml")):
        return "text"
    if kind in ("", "application/octet-stream", "unknown/unknown"):
        start = body[:1_024]
        if any(start.startswith(bom) for bom, _ in _BOMS[1:]):
            return "text"
        if b"\0" in start or not body:
            return ""
        if kind and not _is_utf8(body):
            return ""
        return "html" if re.match(rb"\s*<(?:!doctype html|html)\b", start, re.IGNORECASE) else "text"
    return ""


def _is_utf8(body: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(body)  # an unfinished last character is no fault
    except UnicodeDecodeError:
        return False
    return True


def decode_page(body: bytes, content_type: str) -> str:
    """The text of a page. The encoding is that of its BOM, of the header, of the page's own ``meta``, UTF-8
    where it fits, else the likeliest; what does not decode becomes U+FFFD. Never raises."""
    for bom, name in _BOMS:
        if body.startswith(bom):
            return body[len(bom) :].decode(name, errors="replace")
    header = re.search(r"charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", content_type, re.IGNORECASE)
    inner = _META.search(body[:_META_WINDOW]) or _XML.search(body[:_META_WINDOW])
    named = _codec(inner[1].decode("ascii")) if inner else ""
    # What could be read as ASCII is no UTF-16, whatever it says of itself.
    named = "utf-8" if named.startswith("utf-") else named
    codec = (_codec(header[1]) if header else "") or named
    if codec:
        return body.decode(codec, errors="replace")
    if _is_utf8(body):
        return body.decode("utf-8", errors="replace")
    from charset_normalizer import from_bytes

    guess = from_bytes(body[:100_000]).best()
    return body.decode(guess.encoding if guess else "cp1252", errors="replace")


def _codec(label: str) -> str:
    """The codec of a label that a page gave; empty for what is unknown or no encoding of text."""
    if not label:
        return ""
    try:
        name = codecs.lookup(_WIDER.get(label.lower(), label)).name
    except (LookupError, ValueError):
        return ""
    return name if _OF_TEXT.match(name) and name != "utf-7" else ""
