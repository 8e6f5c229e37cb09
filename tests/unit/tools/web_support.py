"""A web server on loopback that answers by path and remembers what it was asked."""

import asyncio
import contextlib
from pathlib import Path

from mewcode.tools.base import ToolContext, ToolSession
from mewcode.tools.read_table import ReadTable
from mewcode.tools.shell_session import ShellSession
from mewcode.tools.web_fetch import WebFetchArgs, WebFetchTool

LIMIT = 30  # seconds; no test comes near it


def answer(body=b"", status="200 OK", **headers):
    """The bytes of an HTTP answer; ``content_type="text/html"`` gives that header."""
    body = body.encode() if isinstance(body, str) else body
    headers = {"Content-Type": "text/html", "Content-Length": str(len(body)), "Connection": "close"} | {
        name.replace("_", "-").title(): value for name, value in headers.items()
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items() if value is not None)
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + body


class Server:
    """``answers`` maps a target to bytes, or to a coroutine function that is given the writer."""

    def __init__(self, answers):
        self.answers = answers
        self.asked = []

    async def handle(self, reader, writer):
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            target = head.split(" ", 2)[1]
            fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
            self.asked.append((target, {name.lower(): value for name, value in fields.items()}))
            found = self.answers.get(target, answer("nothing here", "404 Not Found"))
            if callable(found):
                await found(writer)
            else:
                writer.write(found)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()


def anything(_address):
    return True


def fetching(answers, scenario, *, environ=None, tls=None, **options):
    """Runs ``scenario(fetch, server)`` with a server on a free port; ``fetch(path)`` gives the outcome."""
    options.setdefault("allow_address", anything)

    async def limited():
        async with asyncio.timeout(LIMIT):
            server = Server(answers)
            listening = await asyncio.start_server(server.handle, "127.0.0.1", 0, ssl=tls)
            server.port = listening.sockets[0].getsockname()[1]
            here = Path("/")
            session = ToolSession(
                here, here, ReadTable(), ShellSession(here, {} if environ is None else environ)
            )
            context = ToolContext(session, "call", lambda _: None)
            tool = WebFetchTool(**options)

            async def fetch(target):
                url = target if ":" in target else f"http://127.0.0.1:{server.port}{target}"
                return await tool.run(WebFetchArgs(url), context)

            try:
                return await scenario(fetch, server)
            finally:
                listening.close()
                await listening.wait_closed()

    return asyncio.run(limited())


def page(outcome):
    """The text within the fence."""
    text = outcome.content[0].text
    return text[text.index(">\n") + 2 : text.index("\n</web_page>")]
