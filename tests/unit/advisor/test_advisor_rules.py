"""The rules of the advisor's memory: profile, patterns, advice, compaction, insights, matching; pure."""

import json
import uuid
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.advisor.advice import advise
from aico_memory.domain.advisor.compaction import border_us, is_due, to_compact
from aico_memory.domain.advisor.insights import as_markdown, curate
from aico_memory.domain.advisor.matching import hybrid, likeness, word_scores
from aico_memory.domain.advisor.outcome import OUTCOMES, Outcome, checked_type, compacted, detail, line, timeline
from aico_memory.domain.advisor.patterns import patterns_of
from aico_memory.domain.advisor.profile import Profile, TypeCount, as_data, folded, from_data, updated
from aico_memory.errors import ConfigurationInvalid, InvalidMessage
from aico_memory.paths import shipped_config
from aico_memory.settings.outcomes import AdviceSettings, OutcomeSettings, ProfileSettings
from aico_memory.stores.behavioral.pattern_file import FILE, load_patterns

FIGURES = OutcomeSettings()
RULES = load_patterns(shipped_config() / FILE)
DAY_US = 86_400_000_000
NOW_US = 1_767_258_000_000_000
TYPES = ("add_habit", "remove_habit", "change_plan", "plan_trip")


def outcome(number=1, outcome="accepted", type="add_habit", value="run", days_ago=0, **changes):
    at_us = NOW_US - days_ago * DAY_US
    plain = Outcome("ann", uuid.UUID(int=number), number, f"s{number}", type, outcome, at_us, at_us, value)
    return replace(plain, **changes)


def profile_of(outcomes):
    profile = Profile()
    for one in outcomes:
        profile = updated(profile, one, FIGURES.profile)
    return profile


rows = st.lists(st.tuples(st.sampled_from(OUTCOMES), st.sampled_from(TYPES), st.integers(0, 400)), max_size=60)


@st.composite
def histories_of(draw):
    told = enumerate(draw(rows), 1)
    return [outcome(number, kind, name, f"v{number}", days, reason="words") for number, (kind, name, days) in told]


def by_time(outcomes):
    return sorted(outcomes, key=lambda one: (one.decided_us, one.number))


histories = histories_of()
NOTHING = TypeCount()


@given(histories)
def test_a_profile_folded_anew_equals_the_one_kept_up_to_date_also_from_compacted_outcomes(outcomes):
    kept = profile_of(by_time(outcomes))
    assert folded(outcomes, FIGURES.profile) == kept
    old = [compacted(one) if one.decided_us < border_us(NOW_US, FIGURES) else one for one in outcomes]
    assert folded(old, FIGURES.profile) == kept
    assert patterns_of(folded(old, FIGURES.profile), RULES) == patterns_of(kept, RULES)


@given(histories)
def test_a_profile_comes_back_exactly_from_json(outcomes):
    kept = profile_of(outcomes)
    assert from_data(json.loads(json.dumps(as_data(kept)))) == kept


@given(histories)
def test_counts_add_up_and_shares_stay_shares(outcomes):
    kept = profile_of(outcomes)
    assert sum((kept.total.accepted, kept.total.rejected, kept.total.expired, kept.total.superseded)) == len(outcomes)
    for course in (kept.engagement, kept.acceptance, kept.stability):
        assert 0 <= course.recent.value <= 1
        assert 0 <= course.long.value <= 1
    for pattern in patterns_of(kept, RULES):
        assert pattern.count.decided + pattern.count.expired > 0


@given(histories, st.integers(0, 59))
def test_of_a_suggestion_decided_twice_the_latter_decision_counts(outcomes, place):
    if not outcomes:
        return
    first = outcomes[place % len(outcomes)]
    again = outcome(len(outcomes) + 1, "rejected", first.type, first.value, suggestion_id=first.suggestion_id)
    profile = folded([*outcomes, again], FIGURES.profile)
    assert profile.outcomes == len(outcomes)
    assert profile.last_number == again.number
    without = [one for one in outcomes if one is not first]
    assert profile.total.rejected == profile_of(without).total.rejected + 1


