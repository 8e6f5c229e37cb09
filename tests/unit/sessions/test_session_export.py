"""A session as others read it."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from session_scripts import STEPS, ForkScript, Script

from mewcode.infra.redact import redact
from mewcode.sessions.export_facts import facts_of
from mewcode.sessions.export_html import as_html
from mewcode.sessions.export_json import as_json
from mewcode.sessions.export_markdown import as_markdown
from mewcode.sessions.reader import load_history, load_session
from tests.support.archive import answered, asked, head, make_session, said

KEY = "sk-abcdefghijklmnop1234567890"
NAME = "20260101-100000-aaaa"
LINES = (
    head(NAME),
    said("u", "<script>alert(1)</script> 修复 & test", 2),
    asked("a", "c1", command=f"curl -H 'x: {KEY}'", password="hunter2 is it"),
    answered("t", "c1", f"```\n{KEY}\n```\n</pre><img src=x onerror=alert(1)>"),
    b"junk\n",
    b'{"role":"assistant","content":"done","unknown":{"kept":[1,2]}}\n',
)


@pytest.fixture
def entry(tmp_path):
    return facts_of(make_session(tmp_path / "s", NAME, *LINES))


@pytest.mark.parametrize("form", [as_markdown, as_json, as_html])
def test_secrets_are_blacked_out_unless_asked_otherwise(entry, form):
    text = form(entry, redact)
    assert KEY not in text
    assert "hunter2" not in text
    assert KEY in form(entry, str)
    for words in ("修复", "done"):
        assert words in text


def test_markdown_keeps_a_fence_around_a_fence(entry):
    text = as_markdown(entry, str)
    assert "## You" in text
    assert "\n````\n```\n" in text


def test_what_the_program_added_is_not_told_as_the_users_words(tmp_path):
    added = [
        f'{{"role":"user","id":"{origin}","origin":"{origin}","content":"<system-reminder>x"}}\n'.encode()
        for origin in ("reminder", "recall")
    ]
    text = as_markdown(facts_of(make_session(tmp_path / "s", NAME, *LINES[:2], *added)), str)
    assert text.count("## You") == 1
    assert "system-reminder" not in text


def test_json_keeps_every_record_and_every_field(entry):
    value = json.loads(as_json(entry, str))
    assert (value["format"], value["version"], value["id"]) == ("mewcode-session", 1, NAME)
    expected = [json.loads(line) for line in LINES if line != b"junk\n"]
    assert value["records"] == expected


@settings(max_examples=60, deadline=None)
@given(STEPS, st.integers(0, 10_000), STEPS)
def test_json_of_a_fork_holds_what_it_continues(tmp_path_factory, before, number, steps):
    script = ForkScript(Script().run(before), number).run(steps)
    folder = script.write(tmp_path_factory.mktemp("fork"))
    value = json.loads(as_json(facts_of(folder), str))
    alone = tmp_path_factory.mktemp("alone")
    lines = [json.dumps(record).encode() + b"\n" for record in value["records"]]
    (alone / "conversation.jsonl").write_bytes(b"".join(lines))
    assert load_session(alone).messages == script.way.spoken
    assert load_history(alone).messages == script.way.written
    assert load_session(alone).parent_session == load_session(folder).parent_session == "s"


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href", "action", "onerror")]


def test_html_stands_alone_and_runs_nothing_of_the_conversation(entry):
    text = as_html(entry, redact)
    page = Page()
    page.feed(text)
    assert page.links == []
    assert "img" not in page.tags
    assert page.tags.count("script") == 1
    assert page.tags.count("article") == 4
    assert page.tags.count("details") == 1
    assert "default-src 'none'" in text
    assert not re.search(r"https?://", text)
