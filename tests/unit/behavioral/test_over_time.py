"""How what was learned of a user moves: confidence of a skill, a dimension of the preferred style."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.contracts.v1 import temporal_pb2
from aico_memory.domain.behavioral.over_time import value_at
from aico_memory.domain.temporal.trends import Point
from aico_memory.errors import InvalidMessage
from aico_memory.stores.behavioral.sql_store import SqlBehavioralStore
from aico_memory.stores.behavioral.twin import MemoryBehavioralStore
from services.behavioral.feedback import UNKNOWN_BUCKET
from tests.unit.behavioral.worker import START_US, Worker


@pytest.fixture(params=["twin", "database"])
def worker(request, tmp_path):
    store = MemoryBehavioralStore() if request.param == "twin" else SqlBehavioralStore.open(tmp_path / "b.db", None)
    made = Worker(store, tmp_path)
    made.consent()
    return made


def trend(worker, user="ann", **fields):
    return worker.ask(temporal_pb2.BehaviorTrendRequest(user_id=user, **fields), user)


def test_thumbs_up_make_confidence_rise_and_a_prediction_stays_within_its_bounds(worker):
    for number in range(6):
        worker.feedback("casual_chat", message_id=f"m{number}")
    found = trend(worker, skill_id="casual_chat", predict_at_us=START_US + 9_000_000)
    values = [point.value for point in found.points]
    assert values == sorted(values)
    assert (len(values), values[0]) == (6, pytest.approx(0.59))
    assert found.slope > 0
    assert (found.unknown, found.prediction_unknown) == ("", "")
    assert 0 <= found.predicted_low <= found.predicted <= found.predicted_high <= 1


def test_what_was_held_of_a_skill_at_a_moment_is_told(worker):
    worker.feedback("casual_chat")
    first = trend(worker, skill_id="casual_chat").points[0]
    worker.feedback("casual_chat", reward=-1, message_id="m2")
    then = trend(worker, skill_id="casual_chat", at_us=first.at_us)
    assert then.value_then == pytest.approx(first.value)
    assert not trend(worker, skill_id="casual_chat", at_us=first.at_us - 1).HasField("value_then")


def test_a_dimension_of_the_style_moves_with_thumbs_and_ends_where_it_stands(worker):
    for number in range(4):
        worker.feedback("detailed_explanation", message_id=f"m{number}")
    found = trend(worker, dimension="verbosity", bucket=UNKNOWN_BUCKET)
    values = [point.value for point in found.points]
    with worker.store.reading() as rows:
        assert values[-1] == rows.preference("ann", UNKNOWN_BUCKET).dimensions[0]
    assert values == sorted(values)
    assert values[0] > 0.5


def test_too_few_thumbs_are_unknown_and_nobody_sees_anothers(worker):
    worker.feedback("casual_chat")
    assert trend(worker, skill_id="casual_chat").unknown.startswith("1 values")
    assert not trend(worker, user="ben", skill_id="casual_chat").points


@pytest.mark.parametrize("fields", [{}, {"skill_id": "a", "dimension": "verbosity"}, {"dimension": "mood"}])
def test_a_question_that_names_nothing_or_what_is_not_there_is_refused(worker, fields):
    with pytest.raises(InvalidMessage):
        trend(worker, **fields)


@given(st.lists(st.tuples(st.integers(0, 50), st.floats(0, 1)), max_size=12, unique_by=lambda one: one[0]), st.integers(0, 60))
def test_the_value_of_a_moment_is_the_last_one_up_to_it(pairs, moment):
    series = [Point(*one) for one in sorted(pairs)]
    before = [one.value for one in series if one.at_us <= moment]
    assert value_at(series, moment) == (before[-1] if before else None)
