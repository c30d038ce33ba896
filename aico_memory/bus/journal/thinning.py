"""Thinning a closed segment: what has expired goes, what is kept longer moves into a new file of the same name."""

from __future__ import annotations

from dataclasses import replace

from aico_memory.bus.journal.segment import Segment, sync_folder
from aico_memory.bus.journal.stamping import Stamped

_CHUNK_BYTES = 4 * 1024 * 1024


def thin(segment: Segment, topics_gone: frozenset[bytes]) -> Segment:
    """The segment without these topics; the old file is replaced in one step."""
    path = segment.path
    prepared, fresh = path.with_suffix(".thinning-prepared"), path.with_suffix(".thinning")
    for leftover in (prepared, fresh):
        leftover.unlink(missing_ok=True)
    size = sum(len(value) for group, value in segment.groups() if group.topic not in topics_gone)
    Segment.prepare(prepared, size + 64 * 1024)
    kept = {topic: held for topic, held in segment.state.holdings.items() if topic.encode() not in topics_gone}
    state = replace(segment.state, heads=dict(segment.state.heads), target_bytes=size, holdings=kept)
    thinned = Segment.begin_from(prepared, fresh, state)
    try:
        _copy(segment, thinned, topics_gone)
        thinned.write_state(closed=True, last_us=segment.state.last_us)
    finally:
        thinned.release()
    segment.release()
    fresh.rename(path)
    sync_folder(path.parent)
    return Segment.open(path)


def _copy(segment: Segment, thinned: Segment, topics_gone: frozenset[bytes]) -> None:
    part, size = Stamped(), 0
    for group, value in segment.groups():
        if group.topic in topics_gone:
            continue
        part.add_stored(value)
        size += len(value)
        if size > _CHUNK_BYTES:
            thinned.append(part.groups, part.events, part.index)
            part, size = Stamped(), 0
    if part.groups:
        thinned.append(part.groups, part.events, part.index)
