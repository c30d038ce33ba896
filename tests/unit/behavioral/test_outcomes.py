"""The advisor's memory in the worker: recorded once, profiled at once, found, advised on."""

import json

import pytest

from aico_memory.client.outcome_shapes import entry_shape
from aico_memory.clock import from_us
from aico_memory.contracts.v1 import behavioral_pb2, outcomes_pb2, sleep_pb2
from aico_memory.errors import InvalidMessage, NotFound
from aico_memory.ids import derive_id
from tests.unit.behavioral.advisor import DAY_US, rules
from tests.unit.behavioral.worker import START_US


def test_without_consent_nothing_is_recorded_and_that_is_said(advisor):
    advisor.consent(on=False)
    assert advisor.record().status == "no_consent"
    made = advisor.publish(outcomes_pb2.SuggestionMade(user_id="ann", type="add_habit"))
    assert made.status == "no_consent"
    assert advisor.profile().outcomes == 0
    assert advisor.profile().learning is False
    advice = advisor.advise()
    assert (advice.verdict, advice.learning, rules(advice)) == ("yes", False, {"no_consent": "yes"})
    advisor.consent()
    assert advisor.record().status == "recorded"
    advisor.consent(on=False)
    assert advisor.profile().outcomes == 1
    assert advisor.advise().learning is False


def test_an_outcome_updates_the_profile_and_counts_once_whatever_comes_twice(advisor):
    event_id = derive_id(derive_id(advisor.event(behavioral_pb2.Learn()).event_id, "a"), "b")
    first = advisor.record(event_id=event_id)
    assert (first.status, first.outcome_id, first.acceptance.accepted) == ("recorded", "o1", 1)
    assert advisor.record(event_id=event_id, outcome="rejected") == first
    again = advisor.record()
    assert (again.status, again.outcome_id) == ("unchanged", "o1")
    stored = advisor.ask(outcomes_pb2.OutcomeAnswerRequest(user_id="ann", event_id=event_id.bytes))
    assert stored == first
    assert [(one.type, one.accepted, one.rate) for one in advisor.profile().acceptance] == [("add_habit", 1, 1.0)]


def test_another_decision_of_the_same_suggestion_takes_the_place_of_the_first(advisor):
    advisor.record("s1", "accepted")
    advisor.record("s2", "accepted")
    assert advisor.record("s1", "rejected").status == "revised"
    profile = advisor.profile()
    assert (profile.accepted, profile.rejected, profile.outcomes) == (1, 1, 2)
    told = advisor.outcomes().outcomes
    assert [(one.outcome_id, one.replaced_by) for one in told] == [("o3", ""), ("o2", ""), ("o1", "o3")]


@pytest.mark.parametrize("layer", [1, 2, 3])
def test_an_answer_that_was_revised_is_told_with_the_one_that_stands(advisor, layer):
    for number, outcome in enumerate(("accepted", "rejected", "expired")):
        advisor.record("s1", outcome, days_ago=9 - number)
    (first,) = advisor.outcomes(layer, outcomes=["accepted"]).outcomes
    assert (first.replaced_by, "(replaced by o3)" in first.text) == ("o3", True)
    assert ["(replaced by o3)" in line for line in first.after] == ([True] if layer == 2 else [])
    assert entry_shape(first, layer)["replaced_by"] == "o3"
    (last,) = advisor.outcomes(layer, outcomes=["expired"]).outcomes
    assert (last.replaced_by, "replaced by" in last.text.splitlines()[0]) == ("", False)
    assert entry_shape(last, layer)["replaced_by"] is None
    advisor.publish(outcomes_pb2.DeleteOutcomes(user_id="ann", ids=["o3"]))
    assert [one.replaced_by for one in advisor.outcomes(layer).outcomes] == ["", "o2"]


# Half of a pair of code units: JSON can say it, but it is no character.
HALF = '{"note": "\\ud800"}'


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "Add a habit!"}, {"outcome": "maybe"}, {"state_before_json": "{half"}, {"state_after_json": HALF},
        {"evidence": ["x" * 2001]},
        {"state_before_json": "NaN"},
        {"state_after_json": '{"steps": [-Infinity]}'},
        {"state_after_json": "1e999"},
    ],
)  # fmt: skip
def test_what_is_no_outcome_is_refused_and_changes_nothing(advisor, fields):
    with pytest.raises(InvalidMessage):
        advisor.record(**fields)
    assert advisor.profile().outcomes == 0


