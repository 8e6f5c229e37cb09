"""What a prompt says of instructions, apart from how it was read."""

from __future__ import annotations

import msgspec

_HEADING = """\
# Instructions

People wrote these for work in this project: follow them. Where two disagree, the earlier, more specific one \
holds. Notes from memory yield to instructions."""


class Told(msgspec.Struct, frozen=True, array_like=True):
    """By file as it is shown, in the order of the text. ``sections``: what holds from the start. ``skipped``:
    a comment for each file that was not read. ``rules``: all that is said by those which wait for a path; it
    is not in the text."""

    sections: tuple[tuple[str, str], ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    rules: tuple[tuple[str, str], ...] = ()

    def text(self) -> str:
        """The module of the system prompt; "" where there are no instructions."""
        # What could not be read is said in the text as well: the model may be asked about it.
        said = [text for _, text in (*self.sections, *self.skipped) if text]
        return "\n\n".join([_HEADING, *said]) if said else ""