def test_a_trend_needs_enough_suggestions_and_shows_a_turn():
    answers = ["accepted"] * 20 + ["rejected"] * 6
    course = profile_of(outcome(n, answer) for n, answer in enumerate(answers, 1)).acceptance
    assert course.direction(FIGURES.profile) == "falling"
    assert profile_of([outcome(1), outcome(2)]).acceptance.direction(FIGURES.profile) == "unknown"
    assert profile_of(outcome(n) for n in range(1, 30)).acceptance.direction(FIGURES.profile) == "steady"


@pytest.mark.parametrize(("decided", "confidence"), [(0, "low"), (4, "low"), (5, "medium"), (19, "medium"), (20, "high")])
def test_confidence_follows_the_count(decided, confidence):
    assert TypeCount(accepted=decided).confidence(ProfileSettings()) == confidence


def test_suggestions_per_week_count_a_shorter_time_as_a_week():
    assert profile_of([outcome(1), outcome(2)]).per_week == 2
    assert profile_of([outcome(1, days_ago=28), outcome(2)]).per_week == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("type_name", "class_name"),
    [("add_habit", "addition"), ("habit.remove", "removal"), ("reschedule-meeting", "change"), ("plan_trip", "addition"),
     ("habit", "")],
)  # fmt: skip
def test_a_types_words_tell_its_class(type_name, class_name):
    assert RULES.class_of(type_name) == class_name


def test_a_pattern_needs_its_number_of_decided_suggestions():
    four = profile_of(outcome(n, "rejected") for n in range(1, 5))
    five = updated(four, outcome(5, "rejected"), FIGURES.profile)
    assert "never_add_habit" not in {one.name for one in patterns_of(four, RULES)}
    assert "never_add_habit" in {one.name for one in patterns_of(five, RULES)}
    assert "never_add_habit" not in {one.name for one in patterns_of(updated(five, outcome(6), FIGURES.profile), RULES)}


def advice(value="run", past=(), count=NOTHING, patterns=(), similar=()):
    return advise(value, count, patterns, past, similar, AdviceSettings(), NOW_US)


def test_the_gravest_reason_decides_and_comes_first():
    past = [outcome(1, "accepted", value="run", days_ago=100), outcome(2, "rejected", value="run", days_ago=2)]
    found = advice(past=past, count=TypeCount(accepted=1, rejected=5))
    assert found.verdict == "no"
    assert [reason.rule for reason in found.reasons] == ["rejected_recently", "low_acceptance"]
    assert (found.value_count.accepted, found.value_count.rejected) == (1, 1)


def test_suggestions_that_stay_unanswered_ask_for_caution():
    past = [outcome(n, "expired", value=f"v{n}", days_ago=9 - n) for n in range(1, 4)]
    assert [reason.rule for reason in advice("other", past).reasons] == ["ignored"]
    assert advice("other", [*past, outcome(4)], TypeCount(accepted=1)).verdict == "yes"


def test_similar_outcomes_speak_from_two_on_and_only_where_they_are_near():
    near = [(0.9, outcome(1, "rejected")), (0.7, outcome(2, "rejected")), (0.3, outcome(3, "accepted"))]
    assert [(reason.rule, reason.advice) for reason in advice(similar=near).reasons] == [("similar_rejected", "caution")]
    assert advice(similar=near[:1]).verdict == "yes"
    accepted = [(0.9, outcome(1)), (0.8, outcome(2))]
    assert advice(similar=accepted).reasons[0].rule == "similar_accepted"


