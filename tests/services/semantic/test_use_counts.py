"""What use does to items on the real store: they last longer, are counted together, each in its own scope."""

from __future__ import annotations

import uuid

import pytest

from aico_memory.contracts.v1 import semantic_pb2
from aico_memory.domain.gate.tagging import Pair
from aico_memory.domain.scopes import scope_of
from tests.services.semantic.statements import DAY, items
from tests.services.semantic.worker import START


def test_items_used_together_last_longer_and_are_counted_as_a_pair(worker):
    worker.say("My sister Lena lives in Bern")
    worker.say("Lena works at Acme")
    worker.say("I like tea")
    before = {one.memory.memory_id: one.memory for one in items(worker)}
    used = [one.memory_id for one in before.values() if "Lena" in one.text or "lena" in one.text][:2]
    assert len(used) == 2
    texts = [str(uuid.UUID(bytes=one)) for one in used]
    weak = [str(uuid.UUID(bytes=one)) for one in before if one not in used]
    told = [*texts, *weak]
    named = semantic_pb2.MemoriesUsed(user_id="ada", memory_ids=told, strong_ids=texts, request_id="q", at_us=START + DAY)
    worker.tell(named)
    after = {one.memory.memory_id: one.memory for one in items(worker)}
    for memory_id in used:
        assert after[memory_id].access_count == before[memory_id].access_count + 1
        assert after[memory_id].stability == pytest.approx(before[memory_id].stability * 1.02)
        assert before[memory_id].storage_strength < after[memory_id].storage_strength <= 10
    # What stood beside them and matched little was used as well, and belongs to nothing.
    assert weak and all(after[uuid.UUID(one).bytes].access_count == 1 for one in weak)
    assert worker.handlers.state.pair_counts(list(before)) == {Pair(*sorted(used)): 1}


def test_use_counts_in_the_group_and_the_project_that_the_question_named_and_in_no_other(worker):
    worker.say("The budget is 500 euros", group_id="team")
    worker.say("The deadline is on 5 June", project_id="boat")
    scopes = (scope_of("ada", "team"), scope_of("ada", "", "boat"))
    told = [one.memory for scope in scopes for one in items(worker, scope)]
    ids = [str(uuid.UUID(bytes=one.memory_id)) for one in told]
    assert len(ids) == 2

    def counts():
        return [one.memory.access_count for scope in scopes for one in items(worker, scope)]

    def use(**named):
        worker.tell(semantic_pb2.MemoriesUsed(user_id="ben", memory_ids=ids, strong_ids=ids, **named), "ben")
        return counts()

    assert use() == [0, 0]
    assert use(group_id="team") == [1, 0]
    assert use(group_id="team", project_id="boat") == [2, 1]
    pair = [one.memory_id for one in told]
    assert worker.handlers.state.pair_counts(pair) == {Pair(*sorted(pair)): 1}
