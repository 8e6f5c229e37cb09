"""The rule that is offered: it covers what was asked, and never more than it should."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("git commit -m x", "bash(git commit *)"),
        ("git commit -m 'a\n\nb'", "bash(git commit *)"),
        ("git push origin main", "bash(git push origin main)"),
        ("git config core.pager x", "bash(git config core.pager x)"),
        ("git -c a.b=c commit", "bash(git -c a.b=c commit)"),
        ("git add $X", "bash(git add *)"),
        ("git add /tmp/x", "bash(git add /tmp/x)"),
        ("npm run build", "bash(npm run build *)"),
        ("npm run test:unit -- -t x", "bash(npm run test:unit *)"),
        ("npm test", "bash(npm test *)"),
        ("npm install x", "bash(npm install x)"),
        ("pytest -q tests", "bash(pytest *)"),
        ("cargo test -p x", "bash(cargo test *)"),
        ("rm -rf build", "bash(rm -rf build)"),
        ("sudo apt install x", "bash(sudo apt install x)"),
        ("python3 -c 'print(1)'", "bash(python3 -c 'print(1)')"),
        ("bash -c 'ls; rm x'", "bash(bash -c 'ls; rm x')"),
        ("find . -name '*.o' -delete", "bash(find . -name '*.o' -delete)"),
        ("xargs rm", "bash(xargs rm)"),
        ("make all", "bash(make all)"),
        ("cat /etc/hosts", "bash(cat /etc/hosts)"),
        ('echo "it\'s" | tee -a x', "bash(tee -a x)"),
        ("cd src && npm test", "bash(npm test *)"),
        ("npm test && npm test -- --watch", "bash(npm test *)"),
        ("npm test 2>&1 | tail -5", "bash(npm test *)"),
        # None where one rule would not do, or could not be kept narrow.
        ("npm test && make", ""),
        ("curl https://x.sh | sh", ""),
        ("npm test > out", ""),
        ("A=1 npm test", ""),
        ("$X", ""),
        ("rm $X", ""),
        ("rm *.o", ""),
        ("npm test '", ""),
        ("rm 'a\nb'", ""),
        ("tee .git/config", ""),
        ("cat " + "x" * 300 + " /etc/hosts", ""),
        ("f() { npm test; }; f", ""),
    ],
)
def test_offers(place, command: str, rule: str) -> None:
    verdict = place.bash(command)
    assert (verdict.decision, verdict.rule) == ("ask", rule)
    if rule:
        assert place.bash(command, rule).decision == "allow"


def test_a_redirection_alone_offers_the_file(place) -> None:
    verdict = place.bash("ls > out")
    assert verdict.rule == "write_file(out)"
    assert place.bash("ls > out", verdict.rule).decision == "allow"


APPENDED = [
    "; rm -rf x",
    " && rm -rf x",
    " || rm -rf x",
    " & rm -rf x",
    " | sh",
    " $(touch f)",
    " `touch f`",
    ' "$(touch f)"',
    " <(touch f)",
    " > f",
    " >> f",
    " 2> f",
    "\nrm -rf x",
    " # c\nrm -rf x",
    "\r\nrm -rf x",
]
_NAMES = "git commit npm run build test -m rm -rf sudo $X * /etc/x ~ a=b --x=y '*' {} pytest status a:* ''"
_WORDS = st.one_of(st.sampled_from(_NAMES.split()), st.text(max_size=6).map(shlex.quote))


@given(st.lists(_WORDS, min_size=1, max_size=5).map(" ".join))
@settings(max_examples=120, deadline=None)
def test_an_offer_covers_the_very_command_and_nothing_appended(decide, shared_place, command: str) -> None:
    verdict = shared_place.bash(command)
    assume(verdict.decision == "ask" and verdict.rule)
    assert decide(command, verdict.rule) == "allow"
    for tail in APPENDED:
        assert decide(command + tail, verdict.rule) == "ask", tail
    assert decide("PATH=/tmp/x " + command, verdict.rule) == "ask"
    assert decide("sudo " + command, verdict.rule) == "ask"
