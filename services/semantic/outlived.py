"""Which records say what is over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aico_memory.domain.memory import RECORD, Memory, View
from aico_memory.domain.retrieval.outlived import over_since
from aico_memory.stores.semantic.retrieval_port import RetrievalReads, Sources


def outlived(
    retrieval: RetrievalReads, memories: Sequence[Memory], sources: Mapping[bytes, Sources], view: View
) -> dict[bytes, int]:
    """Since when what these records state is over, in Unix microseconds; those of which it is not known are missing.

    What was known at an earlier moment is not looked up: as it was known then, it may have held.
    """
    if view.known_as_of_us:
        return {}
    records = [(memory, sources[memory.memory_id].event_ids[0]) for memory in memories if _tells(memory, sources)]
    made = retrieval.made_of([event_id for _, event_id in records], view.scopes) if records else {}
    at_us = view.as_of_us or view.now_us
    since = {memory.memory_id: over_since(memory.said_at_us, made.get(event_id, ()), at_us) for memory, event_id in records}
    return {memory_id: moment for memory_id, moment in since.items() if moment}


def _tells(memory: Memory, sources: Mapping[bytes, Sources]) -> bool:
    return memory.kind == RECORD and not memory.version_of and bool(sources[memory.memory_id].event_ids)
