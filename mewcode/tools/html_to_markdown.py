"""A web page as Markdown: what a reader sees, without scripts, styles, navigation and what is hidden.

Pages are broken in every way; nothing that a page holds makes this raise, recurse or take longer than its
limits. It is no renderer: what it makes is for a model to read.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from urllib.parse import urljoin

from mewcode.tools.markdown_writer import MarkdownWriter

# fmt: off
_DROPPED = frozenset((
    "script", "style", "nav", "svg", "template", "iframe", "object", "canvas", "audio", "video", "select",
    "textarea", "datalist",
))
# Dropped even from a page that has nothing else.
_NEVER_TEXT = frozenset(("script", "style", "svg", "template"))
_VOID = frozenset((
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track",
    "wbr",
))
_BLOCKS = frozenset((
    "address", "article", "aside", "body", "caption", "center", "dd", "details", "dialog", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "header", "hgroup", "html", "legend", "main", "p",
    "search", "section", "summary", "tbody", "tfoot", "thead",
))
# fmt: on
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_CELLS = frozenset(("td", "th"))
# What a start tag ends before it opens, and what such an end does not reach across.
_IMPLIED_ENDS = {
    "a": frozenset("a"),
    "li": frozenset(("li",)),
    "td": _CELLS,
    "th": _CELLS,
    "tr": frozenset(("td", "th", "tr")),
    **dict.fromkeys(_HEADINGS, _HEADINGS),
}
_WALLS = {
    "li": frozenset(("ul", "ol", "table")),
    **dict.fromkeys(("td", "th", "tr"), frozenset(("table",))),
    **dict.fromkeys(_HEADINGS | {"a", "code"}, frozenset(("table", "td", "th", "li"))),
}
_STATEFUL = frozenset(("ul", "ol", "blockquote", "pre", "table", "code", *_IMPLIED_ENDS))
# Elements without an end tag of their own: a hidden one ends where the next of its kind begins.
_END_MAY_LACK = frozenset(("p", "li", "dt", "dd", "td", "th", "tr", "option"))
_INVISIBLE = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_LANGUAGE = re.compile(r"(?:^|\s)(?:language|lang|highlight-source|brush:)[-\s]?([A-Za-z0-9_+#.-]{1,20})")
# Elements that are open at once; browsers stop at 512.
_DEEPEST = 200
_FEED = 65_536
# Tags that are read: the longest pages of the web have half as many.
_MOST_TAGS = 400_000
_MOST_TITLE = 500


def html_to_markdown(
    html: str, base: str = "", *, limit: int = 200_000, check: Callable[[], None] = lambda: None
) -> str:
    """The page's text as Markdown, its title first, links made absolute with ``base``.

    Conversion stops soon after ``limit`` characters of result. ``check`` is called every 64 KB and may raise
    to give up.
    """
    page = _Page(base, _DROPPED)
    _feed(page, html, limit, check)
    text = page.writer.markdown()
    if page.dropped and (not text or page.lost):
        # All of it was hidden, or a hidden part never ended: better too much than nothing.
        page = _Page(base, _NEVER_TEXT)
        _feed(page, html, limit, check)
        text = page.writer.markdown()
    title = " ".join("".join(page.title)[:_MOST_TITLE].split())
    if not title or re.match(rf"# (?:\[)?{re.escape(title)}(?:\]|$)", text, re.MULTILINE):
        return text
    return f"# {title}\n\n{text}".rstrip()


def _feed(page: _Page, html: str, limit: int, check: Callable[[], None]) -> None:
    for start in range(0, len(html), _FEED):
        check()
        page.feed(html[start : start + _FEED])
        # An element that never ends is searched anew with each piece.
        if page.writer.size > limit or page.tags > _MOST_TAGS or len(page.rawdata) > 8 * _FEED:
            break
    else:
        if len(page.rawdata) <= _FEED:
            page.close()
    page.end_all()


class _Page(HTMLParser):
    """Reads tags and tells the writer. Only elements that mean something to it are kept as open."""

    def __init__(self, base: str, dropped: frozenset[str]) -> None:
        super().__init__(convert_charrefs=True)
        self.writer = MarkdownWriter()
        self.title: list[str] = []
        self.tags = 0
        self.dropped = False
        self._base = base
        self._dropped = dropped
        self._open: list[tuple[str, int]] = []
        self._hidden = ""
        self._hidden_depth = 0
        self._counters: list[int | None] = []
        self._code: list[str] | None = None
        self._language = ""
        self._in_title = False

    @property
    def lost(self) -> bool:
        """The page ended within something that is dropped, other than a script or style."""
        return bool(self._hidden) and self._hidden not in _NEVER_TEXT

    def end_all(self) -> None:
        while self._open:
            self._close_last()

    def handle_data(self, data: str) -> None:
        if self._hidden:
            return
        if self._in_title:
            self.title.append(data)
            self.writer.size += len(data)
        elif self._code is not None:
            self._code.append(data)
            self.writer.size += len(data)
        else:
            self.writer.text(data)

    def parse_html_declaration(self, i: int) -> int:
        """A declaration says nothing to a reader; the library raises on ``<![`` that is no CDATA."""
        if self.rawdata.startswith("<!--", i):
            return self.parse_comment(i)
        return self.rawdata.find(">", i + 2) + 1 or -1

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        # In HTML the slash means nothing but in SVG and MathML, of which only dropped ones concern us.
        if self._hidden == tag and tag not in _VOID:
            self.handle_endtag(tag)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags += 1
        if self._hidden:
            if tag != self._hidden:
                return
            if tag not in _END_MAY_LACK:
                self._hidden_depth += 1
                return
            self._hidden = ""
        values = dict(attrs)
        if tag not in _VOID and (tag in self._dropped or self._is_hidden(values)):
            self._hidden, self._hidden_depth = tag, 1
            self.dropped = self.dropped or tag not in _NEVER_TEXT
        elif tag == "title" and not self.title:
            self._in_title = True
        elif self._code is not None:
            self._start_in_code(tag, values)
        elif tag in _STATEFUL:
            self._start_stateful(tag, values)
        elif tag in _BLOCKS:
            self.writer.end_block()
        else:
            self._start_plain(tag, values)

    def handle_endtag(self, tag: str) -> None:
        self.tags += 1
        if self._hidden:
            if tag == self._hidden:
                self._hidden_depth -= 1
                if self._hidden_depth == 0:
                    self._hidden = ""
        elif tag == "title":
            self._in_title = False
        elif tag in _STATEFUL:
            self._end(frozenset((tag,)), _WALLS.get(tag, frozenset()))
        elif tag in _BLOCKS:
            if self._code is not None:
                self._new_code_line()
            else:
                self.writer.end_block()

    def _is_hidden(self, values: dict[str, str | None]) -> bool:
        if self._dropped is _NEVER_TEXT:
            return False
        return (
            ("hidden" in values and values["hidden"] != "until-found")
            or values.get("aria-hidden") == "true"
            or _INVISIBLE.search(values.get("style") or "") is not None
        )

    def _start_in_code(self, tag: str, values: dict[str, str | None]) -> None:
        if tag == "br":
            assert self._code is not None
            self._code.append("\n")
        elif tag == "code":
            self._language = self._language or _language(values)
        elif tag in _BLOCKS or tag in ("li", "tr"):
            self._new_code_line()

    def _new_code_line(self) -> None:
        if self._code and not self._code[-1].endswith("\n"):
            self._code.append("\n")

    def _start_plain(self, tag: str, values: dict[str, str | None]) -> None:
        if tag == "br":
            self.writer.line_break()
        elif tag == "hr":
            self.writer.rule()
        elif tag == "img":
            words = " ".join((values.get("alt") or "").split())
            if words:
                target = self._absolute(values.get("src"))
                self.writer.text(f"![{words}]({target})" if target else f"![{words}]")
        elif tag == "base":
            self._base = self._absolute(values.get("href")) or self._base

    def _start_stateful(self, tag: str, values: dict[str, str | None]) -> None:
        self._end(_IMPLIED_ENDS.get(tag, frozenset()), _WALLS.get(tag, frozenset()), every=True)
        if len(self._open) >= _DEEPEST:
            self.writer.end_block()
            return
        mark = 0
        if tag in ("ul", "ol"):
            self.writer.end_block(needs_layout=True)
            self._counters.append(_number(values.get("start")) if tag == "ol" else None)
        elif tag == "li":
            self.writer.begin_item(self._next_marker())
        elif tag == "blockquote":
            self.writer.begin_quotation()
        elif tag == "pre":
            self._code, self._language = [], _language(values)
        elif tag == "table":
            self.writer.begin_table()
        elif tag in _CELLS:
            self.writer.end_stray_cell()
        elif tag in _HEADINGS:
            self.writer.begin_heading(int(tag[1]))
        elif tag == "a":
            self.writer.open_link(self._absolute(values.get("href")))
        else:
            mark = self.writer.mark
        self._open.append((tag, mark))

    def _next_marker(self) -> str:
        if not self._counters or self._counters[-1] is None:
            return "- "
        number = self._counters[-1]
        self._counters[-1] = number + 1
        return f"{number}. "

    def _end(self, tags: frozenset[str], walls: frozenset[str], *, every: bool = False) -> None:
        """Closes the innermost open element of ``tags`` and what is open in it, but none beyond ``walls``;
        ``every``: all such elements."""
        found = None
        for index in range(len(self._open) - 1, -1, -1):
            tag = self._open[index][0]
            if tag in tags:
                found = index
                if not every:
                    break
            elif tag in walls:
                break
        if found is not None:
            while len(self._open) > found:
                self._close_last()

    def _close_last(self) -> None:
        tag, mark = self._open.pop()
        if tag == "pre":
            code, self._code = "".join(self._code or ()), None
            self.writer.fenced(code, self._language)
        elif tag in ("ul", "ol"):
            self.writer.end_block()
            self._counters.pop()
        elif tag in ("li", "blockquote"):
            self.writer.end_container()
        elif tag == "table":
            self.writer.end_table()
        elif tag == "tr":
            self.writer.end_row()
        elif tag in _CELLS:
            self.writer.end_cell()
        elif tag in _HEADINGS:
            self.writer.end_heading()
        elif tag == "a":
            self.writer.close_link()
        elif tag == "code":
            self.writer.code_since(mark)

    def _absolute(self, target: str | None) -> str:
        """The address a link leads to; empty where it leads to no page (a place on this one, a script)."""
        target = "".join((target or "").split()) if target else ""
        if not target or target.startswith("#"):
            return ""
        try:
            target = urljoin(self._base, target)
        except ValueError:
            return ""
        if target.partition(":")[0].lower() not in ("http", "https", "mailto") and self._base:
            return ""
        return target.replace("(", "%28").replace(")", "%29").replace("<", "%3C").replace(">", "%3E")


def _language(values: dict[str, str | None]) -> str:
    match = _LANGUAGE.search(values.get("class") or "")
    return match[1] if match else ""


def _number(text: str | None) -> int:
    return int(text) if text and re.fullmatch(r"\d{1,6}", text, re.ASCII) else 1