def test_what_is_old_and_whole_is_compacted_and_many_or_large_ones_do_not_wait():
    old, young = outcome(1, days_ago=31), outcome(2, days_ago=29)
    border = border_us(NOW_US, FIGURES)
    assert to_compact([old, young, compacted(old)], border) == [old]
    assert is_due(101, 0, border - 1, border, FIGURES)
    assert is_due(1, 300_000, border - 1, border, FIGURES)
    assert not is_due(100, 1000, border - 1, border, FIGURES)
    assert not is_due(101, 300_000, border, border, FIGURES), "there is nothing to compact"


def test_each_depth_tells_more_and_a_compacted_outcome_is_its_line():
    whole = outcome(
        7, reason="because\nof the weather and more", state_before='{"a":1}', state_after='{"a":2}', evidence=("seen",),
        tags=("home",),
    )  # fmt: skip
    assert line(whole, 10) == "o7 add_habit run accepted 2026-01-01: because of…"
    told = timeline(whole, ["o6 x"], ["o8 y"], 100)
    assert "before: {" in told
    assert "earlier: o6 x" in told
    assert "evidence: seen" in detail(whole)
    assert detail(compacted(whole)) == "o7 add_habit run accepted 2026-01-01"


@pytest.mark.parametrize("name", ["", "Add", "add habit", "ä", "x" * 65, "_x"])
def test_a_sentence_is_no_type(name):
    with pytest.raises(InvalidMessage):
        checked_type(name)


@given(st.integers(0, 9), st.sampled_from(OUTCOMES[:2]))
def test_no_insight_stands_on_fewer_than_k_people(people, kind):
    each = profile_of(outcome(n, kind) for n in range(1, 6))
    crowd = [(each, patterns_of(each, RULES))] * people
    found = curate(crowd, FIGURES, NOW_US)
    assert bool(found) is (people >= FIGURES.k)
    assert all(one.people >= FIGURES.k for one in found)
    text = as_markdown(found, FIGURES.k)
    assert "ann" not in text
    assert "run" not in text


def test_people_with_few_answers_do_not_count_into_an_insight():
    few = profile_of(outcome(n) for n in range(1, 3))
    assert curate([(few, ())] * 9, FIGURES, NOW_US) == []


def test_words_meet_in_their_forms_and_vectors_that_are_missing_are_made_up_for_by_words():
    scores = word_scores(["add habit morning runs", "plan trip to Rome"], "running in the morning")
    assert scores[0] > scores[1]
    assert word_scores(["a"], "").tolist() == [0.0]
    found = likeness([np.array([1, 0], np.float32), None, np.array([1, 0, 0], np.float32)], np.array([1, 0], np.float32))
    assert found[0] == 1
    assert np.isnan(found[1:]).all()
    both = hybrid(found, np.array([0.0, 0.5, 2.0], np.float32), 0.7, 0.3)
    assert both.tolist() == pytest.approx([0.7, 0.5, 1.0])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("classes: {}\npatterns:\n  - {name: a, of: each_type}", "least"),
        ("classes: {}\npatterns:\n  - {name: a, of: [odd], least: 1}", "odd"),
        ("classes: {}\npatterns:\n  - {name: a, of: all, least: 1, advice: maybe}", "maybe"),
        ("classes: {}\npatterns:\n  - {name: a, of: all, least: 1, low: 0.9, high: 0.1}", "low"),
        ("classes: {}\npatterns:\n  - {name: 'a{b}', of: all, least: 1}", "b"),
        ("classes: {}\npatterns:\n  - {name: a, of: all, least: 1}\n  - {name: a, of: all, least: 1}", "twice"),
        ("classes: {}\npatterns:\n  - {name: a, of: all, least: 1, often: 2}", "often"),
        ("patterns: [", "while parsing"),
    ],
)
def test_a_pattern_file_that_cannot_be_meant_is_refused_with_what_is_wrong(tmp_path, text, told):
    path = tmp_path / FILE
    path.write_text(text)
    with pytest.raises(ConfigurationInvalid, match=told):
        load_patterns(path)
