"""Importance, utility and confidence: figures of the specification, and what holds for all inputs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.memory import TIERS
from aico_memory.domain.strength.confidence import base_confidence, contradicted, decayed, decayed_since, written_confidence
from aico_memory.domain.strength.importance import Channels, importance_of, level_of
from aico_memory.domain.strength.utility import drifted, judged
from aico_memory.errors import InvalidMessage
from aico_memory.settings.memory_model import ConfidenceSettings, ImportanceSettings, MemoryModelSettings, UtilitySettings
from tests.support.memory_items import DAY, START, item

IMPORTANCE, UTILITY, CONFIDENCE, MODEL = ImportanceSettings(), UtilitySettings(), ConfidenceSettings(), MemoryModelSettings()
SHARE = st.floats(0, 1)


def test_each_channel_has_its_share() -> None:
    each = [importance_of(Channels(**{name: 1.0}), 1.0, IMPORTANCE) for name in Channels._fields]
    assert each == [0.25, 0.30, 0.25, 0.20]


@given(st.floats(-5, 5), st.floats(-5, 5), st.floats(-5, 5), st.floats(-5, 5), st.floats(-5, 5))
def test_importance_and_boost_stay_in_their_bounds(a: float, b: float, c: float, d: float, boost: float) -> None:
    channels = Channels(a, b, c, d)
    lowest, value, highest = (importance_of(channels, one, IMPORTANCE) for one in (0.7, boost, 1.3))
    assert 0 <= lowest <= value <= highest <= 1


@pytest.mark.parametrize(("importance", "level"), [
    (1.0, "critical"), (0.8, "critical"), (0.79, "high"), (0.6, "high"), (0.4, "normal"), (0.39, "low"), (0.0, "low"),
])  # fmt: skip
def test_levels_begin_where_they_say(importance: float, level: str) -> None:
    assert level_of(importance, IMPORTANCE) == level


def test_a_use_moves_utility_a_tenth_of_the_way() -> None:
    assert judged(0.5, True, UTILITY) == pytest.approx(0.55)
    assert judged(0.5, False, UTILITY) == pytest.approx(0.45)


def test_a_day_drifts_utility_a_hundredth_of_the_way_back() -> None:
    assert drifted(0.9, 1, UTILITY) == pytest.approx(0.9 + 0.01 * (0.5 - 0.9))


@given(SHARE, st.floats(0, 5000))
def test_drift_never_overshoots(utility: float, days: float) -> None:
    after = drifted(utility, days, UTILITY)
    assert min(utility, 0.5) - 1e-12 <= after <= max(utility, 0.5) + 1e-12


@given(SHARE, st.floats(0, 2000), st.integers(1, 30))
def test_drift_once_equals_drift_in_parts(utility: float, days: float, parts: int) -> None:
    stepped = utility
    for _ in range(parts):
        stepped = drifted(stepped, days / parts, UTILITY)
    assert stepped == pytest.approx(drifted(utility, days, UTILITY))


@pytest.mark.parametrize(("stated", "method", "statements", "expected"), [
    (True, "user_explicit", 1, 0.9), (True, "user_explicit", 3, 1.0), (True, "rule", 1, 0.72), (False, "llm_extract", 1, 0.64),
    (False, "tool_result", 1, 0.56), (False, "tool_result", 4, 0.728),
])  # fmt: skip
def test_confidence_on_write(stated: bool, method: str, statements: int, expected: float) -> None:
    base = base_confidence(stated, CONFIDENCE)
    assert written_confidence(base, method, statements, CONFIDENCE) == pytest.approx(expected)


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(InvalidMessage, match="hearsay"):
        written_confidence(0.9, "hearsay", 1, CONFIDENCE)
    with pytest.raises(InvalidMessage, match="repetition"):
        written_confidence(0.9, "repetition", 1, CONFIDENCE)


@given(SHARE, st.integers(1, 50))
def test_repetition_never_lowers_confidence_and_never_passes_one(base: float, statements: int) -> None:
    once = written_confidence(base, "rule", statements, CONFIDENCE)
    assert once <= written_confidence(base, "rule", statements + 1, CONFIDENCE) <= 1


def test_the_loser_of_a_contradiction_keeps_half() -> None:
    assert contradicted(0.8, CONFIDENCE) == 0.4


@given(SHARE, st.floats(0, 1), st.lists(st.floats(0, 300), max_size=12))
def test_decay_over_parts_equals_decay_over_the_whole(confidence: float, rate: float, parts: list[float]) -> None:
    stepped = confidence
    for days in parts:
        stepped = decayed(stepped, rate, days)
    assert stepped == pytest.approx(decayed(confidence, rate, sum(parts)), abs=1e-12)
    assert 0 <= stepped <= confidence


@given(
    SHARE, st.sampled_from(["fact", "plan", "decision", "profile"]), st.sampled_from(TIERS),
    st.lists(st.integers(0, 400 * DAY), min_size=1, max_size=10),
)  # fmt: skip
def test_ten_runs_of_decay_equal_the_last_one_alone(confidence: float, kind: str, tier: str, after: list[int]) -> None:
    memory = item(kind=kind, tier=tier, confidence=confidence)
    stepped, applied_us = memory.confidence, 0
    for elapsed in sorted(after):
        now_us = START + elapsed
        stepped = decayed_since(item(kind=kind, tier=tier, confidence=stepped), applied_us, now_us, MODEL)
        applied_us = now_us
    assert stepped == pytest.approx(decayed_since(memory, 0, START + max(after), MODEL), abs=1e-12)
    again = decayed_since(item(kind=kind, tier=tier, confidence=stepped), applied_us, START + max(after), MODEL)
    assert again == stepped


@pytest.mark.parametrize(("kind", "tier", "kept"), [
    ("fact", "semantic", 0.995), ("fact", "episodic", 0.985), ("fact", "dormant", 1.0), ("plan", "semantic", 0.95),
    ("plan", "episodic", 0.85), ("decision", "semantic", 0.98), ("profile", "episodic", 1.0), ("preference", "semantic", 1.0),
])  # fmt: skip
def test_an_unused_day_costs_what_kind_and_tier_say(kind: str, tier: str, kept: float) -> None:
    assert decayed_since(item(kind=kind, tier=tier, confidence=1.0), 0, START + DAY, MODEL) == pytest.approx(kept)


@pytest.mark.parametrize("use", ["last_accessed_us", "last_referenced_us"])
def test_what_was_used_since_decays_from_its_use(use: str) -> None:
    memory = item(tier="semantic", confidence=1.0, **{use: START + 9 * DAY})
    assert decayed_since(memory, START + DAY, START + 10 * DAY, MODEL) == pytest.approx(0.995)
