"""Insights of many people's outcomes: curated, reviewed, without anybody's words."""

import pytest

from aico_memory.contracts.v1 import behavioral_pb2, outcomes_pb2
from aico_memory.errors import InvalidMessage, NotFound
from tests.unit.behavioral.advisor import rules


def people(advisor, number, outcome="accepted", kind="add_habit"):
    for person in range(number):
        user = f"person-{person}"
        advisor.consent(user)
        for each in range(5):
            advisor.record(f"s-{kind}-{each}", outcome, kind, "secret value", user=user, reason="private words")


def test_insights_need_enough_people_and_hold_none_of_their_words(advisor, tmp_path):
    people(advisor, 4)
    assert advisor.publish(outcomes_pb2.CurateInsights(), user="").insights == []
    people(advisor, 5)
    page = advisor.publish(outcomes_pb2.CurateInsights(), user="")
    advisor.handlers.after_commit()
    assert {one.type for one in page.insights} == {"add_habit"}
    assert all(one.people >= 5 for one in page.insights)
    text = (tmp_path / "insights" / "suggestions.md").read_text()
    assert "accepted about 100% of the time" in text
    assert "secret" not in text
    assert "private" not in text
    assert "person-" not in text


def test_a_promoted_insight_speaks_to_whoever_has_no_history_and_a_rejected_one_stays_rejected(advisor, tmp_path):
    people(advisor, 5)
    page = advisor.publish(outcomes_pb2.CurateInsights(), user="")
    rate = next(one for one in page.insights if one.rate)
    other = next(one for one in page.insights if not one.rate)
    assert "insight" not in rules(advisor.advise())
    promoted = advisor.publish(outcomes_pb2.ReviewInsight(insight_id=rate.insight_id, action="promote"), user="")
    advisor.publish(outcomes_pb2.ReviewInsight(insight_id=other.insight_id, action="reject"), user="")
    advisor.handlers.after_commit()
    assert promoted.status == "promoted"
    assert rules(advisor.advise())["insight"] == "yes"
    assert f"[x] `{rate.insight_id}`" in (tmp_path / "insights" / "suggestions.md").read_text()
    again = {one.insight_id: one.status for one in advisor.publish(outcomes_pb2.CurateInsights(), user="").insights}
    assert (again[rate.insight_id], again[other.insight_id]) == ("promoted", "rejected")
    with pytest.raises(InvalidMessage):
        advisor.publish(outcomes_pb2.ReviewInsight(insight_id=rate.insight_id, action="frame"), user="")
    with pytest.raises(NotFound):
        advisor.publish(outcomes_pb2.ReviewInsight(insight_id="nothing", action="reject"), user="")


def test_a_promoted_insight_of_what_nobody_wants_cautions_whoever_has_no_history(advisor):
    people(advisor, 5, outcome="rejected", kind="remove_task")
    page = advisor.publish(outcomes_pb2.CurateInsights(), user="")
    told = {one.statement.split(",")[0]: one.insight_id for one in page.insights if one.type == "remove_task"}
    of_rate = next(each for text, each in told.items() if "about 0% of the time" in text)
    of_pattern = next(each for text, each in told.items() if "never_remove_task" in text)
    for insight_id, other in ((of_rate, of_pattern), (of_pattern, of_rate)):
        advisor.publish(outcomes_pb2.ReviewInsight(insight_id=insight_id, action="promote"), user="")
        advisor.publish(outcomes_pb2.ReviewInsight(insight_id=other, action="reject"), user="")
        answer = advisor.advise(type="remove_task")
        assert (rules(answer)["insight"], answer.verdict) == ("caution", "caution")


def test_a_promoted_pattern_of_what_people_like_says_yes(advisor):
    people(advisor, 5)
    page = advisor.publish(outcomes_pb2.CurateInsights(), user="")
    pattern = next(one for one in page.insights if "open_to_add_habit" in one.statement)
    advisor.publish(outcomes_pb2.ReviewInsight(insight_id=pattern.insight_id, action="promote"), user="")
    assert rules(advisor.advise())["insight"] == "yes"


def promoted(advisor):
    page = advisor.publish(outcomes_pb2.CurateInsights(), user="")
    for one in page.insights:
        advisor.publish(outcomes_pb2.ReviewInsight(insight_id=one.insight_id, action="promote"), user="")
    return page.insights


def forget_outcomes(advisor, user):
    advisor.publish(outcomes_pb2.DeleteOutcomes(user_id=user, all=True), user=user)


def standing(advisor):
    return {one.insight_id: (one.people, one.status) for one in advisor.ask(outcomes_pb2.InsightsRequest(), user="").insights}


@pytest.mark.parametrize("leave", [lambda advisor, user: advisor.consent(user, on=False), forget_outcomes])
def test_an_insight_is_gone_as_soon_as_fewer_than_k_people_are_behind_it(advisor, tmp_path, leave):
    people(advisor, 6, outcome="rejected")
    rate = next(one.insight_id for one in promoted(advisor) if "about 0% of the time" in one.statement)
    leave(advisor, "person-0")
    assert standing(advisor)[rate] == (5, "promoted")
    told = next(one.text for one in advisor.advise().reasons if one.text.endswith("people."))
    assert "over 5 people" in told or "At least 5 people" in told
    leave(advisor, "person-1")
    advisor.handlers.after_commit()
    assert standing(advisor) == {}
    assert "insight" not in rules(advisor.advise())
    assert rate not in (tmp_path / "insights" / "suggestions.md").read_text()


def test_who_takes_consent_back_and_gives_it_again_is_counted_once(advisor):
    people(advisor, 6)
    promoted(advisor)
    before = standing(advisor)
    for on in (False, False, True, True, False, True):
        advisor.consent("person-0", on=on)
    assert standing(advisor) == before


def test_the_weekly_job_makes_insights_anew(advisor):
    people(advisor, 5)
    advisor.publish(behavioral_pb2.CompactOutcomes(), user="")
    assert {people for people, _ in standing(advisor).values()} == {5}
    promoted(advisor)
    people(advisor, 7)
    advisor.publish(behavioral_pb2.CompactOutcomes(), user="")
    assert set(standing(advisor).values()) == {(7, "promoted")}


def test_insights_of_a_status_that_is_none_are_refused(advisor):
    assert advisor.ask(outcomes_pb2.InsightsRequest(status="rejected")).insights == []
    with pytest.raises(InvalidMessage, match="foo"):
        advisor.ask(outcomes_pb2.InsightsRequest(status="foo"))


def test_whoever_is_told_where_the_file_stands_finds_it_there(advisor, tmp_path):
    people(advisor, 5)
    file = tmp_path / "insights" / "suggestions.md"
    event = advisor.event(outcomes_pb2.CurateInsights(), user="")
    with advisor.store.state.transaction() as transaction:
        advisor.handlers.apply(transaction, event)
        assert "add_habit" in file.read_text()
    insight_id = advisor.ask(outcomes_pb2.InsightsRequest(), user="").insights[0].insight_id
    event = advisor.event(outcomes_pb2.ReviewInsight(insight_id=insight_id, action="promote"), user="")
    with advisor.store.state.transaction() as transaction:
        advisor.handlers.apply(transaction, event)
        assert f"[x] `{insight_id}`" in file.read_text()
