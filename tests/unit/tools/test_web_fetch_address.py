import ipaddress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.tools.address_check import is_public, parse_address

v4 = st.ip_addresses(v=4)


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "10.255.255.255",
        "100.64.0.1",
        "100.127.255.254",
        "127.0.0.1",
        "127.255.255.255",
        "169.254.169.254",
        "168.63.129.16",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.1",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "fe80::1",
        "fc00::1",
        "fd00:ec2::254",
        "ff02::1",
        "fec0::1",
        "2001:db8::1",
        "100::1",
        "64:ff9b:1::1",
        "3fff::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::127.0.0.1",
        "::10.0.0.1",
        "2002:7f00:1::",
        "2002:a00:1::",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "::ffff:0:127.0.0.1",
        "2001:0:4136:e378:8000:63bf:80ff:fffe",
        "2606:4700::5efe:127.0.0.1",
        "2606:4700::200:5efe:10.0.0.1",
    ],
)
def test_what_is_not_public(address):
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1",
        "8.8.8.8",
        "93.184.216.34",
        "100.63.255.255",
        "100.128.0.1",
        "172.15.0.1",
        "172.32.0.1",
        "192.167.1.1",
        "223.255.255.254",
        "2606:4700:4700::1111",
        "2001:4860:4860::8888",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
        "2002:808:808::1",
    ],
)
def test_what_is_public(address):
    assert is_public(ipaddress.ip_address(address))


@settings(max_examples=300, deadline=None)
@given(v4)
def test_an_address_within_another_is_judged_alike(inner):
    for network, shift in (("::ffff:0:0", 0), ("64:ff9b::", 0), ("2002::", 80), ("::ffff:0:0:0", 0)):
        outer = ipaddress.IPv6Address(int(ipaddress.IPv6Address(network)) | int(inner) << shift)
        assert is_public(outer) <= is_public(inner)


@settings(max_examples=300, deadline=None)
@given(v4, st.sampled_from(["decimal", "hex", "octal", "short", "mixed", "padded"]))
def test_every_spelling_of_an_ipv4_address_is_known(address, form):
    value, parts = int(address), address.packed
    spelt = {
        "decimal": str(value),
        "hex": hex(value),
        "octal": ".".join(f"0{part:o}" for part in parts),
        "short": f"{parts[0]}.{value & 0xFFFFFF}",
        "mixed": f"0x{parts[0]:X}.{parts[1]}.{value & 0xFFFF}",
        "padded": ".".join(f"0x{part:08x}" for part in parts),
    }[form]
    parsed = parse_address(f"http://{spelt}/")
    assert parsed.host == str(address)
    assert parsed.ip == address


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "only http"),
        ("example.com", "only http"),
        ("file:///etc/passwd", "only http"),
        ("javascript:alert(1)", "only http"),
        ("http://", "names no host"),
        ("http:///path", "names no host"),
        ("http://user:secret@a.test/", "user name or password"),
        ("http://user@a.test/", "user name or password"),
        ("http://a.test@10.0.0.1/", "user name or password"),
        ("http://a.test\\@10.0.0.1/", "backslashes"),
        ("http://a.test/\r\nHost: b", "control characters"),
        ("http://a b.test/", "blanks"),
        ("http://a.test:0/", "no port"),
        ("http://a.test:/", "no port"),
        ("http://a.test:x/", "Port"),
        ("http://-a.test/", "no valid name"),
        ("http://a..test/", "no valid name"),
        ("http://a%2etest/", "no valid name"),
        ("http://a_b.test<x>/", "no valid name"),
        ("http://1.2.3.4.5/", "no valid name"),
        ("http://256.1.1.1/", "no valid name"),
        ("http://a.1/", "no valid name"),
        ("http://[fe80::1%25eth0]/", "zone is local"),
        ("http://[1.2.3.4]/", "IP"),
        ("http://" + "a" * 64 + ".test/", "no valid name"),
        ("http://" + "a." * 130 + "test/", "no valid name"),
        ("http://a.test/" + "x" * 9_000, "longer than"),
    ],
)
def test_what_is_not_fetched(url, words):
    with pytest.raises(ValueError, match=words):
        parse_address(url)


@pytest.mark.parametrize(
    ("url", "plain"),
    [
        ("  http://a.test  ", "http://a.test/"),
        ("http://a.test./x", "http://a.test/x"),
        ("http://a.test?q", "http://a.test/?q"),
        ("http://a.test/ä b".replace(" ", "%20"), "http://a.test/%C3%A4%20b"),
        ("http://a.test/a%2Fb?x=%26&y=1+2#frag", "http://a.test/a%2Fb?x=%26&y=1+2"),
        ("http://a.test/(x)/[y]/~z;w=1,2", "http://a.test/(x)/[y]/~z;w=1,2"),
        ("http://例え.テスト/", "http://xn--r8jz45g.xn--zckzah/"),
        ("https://a.test:443/", "https://a.test/"),
        ("https://a.test:80/", "https://a.test:80/"),
        ("http://[2606:4700:0:0::1]/", "http://[2606:4700::1]/"),
    ],
)
def test_one_form_for_each_address(url, plain):
    assert parse_address(url).url == plain
    assert parse_address(plain).url == plain


@settings(max_examples=500, deadline=None)
@given(st.text(st.sampled_from("htps:/@[]%.?#&0127xaé中\\ \t-_"), max_size=30) | st.text(max_size=20))
def test_any_text_is_an_address_or_a_clear_error(text):
    for url in (text, "http://" + text, "https://a.test/" + text):
        try:
            address = parse_address(url)
        except ValueError:
            continue
        assert address.host.isascii()
        assert address.host == address.host.lower()
        assert address.url.isascii()
        assert parse_address(address.url) == address
