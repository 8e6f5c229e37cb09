"""Each Markdown element as it stands in the scrollback, and how it gets there piece by piece."""

from __future__ import annotations

import re

import pyte
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mewcode.repl.cell_width import cell_width
from mewcode.repl.markdown_stream import MarkdownStream
from mewcode.repl.theme import THEMES

PLAIN = THEMES["no-color"]
DARK = THEMES["dark"]
_SGR = re.compile(r"\x1b\[[0-9;]*m")


def render(text, width=40, theme=PLAIN):
    stream = MarkdownStream(width, theme)
    return stream.feed(text) + stream.finish()


def visible(ansi):
    return _SGR.sub("", ansi)


ELEMENTS = {
    "headings": ("# One\n## Two ##\ntext\n", "# One\n\n## Two\n\ntext\n"),
    "setext": ("One\n===\nTwo\n---\n", "# One\n\n## Two\n"),
    "no heading": ("#hash\n####### seven\n", "#hash ####### seven\n"),
    "paragraphs": ("one\ntwo\n\n\n\nthree\n", "one two\n\nthree\n"),
    "hard breaks": ("one  \ntwo\\\nthree\n", "one\ntwo\nthree\n"),
    "bullets": ("- a\n- b\n* c\n+ d\n", "• a\n• b\n• c\n• d\n"),
    "nested bullets": (
        "- a\n  - b\n    - c\n- d\n    - e\n",
        "• a\n  ◦ b\n    ▪ c\n• d\n  ◦ e\n",
    ),
    "ordered": ("3. a\n3. b\n9) c\n", "3. a\n4. b\n9) c\n"),
    "ordered with two spaces": ("1. a\n  - b\n2. c\n", "1. a\n   • b\n2. c\n"),
    "ordered around ten": ("9. a\n10. b\n    more\n", "9. a\n10. b more\n"),
    "tasks": ("- [ ] a\n- [x] b\n1. [X] c\n", "☐ a\n☒ b\n1. ☒ c\n"),
    "loose list": ("1. a\n\n   b\n\n2. c\n", "1. a\n\n   b\n\n2. c\n"),
    "list after its introduction": ("These:\n- a\n- b\n\nand\n", "These:\n• a\n• b\n\nand\n"),
    "list after a heading": ("# T\n- a\n", "# T\n\n• a\n"),
    "a number does not begin a list in a text": ("in\n1984. Or\n", "in 1984. Or\n"),
    "empty item": ("-\n- a\n", "•\n• a\n"),
    "item wraps": ("- " + "word " * 10 + "\n", "• word word word word word word word\n  word word word\n"),
    "code in a list": ("- a\n\n  ```\n  x\n  ```\n", "• a\n\n    x\n"),
    "quote": ("> a\n> b\n>\n> c\n", "│ a b\n│\n│ c\n"),
    "nested quote": ("> a\n> > b\n\nc\n", "│ a\n│\n│ │ b\n\nc\n"),
    "lazy quote": ("> a\nb\n", "│ a b\n"),
    "quoted list": ("> - a\n>   - b\n", "│ • a\n│   ◦ b\n"),
    "fence": ("```python\ndef f():\n\n    pass\n```\n", "  def f():\n\n      pass\n"),
    "tilde fence in a text": ("a\n~~~\nx\n~~~\nb\n", "a\n\n  x\n\nb\n"),
    "fence in a longer fence": ("````md\n```py\nx\n```\n````\n", "  ```py\n  x\n  ```\n"),
    "unclosed fence": ("```\nx\n\ny", "  x\n\n  y\n"),
    "markup in code": ("```\n**a** [red] <b> &amp;\n```\n", "  **a** [red] <b> &amp;\n"),
    "tabs in code": ("```\n\tx\n```\n", "      x\n"),
    "long code line": ("```\n" + "x" * 45 + "\n```\n", "  " + "x" * 38 + "\n  " + "x" * 7 + "\n"),
    "indented code": ("a\n\n    x\n\n      y\n\nb\n", "a\n\n  x\n\n    y\n\nb\n"),
    "rule": ("a\n\n***\n- - -\n", "a\n\n" + "─" * 40 + "\n\n" + "─" * 40 + "\n"),
    "inline code": ("a `b` ``c`d``\n", "a `b` ``c`d``\n"),
    "emphasis": ("*a* **b** ~~c~~\n", "a b ~~c~~\n"),
    "link": ("[a](https://b.c) <https://d.e>\n", "a (https://b.c) https://d.e\n"),
    "html": (
        "<details>\n  <b>*x*</b>\n</details>\n\na <i>b</i>\n",
        "<details>\n  <b>*x*</b>\n</details>\n\na <i>b</i>\n",
    ),
    "console markup": ("[red]x[/] [/] [link=http://x]y[/link]\n", "[red]x[/] [/] [link=http://x]y[/link]\n"),
    "chinese": ("今天天气很好，\n我们去公园。\n", "今天天气很好，我们去公园。\n"),
    "table": (
        "| a | b | c |\n|:--|:-:|--:|\n| 1 | x | right |\n| 长长 | y \\| z | 3 |\n\nb\n",
        "a    │   b   │     c\n─────┼───────┼──────\n1    │   x   │ right\n长长 │ y | z │     3\n\nb\n",
    ),
    "table without outer bars": ("a | b\n--|--\n1 | 2\n", "a │ b\n──┼──\n1 │ 2\n"),
    "uneven table": ("|a|b|\n|-|-|\n|1|\n|1|2|3|\n", "a │ b\n──┼──────\n1 │\n1 │ 2 | 3\n"),
    "no table": ("a | b\n--|--|--\n", "a | b --|--|--\n"),
    "table after a text": ("Here:\n|a|b|\n|-|-|\n|1|2|\n", "Here:\n\na │ b\n──┼──\n1 │ 2\n"),
    "one column": ("| a |\n|---|\n| 👨\u200d👩\u200d👧 |\n", "a\n──\n👨\u200d👩\u200d👧\n"),
}


