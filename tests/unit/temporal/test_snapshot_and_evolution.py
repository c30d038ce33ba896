"""Snapshots against the live answers that were given at the time, and chains of versions with their causes."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from aico_memory.domain.kinds import DAY_US
from aico_memory.domain.lifecycle import activated, expired, retracted, superseded, withdrawn
from aico_memory.domain.memory import OPEN, Evolution, Memory
from aico_memory.domain.temporal.evolution import differences, evolution, kept_since_us, series_of
from aico_memory.domain.temporal.snapshot import difference, historical_state, live
from aico_memory.domain.temporal.trends import Point
from aico_memory.domain.temporal.versions import Belief, Version, version_of_memory
from aico_memory.settings.memory_model import EvolutionSettings
from tests.support.memory_items import DAY, START, item


class Life:
    """A scope whose items are stated, changed, denied, deleted and brought back, with every change recorded."""

    def __init__(self) -> None:
        self.items: dict[bytes, Memory] = {}
        self.changes: list[Evolution] = []
        self.now_us = START
        self.answers: list[tuple[int, frozenset[bytes]]] = []

    def put(self, memory: Memory) -> None:
        old = self.items.get(memory.memory_id)
        if old is not None:
            cause = len(self.changes).to_bytes(2, "big")
            self.changes += differences(old, memory, self.now_us, cause, "")
        self.items[memory.memory_id] = memory

    def active(self, key: str) -> Memory | None:
        return next((one for one in self.items.values() if one.fact_key == key and one.status == "active"), None)

    def state(self, key: str, since: int, length: int | None) -> None:
        number = len(self.items) + 1
        new = item(number, f"value {number}", self.now_us, fact_key=key, valid_from_us=self.now_us - since * DAY)
        if length is not None:
            new = replace(new, valid_until_us=new.valid_from_us + length * DAY, temporal_type="time_bounded")
        old = self.active(key)
        if old is not None:
            self.put(superseded(old, new.memory_id, new.valid_from_us, self.now_us))
        self.put(new)

    def end(self, key: str, how: str) -> None:
        old = self.active(key)
        if old is None:
            return
        steps = {
            "change": lambda: superseded(old, b"", self.now_us - DAY, self.now_us),
            "retract": lambda: retracted(old, self.now_us),
            "withdraw": lambda: withdrawn(old, self.now_us),
            "expire": lambda: expired(old, self.now_us, self.now_us),
        }
        self.put(steps[how]())

    def bring_back(self, key: str) -> None:
        gone = [
            one for one in self.items.values() if one.fact_key == key and one.status in {"superseded", "expired", "disabled"}
        ]
        if gone and self.active(key) is None:
            self.put(activated(gone[-1], self.now_us, 1))

    def pass_time(self, days: int) -> None:
        self.answers.append((self.now_us, live(self.items.values(), self.now_us)))
        self.now_us += days * DAY

    def versions(self) -> list[Version]:
        by_id = {key: [one for one in self.changes if one.memory_id == key] for key in self.items}
        return [version_of_memory(memory, by_id[key]) for key, memory in self.items.items()]


KEYS = st.sampled_from(["home", "employer"])
ACTS = st.one_of(
    st.tuples(st.just("state"), KEYS, st.integers(0, 5), st.none() | st.integers(1, 9)),
    st.tuples(st.just("end"), KEYS, st.sampled_from(["change", "retract", "withdraw", "expire"])),
    st.tuples(st.just("bring_back"), KEYS),
)


def lived(acts) -> Life:
    life = Life()
    for days, act in acts:
        getattr(life, act[0])(*act[1:])
        life.pass_time(days)
    return life


@given(st.lists(st.tuples(st.integers(1, 4), ACTS), max_size=14))
@settings(max_examples=300)
def test_every_snapshot_equals_the_live_answer_that_was_given_then(acts) -> None:
    life = lived(acts)
    versions = life.versions()
    for at_us, answer in life.answers:
        assert historical_state(versions, at_us).ids == answer


@given(st.lists(st.tuples(st.integers(1, 4), ACTS), max_size=14))
@settings(max_examples=150)
def test_the_snapshot_for_now_needs_no_evolution_records(acts) -> None:
    life = lived(acts)
    versions = [version_of_memory(memory) for memory in life.items.values()]
    assert historical_state(versions, life.now_us).ids == live(life.items.values(), life.now_us)


def test_between_two_snapshots_stands_what_came_and_went() -> None:
    life = Life()
    life.state("home", 0, None)
    life.pass_time(10)
    life.state("home", 0, None)
    life.state("employer", 0, None)
    versions = life.versions()
    found = difference(historical_state(versions, START), historical_state(versions, life.now_us))
    assert [version.value for version in found.appeared] == ["value 3", "value 2"]
    assert [version.value for version in found.gone] == ["value 1"]


def told(*versions: Version) -> list[tuple[str, str, str]]:
    return [(step.what, step.old, step.new) for step in evolution(versions, "k")]


def test_a_chain_tells_change_correction_confirmation_end_and_return_apart() -> None:
    rome = Version(b"1", "k", "Rome", (Belief(0, 0, OPEN), Belief(10, 0, 8, b"moved")))
    oslo = Version(b"2", "k", "Oslo", (Belief(10, 8, OPEN, b"moved"), Belief(12, OPEN, OPEN, b"no, Paris")))
    paris = Version(
        b"3", "k", "Paris", (Belief(12, 8, OPEN, b"no, Paris"), Belief(20, 8, 19, b"left"), Belief(22, 8, OPEN, b"back"))
    )
    again = Version(b"4", "k", "Paris", (Belief(25, 24, OPEN), Belief(30, OPEN, OPEN, b"never")))
    other = Version(b"5", "other", "tea", (Belief(0, 0, OPEN),))
    assert told(again, paris, oslo, rome, other) == [
        ("stated", "", "Rome"), ("changed", "Rome", "Oslo"), ("corrected", "Oslo", "Paris"), ("ended", "Paris", ""),
        ("reopened", "", "Paris"), ("confirmed", "Paris", "Paris"), ("retracted", "Paris", ""),
    ]  # fmt: skip
    steps = evolution([again, paris, oslo, rome], "k")
    assert [step.cause for step in steps[1:5]] == [b"moved", b"no, Paris", b"left", b"back"]
    assert [(step.from_us, step.known_at_us) for step in steps[1:4]] == [(8, 10), (8, 12), (19, 20)]


def test_a_gap_does_not_make_two_statements_strangers() -> None:
    rome = Version(b"1", "k", "Rome", (Belief(0, 0, OPEN), Belief(5, 0, 4)))
    oslo = Version(b"2", "k", "Oslo", (Belief(9, 9, OPEN),))
    assert told(rome, oslo) == [("stated", "", "Rome"), ("ended", "Rome", ""), ("stated", "", "Oslo")]


def test_what_follows_an_end_that_was_foreseen_is_a_change() -> None:
    berlin = Version(b"1", "k", "Berlin", (Belief(0, 0, 5),))
    rome = Version(b"2", "k", "Rome", (Belief(5, 5, OPEN),))
    assert told(berlin, rome) == [("stated", "", "Berlin"), ("changed", "Berlin", "Rome")]


def test_a_variant_is_no_part_of_the_live_answer() -> None:
    held, variant = item(1, fact_key="home"), item(2, "other", START + 1, fact_key="home", variant_of=item(1).memory_id)
    assert live([held, variant], START + DAY) == {held.memory_id}


def test_only_what_changed_is_recorded() -> None:
    old = item()
    new = replace(old, status="expired", confidence=0.25, last_accessed_us=9)
    found = differences(old, new, START + 1, b"cause", "ttl")
    assert [(one.what, one.old_value, one.new_value) for one in found] == [
        ("status", "active", "expired"), ("confidence", "1.0", "0.25"),
    ]  # fmt: skip
    assert {(one.at_us, one.cause, one.reason) for one in found} == {(START + 1, b"cause", "ttl")}
    assert differences(old, old, START, b"", "") == ()


def test_recorded_numbers_make_a_series() -> None:
    steps = [(3, 0.4), (1, 0.9), (2, 0.6)]
    changes = [
        one for at_us, value in steps for one in differences(item(), item(confidence=value, tier="semantic"), at_us, b"", "")
    ]
    assert series_of(changes, "confidence") == (Point(1, 0.9), Point(2, 0.6), Point(3, 0.4))


def test_records_are_kept_for_a_year() -> None:
    assert kept_since_us(START, EvolutionSettings()) == START - 365 * DAY_US
