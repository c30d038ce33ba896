"""What the verbs on time ask and return: an unknown has no numbers, an open end no date."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from aico_memory.client.time_shapes import edge_shape, evolution_shape, held_shape, trend_shape
from aico_memory.client.time_verbs import TimeVerbs, checked_bucket
from aico_memory.contracts.v1 import temporal_pb2
from aico_memory.errors import InvalidMessage, NaiveTime

DAY = 86_400_000_000


class Asked:
    """A session that keeps what it is asked and gives the answers one after another."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[Any] = []

    def user(self, name: str) -> str:
        return name

    async def ask(self, message: Any, user: str) -> Any:
        kept = type(message)()
        kept.CopyFrom(message)
        self.asked.append(kept)
        return self.answers.pop(0)


def verbs(*answers: Any) -> tuple[TimeVerbs, Asked]:
    made, session = TimeVerbs(), Asked(*answers)
    made._session = session  # type: ignore[assignment]
    return made, session


def run(verb: Any) -> Any:
    try:
        verb.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it waits for something")


def test_an_unknown_trend_and_prediction_have_a_reason_and_no_numbers() -> None:
    shown = trend_shape(temporal_pb2.TrendAnswer(unknown="2 values", prediction_unknown="too few", predicted_at_us=DAY))
    assert (shown["slope"], shown["volatility"], shown["unknown"], shown["then"]) == (None, None, "2 values", None)
    assert shown["prediction"] is not None
    assert (shown["prediction"]["value"], shown["prediction"]["low"], shown["prediction"]["unknown"]) == (None, None, "too few")
    assert trend_shape(temporal_pb2.TrendAnswer(value_then=0.0))["then"] == 0.0
    assert trend_shape(temporal_pb2.TrendAnswer())["prediction"] is None


def test_what_is_open_or_missing_is_none() -> None:
    fact = held_shape(temporal_pb2.HeldFact(memory_id="m", from_us=DAY))
    assert (fact["valid_from"], fact["valid_until"], fact["value"], fact["scope"]) == (
        "1970-01-02T00:00:00+00:00", None, None, None,
    )  # fmt: skip
    (step,) = evolution_shape(temporal_pb2.EvolutionChain(steps=[temporal_pb2.EvolutionStep(what="stated")]))["steps"]
    assert (step["old"], step["cause"], step["from_time"]) == (None, None, None)
    assert edge_shape(temporal_pb2.GraphEdge(object="41"))["object_id"] is None


def test_a_uuid_means_a_memory_and_anything_else_a_predicate() -> None:
    memory_id = str(uuid.uuid4())
    made, session = verbs(temporal_pb2.EvolutionChain(), temporal_pb2.EvolutionChain())
    run(made.evolution("ana", memory_id.upper()))
    run(made.evolution("ana", "home_city", subject="anna"))
    first, second = (one.about for one in session.asked)
    assert (first.memory_id, first.predicate) == (memory_id, "")
    assert (second.memory_id, second.predicate, second.subject) == ("", "home_city", "anna")


def test_trends_of_skills_and_styles_go_to_whoever_learned_them() -> None:
    made, session = verbs(*(temporal_pb2.TrendAnswer() for _ in range(3)))
    run(made.trend("ana", "skill:concise_response", at="2026-01-01T00:00:00Z"))
    run(made.trend("ana", "style:verbosity", bucket=7))
    run(made.predict("ana", "weight", "2026-01-01T00:00:00Z"))
    skill, style, fact = session.asked
    assert (skill.skill_id, skill.dimension, skill.at_us > 0) == ("concise_response", "", True)
    assert (style.dimension, style.bucket) == ("verbosity", 7)
    assert (fact.about.predicate, fact.what, fact.predict_at_us > 0) == ("weight", "value", True)


def test_all_pages_are_about_the_moment_of_the_first() -> None:
    pages = [temporal_pb2.HeldFacts(facts=[temporal_pb2.HeldFact(memory_id=one)], at_us=DAY, next=more) for one, more in
             (("a", "1"), ("b", "2"), ("c", ""))]  # fmt: skip
    made, session = verbs(*pages)
    found = run(made.state("ana"))
    assert [fact["id"] for fact in found["results"]] == ["a", "b", "c"]
    assert [(one.at_us, one.after) for one in session.asked] == [(0, ""), (DAY, "1"), (DAY, "2")]


def test_a_limit_ends_the_pages() -> None:
    page = temporal_pb2.HeldFacts(facts=[temporal_pb2.HeldFact(memory_id="a")], at_us=DAY, next="1")
    made, session = verbs(page)
    assert len(run(made.timeline("ana", limit=1))["results"]) == 1
    assert len(session.asked) == 1


@pytest.mark.parametrize(
    ("verb", "error"),
    [
        (lambda made: made.snapshot("ana", None), InvalidMessage),
        (lambda made: made.predict("ana", "weight", None), InvalidMessage),
        (lambda made: made.state("ana", "2026-01-01"), NaiveTime),
        (lambda made: made.trend("ana", ""), InvalidMessage),
        (lambda made: made.state("ana", kind="zzz"), InvalidMessage),
        (lambda made: made.snapshot("ana", "2026-01-01T00:00:00Z", kind=["fact", "zzz"]), InvalidMessage),
        (lambda made: made.timeline("ana", kind="zzz"), InvalidMessage),
        (lambda made: made.timeline("ana", since="2026-02-01T00:00:00Z", until="2026-01-01T00:00:00Z"), InvalidMessage),
        (lambda made: made.trend("ana", "weight", since="2026-02-01T00:00:00Z", until="2026-01-01T00:00:00Z"), InvalidMessage),
        (lambda made: made.trend("ana", "style:verbosity", bucket=-1), InvalidMessage),
    ],
)
def test_what_cannot_be_asked_is_refused_before_it_is_sent(verb: Any, error: type[Exception]) -> None:
    made, session = verbs()
    with pytest.raises(error):
        run(verb(made))
    assert session.asked == []


@pytest.mark.parametrize(
    ("about", "option", "given"),
    [
        ("weight", "at", "2026-01-01T00:00:00Z"),
        ("weight", "bucket", 7),
        (str(uuid.UUID(int=1)), "at", "2026-01-01T00:00:00Z"),
        ("skill:concise_response", "what", "utility"),
        ("skill:concise_response", "subject", "anna"),
        ("skill:concise_response", "group_id", "choir"),
        ("skill:concise_response", "bucket", 7),
        ("style:verbosity", "what", "confidence"),
        ("style:verbosity", "project_id", "garden"),
    ],
)
def test_an_option_that_says_nothing_of_what_is_asked_about_is_refused_by_name(about: str, option: str, given: Any) -> None:
    made, session = verbs()
    with pytest.raises(InvalidMessage, match=f"^{option} says nothing of {about}"):
        run(made.trend("ana", about, **{option: given}))
    if option != "at":
        with pytest.raises(InvalidMessage, match=option):
            run(made.predict("ana", about, "2026-01-01T00:00:00Z", **{option: given}))
    assert session.asked == []


def test_the_confidence_of_a_skill_may_be_named() -> None:
    made, session = verbs(temporal_pb2.TrendAnswer())
    run(made.trend("ana", "skill:concise_response", what="confidence"))
    assert session.asked[0].skill_id == "concise_response"


@pytest.mark.parametrize("bucket", [True, "3", 1.5, 2**32])
def test_a_bucket_is_a_whole_number(bucket: object) -> None:
    with pytest.raises(InvalidMessage):
        checked_bucket(bucket)
