"""A session as one HTML page that needs nothing else: no request goes out, and a phone can show it."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from mewcode.sessions.export_facts import SessionFacts
from mewcode.sessions.export_markdown import when
from mewcode.sessions.transcript import Spoken, read_transcript

_NAMES = {"user": "You", "assistant": "MewCode", "tool": "Tool result"}
_SUMMARY = 100

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 50rem; margin: 0 auto; padding: 1rem; }}
header {{ position: sticky; top: 0; background: Canvas; padding-bottom: .5rem; }}
h1 {{ font-size: 1.3rem; margin: 0; overflow-wrap: anywhere; }}
input {{ font: inherit; width: 100%; box-sizing: border-box; padding: .4rem; }}
article {{ border-left: 3px solid #8888; padding-left: .8rem; margin: 1rem 0; }}
article.user {{ border-color: #38f; }}
pre {{ white-space: pre-wrap; overflow-wrap: anywhere; margin: .2rem 0; font: inherit; }}
details pre {{ font: 13px/1.4 ui-monospace, monospace; }}
summary {{ cursor: pointer; overflow-wrap: anywhere; }}
small, summary {{ color: GrayText; }}
</style>
</head>
<body>
<header>
<h1>{title}</h1>
<small>{about}</small>
<input id="find" type="search" placeholder="Search" aria-label="Search">
</header>
<main>
{body}
</main>
<script>
const articles = [...document.querySelectorAll("article")];
document.getElementById("find").addEventListener("input", event => {{
  const wanted = event.target.value.trim().toLowerCase();
  for (const article of articles) {{
    const found = article.textContent.toLowerCase().includes(wanted);
    article.hidden = wanted !== "" && !found;
    for (const fold of article.querySelectorAll("details")) fold.open = wanted !== "" && found;
  }}
}});
</script>
</body>
</html>
"""


def as_html(entry: SessionFacts, clean: Callable[[str], str]) -> str:
    """The page; ``clean`` is applied to all text. Raises SessionError."""
    parts = [
        _article(spoken, clean(spoken.text))
        for spoken in read_transcript(entry.path)
        if spoken.role in _NAMES
    ]
    about = f"{entry.id} · {when(entry.updated)}" + (f" · {entry.model}" if entry.model else "")
    title = escape(clean(entry.title) or entry.id)
    return _PAGE.format(title=title, about=escape(clean(about)), body="\n".join(parts))


def _article(spoken: Spoken, text: str) -> str:
    """A message; a tool's output is folded behind its first line."""
    if spoken.role != "tool":
        name = f"<small>{_NAMES[spoken.role]} · turn {spoken.turn}</small>"
        return f'<article class="{spoken.role}">{name}<pre>{escape(text)}</pre></article>'
    first = text.strip().partition("\n")[0][:_SUMMARY]
    mark = "failed: " if spoken.is_error else ""
    return (
        f'<article class="tool"><details><summary>{_NAMES["tool"]} · {mark}{escape(first)}</summary>'
        f"<pre>{escape(text)}</pre></details></article>"
    )
