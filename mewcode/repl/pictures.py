"""Pictures for the model: from a file or the clipboard, made small enough, shown as a marker in the input."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from mewcode.core.errors import ToolError
from mewcode.core.message import Image
from mewcode.tools.picture import LARGEST_BYTES, Picture, picture_of

LARGEST_SIDE = 2000
"""Pixels: what models see of a picture; a larger one costs more and shows no more."""

# Bytes that are read of a picture which will be scaled, pixels that are decoded: a small file may hold a
# picture that fills the memory.
_READ_LIMIT = 60 * 1024 * 1024
_MOST_PIXELS = 100_000_000
_HEAD = 64 * 1024
_SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_MARKER = re.compile(r"\[image \d+: [^\]\n]{1,60}\]")
# Pictures of the clipboard that are remembered; older markers become plain words.
_KEPT = 8
_NEEDS_PILLOW = "Install the extra that scales pictures: pip install 'mewcode[images]'"


@dataclass(slots=True)
class Pictures:
    """The pictures from the clipboard by their markers in the input. Numbers are never used twice."""

    _images: dict[str, Image] = field(default_factory=dict)
    _count: int = 0

    def add(self, data: bytes) -> str:
        """Takes a picture; returns its marker. Raises `ToolError` for what is none or too large."""
        image = fit_picture(data, "the picture")
        self._count += 1
        kind = image.media_type.removeprefix("image/").upper()
        marker = f"[image {self._count}: {kind}, {len(image.data) * 3 // 4 // 1000 + 1:,} KB]"
        self._images[marker] = image
        while len(self._images) > _KEPT:
            del self._images[next(iter(self._images))]
        return marker

    def within(self, text: str) -> list[Image]:
        """The pictures whose markers stand in ``text``, in their order."""
        found = (self._images.get(match[0]) for match in _MARKER.finditer(text))
        return [image for image in found if image is not None]


def load_picture(path: Path) -> Image | None:
    """The picture in a file, made to fit; None where the file is none. Raises `ToolError`."""
    from mewcode.tools.file_access import explained, open_regular, read_up_to

    shown = path.name
    with explained(shown), open_regular(path, shown) as (descriptor, status):
        head = read_up_to(descriptor, _HEAD)
        if picture_of(head) is None:
            return None
        if status.st_size > _READ_LIMIT:
            raise ToolError(f"the picture has {status.st_size:,} bytes; at most {_READ_LIMIT:,} are read.")
        return fit_picture(head + read_up_to(descriptor, _READ_LIMIT), shown)


def fit_picture(data: bytes, shown: str) -> Image:
    """The picture, scaled where a side is longer than `LARGEST_SIDE` or it has more bytes than a request
    takes. Raises `ToolError` where it is no picture or cannot be scaled."""
    picture = picture_of(data)
    if picture is None:
        raise ToolError(f"{shown} is no PNG, JPEG, GIF or WebP.")
    media_type = picture.media_type
    if max(picture.width, picture.height) > LARGEST_SIDE or len(data) > LARGEST_BYTES:
        media_type, data = _scaled(data, picture, shown)
    import base64  # only for pictures

    return Image(media_type, base64.b64encode(data).decode("ascii"))


def _scaled(data: bytes, picture: Picture, shown: str) -> tuple[str, bytes]:
    size = f"{picture.width} x {picture.height} pixels, {len(data):,} bytes"
    too_large = (
        f"{shown} is too large ({size}; at most {LARGEST_SIDE:,} pixels a side and {LARGEST_BYTES:,} bytes)."
    )
    try:
        import PIL.Image  # an extra, and heavy
        import PIL.ImageOps
    except ImportError:
        raise ToolError(too_large, hint=_NEEDS_PILLOW) from None
    if picture.width * picture.height > _MOST_PIXELS:
        raise ToolError(too_large, hint="Make a smaller copy of it.")
    try:
        with PIL.Image.open(io.BytesIO(data)) as opened:
            whole = PIL.ImageOps.exif_transpose(opened)
            clear = whole.mode in ("RGBA", "LA", "PA") or "transparency" in whole.info
            small = whole.convert("RGBA" if clear else "RGB")
    except (OSError, ValueError, SyntaxError, PIL.Image.DecompressionBombError) as error:
        raise ToolError(f"{shown} cannot be read as a picture: {error}") from error
    side = LARGEST_SIDE
    while side >= 200:
        small.thumbnail((side, side))
        for form, options in (("PNG", {"optimize": False}), ("JPEG", {"quality": 85})):
            if form == "JPEG" and clear:
                continue
            if form == "PNG" and picture.media_type == "image/jpeg":
                continue
            into = io.BytesIO()
            small.save(into, form, **options)
            if into.tell() <= LARGEST_BYTES:
                return f"image/{form.lower()}", into.getvalue()
        side = side * 2 // 3
    raise ToolError(too_large, hint="Make a smaller copy of it.")


def dropped_pictures(text: str, is_file: Callable[[str], bool] = os.path.isfile) -> list[str]:
    """The paths, where ``text`` is nothing but paths of pictures as a terminal pastes a file that is dropped
    on it: plain, in quotes, with escaped blanks, or as a ``file://`` address. Else nothing."""
    text = text.strip()
    if not text or "\n" in text or len(text) > 4096 or not text.strip("'\"").lower().endswith(_SUFFIXES):
        return []
    if _is_picture(text, is_file):
        return [text]
    import shlex  # only for what ends like a picture's name

    try:
        words = shlex.split(text)
    except ValueError:  # a quote that does not close
        return []
    paths = [_from_address(word) for word in words]
    return paths if all(_is_picture(path, is_file) for path in paths) else []


def _from_address(word: str) -> str:
    if not word.startswith("file://"):
        return word
    from urllib.parse import unquote

    address = word.removeprefix("file://").removeprefix("localhost")
    return unquote(address)


def _is_picture(path: str, is_file: Callable[[str], bool]) -> bool:
    absolute = path.startswith(("/", "~/"))
    return absolute and path.lower().endswith(_SUFFIXES) and is_file(os.path.expanduser(path))
