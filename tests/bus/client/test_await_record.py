"""Waiting for the word of a worker that a job has ended."""

from __future__ import annotations

import pytest

from aico_memory.contracts.envelope import make_record
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import sleep_pb2
from aico_memory.errors import DeadlineExceeded
from aico_memory.ids import derive_id, new_id
from aico_memory.paths import Home
from aico_memory.runtime.links import open_link
from aico_memory.runtime.sleeping import await_record

TOPIC = topic_of(sleep_pb2.JobFinished).name


def test_the_end_of_a_job_is_heard_whether_it_came_before_or_comes_after_and_no_other(broker, home: Home, worker) -> None:
    semantic = worker("semantic")
    ours, other = (derive_id(new_id(), "finished") for _ in range(2))

    def finish(event_id) -> int:
        record = make_record(sleep_pb2.JobFinished(firing_id="x", outcome="done"), event_id=event_id, occurred_us=1)
        return semantic.link.publish([record])[0].result(60).global_sequence

    with open_link(home) as link:
        before = finish(other) - 1
        with pytest.raises(DeadlineExceeded, match="scheduler/finished"):
            await_record(link, TOPIC, ours, before, 0.2)
        finish(ours)
        assert await_record(link, TOPIC, ours, before, 10).id == ours
