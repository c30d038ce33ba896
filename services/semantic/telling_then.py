"""Records of answers that ask what was known at an earlier moment tell nothing that was learned since."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from aico_memory.contracts.v1 import semantic_pb2
from aico_memory.domain.memory import OPEN, Scope
from aico_memory.domain.temporal.as_known import as_known
from aico_memory.domain.temporal.versions import BELIEVED
from aico_memory.stores.semantic.port import SemanticStore
from services.semantic.convert import id_bytes, id_text


def tell_as_known(
    store: SemanticStore, scopes: Sequence[Scope], records: Iterable[semantic_pb2.MemoryRecord], known_us: int
) -> None:
    """Change the records to the status, validity and successor that were known at `known_us`; 0: they are as they are."""
    told = {id_bytes(record.memory_id): record for record in records} if known_us else {}
    if not told:
        return
    memories = store.get(list(told), scopes)
    histories = store.histories([one.version_of or one.memory_id for one in memories], BELIEVED)
    then = [as_known(one, histories[one.version_of or one.memory_id], known_us) for one in memories]
    named = store.get([one.superseded_by for one in then if one.superseded_by], scopes)
    known = {one.memory_id for one in named if one.recorded_at_us <= known_us}
    for memory in then:
        record = told[memory.memory_id]
        record.status, record.valid_from_us = memory.status, memory.valid_from_us
        record.valid_until_us = 0 if memory.valid_until_us >= OPEN else memory.valid_until_us
        # A context carries neither.
        if record.invalidated_at_us:
            record.invalidated_at_us = 0 if memory.invalidated_at_us >= OPEN else memory.invalidated_at_us
        if record.superseded_by:
            record.superseded_by = id_text(memory.superseded_by if memory.superseded_by in known else None)