def test_a_suggestion_whose_state_cannot_be_kept_is_refused_and_the_weekly_job_expires_the_others(advisor):
    with pytest.raises(InvalidMessage):
        advisor.publish(
            outcomes_pb2.SuggestionMade(user_id="ann", suggestion_id="s1", type="add_habit", state_before_json=HALF)
        )
    whole = HALF.replace("\\ud800", "\\ud83d\\ude00")
    advisor.publish(outcomes_pb2.SuggestionMade(user_id="ann", suggestion_id="s2", type="add_habit", state_before_json=whole))
    weekly = behavioral_pb2.CompactOutcomes(firing_id="week", planned_at_us=START_US + 100 * DAY_US)
    advisor.apply(advisor.event(weekly, user=""))
    (expired,) = advisor.outcomes(3).outcomes
    assert (expired.suggestion_id, expired.outcome) == ("s2", "expired")


def test_patterns_follow_from_data_and_speak_in_the_advice(advisor):
    for number in range(5):
        advisor.record(f"r{number}", "rejected", "remove_task", f"t{number}", days_ago=40)
        advisor.record(f"a{number}", "accepted", "add_task", f"t{number}", days_ago=40)
    named = {one.name: one.advice for one in advisor.profile().patterns}
    assert named["never_remove_task"] == "no"
    assert named["open_to_add_task"] == "yes"
    assert named["protective_of_existing"] == "caution"
    assert named["prefers_additions_over_removals"] == "caution"
    never = advisor.advise("remove_task", "new")
    assert never.verdict == "no"
    assert rules(never)["never_remove_task"] == "no"
    assert (never.acceptance.accepted, never.acceptance.rejected) == (0, 5)
    assert advisor.advise("add_task", "new").verdict == "yes"
    # Another removal is of the same class.
    assert rules(advisor.advise("delete_note", "x"))["protective_of_existing"] == "caution"


def test_a_value_rejected_lately_is_not_suggested_again_and_later_with_caution(advisor):
    advisor.record("s1", "rejected", value="run", days_ago=3)
    advisor.record("s2", "rejected", value="swim", days_ago=100)
    advisor.record("s3", "accepted", value="read", days_ago=1)
    assert rules(advisor.advise(value="run"))["rejected_recently"] == "no"
    assert advisor.advise(value="run").verdict == "no"
    assert rules(advisor.advise(value="swim"))["rejected_before"] == "caution"
    assert rules(advisor.advise(value="read"))["accepted_already"] == "caution"
    assert advisor.advise(value="sing").value_acceptance.accepted == 0
    unknown = advisor.advise("plan_trip", "rome")
    assert (unknown.verdict, rules(unknown)) == ("yes", {"no_history": "yes"})


def test_the_three_depths_cost_more_the_deeper_and_say_how_much(advisor):
    state = json.dumps({"routine": ["coffee", "news", "walk " * 30]})
    for number in range(4):
        advisor.record(
            f"s{number}", value=f"v{number}", days_ago=number, reason="because " * 40, state_before_json=state,
            evidence=["said so on Monday " * 10], tags=["morning"],
        )  # fmt: skip
    lines, timeline, detail = (advisor.outcomes(layer) for layer in (1, 2, 3))
    assert lines.tokens < timeline.tokens < detail.tokens
    assert lines.tokens_in_full == timeline.tokens_in_full == detail.tokens_in_full == detail.tokens
    assert lines.tokens == sum(one.tokens for one in lines.outcomes)
    middle = timeline.outcomes[1]
    assert (len(middle.before), len(middle.after)) == (1, 1)
    assert "o1 add_habit v0 accepted" in middle.after[0]
    assert detail.outcomes[0].evidence
    assert [one.outcome_id for one in advisor.outcomes(3, ids=["o2", "s3"]).outcomes] == ["o2", "o4"]
    with pytest.raises(NotFound):
        advisor.outcomes(3, ids=["o99"])
    with pytest.raises(InvalidMessage):
        advisor.outcomes(4)


