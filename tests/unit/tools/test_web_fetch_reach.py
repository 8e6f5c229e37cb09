import asyncio
import ssl

import pytest
from web_support import answer, fetching, page

from mewcode.core.errors import ToolError
from mewcode.tools import page_request
from mewcode.tools.address_check import is_public, parse_address
from tests.support.certificate import AUTHORITY, SERVER, SERVER_KEY

# Redirects.


def redirecting(location, status="302 Found"):
    return answer(b"", status, location=location)


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See", "307 Temporary", "308 Permanent"])
def test_a_redirect_on_the_same_host_is_followed(status):
    async def scenario(fetch, server):
        assert page(await fetch("/a")) == "there"
        assert [target for target, _ in server.asked] == ["/a", "/b%20c?d=1"]

    fetching({"/a": redirecting("/b c?d=1#part", status), "/b%20c?d=1": answer("there")}, scenario)


@pytest.mark.parametrize(
    "location",
    [
        "http://other.example/x",
        "//other.example/x",
        "http://sub.here.test:{port}/",
        "http://here.test:1/",
        "https://here.test:{port}/",
        "http://169.254.169.254/latest/meta-data",
    ],
)
def test_a_redirect_to_another_site_is_told_and_not_followed(location):
    async def scenario(fetch, server):
        server.answers["/"] = redirecting(location.format(port=server.port))
        outcome = await fetch(f"http://here.test:{server.port}/")
        assert "which is another site and was not followed" in outcome.content[0].text
        assert location.format(port=server.port).removeprefix("//") in outcome.content[0].text
        assert not outcome.is_error
        assert len(server.asked) == 1

    fetching({}, scenario, resolve=to_loopback)


def test_the_www_form_is_the_same_site():
    async def scenario(fetch, server):
        server.answers["/"] = redirecting(f"http://www.here.test:{server.port}/home")
        assert page(await fetch(f"http://here.test:{server.port}/")) == "home"
        assert server.asked[1][1]["host"] == f"www.here.test:{server.port}"

    fetching({"/home": answer("home")}, scenario, resolve=to_loopback)


@pytest.mark.parametrize(
    "location", ["file:///etc/passwd", "javascript:x", "http://u:p@here.test/", "http://[::1"]
)
def test_a_redirect_to_what_is_not_fetched(location):
    async def scenario(fetch, server):
        with pytest.raises(ToolError, match="cannot be fetched"):
            await fetch("/")

    fetching({"/": redirecting(location)}, scenario)


def test_redirects_have_an_end():
    async def scenario(fetch, server):
        with pytest.raises(ToolError, match="redirects more than 5 times"):
            await fetch("/")
        assert len(server.asked) == 6

    fetching({"/": redirecting("/")}, scenario)


# Where it may go.


async def to_loopback(host, port):
    return ["127.0.0.1"]


def test_the_connection_goes_to_the_checked_address_under_the_name():
    checked = []

    def allow(address):
        checked.append(str(address))
        return True

    async def resolve(host, port):
        assert (host, len(checked)) == ("name.test", 0)
        return ["127.0.0.1"]

    async def scenario(fetch, server):
        assert page(await fetch(f"http://NAME.test:{server.port}/p?q=1")) == "here"
        target, fields = server.asked[0]
        assert target == "/p?q=1"
        assert fields["host"] == f"name.test:{server.port}"
        assert fields["user-agent"].startswith("MewCode/")
        assert "cookie" not in fields
        assert checked == ["127.0.0.1"]

    fetching({"/p?q=1": answer("here")}, scenario, resolve=resolve, allow_address=allow)


def test_every_address_of_a_name_is_checked():
    async def resolve(host, port):
        return ["8.8.8.8", "10.0.0.1"]

    async def scenario(fetch, server):
        with pytest.raises(
            ToolError, match=r"leads to 10\.0\.0\.1, which is not an address of the public internet"
        ):
            await fetch("http://name.test/")
        assert not server.asked

    fetching({}, scenario, resolve=resolve, allow_address=is_public)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "0.0.0.0",
        "１２７.0.0.1",
        "127.0.0.1.",
        "①②⑦.0.0.1",
    ],
)
def test_loopback_is_refused_however_it_is_spelt(host):
    async def scenario(fetch, server):
        with pytest.raises(ToolError, match="not an address of the public internet"):
            await fetch(f"http://{host}:{server.port}/")
        assert not server.asked

    fetching({"/": answer("secret")}, scenario, allow_address=is_public)


def test_the_next_address_is_tried():
    async def resolve(host, port):
        return ["127.0.0.2", "127.0.0.1"]  # nothing listens on the first

    async def scenario(fetch, server):
        assert page(await fetch(f"http://name.test:{server.port}/")) == "here"

    fetching({"/": answer("here")}, scenario, resolve=resolve)


