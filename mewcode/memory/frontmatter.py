"""The head of a note: lines of YAML between two ``---``, read and edited without a YAML library if possible.

Reading goes in three steps: the plain forms that MewCode itself writes, then YAML, then line by line where it
is not valid YAML (a person forgot quotes around a colon). All scalars are text. Editing replaces the lines of
the keys that change; every other line stays as it is.
"""

from __future__ import annotations

import re

import msgspec

Value = str | list[object] | dict[object, object]
"""What a key holds: text, a list, or what only its author knows."""

FENCE = "---"
_ENDS = (FENCE, "...")
_BOM = "\ufeff"
MOST_HEAD = 64 * 1024
"""Characters of a head that are read as YAML; a longer one is read line by line."""

_KEY = r"(?:([^\W\d][\w.-]*)|\"([^\"\\]*)\"|'([^']*)')[ \t]*:(?=[ \t]|$)"
_PLAIN_KEY = r"([A-Za-z_][A-Za-z0-9_-]*):(?:[ \t]+(.*))?"
_ITEM = r"( *)-[ ]+(.*)"
_DOUBLE = r"\"(?:[^\"\\]|\\.)*\""
_SINGLE = r"'(?:[^']|'')*'"
_FLOW_ITEM = rf"[ ]*({_DOUBLE}|{_SINGLE}|[^\s,\[\]{{}}\"'#&*!|>%@`:?=-][^,\[\]{{}}\"'#:]*)[ ]*"
_INDICATORS = "-?:,[]{}#&*!|>'\"%@`="
# What YAML refuses, or takes for the end of a line. Tab and newline are looked at where they stand.
_UNPRINTABLE = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]"
_COMMENT_BEHIND = rf"(?:{_DOUBLE}|{_SINGLE}|\[[^\]]*\]|[^\"'\[#|>][^#]*?)?([ \t]+#.*)"


class Document(msgspec.Struct, frozen=True):
    """A note's text in parts. ``head`` are the lines between the fences, without their newlines (a ``\\r``
    stays); None where there is no head. ``body`` is all behind, as written; ``newline`` what its lines end
    with."""

    head: list[str] | None
    body: str
    newline: str = "\n"
    mark: str = ""
    opening: str = FENCE
    closing: str = FENCE

    @property
    def text(self) -> str:
        """The whole text again, to the byte."""
        if self.head is None:
            return self.mark + self.body
        return self.mark + "\n".join([self.opening, *self.head, self.closing]) + self.body


def split(text: str) -> Document:
    """The parts of a text; one without a second fence has no head."""
    mark, rest = (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)
    newline = "\r\n" if rest[: rest.find("\n") + 1].endswith("\r\n") else "\n"
    if not rest.startswith(FENCE):
        return Document(None, rest, newline, mark)
    lines = rest.split("\n")
    if lines[0].rstrip() == FENCE:
        for place in range(1, len(lines)):
            if lines[place].rstrip() in _ENDS:
                behind = "".join("\n" + line for line in lines[place + 1 :])
                return Document(lines[1:place], behind, newline, mark, lines[0], lines[place])
    return Document(None, rest, newline, mark)


def read(head: list[str]) -> tuple[dict[str, Value], str]:
    """The values of a head, and what is wrong with it ("" where nothing is)."""
    lines = [line.removesuffix("\r") for line in head]
    simple = read_simple(lines)
    if simple is not None:
        return simple, ""
    text = "\n".join(lines)
    if len(text) > MOST_HEAD:
        return read_lines(lines), f"its head is longer than {MOST_HEAD:,} characters"
    from mewcode.memory.frontmatter_yaml import read_yaml  # only for what a person wrote

    values = read_yaml(text)
    if isinstance(values, str):
        return read_lines(lines), values
    return values, ""


def read_simple(lines: list[str]) -> dict[str, Value] | None:
    """The values where all lines have the plain forms, and mean the same to YAML; else None."""
    values: dict[str, Value] = {}
    items: list[object] | None = None
    last = indent = ""
    for line in lines:
        if not line.strip(" ") or line.startswith("#"):
            continue
        if re.search(_UNPRINTABLE, line):
            return None
        if found := re.fullmatch(_PLAIN_KEY, line):
            key, written = found[1], (found[2] or "").strip(" ")
            value = _simple_value(written)
            if value is None or key in values:
                return None
            values[key] = value
            items = None if written else []
            if items is not None:
                last = key
        elif (found := re.fullmatch(_ITEM, line)) and items is not None:
            item = _scalar(found[2].strip(" "))
            if item is None or (items and found[1] != indent):
                return None
            indent = found[1]
            items.append(item)
            values[last] = items
        else:
            return None
    return values