def test_filters_come_before_the_search(advisor):
    advisor.record("s1", "accepted", "add_habit", "run", tags=["sport", "morning"])
    advisor.record("s2", "rejected", "add_habit", "swim", tags=["sport"], days_ago=10)
    advisor.record("s3", "accepted", "plan_trip", "rome", days_ago=20)
    found = advisor.outcomes(query="habit sport", tags=["sport"], outcomes=["rejected"])
    assert [one.suggestion_id for one in found.outcomes] == ["s2"]
    assert found.matching == 1
    assert [one.suggestion_id for one in advisor.outcomes(types=["plan_trip"]).outcomes] == ["s3"]
    assert advisor.outcomes(until_us=START_US - 15 * DAY_US).matching == 1
    assert advisor.outcomes(tags=["sport", "morning"]).matching == 1


def test_search_is_hybrid_with_the_model_and_by_words_without_and_says_which(advisor):
    advisor.model.vectors = {
        "add habit run. morning exercise": (1.0, 0.0, 0.0, 0.0), "plan trip rome. a weekend away": (0.0, 1.0, 0.0, 0.0),
        "jogger": (0.9, 0.1, 0.0, 0.0), "rome": (0.0, 1.0, 0.0, 0.0),
    }  # fmt: skip
    advisor.record("s1", value="run", reason="morning exercise")
    advisor.record("s2", type="plan_trip", value="rome", reason="a weekend away")
    early = advisor.outcomes(query="jogger")
    assert early.degraded == ["semantic: 2 of 2 not embedded yet"]
    advisor.embed()
    found = advisor.outcomes(query="jogger")
    assert (found.answered_by, list(found.degraded)) == ("hybrid", [])
    assert [one.suggestion_id for one in found.outcomes] == ["s1", "s2"]
    assert found.outcomes[0].score == pytest.approx(0.7 * 0.9, abs=1e-3)
    advisor.model.away = True
    by_words = advisor.outcomes(query="rome weekend")
    assert (by_words.answered_by, list(by_words.degraded)) == ("words", ["semantic"])
    assert by_words.outcomes[0].suggestion_id == "s2"
    advice = advisor.advise("plan_trip", "rome")
    assert advice.degraded == ["semantic"]
    assert advice.similar[0].suggestion_id == "s2"


def test_outcomes_are_embedded_again_for_another_model_and_wait_for_one_that_is_away(advisor):
    advisor.model.away = True
    advisor.record("s1")
    advisor.embed()
    with advisor.store.reading() as rows:
        assert rows.outcome_vectors("ann") == []
    advisor.model.away = False
    advisor.handlers._desk._embedder._not_before = 0.0
    advisor.embed()
    advisor.model.fingerprint = "other|4|2"
    assert advisor.outcomes(query="run").degraded == ["semantic: 1 of 1 not embedded yet"]
    advisor.embed()
    assert advisor.outcomes(query="run").degraded == []
    with advisor.store.reading() as rows:
        assert [one.fingerprint for one in rows.outcome_vectors("ann")] == ["other|4|2"]


def test_a_suggestion_is_open_until_it_is_decided(advisor):
    made = advisor.publish(
        outcomes_pb2.SuggestionMade(
            user_id="ann", suggestion_id="s7", type="add_habit", value="run", reason="you sleep badly", tags=["sleep"]
        )
    )
    assert (made.status, made.suggestion_id) == ("open", "s7")
    (listed,) = advisor.ask(outcomes_pb2.SuggestionsRequest(user_id="ann")).suggestions
    assert (listed.suggestion_id, listed.value, listed.reason) == ("s7", "run", "you sleep badly")
    decided = advisor.publish(
        outcomes_pb2.DecideSuggestion(
            user_id="ann", suggestion_id="s7", outcome="rejected", reason="too early", state_after_json='{"runs": 0}'
        )
    )
    assert decided.status == "recorded"
    assert advisor.ask(outcomes_pb2.SuggestionsRequest(user_id="ann")).suggestions == []
    (found,) = advisor.outcomes(3).outcomes
    assert (found.value, found.reason, found.tags, found.state_after_json) == ("run", "too early", ["sleep"], '{"runs":0}')
    again = advisor.publish(outcomes_pb2.SuggestionMade(user_id="ann", suggestion_id="s7", type="add_habit"))
    assert (again.status, again.type, again.value, again.reason) == ("rejected", "add_habit", "run", "too early")
    changed = advisor.publish(outcomes_pb2.DecideSuggestion(user_id="ann", suggestion_id="s7", outcome="accepted"))
    assert changed.status == "revised"
    reasons = {one.outcome: one.reason for one in advisor.outcomes(3).outcomes}
    assert reasons == {"rejected": "too early", "accepted": ""}, "why it was rejected is no reason to accept it"
    with pytest.raises(NotFound):
        advisor.publish(outcomes_pb2.DecideSuggestion(user_id="ann", suggestion_id="never", outcome="accepted"))


