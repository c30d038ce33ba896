"""What recall told is reported as used, after the answer and never in its way."""

from __future__ import annotations

import threading
from typing import Any

from aico_memory.clock import FixedClock, from_us
from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import context_pb2, envelope_pb2, semantic_pb2
from aico_memory.errors import BusUnavailable
from aico_memory.ids import derive_id, new_id
from services.semantic.using import RecallUses
from tests.support.twin_link import TwinLink

START = 1_772_000_000_000_000


def question() -> Event:
    return Event(new_id(START), "recall", "ada", context_pb2.RecallRequest(user_id="ada", question="Where?"))


def test_what_answered_is_published_once_and_an_answer_of_nothing_is_not() -> None:
    link: Any = TwinLink({})
    uses, asked = RecallUses(link, FixedClock(from_us(START)), 9), question()
    uses.note(asked, [])
    uses.note(asked, ["m1", "m2"])
    uses.close()
    (record,) = link.published
    assert (record.event_id, record.user) == (derive_id(asked.event_id, "used").bytes, "ada")
    used = semantic_pb2.MemoriesUsed.FromString(envelope_pb2.Envelope.FromString(record.envelope).payload)
    assert (list(used.memory_ids), list(used.strong_ids), used.request_id) == (["m1", "m2"], ["m1", "m2"], str(asked.event_id))
    assert (uses.reported, uses.lost) == (1, 0)


def test_use_names_the_group_and_the_project_of_the_question() -> None:
    link: Any = TwinLink({})
    uses = RecallUses(link, FixedClock(from_us(START)), 9)
    asked = context_pb2.RecallRequest(user_id="ada", question="Where?", group_id="team", project_id="boat")
    uses.note(Event(new_id(START), "recall", "ada", asked), ["m1"])
    uses.close()
    used = semantic_pb2.MemoriesUsed.FromString(envelope_pb2.Envelope.FromString(link.published[0].envelope).payload)
    assert (used.group_id, used.project_id) == ("team", "boat")


def test_a_bus_that_is_away_and_too_many_reports_cost_reports_and_no_answer() -> None:
    entered, released = threading.Event(), threading.Event()

    class Away:
        def publish(self, records: Any) -> Any:
            entered.set()
            released.wait(60)
            raise BusUnavailable("The bus is away")

    link: Any = Away()
    uses = RecallUses(link, FixedClock(from_us(START)), 1)
    uses.note(question(), ["m1"])
    assert entered.wait(60)
    for _ in range(3):
        uses.note(question(), ["m1"])
    released.set()
    uses.close()
    assert (uses.reported, uses.lost) == (0, 4)