@pytest.mark.parametrize("name", ELEMENTS)
def test_element(name):
    source, expected = ELEMENTS[name]
    assert render(source) == expected


def test_a_wide_table_wraps_its_cells_and_rules_off_its_rows():
    table = f"| key | value |\n|---|---|\n| a | {'word ' * 8}|\n| b | {'中文' * 10} |\n"
    assert render(table, 24) == (
        "key │ value\n"
        "────┼───────────────────\n"
        "a   │ word word word\n"
        "    │ word word word\n"
        "    │ word word\n"
        "────┼───────────────────\n"
        "b   │ 中文中文中文中文中\n"
        "    │ 文中文中文中文中文\n"
        "    │ 中文\n"
    )


def test_too_many_columns_become_lists():
    assert render("|a|b|c|d|e|\n|-|-|-|-|-|\n" + "|word word" * 5 + "|\n", 20) == (
        "a: word word\nb: word word\nc: word word\nd: word word\ne: word word\n"
    )


def test_a_long_table_is_committed_in_parts_with_the_same_columns():
    stream = MarkdownStream(40, PLAIN)
    out = stream.feed("|a|b|\n|-|-|\n" + "".join(f"|{n}|x|\n" for n in range(450)))
    assert len(out.splitlines()) == 402
    assert stream.live(3) == ["447 │ x", "448 │ x", "449 │ x"]
    lines = (out + stream.finish()).splitlines()
    assert len(lines) == 452
    assert {line.index("│") for line in lines if "│" in line} == {4}


DOCUMENT = (
    "\n".join(source for source, _ in ELEMENTS.values())
    + "\x1b[31mred\x1b]0;title\x07\r\nprogress\rdone\x9b1m\n"
)


def test_colours_change_nothing_that_is_read():
    source = DOCUMENT.replace("`", "").replace("~~", "").replace("#", "")
    for width in (12, 40, 100):
        plain = re.sub("(?m)^#+ ", "", render(source, width))
        assert visible(render(source, width, DARK)) == plain


MARKDOWN = st.lists(
    st.sampled_from(
        [
            *DOCUMENT.split("\n"),
            "",
            "",
            "```py",
            "```",
            "> ",
            "- ",
            "  - ",
            "1. ",
            "    ",
            "| a | b |",
            "|---|:-:|",
            "**bold",
            "text**",
            "\x1b[1mx\x1b",
            "[0m",
            "\x1b]8;;http://evil\x1b\\",
            "中文，标点。" * 5,
            "👨\u200d👩\u200d👧 e\u0301 🇩🇪",
            "word " * 30,
            "\t",
            ">>>>>>> - 1. - >",
        ]
    ).flatmap(lambda line: st.sampled_from([line, line + "\n", line + "\n\n", line + " "])),
    max_size=14,
).map("".join)


@settings(max_examples=150, deadline=None)
@given(MARKDOWN, st.data(), st.integers(2, 60))
def test_output_is_the_same_however_the_text_is_split(text, data, width):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=12)))
    stream = MarkdownStream(width, DARK)
    out = ""
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        out += stream.feed(text[start:end])
        if data.draw(st.booleans()):
            live = stream.live(5)
            assert len(live) <= 5
            assert all(cell_width(visible(line)) <= width for line in live)
            assert all("\x1b" not in visible(line) for line in live)
    out += stream.finish()
    assert out == render(text, width, DARK)
    lines = visible(out).split("\n")
    assert all(cell_width(line) <= width for line in lines)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", visible(out))
    assert out == "" or out.endswith("\n")


