"""Insights of many people's outcomes: curated, reviewed, without anybody's words."""

import pytest

from aico_memory.contracts.v1 import outcomes_pb2
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
