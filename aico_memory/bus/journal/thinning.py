"""Thinning a closed segment: what has expired goes, what is kept longer moves into a new file of the same name."""

from __future__ import annotations

from dataclasses import replace

from aico_memory.bus.journal.layout import INDEX_VALUE, KEY, SEQUENCES, index_key, stored_runs
from aico_memory.bus.journal.segment import Segment, sync_folder

_CHUNK_BYTES = 4 * 1024 * 1024
Pair = tuple[bytes, bytes]


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
    groups: list[Pair] = []
    events: list[Pair] = []
    index: list[Pair] = []
    size = 0
    for group, value in segment.groups():
        if group.topic in topics_gone:
            continue
        groups.append((KEY.pack(group.first_global), value))
        index.append((index_key(group.topic, group.first_global), INDEX_VALUE.pack(group.first_topic, group.count)))
        for run in stored_runs(value, group):
            events += [(event_id, header[: SEQUENCES.size]) for _, event_id, header, _ in run.records()]
        size += len(value)
        if size > _CHUNK_BYTES:
            thinned.append(groups, events, index)
            groups, events, index, size = [], [], [], 0
    if groups:
        thinned.append(groups, events, index)