@settings(max_examples=150, deadline=None)
@given(MARKDOWN)
def test_letters_are_neither_lost_nor_doubled(text):
    text = re.sub("[\x00-\x09\x0b-\x1f\x7f-\x9f]", "", text)
    letters = re.compile("[a-z中文标点公园]")
    shown = letters.findall(render(text, 400).replace("image: ", ""))
    # Info strings, entities and the header that a list of cells repeats are not text; see the examples.
    source = re.sub(r"(?m)^([ >]|[-+*] |[0-9]+[.)] )*(`{3,}|~{3,}).*$|&amp;", "", text)
    assert len(shown) <= len(letters.findall(text))
    assert len(shown) >= len(letters.findall(source)) - source.count("[x]") - source.count("[X]")


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 300),
    st.sampled_from(["word **bold** `code` ", "中文，标点。", "x", "a\x1b[31mb\x1b[0m ", "[a](b) "]),
)
@example(1000, "x")
def test_a_very_long_line_is_committed_in_parts_and_whole(count, part):
    text = part * (count * 10) + "\n\nend\n"
    stream = MarkdownStream(50, DARK)
    out, live = "", 0
    for start in range(0, len(text), 577):
        out += stream.feed(text[start : start + 577])
        live = max(live, len(stream.live(1000)))
    out += stream.finish()
    assert out == render(text, 50, DARK)
    assert live < 170
    assert all(cell_width(line) <= 50 for line in visible(out).split("\n"))
    if part in ("中文，标点。", "x"):
        assert visible(out).replace("\n", "") == text.replace("\n", "")
    assert visible(out).endswith("end\n")


def test_blocks_are_committed_as_soon_as_they_are_final():
    stream = MarkdownStream(40, PLAIN)
    assert stream.feed("one\ntwo\n") == ""
    assert stream.live(5) == ["one two"]
    assert stream.feed("\n") == "one two\n"
    assert stream.live(5) == []
    assert stream.feed("```py\nx = 1\ny") == "\n  x = 1\n"
    assert stream.live(5) == ["  y"]
    assert stream.feed("\n``") == "  y\n"
    assert stream.live(5) == []
    assert stream.feed("`\n- a\n") == ""
    assert stream.live(5) == ["", "• a"]
    assert stream.feed("- b") == ""
    assert stream.live(5) == ["", "• a", "• b"]
    assert stream.live(1) == ["• b"]
    assert stream.live(0) == []
    assert stream.feed("\n") == "\n• a\n"
    assert stream.finish() == "• b\n"
    assert stream.finish() == ""


@pytest.mark.parametrize(
    "begun", ["-", "1", "1.", "#", "##", "`", "``", ">", "|", "---", "- [", "**", "* **", "=="]
)
def test_a_line_that_may_yet_be_anything_does_not_flicker(begun):
    stream = MarkdownStream(40, PLAIN)
    stream.feed("Text\n")
    stream.feed(begun)
    assert stream.live(5) == ["Text"]


def test_live_text_shows_open_marks_as_closed():
    stream = MarkdownStream(40, DARK)
    stream.feed("a **bo")
    assert stream.live(3) == [f"a {DARK.paint('bold', 'bo')}"]


def test_an_escape_sequence_in_two_halves_does_not_get_through():
    stream = MarkdownStream(40, PLAIN)
    stream.feed("a\x1b")
    assert stream.live(3) == ["a"]
    stream.feed("]0;title")
    assert stream.live(3) == ["a"]
    stream.feed("\x07b")
    assert stream.live(3) == ["ab"]
    assert stream.finish() == "ab\n"


def test_a_new_width_counts_from_the_next_block_on():
    stream = MarkdownStream(30, PLAIN)
    out = stream.feed("one two three four five six\n\none two")
    stream.resize(13)
    assert out + stream.feed(" three four five six\n\n") == (
        "one two three four five six\n\none two three\nfour five six\n"
    )


def test_code_is_coloured_across_lines():
    out = render('```python\nx = """a\nb""" + f(1)  # c\n```\n', theme=DARK)
    first, second = out.splitlines()
    assert DARK.paint("string", '"""a') in first
    assert DARK.paint("string", 'b"""') in second
    assert DARK.paint("name", "f") in second
    assert DARK.paint("number", "1") in second
    assert DARK.paint("comment", "# c") in second


def test_a_terminal_shows_what_was_meant():
    screen = pyte.Screen(30, 24)
    stream = pyte.Stream(screen)
    out = render(
        '# Title\n\n- 中文 **bold** `code`\n- b\n\n```sh\necho "hi" # x\n```\n\n|a|中|\n|-|-|\n|x|y|\n',
        30,
        DARK,
    )
    stream.feed(out.replace("\n", "\r\n"))
    lines = [line.rstrip().replace("中文", "中文") for line in screen.display]
    assert lines[:10] == [
        "Title",
        "",
        "• 中文 bold code",
        "• b",
        "",
        '  echo "hi" # x',
        "",
        "a │ 中",
        "──┼───",
        "x │ y",
    ]
    assert not any(lines[10:])
    assert screen.buffer[2][7].bold
    assert not screen.buffer[2][12].bold


@pytest.mark.parametrize(
    "text",
    [
        ">" * 20_000,
        "- " * 20_000,
        "|a" * 20_000 + "\n" + "|-" * 20_000,
        "`" * 20_000,
        "\n".join("- " * n for n in range(300)),
    ],
)
def test_hostile_structure_ends(text):
    stream = MarkdownStream(80, DARK)
    for start in range(0, len(text), 500):
        stream.feed(text[start : start + 500])
    assert len(stream.live(20)) <= 20
    assert stream.finish()


def test_a_long_paragraph_becomes_no_heading_halfway():
    out = render("word " * 600 + "\n===\nend\n", 3000)
    assert out.count("word") == 600
    assert out.endswith("=== end\n")
