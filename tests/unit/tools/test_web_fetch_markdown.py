import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.tools.html_to_markdown import html_to_markdown
from mewcode.tools.page_text import decode_page, page_kind

BASE = "http://site.test/dir/page"


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("plain text", "plain text"),
        ("<p>one<p>two", "one\n\ntwo"),
        ("<p>a\n   b\t c</p>", "a b c"),
        ("a<br>b<br/>c", "a\nb\nc"),
        ("<h1>A</h1><h3>B <b>c</b></h3>", "# A\n\n### B c"),
        ("<title>T</title><p>x", "# T\n\nx"),
        ("<title>T</title><h1>T</h1><p>x", "# T\n\nx"),
        ("<p>&lt;b&gt; &amp; &eacute; &#x4e2d; &nosuch;", "<b> & é 中 &nosuch;"),
        ('<a href="x?a=1&amp;b=2">y</a>', "[y](http://site.test/dir/x?a=1&b=2)"),
        ('see <a href="/x"> y </a>now', "see [y](http://site.test/x) now"),
        ('<a href="#part">y</a> <a href="javascript:z()">z</a> <a name=q>w</a>', "y z w"),
        ('<a href="mailto:a@b.c">mail</a>', "[mail](mailto:a@b.c)"),
        ('<a href="http://[bad">y</a>', "y"),
        ('<a href="/wiki/A_(b)">y</a>', "[y](http://site.test/wiki/A_%28b%29)"),
        ('<a href="/1">a<a href="/2">b', "[a](http://site.test/1)[b](http://site.test/2)"),
        ('<a href="/c"><h2>Card</h2><p>text</p></a>', "## [Card](http://site.test/c)\n\ntext"),
        ('<base href="http://other.test/"><a href="x">y</a>', "[y](http://other.test/x)"),
        ('<img src="i.png" alt="A cat"><img src="j.png">', "![A cat](http://site.test/dir/i.png)"),
        ('<img src="data:image/png;base64,AAAA" alt="dot">', "![dot]"),
        ("<ul><li>a<li>b</ul>", "- a\n- b"),
        ("<ol start=3><li>c</li><li>d</li></ol>", "3. c\n4. d"),
        ("<ul><li>a<ul><li>b<ol><li>c</ol></ul><li>d</ul>e", "- a\n  - b\n    1. c\n- d\n\ne"),
        ("<ul><li><p>a</p><p>b</p></ul>", "- a\n\n  b"),
        ("<ul><li><ul><li>x</ul></ul>", "- - x"),
        ("<li>stray", "- stray"),
        ("<blockquote><p>a<br>b</blockquote>c", "> a\n> b\n\nc"),
        ("<p>use <code>a  b</code> and <code>x`y</code>", "use `a b` and `` x`y ``"),
        ("<pre>  a\n\tb &lt;\n\n</pre>", "```\n  a\n        b <\n```"),
        ('<pre><code class="hl language-py">x = "```"</code></pre>', '````py\nx = "```"\n````'),
        ("<pre><div>a</div><div>b</div></pre>", "```\na\nb\n```"),
        ("<ul><li>a<pre>b\nc</pre></ul>", "- a\n\n  ```\n  b\n  c\n  ```"),
        ("a<hr>b", "a\n\n---\n\nb"),
        (
            "<table><thead><tr><th>A<th>B</thead><tr><td>1|2<td>x<br>y<tr><td>3</table>z",
            "| A | B |\n| --- | --- |\n| 1\\|2 | x y |\n| 3 |  |\n\nz",
        ),
        ("<table><tr><td>only<tr><td>column</table>", "only\n\ncolumn"),
        ("<table><tr><td><ul><li>a</ul><td>b</table>", "- a\n\nb"),
        (
            "<table><tr><td>menu<td><table><tr><td>a<td>b</table></table>",
            "menu\n\n| a | b |\n| --- | --- |",
        ),
        ("a<script>if (x < 1) '</p>'</script>b<style>p{}</style><svg><text>no</text></svg>c", "abc"),
        ("<nav><ul><li>menu</ul></nav><p>x<p hidden>no<p>y", "x\n\ny"),
        ('<div style="DISPLAY : none">a<div>b</div></div><i aria-hidden="true">c</i>d', "d"),
        ("<nav><p>all there is</p></nav>", "all there is"),
        ("<nav>never ends <p>text", "never ends\n\ntext"),
        ("<noscript>Turn it on</noscript>", "Turn it on"),
        ("<!-- a --><!DOCTYPE html><![CDATA[x]]><![if IE]><?php y ?>z", "z"),
        ("</p></ul></table></a>x</div></pre>", "x"),
        ("<p>中文<b>粗体</b>，好。", "中文粗体，好。"),
        ("", ""),
    ],
)
def test_what_a_page_becomes(html, markdown):
    assert html_to_markdown(html, BASE) == markdown