def test_a_suggestion_that_stands_is_answered_in_its_own_words_whatever_is_said_under_its_id(advisor):
    def made(**fields):
        return advisor.publish(outcomes_pb2.SuggestionMade(user_id="ann", suggestion_id="s7", **fields))

    first = made(type="add_habit", value="run", reason="you sleep badly")
    assert made(type="remove_task", value="laundry", reason="it is Sunday") == first
    advisor.publish(outcomes_pb2.DecideSuggestion(user_id="ann", suggestion_id="s7", outcome="accepted"))
    again = made(type="remove_task", value="laundry", reason="it is Sunday")
    assert (again.status, again.type, again.value, again.reason) == ("accepted", "add_habit", "run", "you sleep badly")
    assert (again.created_us, again.expires_us) == (first.created_us, 0)


def test_a_suggestion_whose_time_has_passed_is_no_longer_listed_before_any_job_has_come_by(advisor):
    listed = outcomes_pb2.SuggestionsRequest(user_id="ann")
    made = advisor.publish(outcomes_pb2.SuggestionMade(user_id="ann", suggestion_id="s1", type="add_habit", value="run"))
    advisor.clock.set(from_us(made.expires_us - 1))
    assert [one.suggestion_id for one in advisor.ask(listed).suggestions] == ["s1"]
    advisor.clock.set(from_us(made.expires_us))
    assert advisor.ask(listed).suggestions == []


def test_a_suggestion_without_an_answer_expires_with_the_weekly_job(advisor):
    advisor.publish(outcomes_pb2.SuggestionMade(user_id="ann", suggestion_id="s1", type="add_habit", value="run"))
    emitted = advisor.apply(advisor.event(
        behavioral_pb2.CompactOutcomes(firing_id="f1", planned_at_us=START_US + 15 * DAY_US), user=""
    ))  # fmt: skip
    (finished,) = [message for _, message in emitted if isinstance(message, sleep_pb2.JobFinished)]
    assert finished.firing_id == "f1"
    assert "1 suggestions expired" in finished.detail
    (found,) = advisor.outcomes().outcomes
    assert (found.outcome, found.suggestion_id) == ("expired", "s1")
    assert advisor.profile().expired == 1


def test_outcomes_that_are_recorded_late_are_counted_when_they_were_decided(advisor):
    for number in range(10):
        advisor.record(f"new{number}", "accepted", days_ago=9 - number)
    for number in range(10):
        advisor.record(f"old{number}", "rejected", days_ago=109 - number)
    profile = advisor.profile()
    assert (profile.trends.acceptance_trend, profile.last_decided_us) == ("rising", START_US)
    assert profile.trends.acceptance > 0.9
    assert profile.last_outcome.startswith("o10 add_habit run accepted")


@pytest.mark.parametrize(
    "changed",
    [{"type": "add_task"}, {"value": "swim"}, {"reason": "too early"}, {"evidence": ["seen"]}, {"state_after_json": "{}"}],
)
def test_another_word_on_the_same_outcome_takes_the_place_of_the_first(advisor, changed):
    first = {"reason": "no time", "evidence": ["told"], "tags": ["home"]}
    advisor.record("s1", "rejected", **first)
    assert advisor.record("s1", "rejected", **first).status == "unchanged"
    assert advisor.record("s1", "rejected").status == "unchanged", "what is left empty says nothing"
    assert advisor.record("s1", "rejected", **(first | changed)).status == "revised"
    told = advisor.outcomes(3).outcomes[0]
    named = {"type": told.type, "value": told.value, "reason": told.reason, "evidence": list(told.evidence)}
    assert named | {"state_after_json": told.state_after_json} | changed == named | {"state_after_json": told.state_after_json}
    profile = advisor.profile()
    assert (profile.outcomes, [one.type for one in profile.acceptance]) == (1, [changed.get("type", "add_habit")])


def test_a_compacted_outcome_is_not_revised_by_the_same_one_told_again(advisor):
    advisor.record("s1", "rejected", reason="no time", days_ago=60)
    advisor.publish(outcomes_pb2.CompactNow(), user="ann")
    assert advisor.record("s1", "rejected", reason="no time", days_ago=60).status == "unchanged"
    assert advisor.record("s1", "rejected", value="swim", days_ago=60).status == "revised"
