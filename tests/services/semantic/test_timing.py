"""Questions about time over the store: states, timelines, evolution, trends and predictions, by the bus's messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.message import Message
from hypothesis import example, given
from hypothesis import strategies as st

from aico_memory.clock import FixedClock
from aico_memory.contracts.envelope import Event
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import temporal_pb2
from aico_memory.domain.gate.statement import Statement
from aico_memory.domain.memory import Memory, Scope
from aico_memory.domain.scopes import shared
from aico_memory.domain.temporal.snapshot import live
from aico_memory.errors import InvalidMessage, NotFound, TooLarge
from aico_memory.ids import new_id
from aico_memory.settings.identity import IdentitySettings
from aico_memory.settings.memory_model import EvolutionSettings
from aico_memory.stores.semantic.port import SemanticStore
from aico_memory.stores.semantic.twin import MemorySemanticStore
from services.semantic.convert import id_text
from services.semantic.timing import Timing
from tests.stores.semantic.memories import OnDisk
from tests.support.memory_items import START
from tests.support.statements import ALICE, Shelf, day, said, told

NOW = 500


@pytest.fixture(params=["twin", "database"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SemanticStore]:
    made: SemanticStore = MemorySemanticStore() if request.param == "twin" else OnDisk(tmp_path).store
    yield made
    made.close()


def keep(store: SemanticStore, shelf: Shelf) -> None:
    with store.transaction() as transaction:
        # What is over first: of a key one open item is active.
        for item in sorted(shelf.items.values(), key=lambda one: one.memory.status == "active"):
            transaction.put_item(item, ["word"], 1)
        for change in shelf.changes:
            transaction.add_evolution(change)
        for proof in shelf.evidence:
            transaction.add_evidence(proof)
        for statement in shelf.statements:
            transaction.keep_statement(statement, "kept")


def timing(store: SemanticStore, **figures: Any) -> Timing:
    clock = FixedClock(datetime.fromtimestamp(day(NOW) / 1_000_000, UTC))
    return Timing(store, clock, EvolutionSettings(**figures), IdentitySettings())


def event(message: Message, user: str = "alice") -> Event:
    return Event(event_id=new_id(1), topic=topic_of(message).name, user=user, message=message)


def state(of: Timing, user: str = "alice", **fields: Any) -> list[str]:
    return [fact.value for fact in of.state(event(temporal_pb2.StateRequest(user_id=user, **fields), user)).facts]


# Rome from day 0, Oslo from day 10; on day 20 it turns out that it was Bergen and not Oslo.
MOVES = (said(1, "Rome", 0), said(2, "Oslo", 10), said(3, "Bergen", 20, act="correct", corrected="oslo"))


def home(**fields: Any) -> temporal_pb2.FactsAbout:
    return temporal_pb2.FactsAbout(predicate="home_city", **fields)


def test_a_state_tells_what_was_true_then_as_known_today_and_as_known_then(store: SemanticStore) -> None:
    keep(store, told(MOVES))
    of = timing(store)
    assert state(of) == ["Bergen"]
    assert state(of, at_us=day(5)) == ["Rome"]
    assert state(of, at_us=day(15)) == state(of, at_us=day(25))
    assert state(of, at_us=day(15), snapshot=True) == ["Oslo"]
    assert state(of, at_us=day(15), known_as_of_us=day(12)) == ["Oslo"]
    assert state(of, at_us=day(15), known_as_of_us=day(5)) == ["Rome"]
    assert state(of, at_us=day(-5)) == []


@pytest.mark.parametrize("on", [0, 5, 10, 15, 20, 25, 400])
def test_the_snapshot_of_a_moment_is_what_was_answered_live_then(on: float, store: SemanticStore) -> None:
    known = [one for one in MOVES if one.said_at_us <= day(on)]
    then = told(known)
    alive = live([one.memory for one in then.items.values()], day(on))
    keep(store, told(MOVES))
    answer = timing(store).state(event(temporal_pb2.StateRequest(user_id="alice", at_us=day(on), snapshot=True)))
    texts = sorted(then.items[one].memory.text for one in alive)
    assert sorted(fact.text for fact in answer.facts) == texts


_VALUES = ("Rome", "Oslo", "Bergen")
_told = st.lists(
    st.tuples(
        st.sampled_from(_VALUES), st.integers(0, 40), st.sampled_from(("assert", "assert", "correct", "end", "retract")),
        st.sampled_from(_VALUES), st.none() | st.integers(1, 20), st.none() | st.integers(-20, 0),
    ),
    min_size=1, max_size=6,
)  # fmt: skip


@given(stream=_told, moment=st.integers(0, 45))
@example(  # What holds without an end is said twice beside a stay that has one.
    stream=[
        ("Rome", 0, "assert", "Rome", None, None), ("Oslo", 0, "assert", "Rome", 1, None),
        ("Oslo", 0, "assert", "Rome", None, -1), ("Oslo", 0, "assert", "Rome", None, -1),
    ],
    moment=0,
)  # fmt: skip
def test_whatever_is_told_a_snapshot_is_what_the_memory_of_that_day_answers(stream: list[Any], moment: int) -> None:
    """Changes, corrections, ends, retractions and bounded stays, told in any order of their days."""
    statements = []
    for number, (value, on, act, other, length, back) in enumerate(stream, 1):
        closes = act in {"end", "retract"}
        corrected = value.casefold() if closes else other.casefold() if act == "correct" else ""
        until = None if length is None or closes else on + length
        since = None if back is None else on + back
        statements.append(said(number, value, on, since, until, act=act, corrected=corrected))
    statements.sort(key=lambda one: one.order)
    store = MemorySemanticStore()
    keep(store, told(statements))
    then = told([one for one in statements if one.said_at_us <= day(moment)])
    alive = live([one.memory for one in then.items.values()], day(moment))
    answer = timing(store).state(event(temporal_pb2.StateRequest(user_id="alice", at_us=day(moment), snapshot=True)))
    assert sorted(fact.text for fact in answer.facts) == sorted(then.items[one].memory.text for one in alive)


def test_a_timeline_gives_each_piece_of_time_once_with_its_reading(store: SemanticStore) -> None:
    keep(store, told([said(1, "Rome", 0), said(2, "Oslo", 10)]))
    answer = timing(store).timeline(event(temporal_pb2.TimelineRequest(user_id="alice")))
    assert [(one.value, one.from_us, one.until_us) for one in answer.facts] == [
        ("Rome", day(0), day(10)), ("Oslo", day(10), 0),
    ]  # fmt: skip
    first = answer.facts[0]
    assert (first.subject, first.predicate, first.kind, first.known_from_us) == ("user", "home_city", "profile", day(0))
    part = timing(store).timeline(event(temporal_pb2.TimelineRequest(user_id="alice", from_us=day(2), until_us=day(4))))
    assert [(one.value, one.from_us, one.until_us) for one in part.facts] == [("Rome", day(2), day(4))]
    with pytest.raises(InvalidMessage, match="before"):
        timing(store).timeline(event(temporal_pb2.TimelineRequest(user_id="alice", from_us=5, until_us=5)))


def test_what_began_before_1970_is_told_with_its_beginning(store: SemanticStore) -> None:
    since_us = -252_460_800_000_000
    old = said(1, "Rome", 0)
    keep(store, told([replace(old, fact=replace(old.fact, valid_from_us=since_us))]))
    of = timing(store)
    (now,) = of.state(event(temporal_pb2.StateRequest(user_id="alice"))).facts
    (then,) = of.timeline(event(temporal_pb2.TimelineRequest(user_id="alice", until_us=-1))).facts
    (step,) = of.evolution(event(temporal_pb2.EvolutionRequest(user_id="alice", about=home()))).steps
    assert (now.from_us, then.from_us, then.until_us, step.from_us) == (since_us, since_us, -1, since_us)


def test_facts_are_meant_by_id_reading_subject_and_kind(store: SemanticStore) -> None:
    keep(store, told([*MOVES, said(7, "tea", 1, predicate="likes", single_valued=False, kind="preference")]))
    of = timing(store)
    assert state(of, about=home()) == ["Bergen"]
    assert sorted(state(of)) == ["Bergen", "tea"]
    assert state(of, about=temporal_pb2.FactsAbout(kinds=["preference"])) == ["tea"]
    oslo = id_text(MOVES[1].statement_id)
    assert state(of, about=temporal_pb2.FactsAbout(memory_id=oslo), at_us=day(15), snapshot=True) == ["Oslo"]
    assert state(of, about=temporal_pb2.FactsAbout(subject="nobody")) == []
    with pytest.raises(NotFound):
        state(of, about=temporal_pb2.FactsAbout(memory_id=id_text(bytes(16))))


def test_nobody_sees_another_users_time(store: SemanticStore) -> None:
    keep(store, told(MOVES))
    of = timing(store)
    assert state(of, "bob") == []
    memory_id = id_text(MOVES[0].statement_id)
    for question in (
        temporal_pb2.EvolutionRequest(user_id="bob", about=temporal_pb2.FactsAbout(memory_id=memory_id)),
        temporal_pb2.EvolutionRequest(user_id="bob", about=home()),
    ):
        with pytest.raises(NotFound):
            of.evolution(event(question, "bob"))


def test_in_a_group_ones_own_facts_are_those_of_the_speaker(store: SemanticStore) -> None:
    team = Scope("group", "team")
    of_two = [
        _in(team, said(1, "Rome", 0), "alice"),
        _in(team, said(2, "Oslo", 1), "bob"),
    ]
    keep(store, told(of_two))
    of = timing(store)
    assert state(of, "alice", group_id="team", about=home()) == ["Rome"]
    assert state(of, "bob", group_id="team", about=home()) == ["Oslo"]
    assert state(of, "alice", about=home()) == []
    both = of.state(event(temporal_pb2.StateRequest(user_id="alice", group_id="team")))
    assert sorted((fact.subject, fact.value) for fact in both.facts) == [("bob", "Oslo"), ("user", "Rome")]
    for subject in ("bob", "Bob"):
        assert state(of, "alice", group_id="team", about=temporal_pb2.FactsAbout(subject=subject)) == ["Oslo"]
        about = temporal_pb2.FactsAbout(subject=subject, predicate="home_city")
        assert state(of, "alice", group_id="team", about=about) == ["Oslo"]
    assert state(of, "alice", group_id="team", about=temporal_pb2.FactsAbout(subject="bob", predicate="employer")) == []


def test_a_subject_is_meant_however_it_is_written(store: SemanticStore) -> None:
    statement = said(1, "Rome", 0)
    keep(store, told([replace(statement, fact=replace(statement.fact, subject="anna"))]))
    for subject in ("anna", "Anna"):
        about = temporal_pb2.FactsAbout(subject=subject, predicate="home_city")
        assert state(timing(store), about=about) == ["Rome"]
    assert state(timing(store), about=home()) == []


def _in(scope: Scope, statement: Statement, owner: str) -> Statement:
    return replace(statement, scope=scope, owner=owner, fact=shared(statement.fact, owner, owner))


def test_evolution_is_a_chain_of_causes_in_the_order_of_learning(store: SemanticStore) -> None:
    keep(store, told(MOVES))
    chain = timing(store).evolution(event(temporal_pb2.EvolutionRequest(user_id="alice", about=home())))
    assert [(step.what, step.old_text, step.new_text) for step in chain.steps] == [
        ("stated", "", "User lives in Rome"),
        ("changed", "User lives in Rome", "User lives in Oslo"),
        ("corrected", "User lives in Oslo", "User lives in Bergen"),
    ]
    assert [step.known_at_us for step in chain.steps] == [day(0), day(10), day(20)]
    assert [step.cause_event_id for step in chain.steps] == [one.event_id for one in MOVES]
    by_id = temporal_pb2.FactsAbout(memory_id=id_text(MOVES[2].statement_id))
    assert timing(store).evolution(event(temporal_pb2.EvolutionRequest(user_id="alice", about=by_id))) == chain
    newest = timing(store).evolution(event(temporal_pb2.EvolutionRequest(user_id="alice", about=home(), limit=1)))
    assert ([step.what for step in newest.steps], newest.cut) == (["corrected"], True)


def books(count: int) -> list[Statement]:
    return [said(number, f"book {number}", number, predicate="read", single_valued=False) for number in range(1, count + 1)]


def weights(values: Sequence[float], first: int = 1) -> list[Statement]:
    return [
        said(first + number, f"{value:g} kg", number, predicate="weight", text=f"User weighs {value:g} kg", kind="fact")
        for number, value in enumerate(values)
    ]


def trend(store: SemanticStore, **fields: Any) -> temporal_pb2.TrendAnswer:
    fields = {"about": temporal_pb2.FactsAbout(predicate="weight"), **fields}
    return timing(store).trend(event(temporal_pb2.TrendRequest(user_id="alice", **fields)))


def test_a_number_that_is_told_again_and_again_has_a_trend_and_a_prediction_with_an_interval(store: SemanticStore) -> None:
    keep(store, told(weights([90, 89.5, 89.2, 88.4, 88.1, 87.3, 87.2])))
    found = trend(store, predict_at_us=day(8))
    assert [point.value for point in found.points] == [90, 89.5, 89.2, 88.4, 88.1, 87.3, 87.2]
    assert found.slope == pytest.approx(-0.49, abs=0.05)
    assert (found.unknown, found.prediction_unknown, found.coverage) == ("", "", 0.9)
    assert found.predicted_low < found.predicted < found.predicted_high
    assert found.predicted == pytest.approx(86.2, abs=0.5)


def test_a_jump_is_a_change_point(store: SemanticStore) -> None:
    keep(store, told(weights([70, 70.2, 69.9, 70.1, 70.3, 69.8, 82, 82.2, 81.9, 82.3, 82.1, 81.8])))
    (change,) = trend(store).changes
    assert change.at_us == day(6)
    assert (change.before, change.after) == (pytest.approx(70.05), pytest.approx(82.05))
    assert change.p_value < 0.05


def test_too_few_values_are_unknown_with_the_reason(store: SemanticStore) -> None:
    keep(store, told(weights([90, 89])))
    found = trend(store, predict_at_us=day(3))
    assert found.unknown.startswith("2 values")
    assert "needed" in found.prediction_unknown
    assert (found.slope, found.predicted, found.predicted_high) == (0, 0, 0)


def test_a_number_that_was_corrected_is_not_part_of_the_trend(store: SemanticStore) -> None:
    said_wrong = [*weights([90, 89, 18]), said(9, "88 kg", 2.5, since=2, predicate="weight", text="User weighs 88 kg",
                                               kind="fact", act="correct", corrected="18 kg")]  # fmt: skip
    keep(store, told(said_wrong))
    assert [point.value for point in trend(store).points] == [90, 89, 88]


def test_confidence_has_a_trend_of_its_own(store: SemanticStore) -> None:
    shelf = told([said(1, "Rome", 0), *(said(number, "Rome", number) for number in range(2, 8))])
    keep(store, shelf)
    found = trend(store, about=home(), what="confidence", predict_at_us=day(9))
    values = [point.value for point in found.points]
    assert values[0] == pytest.approx(0.72)
    assert values == sorted(values)
    assert found.slope > 0
    assert found.predicted_high <= 1
    with pytest.raises(InvalidMessage, match="confidence"):
        trend(store, about=home(), what="mood")
    with pytest.raises(InvalidMessage, match="one fact"):
        trend(store, about=temporal_pb2.FactsAbout())


def test_pages_follow_one_another_and_cover_everything_once(store: SemanticStore) -> None:
    keep(store, told(books(7)))
    seen: list[str] = []
    after = ""
    while True:
        page = timing(store).state(event(temporal_pb2.StateRequest(user_id="alice", limit=3, after=after)))
        seen += [fact.value for fact in page.facts]
        after = page.next
        if not after:
            break
    assert sorted(seen) == [f"book {number}" for number in range(1, 8)]
    with pytest.raises(InvalidMessage, match="no page"):
        timing(store).state(event(temporal_pb2.StateRequest(user_id="alice", after="x")))


def test_more_than_may_be_looked_at_is_refused_with_the_mend(store: SemanticStore) -> None:
    keep(
        store, told([said(number, f"book {number}", number, predicate="read", single_valued=False) for number in range(1, 13)])
    )
    with pytest.raises(TooLarge, match=r"Name a predicate.*looked_at"):
        timing(store, looked_at=10).state(event(temporal_pb2.StateRequest(user_id="alice")))


def test_records_are_no_facts(store: SemanticStore) -> None:
    record = Memory(
        memory_id=bytes([9] * 16), scope=ALICE, owner="alice", kind="record", text="hello", said_at_us=START,
        recorded_at_us=START, valid_from_us=START, created_at_us=START, updated_at_us=START, received_at_us=START,
    )  # fmt: skip
    with store.transaction() as transaction:
        transaction.add(record, (), ["hello"], 1)
    of = timing(store)
    assert state(of) == []
    assert state(of, about=temporal_pb2.FactsAbout(memory_id=id_text(record.memory_id))) == []