TAGS = [
    "p", "div", "h1", "h2", "a", "ul", "ol", "li", "blockquote", "pre", "code", "table", "tr", "td", "th",
    "br", "hr", "img", "nav", "script", "style", "svg", "title", "base", "body", "template", "span",
    "caption",
]  # fmt: skip
tags = st.builds(
    lambda slash, name, attributes, end: f"<{slash}{name}{attributes}{end}",
    st.sampled_from(["", "", "/"]),
    st.sampled_from(TAGS),
    st.sampled_from(
        [
            "",
            ' href="/x"',
            " href='http://[x'",
            " hidden",
            ' class="language-c"',
            " start=9",
            ' alt="i"',
            " =",
        ]
    ),
    st.sampled_from([">", ">", ">", "/>", "", "<"]),
)
pieces = st.lists(
    tags
    | st.text(max_size=4)
    | st.sampled_from(["text ", "\n", "&amp;", "&#", "<!--", "-->", "<![", "<?", "]]>", "```", "|"]),
    max_size=40,
).map("".join)


@settings(max_examples=600, deadline=None)
@given(pieces)
def test_no_page_breaks_it(html):
    text = html_to_markdown(html, BASE)
    assert len(text) < 100_000
    assert text == html_to_markdown(html, BASE)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200), st.text(max_size=20))
def test_any_text_at_all(html, base):
    html_to_markdown(html, base)


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 50_000 + "x",
        "<ul><li>" * 20_000 + "x",
        "<table><tr><td>" * 20_000 + "x",
        "<blockquote>x" * 20_000,
        "<b>" * 30_000 + "x" + "</b>" * 30_000,
        "<a href=x>" * 30_000 + "x",
        "<!--" * 100_000,
        "<![" * 100_000,
        "<a b='" * 50_000,
        "<" * 300_000,
        "&#x" * 100_000,
    ],
)
def test_depth_and_size_are_bounded(html):
    text = html_to_markdown(html, BASE, limit=50_000)
    assert len(text) < 500_000


def test_conversion_stops_at_the_limit_and_when_told():
    assert len(html_to_markdown("<p>word</p>" * 500_000, limit=10_000)) < 200_000

    def check():
        raise InterruptedError

    with pytest.raises(InterruptedError):
        html_to_markdown("x", check=check)


# Bytes to text.


@pytest.mark.parametrize(
    ("body", "kind", "text"),
    [
        ("é中".encode(), "text/html", "é中"),
        (b"\xef\xbb\xbfx", "text/html; charset=latin-1", "x"),
        ("é".encode("utf-16"), "text/plain", "é"),
        (b"\xfe\xff" + "中".encode("utf-16-be"), "", "中"),
        ("中文".encode("gb18030"), "text/html; charset=GB2312", "中文"),
        ("中文".encode("gbk"), 'text/html; charset="gbk"', "中文"),
        (
            b'<meta charset="shift_jis">' + "日本".encode("cp932"),
            "text/html",
            '<meta charset="shift_jis">日本',
        ),
        (
            b"<META http-equiv=content-type content='text/html; charset=windows-1251'>"
            + "да".encode("cp1251"),
            "text/html",
            "<META http-equiv=content-type content='text/html; charset=windows-1251'>да",
        ),
        (
            b"<?xml version='1.0' encoding='iso-8859-2'?>\xb9",
            "text/xml",
            "<?xml version='1.0' encoding='iso-8859-2'?>š",
        ),
        (b"\x93quoted\x94", "text/html; charset=iso-8859-1", "“quoted”"),
        (b"<meta charset=utf-16>\xc3\xa9", "text/html", "<meta charset=utf-16>é"),
        (b"caf\xc3\xa9 \xff", "text/html; charset=utf-8", "café \ufffd"),
        (b"cut \xe4\xb8", "text/plain", "cut \ufffd"),
    ],
)
def test_the_encoding_of_a_page(body, kind, text):
    assert decode_page(body, kind) == text


@pytest.mark.parametrize(
    "label",
    [
        "zlib",
        "base64",
        "punycode",
        "idna",
        "undefined",
        "rot13",
        "unicode_escape",
        "x" * 39,
        "utf-7",
        "no.such",
    ],
)
def test_a_page_cannot_call_other_codecs(label):
    assert decode_page(b"+AGEAYg- plain", f"text/html; charset={label}") == "+AGEAYg- plain"


@settings(max_examples=100, deadline=None)
@given(
    st.binary(max_size=200),
    st.text(max_size=30) | st.from_regex(r"text/html; charset=[a-z0-9_-]{1,12}", fullmatch=True),
)
def test_any_bytes_decode(body, kind):
    decode_page(body, kind)
    assert page_kind(kind, body) in ("html", "text", "")