def _simple_value(text: str) -> Value | None:
    if not text.startswith("["):
        return _scalar(text) if text else ""
    if not text.endswith("]"):
        return None
    inside, items = text[1:-1].strip(" "), list[object]()
    place = 0
    while place < len(inside):
        found = re.compile(_FLOW_ITEM).match(inside, place)
        item = _scalar(found[1].strip(" ")) if found else None
        if found is None or item is None:
            return None
        items.append(item)
        place = found.end()
        if place < len(inside):
            if inside[place] != "," or not inside[place + 1 :].strip(" "):
                return None
            place += 1
    return items


def _scalar(text: str) -> str | None:
    if not text:
        return None
    if text[0] == '"':
        if not re.fullmatch(_DOUBLE, text) or re.search(r"\\u[dD][89a-fA-F]|\\[^\"\\/bfnrtu]", text):
            return None
        try:
            value = msgspec.json.decode(text)
        except msgspec.DecodeError:
            return None
        return value if isinstance(value, str) else None
    if text[0] == "'":
        return text[1:-1].replace("''", "'") if re.fullmatch(_SINGLE, text) else None
    if text[0] in _INDICATORS or text[-1] == ":" or "\t" in text or re.search(r":[ ]|[ ]#", text):
        return None
    return text


def read_lines(lines: list[str]) -> dict[str, Value]:
    """What can be said of a head that is not valid YAML: each line of a key at the margin, as it stands."""
    values: dict[str, Value] = {}
    for line in lines:
        found = re.match(_KEY, line)
        if not found:
            continue
        text = line[found.end() :].strip()
        if (comment := re.fullmatch(_COMMENT_BEHIND, text)) is not None:
            text = text[: comment.start(1)].rstrip()
        value = _simple_value(text)
        if value is None and text[:1] == "[":
            value = [item.strip(" \"'") for item in text.strip("[]").split(",") if item.strip(" \"'")]
        values[found[1] or found[2] or found[3] or ""] = text if value is None else value
    return values


def rendered(value: str | list[str]) -> str:
    """A value on one line, so that it reads as that value."""
    if isinstance(value, list):
        return "[" + ", ".join(_quoted(item, r"[,\[\]{}:#?=\"']") for item in value) + "]"
    return _quoted(value, "")


def _quoted(text: str, more: str) -> str:
    is_plain = text == text.strip() and "\n" not in text and not re.search(_UNPRINTABLE, text)
    if is_plain and _scalar(text) == text and not (more and re.search(more, text)):
        return text
    quoted = msgspec.json.encode(text).decode()
    return re.sub(_UNPRINTABLE, lambda found: f"\\u{ord(found[0]):04x}", quoted)


def edit(head: list[str], changes: dict[str, str | list[str] | None], order: tuple[str, ...]) -> list[str]:
    """The lines with each changed key replaced, added (where ``order`` puts it) or, for None, taken out."""
    lines = list(head)
    end = "\r" if head and head[0].endswith("\r") else ""
    for key, value in changes.items():
        blocks = _blocks(lines)
        at = blocks.get(key)
        if value is None:
            while at:  # a key may stand there twice
                del lines[at[0] : at[1]]
                at = _blocks(lines).get(key)
        elif at:
            first = lines[at[0]].removesuffix("\r")
            prefix = first[: first.index(":", len(key)) + 1]
            comment = ""
            if at[1] - at[0] == 1 and (found := re.fullmatch(_COMMENT_BEHIND, first[len(prefix) :].lstrip())):
                comment = found[1]
            lines[at[0] : at[1]] = [f"{prefix} {rendered(value)}{comment}{end}"]
        else:
            before = [blocks[name][1] for name in order[: order.index(key)] if name in blocks]
            place = max(before, default=0 if blocks else len(lines))
            lines.insert(place, f"{key}: {rendered(value)}{end}")
    return lines


def _blocks(lines: list[str]) -> dict[str, tuple[int, int]]:
    """The lines of each key at the margin: the first, and the one behind the last. Blank lines and comments
    at its end belong to what follows."""
    starts = [
        (place, found[1] or found[2] or found[3] or "")
        for place, line in enumerate(lines)
        if (found := re.match(_KEY, line))
    ]
    blocks = {}
    for number, (start, key) in enumerate(starts):
        end = starts[number + 1][0] if number + 1 < len(starts) else len(lines)
        while end > start + 1 and (not lines[end - 1].strip() or lines[end - 1].startswith("#")):
            end -= 1
        blocks[key] = (start, end)
    return blocks
