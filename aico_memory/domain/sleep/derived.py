"""What sleep writes itself: summaries and patterns, which rest on items and are no statements of anybody.

They are never taken for a statement: nothing is compared, clustered or summed up
with them, no question for a fact is answered by them, and a search finds them
behind what was said (see `stores.index.fused_search`).
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from aico_memory.domain.gate.statement import Known
from aico_memory.domain.memory import Memory, Scope
from aico_memory.ids import derive_id

WRITTEN_BY: Final = "consolidation"
SUMMARY: Final = "summary"
PATTERN: Final = "pattern"
DERIVED_KINDS: Final = (SUMMARY, PATTERN)
# So that no other kind of id can meet these.
_NAMESPACE: Final = uuid.UUID("6f0f5c1e-3b7a-5d0c-9a51-6f2d4c1b8e70")
MOST_ENTITIES: Final = 8


@dataclass(frozen=True, slots=True)
class Draft:
    """A summary or pattern as it should stand."""

    # What it stands for within scope and owner: decides its id, so that it is renewed and never doubled.
    name: str
    # summary | pattern
    kind: str
    text: str
    language: str
    importance: float
    entities: tuple[str, ...]
    # The items that it tells, in the order in which it tells them.
    sources: tuple[bytes, ...]
    # Those of them of which it holds every word, so that they may give way to it.
    covered: tuple[bytes, ...] = ()
    rule: str = ""
    detail: str = ""
    # Items of which it holds every word and that rest dormant behind it: questions for facts are still answered by them.
    resting: tuple[bytes, ...] = ()


def is_derived(memory: Memory) -> bool:
    """Whether sleep wrote it."""
    return memory.write_source == WRITTEN_BY


def derived_id(scope: Scope, owner: str, name: str) -> bytes:
    """The id of what stands for `name`; in a shared scope everybody has their own."""
    place = uuid.uuid5(_NAMESPACE, f"{scope.key}\0{owner}\0{name}")
    return derive_id(place, "derived").bytes


def language_of(items: Iterable[Known]) -> str:
    """The language that most of them are in; empty where none tells one."""
    counted = Counter(one.memory.language for one in items if one.memory.language)
    return min(counted, key=lambda code: (-counted[code], code), default="")


def entities_of(items: Iterable[Known]) -> tuple[str, ...]:
    """The entities that most of them mention."""
    counted = Counter(uri for one in items for uri in one.memory.entities)
    return tuple(sorted(counted, key=lambda uri: (-counted[uri], uri))[:MOST_ENTITIES])
