"""Port of the truth that the in-memory text index is built from, and how a memory becomes a row of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from aico_memory.domain.formation.language import LanguageTable
from aico_memory.domain.memory import RECORD, Memory, Scope, facets_of
from aico_memory.domain.retrieval.cues import TimeCues
from aico_memory.domain.retrieval.tokens import words
from aico_memory.stores.index.scope_text import TextRow

_ASKING = ("?", "？", "؟")
# What may stand behind a question mark.
_CLOSERS = " \t\n\"'”’»)]…!"


class Change(NamedTuple):
    """A memory that was added or changed: its place in the order of changes, its row, its scope."""

    position: int
    key: int
    scope: Scope


class TextSource(Protocol):
    """Memories in the owner's store."""

    def position(self) -> int:
        """The place of the newest change."""

    def changes(self, after: int, limit: int) -> list[Change]:
        """Changes beyond this place, oldest first; those that are settled everywhere may be gone."""

    def memories(self, scope: Scope, after: int, limit: int) -> list[tuple[int, Memory]]:
        """Memories of a scope that can be opened, by ascending row, beyond `after`."""

    def newest(self, memories: int) -> list[Scope]:
        """The scopes of so many memories that came last, the latest first."""

    def opened(self, keys: Sequence[int]) -> list[tuple[int, Memory]]:
        """Those of these rows that can be opened."""

    def size(self, scope: Scope) -> int:
        """How many memories the scope has."""


class RowRules(NamedTuple):
    """The data by which a memory becomes a row."""

    languages: LanguageTable
    cues: TimeCues
    default_language: str

    def row(self, key: int, memory: Memory) -> TextRow:
        """What the index knows of this memory."""
        said = words(memory.text, memory.language or self.default_language)
        return TextRow(
            key=key, facets=facets_of(memory), words=said, language=memory.language,
            speaker=memory.speaker, turn=memory.kind == RECORD and memory.version_of is None,
            ends_asking=memory.text.rstrip(_CLOSERS).endswith(_ASKING),
            asks=any(mark in memory.text for mark in _ASKING), tells_time=self.cues.has_time(memory.text, said),
            importance=memory.importance, utility=memory.utility, confidence=memory.confidence, uses=memory.access_count,
        )  # fmt: skip


def rows_of(source: TextSource, scope: Scope, rules: RowRules, limit: int) -> Iterator[TextRow]:
    """Every row of a scope."""
    after = 0
    while batch := source.memories(scope, after, limit):
        yield from (rules.row(key, memory) for key, memory in batch)
        after = batch[-1][0]
