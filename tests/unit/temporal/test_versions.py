"""True then and known then: at, during, current, and versions of items."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from aico_memory.domain.lifecycle import rejected, retracted, superseded, withdrawn
from aico_memory.domain.memory import OPEN, Evolution, Scope
from aico_memory.domain.temporal.evolution import differences, evolution
from aico_memory.domain.temporal.versions import (
    Belief,
    Value,
    Version,
    at,
    current,
    during,
    timeline,
    version_of_memory,
    versions_of_values,
)
from tests.support.memory_items import DAY, START, item

NEW = (2).to_bytes(16, "big")


def day(number: int) -> int:
    return START + number * DAY


def values(versions) -> list[str]:
    return [version.value for version in versions]


def rome_then_oslo() -> list[Version]:
    """Rome since day 0; the move of day 10 is told on day 20."""
    rome = item(1, "Rome", fact_key="user home")
    moved = superseded(rome, NEW, day(10), day(20))
    oslo = item(2, "Oslo", day(20), valid_from_us=day(10), fact_key="user home")
    return [version_of_memory(moved), version_of_memory(oslo)]


def test_a_change_keeps_what_was_true_before_it() -> None:
    versions = rome_then_oslo()
    assert values(at(versions, day(9), day(30))) == ["Rome"]
    assert values(at(versions, day(10), day(30))) == ["Oslo"]
    assert values(at(versions, day(-1), day(30))) == []


def test_what_was_known_before_the_correction_is_still_what_was_known() -> None:
    versions = rome_then_oslo()
    assert values(at(versions, day(15), day(19))) == ["Rome"]
    assert values(at(versions, day(15), day(20))) == ["Oslo"]
    assert values(at(versions, day(5), day(-1))) == []


def test_the_timeline_is_told_in_pieces() -> None:
    versions = rome_then_oslo()
    assert [(span.version.value, span.from_us, span.until_us) for span in timeline(versions, day(30))] == [
        ("Rome", day(0), day(10)), ("Oslo", day(10), OPEN),
    ]  # fmt: skip
    assert [(span.version.value, span.from_us, span.until_us) for span in during(versions, day(5), day(12), day(30))] == [
        ("Rome", day(5), day(10)), ("Oslo", day(10), day(12)),
    ]  # fmt: skip
    assert [span.until_us for span in timeline(versions, day(19))] == [OPEN]


def test_a_retraction_leaves_no_past_but_leaves_what_was_believed() -> None:
    versions = [version_of_memory(retracted(item(1, "Rome"), day(20)))]
    assert values(at(versions, day(5), day(20))) == []
    assert values(at(versions, day(5), day(19))) == ["Rome"]


def test_a_withdrawal_leaves_what_was_believed() -> None:
    versions = [version_of_memory(withdrawn(item(1, "Rome"), day(20)))]
    assert (values(at(versions, day(5), day(21))), values(at(versions, day(5), day(19)))) == ([], ["Rome"])


def test_an_edit_replaces_the_text_for_all_times_but_not_for_earlier_knowledge() -> None:
    former = item(
        3, "Roma", status="superseded", invalidated_at_us=day(5), superseded_by=item().memory_id, version_of=item().memory_id
    )
    edited = item(1, "Rome", recorded_at_us=day(5), version=2)
    versions = [version_of_memory(former), version_of_memory(edited)]
    assert values(at(versions, day(2), day(9))) == ["Rome"]
    assert values(at(versions, day(2), day(4))) == ["Roma"]


def test_a_time_bounded_end_that_was_moved_is_read_from_its_records() -> None:
    stay = item(1, "in Berlin", temporal_type="time_bounded", valid_until_us=day(10))
    left = superseded(stay, NEW, day(6), day(7))
    version = version_of_memory(left, differences(stay, left, day(7), b"left", "change"))
    assert values(at([version], day(8), day(6))) == ["in Berlin"]
    assert values(at([version], day(8), day(7))) == []
    assert version.beliefs[-1].cause == b"left"


def test_a_candidate_is_believed_from_its_promotion_on() -> None:
    waiting = item(1, "Rome", status="candidate")
    assert values(current([version_of_memory(waiting)], day(9))) == []
    promoted = replace(waiting, status="active", updated_at_us=day(5))
    version = version_of_memory(promoted, differences(waiting, promoted, day(5), b"", "promoted"))
    assert (values(at([version], day(1), day(4))), values(at([version], day(1), day(5)))) == ([], ["Rome"])


def test_a_variant_does_not_stand_beside_what_is_held() -> None:
    versions = [version_of_memory(item(1, "Rome", fact_key="home"))]
    versions.append(version_of_memory(item(2, "Oslo", day(5), fact_key="home", variant_of=item(1).memory_id)))
    assert values(current(versions, day(9))) == ["Rome"]


def test_keys_of_different_scopes_never_meet() -> None:
    mine = version_of_memory(item(1, "Rome", fact_key="home"))
    other = version_of_memory(item(2, "Oslo", day(5), fact_key="home", scope=Scope("user", "bob")))
    assert sorted(values(current([mine, other], day(9)))) == ["Oslo", "Rome"]


def test_changes_from_before_the_present_text_do_not_count() -> None:
    old = Evolution(item().memory_id, "valid_until_us", str(OPEN), str(day(1)), day(1), b"")
    assert version_of_memory(item(1, recorded_at_us=day(5)), [old]).beliefs == (Belief(day(5), day(0), OPEN),)


def test_a_rejected_candidate_was_never_believed() -> None:
    waiting = item(1, "Rome", status="candidate")
    refused = rejected(waiting, day(3))
    records = differences(waiting, refused, day(3), b"", "rejected")
    for version in (version_of_memory(refused), version_of_memory(refused, records)):
        assert [at([version], day(t), day(known)) for t in range(5) for known in range(5)] == [()] * 25
        assert evolution([version], version.key) == ()


def test_the_values_of_a_dimension_hold_until_the_next() -> None:
    values = [Value(day(10), "0.7", b"b"), Value(day(0), "0.5", b"a"), Value(day(10), "0.8", b"c")]
    versions = versions_of_values("verbosity", values)
    assert [(span.version.value, span.from_us, span.until_us) for span in timeline(versions, day(20))] == [
        ("0.5", day(0), day(10)), ("0.8", day(10), OPEN),
    ]  # fmt: skip
    assert [version.value for version in at(versions, day(15), day(9))] == ["0.5"]
    assert [(step.what, step.old, step.new, step.cause) for step in evolution(versions, "verbosity")] == [
        ("stated", "", "0.5", b"a"), ("changed", "0.5", "0.8", b"c"),
    ]  # fmt: skip


MOMENTS = st.integers(0, 12)


@st.composite
def histories(draw: st.DrawFn) -> list[Version]:
    versions = []
    for number in range(draw(st.integers(0, 6))):
        known = sorted(draw(st.lists(MOMENTS, min_size=1, max_size=3, unique=True)))
        beliefs = tuple(Belief(one, draw(MOMENTS), draw(MOMENTS | st.just(OPEN))) for one in known)
        versions.append(Version(bytes([number]), draw(st.sampled_from("ab")), str(number), beliefs))
    return versions


@given(histories(), MOMENTS, MOMENTS)
def test_one_value_a_key_holds_and_it_is_one_that_was_believed(versions: list[Version], t: int, known: int) -> None:
    found = at(versions, t, known)
    assert len({version.key for version in found}) == len(found)
    claims = {
        version.key for version in versions for belief in [version.believed(known)]
        if belief and belief.valid_from_us <= t < belief.valid_until_us
    }  # fmt: skip
    assert {version.key for version in found} == claims


@given(histories(), MOMENTS, MOMENTS, MOMENTS)
def test_a_range_says_of_each_moment_what_at_says(versions: list[Version], one: int, other: int, known: int) -> None:
    start, end = sorted((one, other))
    spans = during(versions, start, end, known)
    assert all(start <= span.from_us < span.until_us <= end for span in spans)
    for t in range(start, end):
        holding = sorted((span.version.key, span.version.value) for span in spans if span.from_us <= t < span.until_us)
        assert holding == [(version.key, version.value) for version in at(versions, t, known)]


@given(histories(), MOMENTS, MOMENTS, st.integers(1, 5), st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_what_is_learned_later_never_changes_what_was_known(versions, t, known, later, rng) -> None:
    before = values(at(versions, t, known))
    more = [Version(b"z", rng.choice("ab"), "new", (Belief(known + later, 0, OPEN),)), *versions]
    revised = [
        replace(one, beliefs=(*one.beliefs, Belief(max(one.beliefs[-1].known_from_us, known) + later, 0, 0))) for one in more
    ]
    assert values(at(revised, t, known)) == before


@given(histories(), MOMENTS, MOMENTS, st.randoms(use_true_random=False))
def test_the_order_of_the_versions_does_not_matter(versions, t, known, rng) -> None:
    shuffled = list(versions)
    rng.shuffle(shuffled)
    assert at(shuffled, t, known) == at(versions, t, known)
