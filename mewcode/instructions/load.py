"""All instructions of a start: read, expanded, cut to what a prompt can bear, with the account of each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from mewcode.infra.paths import Places
from mewcode.instructions.boundary import Approvals, Boundary, boundary_of
from mewcode.instructions.discover import Candidate, candidates
from mewcode.instructions.expand import Expander, TopFile
from mewcode.instructions.instruction_file import InstructionFile, Unreadable
from mewcode.instructions.limits import TOTAL_BYTES, cut_at_line
from mewcode.instructions.rules import Rule, read_rule
from mewcode.instructions.told import Told
from mewcode.instructions.trace import Trace
from mewcode.instructions.tree import LEVEL_WORDS, Include, Level, Node, Skipped, comment


class WaitingRule(msgspec.Struct, frozen=True):
    """A rule that holds for certain paths, not read into the prompt yet. ``shown``: its path as a person
    reads it."""

    shown: str
    rule: Rule
    file: InstructionFile
    top: TopFile
    base: Path


class Document(msgspec.Struct, frozen=True):
    """A top-level file as it stands in the prompt: ``text`` with its includes, cut where no room was."""

    node: Node
    text: str
    cut: str = ""

    def section(self) -> str:
        """The text under the line that names its source and level; "" for a file that says nothing."""
        if not self.text.strip():
            return ""
        return f"Source: {self.node.shown} ({LEVEL_WORDS[self.node.level]})\n\n{self.text.strip()}"


class Instructions(msgspec.Struct, frozen=True):
    """``documents`` in the order of the text. ``skipped``: top-level files that were not read. ``waiting``:
    rules for certain paths. Both grow while the loader reads more. ``room``: bytes left of `TOTAL_BYTES`."""

    documents: list[Document]
    skipped: list[Skipped]
    waiting: list[WaitingRule]
    room: int

    def told(self) -> Told:
        """What the prompt says. To be asked before tools have come upon more."""
        return Told(
            tuple((document.node.shown, document.section()) for document in self.documents),
            tuple((item.shown, item.comment()) for item in self.skipped),
            tuple((item.shown, f"{item.rule.paths}{item.rule.text}") for item in self.waiting),
        )

    def text(self) -> str:
        """The module of the system prompt; "" where there are no instructions."""
        return self.told().text()

    def outside(self) -> list[tuple[Node, Include]]:
        """The includes that were left out because they lie beyond their boundary, each with the file that
        asks for it."""
        nodes = (node for document in self.documents for node in document.node.walk())
        return [(node, include) for node in nodes for include in node.includes() if include.outside]


class Loader:
    """Loads instructions of one workspace; keeps in mind what was read, so that nothing is read twice."""

    def __init__(
        self,
        places: Places,
        *,
        home: Path,
        include_roots: Sequence[Path] = (),
        approvals: Approvals | None = None,
    ) -> None:
        """``include_roots``: further folders that may be included from, by the user's own config."""
        self.places = places
        self.traces: list[Trace] = []
        """What each reading has looked at, that of `load` first."""
        self._expander = Expander(home=home, shown_from=places.root, approvals=approvals)
        self._project = boundary_of((places.root, places.project, *include_roots))
        self._user = boundary_of((places.user, *include_roots))
        self._skipped: list[Skipped] = []
        self._waiting: list[WaitingRule] = []

    def load(self) -> Instructions:
        """Reads all that holds from the start. Never raises: what cannot be read is in ``skipped``."""
        documents, room = self.read(list(candidates(self.places)), TOTAL_BYTES)
        return Instructions(documents, self._skipped, self._waiting, room)

    def read(self, found: Sequence[Candidate], room: int) -> tuple[list[Document], int]:
        """The documents of these files within ``room`` bytes, and what is left of it. What could not be read
        and rules for certain paths go to the lists of what `load` gave."""
        documents: list[Document] = []
        self._begin([str(candidate.path) for candidate in found])
        for candidate in found:
            top = TopFile(candidate.path, candidate.level, self._boundary(candidate.level))
            try:
                file = self._expander.open(top)
            except Unreadable as error:
                self._skip(candidate, str(error))
                continue
            if candidate.is_rule:
                rule = read_rule(file.text)
                file = msgspec.structs.replace(
                    file,
                    text=rule.text,
                    warnings=(*file.warnings, *((rule.problem,) if rule.problem else ())),
                )
                if rule.paths is not None:
                    shown = self._expander.shown(file.where)
                    self._waiting.append(WaitingRule(shown, rule, file, top, candidate.base))
                    continue
            document, room = self._place(file, top, room)
            documents.append(document)
        return documents, room

    def place(self, waiting: WaitingRule, room: int) -> tuple[Document, int]:
        """A rule that waited, expanded and cut to ``room`` bytes; and what is left of that."""
        self._begin([])
        return self._place(waiting.file, waiting.top, room)

    def _begin(self, found: list[str]) -> None:
        self.traces.append(self._expander.begin())
        self.traces[-1].found = found

    def _place(self, file: InstructionFile, top: TopFile, room: int) -> tuple[Document, int]:
        node = self._expander.expand(file, top)
        text = node.text()
        size = len(text.encode("utf-8", "surrogatepass"))
        if size <= room:
            return Document(node, text), room - size
        why = f"all instructions together are longer than {TOTAL_BYTES:,} bytes"
        kept = cut_at_line(text, room) if room else ""
        return Document(node, f"{kept}\n{comment(f'cut here ({why}): {node.shown}')}", why), 0

    def _boundary(self, level: Level) -> Boundary:
        return self._user if level == "user" else self._project

    def _skip(self, candidate: Candidate, reason: str) -> None:
        shown = self._expander.shown(str(candidate.path))
        self._skipped.append(Skipped(candidate.path, shown, candidate.level, reason))
