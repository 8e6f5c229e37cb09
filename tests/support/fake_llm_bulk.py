"""A long markdown answer for measuring how fast a client renders a stream."""

from __future__ import annotations

from itertools import count

from .fake_llm_reply import Faults, Reply, Usage

_PARAGRAPH = (
    "The loop reads the *next* event, and `apply` changes the state once; see [the notes](docs/notes.md) for "
    "**why** the order matters. 中文 text and an emoji 🐱 stand here so that width and bytes differ.\n\n"
)
_LIST = "- first, the plain case\n- second, with `code` and **weight**\n  - and one level down\n\n"
_CODE = (
    "```python\ndef step(state: State) -> State:\n    return replace(state, count=state.count + 1)\n```\n\n"
)
_TABLE = "| name | size | seen |\n|---|---:|:---:|\n| alpha | 1,024 | yes |\n| beta | 77 | no |\n\n"


def markdown(kilobytes: int) -> str:
    """Markdown of at least so many KiB in UTF-8, cut at the end of a section; the same at each call."""
    sections: list[str] = []
    size = 0
    for number in count(1):
        if size >= kilobytes * 1024:
            break
        section = f"## Section {number}\n\n{_PARAGRAPH}{_LIST}{_CODE}{_PARAGRAPH}{_TABLE}"
        sections.append(section)
        size += len(section.encode())
    return "".join(sections)


def bulk_reply(kilobytes: int, events: int) -> Reply:
    """That markdown in so many deltas, sent in large pieces without a pause."""
    content = markdown(kilobytes)
    return Reply.text(
        content, chunks=events, usage=Usage(output=len(content) // 4), faults=Faults(coalesce=True)
    )