def test_what_cannot_be_reached():
    async def nothing(host, port):
        raise OSError("no such name")

    async def scenario(fetch, server):
        with pytest.raises(ToolError, match=r"name\.test cannot be resolved: no such name"):
            await fetch("http://name.test/")
        with pytest.raises(ToolError, match=r"127\.0\.0\.2:\d+ cannot be reached"):
            await fetch(f"http://127.0.0.2:{server.port}/")

    fetching({}, scenario, resolve=nothing)


@pytest.mark.parametrize(
    "raw", [b"no http at all\r\n\r\n", b"", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort"]
)
def test_what_gives_no_proper_answer(raw):
    async def scenario(fetch, server):
        with pytest.raises(ToolError, match="gave no proper answer"):
            await fetch("/")

    fetching({"/": raw}, scenario)


def test_all_of_it_has_a_time_limit():
    async def scenario(fetch, server):
        released = asyncio.Event()

        async def silent(writer):
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nsome")
            await writer.drain()
            await released.wait()

        server.answers["/"] = silent
        with pytest.raises(ToolError, match=r"took longer than 0\.3 s"):
            await fetch("/")
        released.set()

    fetching({}, scenario, time_limit=0.3)


def test_cancelling_leaves_nothing_open():
    async def scenario(fetch, server):
        begun, released = asyncio.Event(), asyncio.Event()

        async def silent(writer):
            begun.set()
            await released.wait()

        server.answers["/"] = silent
        call = asyncio.ensure_future(fetch("/"))
        await begun.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        released.set()

    fetching({}, scenario)


def test_a_proxy_from_the_environment_is_used_and_private_names_are_refused():
    async def resolve(host, port):
        if host == "inside.test":
            return ["10.1.2.3"]
        raise OSError("only the proxy knows")

    async def scenario(fetch, server):
        environ["http_proxy"] = f"127.0.0.1:{server.port}"
        assert page(await fetch("http://outside.test/x")) == "by proxy"
        assert server.asked[0][0] == "http://outside.test/x"
        assert server.asked[0][1]["host"] == "outside.test"
        for private in ("http://inside.test/", "http://192.168.0.1/"):
            with pytest.raises(ToolError, match="not an address of the public internet"):
                await fetch(private)
        assert len(server.asked) == 1

    environ = {}
    fetching(
        {"http://outside.test/x": answer("by proxy"), "http://outside.test:80/x": answer("by proxy")},
        scenario,
        environ=environ,
        resolve=resolve,
        allow_address=is_public,
    )


@pytest.mark.parametrize(
    ("environ", "url", "proxy"),
    [
        ({}, "http://a.test/", ""),
        ({"HTTPS_PROXY": "http://p:1"}, "https://a.test/", "http://p:1"),
        ({"HTTPS_PROXY": "http://p:1"}, "http://a.test/", ""),
        ({"all_proxy": "p:1"}, "http://a.test/", "http://p:1"),
        ({"HTTP_PROXY": "p:1", "REQUEST_METHOD": "GET"}, "http://a.test/", ""),
        ({"http_proxy": "p:1", "NO_PROXY": ".a.test,b.test"}, "http://x.a.test/", ""),
        ({"http_proxy": "p:1", "NO_PROXY": "*"}, "http://x.a.test/", ""),
        ({"http_proxy": "p:1", "no_proxy": "b.test"}, "http://a.test/", "http://p:1"),
    ],
)
def test_which_proxy(environ, url, proxy):
    assert page_request.proxy_of(parse_address(url), environ) == proxy


def tls_server():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(SERVER, SERVER_KEY)
    return context


def test_the_certificate_is_checked_for_the_name():
    server_side = tls_server()
    names = []
    server_side.sni_callback = lambda _socket, name, _context: names.append(name)

    async def scenario(fetch, server):
        assert page(await fetch(f"https://name.test:{server.port}/")) == "safe"
        assert server.asked[0][1]["host"] == f"name.test:{server.port}"
        with pytest.raises(ToolError, match=r"cannot be reached: .*CERTIFICATE_VERIFY_FAILED"):
            await fetch(f"https://wrong.test:{server.port}/")
        assert names == ["name.test", "wrong.test"]

    # A company's authority counts here as it does for the model's service.
    environ = {"SSL_CERT_FILE": str(AUTHORITY)}
    fetching({"/": answer("safe")}, scenario, environ=environ, tls=server_side, resolve=to_loopback)


def test_certificates_that_cannot_be_read_are_named(tmp_path):
    environ = {"SSL_CERT_FILE": str(tmp_path / "gone.pem")}

    async def scenario(fetch, server):
        with pytest.raises(ToolError, match=r"certificates in .*gone\.pem cannot be read"):
            await fetch(f"https://name.test:{server.port}/")
        assert not server.asked

    fetching({}, scenario, environ=environ, resolve=to_loopback)


def test_a_certificate_that_nobody_trusts_is_refused():
    server_side = tls_server()

    async def scenario(fetch, server):
        with pytest.raises(ToolError, match="cannot be reached"):
            await fetch(f"https://name.test:{server.port}/")
        assert not server.asked

    fetching({"/": answer("safe")}, scenario, tls=server_side, resolve=to_loopback)
