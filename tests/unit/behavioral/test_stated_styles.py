"""Over the worker's handlers: a style that is stated for all situations is where contexts begin that come later."""

import json
import uuid

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aico_memory.contracts.v1 import behavioral_pb2
from aico_memory.domain.behavioral.dimensions import NEUTRAL, alignment, named
from aico_memory.stores.behavioral.sql_store import SqlBehavioralStore
from aico_memory.stores.behavioral.twin import MemoryBehavioralStore
from tests.unit.behavioral.worker import START_US, Worker

LEARNED = ("behavioral.posterior", "behavioral.preference", "behavioral.stated_style", "behavioral.taste", "behavioral.wish")
SKILLS = ("casual_chat", "reactive_only", "detailed_explanation")
TIMES = ("morning", "evening", "night")


@pytest.fixture
def worker(tmp_path):
    made = Worker(MemoryBehavioralStore(), tmp_path)
    made.consent()
    return made


def state(worker, **fields):
    return worker.publish(behavioral_pb2.PutPreference(user_id="ann", **fields))


def shown(worker):
    return worker.ask(behavioral_pb2.PreferencesRequest(user_id="ann"))


def slope(worker, dimension):
    return next(one.slope for one in shown(worker).taste if one.dimension == dimension)


def judged(worker, time_of_day, skill="detailed_explanation", reward=1):
    """A thumb in the context of a time of day; the style that is preferred there then."""
    answer = worker.select(request_id=f"{time_of_day}{worker.count}", time_of_day=time_of_day)
    worker.feedback(skill, reward, request_id=answer.request_id)
    return next(dict(one.style) for one in shown(worker).buckets if one.bucket == answer.bucket)


def learned(worker):
    lines = [json.loads(line) for line in worker.export("ann")]
    return [line for line in lines if line["section"] in LEARNED]


def test_a_context_that_begins_later_begins_with_what_was_stated_for_all(worker):
    state(worker, style={"verbosity": 0.1})
    evening = judged(worker, "evening")
    assert evening["verbosity"] == pytest.approx(0.1 + 0.1 * (0.9 - 0.1))
    assert evening["explanation_depth"] == pytest.approx(0.5 + 0.1 * (0.8 - 0.5))


def test_what_was_stated_for_one_context_begins_no_other(worker):
    state(worker, style={"verbosity": 0.1}, bucket=7)
    assert judged(worker, "evening")["verbosity"] == pytest.approx(0.5 + 0.1 * (0.9 - 0.5))


def test_alignment_is_told_by_what_was_stated_before_any_thumb_in_the_context(worker):
    state(worker, style={"verbosity": 0.0, "creativity": 1.0})
    answer = worker.select()
    skills = worker.ask(behavioral_pb2.SkillsRequest(user_id="ann")).skills
    style = next(one.dimensions for one in skills if one.skill_id == answer.skill_id)
    stated = (named(NEUTRAL) | {"verbosity": 0.0, "creativity": 1.0}).values()
    assert answer.preference_alignment == pytest.approx(alignment([*stated], style))
    assert answer.preference_alignment != pytest.approx(alignment(NEUTRAL, style))


def test_what_was_stated_for_all_is_shown_beside_what_was_learned(worker):
    state(worker, style={"verbosity": 0.1, "structure": 0.5})
    state(worker, style={"formality": 0.2}, bucket=7)
    assert {one.dimension: one.stated for one in shown(worker).taste if one.HasField("stated")} == {"verbosity": 0.1}


def test_a_statement_for_all_is_one_wish_and_no_more(tmp_path, worker):
    state(worker, style={"verbosity": 0.1})
    other = Worker(MemoryBehavioralStore(), tmp_path / "other")
    other.consent()
    state(other, style={"verbosity": 0.1}, bucket=7)
    assert slope(worker, "verbosity") == slope(other, "verbosity")
    wishes = [line for line in learned(worker) if line["section"] == "behavioral.wish"]
    assert [(one["dimension"], one["more"]) for one in wishes] == [("verbosity", 0.0)]


def test_what_is_stated_again_is_still_one_wish_and_a_reset_of_all_takes_it_back(tmp_path, worker):
    untold = slope(worker, "verbosity")
    state(worker, style={"verbosity": 0.1})
    once = slope(worker, "verbosity")
    state(worker, style={"verbosity": 0.2})
    assert slope(worker, "verbosity") == once != untold
    state(worker, style={"verbosity": 0.9})
    other = Worker(MemoryBehavioralStore(), tmp_path / "other")
    other.consent()
    state(other, style={"verbosity": 0.9})
    assert slope(worker, "verbosity") == slope(other, "verbosity") > untold
    state(worker, reset=True)
    assert slope(worker, "verbosity") == untold


def test_a_reset_leaves_what_thumbs_have_wished(tmp_path, worker):
    worker.feedback("detailed_explanation", -1, reason="too_verbose")
    wished = slope(worker, "verbosity")
    state(worker, style={"verbosity": 0.9})
    assert slope(worker, "verbosity") != wished
    state(worker, reset=True)
    assert slope(worker, "verbosity") == pytest.approx(wished)


def fresh(tmp_path, name, *statements):
    """Slope of verbosity of somebody who has stated this and nothing else."""
    other = Worker(MemoryBehavioralStore(), tmp_path / name)
    other.consent()
    for value, fields in statements:
        state(other, style={"verbosity": value}, **fields)
    return slope(other, "verbosity")


def test_what_is_stated_for_one_context_again_takes_the_place_of_what_was_stated_for_it(tmp_path, worker):
    state(worker, style={"verbosity": 0.9}, bucket=7)
    once = slope(worker, "verbosity")
    state(worker, style={"verbosity": 0.9}, bucket=7)
    state(worker, style={"verbosity": 0.8}, bucket=7)
    assert slope(worker, "verbosity") == once == fresh(tmp_path, "high", (0.9, {"bucket": 7}))
    state(worker, style={"verbosity": 0.1}, bucket=7)
    low = fresh(tmp_path, "low", (0.1, {"bucket": 7}))
    assert slope(worker, "verbosity") == low < once
    state(worker, style={"verbosity": 0.5}, bucket=7)
    assert slope(worker, "verbosity") == fresh(tmp_path, "nothing")
    state(worker, style={"verbosity": 0.1}, bucket=7)
    state(worker, style={"verbosity": 0.2}, bucket=8)
    assert slope(worker, "verbosity") < low, "another context is another wish"


def test_a_reset_takes_back_the_wishes_of_what_it_resets_and_with_them_the_choices(tmp_path, worker):
    untold, chosen = slope(worker, "verbosity"), worker.select(request_id="before").shares
    state(worker, style={"verbosity": 0.9}, bucket=7)
    state(worker, style={"verbosity": 0.8}, bucket=8)
    state(worker, reset=True, bucket=7)
    assert slope(worker, "verbosity") == fresh(tmp_path, "one", (0.8, {"bucket": 8})) > untold
    assert worker.select(request_id="before again").shares != chosen
    worker.publish(behavioral_pb2.DeleteSelections(user_id="ann"))
    state(worker, reset=True)
    assert slope(worker, "verbosity") == untold
    assert worker.select(request_id="before").shares == chosen


def test_what_is_stated_for_all_takes_the_place_of_what_was_stated_for_single_contexts(worker):
    def wished(dimension):
        lines = [line for line in learned(worker) if line["section"] == "behavioral.wish"]
        return next((one["more"], one["less"]) for one in lines if one["dimension"] == dimension)

    weight = worker.settings.behavioral.library.stated_weight
    state(worker, style={"verbosity": 0.9, "structure": 0.9}, bucket=7)
    state(worker, style={"verbosity": 0.1})
    assert (wished("verbosity"), wished("structure")) == ((0.0, weight), (weight, 0.0))
    state(worker, style={"verbosity": 0.9}, bucket=7)
    assert wished("verbosity") == (weight, weight)
    state(worker, reset=True, bucket=7)
    assert wished("verbosity") == (0.0, weight), "what was said of all contexts stands"


def test_the_newest_statement_holds_and_a_reset_of_all_ends_it(worker):
    state(worker, style={"verbosity": 0.1, "structure": 0.9})
    state(worker, style={"verbosity": 0.3})
    morning = judged(worker, "morning", reward=-1)
    assert morning["verbosity"] == pytest.approx(0.3 - 0.1 * (0.9 - 0.3))
    assert morning["structure"] == pytest.approx(0.9 - 0.1 * (0.6 - 0.9))
    assert state(worker, reset=True).buckets == 1
    assert judged(worker, "night")["verbosity"] == pytest.approx(0.5 + 0.1 * (0.9 - 0.5))


def test_a_thumb_that_was_given_before_the_statement_and_arrives_after_it_is_folded_before_it(worker):
    stated_us = START_US + (worker.count + 1) * 1_000_000
    state(worker, style={"verbosity": 0.1})
    answer = worker.select(request_id="late", time_of_day="night")
    worker.feedback("detailed_explanation", request_id="late", timestamp=stated_us - 500_000)
    extra = uuid.UUID(int=9)
    worker.feedback("casual_chat", event_id=extra)
    worker.publish(behavioral_pb2.UndoLearning(user_id="ann", event_id=extra.bytes))
    (night,) = [one for one in shown(worker).buckets if one.bucket == answer.bucket]
    assert night.style["verbosity"] == 0.1
    assert night.style["explanation_depth"] == pytest.approx(0.5 + 0.1 * (0.8 - 0.5))


steps = st.lists(
    st.one_of(
        st.tuples(st.just("thumb"), st.sampled_from(SKILLS), st.sampled_from([-1, 1]), st.sampled_from(TIMES)),
        st.tuples(st.just("state"), st.sampled_from(["verbosity", "structure"]), st.sampled_from([0.1, 0.5, 0.8]),
                  st.sampled_from([None, 7])),
        st.tuples(st.just("reset"), st.sampled_from([None, 7]), st.none(), st.none()),
    ),
    max_size=8,
)  # fmt: skip


def take(worker, step):
    kind, first, second, third = step
    if kind == "thumb":
        answer = worker.select(request_id=f"r{worker.count}", time_of_day=third)
        worker.feedback(first, second, request_id=answer.request_id)
    elif kind == "state":
        state(worker, style={first: second}, **({} if third is None else {"bucket": third}))
    else:
        state(worker, reset=True, **({} if first is None else {"bucket": first}))


@given(steps, steps)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_undo_leaves_exactly_what_was_learned_and_stated_until_then(tmp_path, first, second):
    worker = Worker(MemoryBehavioralStore(), tmp_path)
    worker.consent()
    for step in first:
        take(worker, step)
    before, until_us = learned(worker), START_US + worker.count * 1_000_000
    for step in second:
        take(worker, step)
    worker.publish(behavioral_pb2.UndoLearning(user_id="ann", until_us=until_us))
    assert learned(worker) == before


def test_twin_and_database_learn_and_export_alike(tmp_path):
    stores = MemoryBehavioralStore(), SqlBehavioralStore.open(tmp_path, bytes(32))
    exports = []
    for number, store in enumerate(stores):
        worker = Worker(store, tmp_path / str(number))
        worker.consent()
        for step in (("state", "verbosity", 0.1, None), ("thumb", *SKILLS[:1], 1, "night"), ("state", "structure", 0.8, 7)):
            take(worker, step)
        exports.append(worker.export())
        worker.handlers.close()
    assert exports[0] == exports[1]
    (stated,) = [json.loads(line) for line in exports[0] if '"behavioral.stated_style"' in line]
    assert (stated["user"], stated["dimensions"]["verbosity"], stated["dimensions"]["structure"]) == ("ann", 0.1, 0.5)


def guidance(worker):
    return list(worker.ask(behavioral_pb2.StyleGuidanceRequest(user_id="ann")).sentences)


def test_what_is_stated_is_told_in_sentences_and_only_with_consent(worker):
    assert guidance(worker) == []
    state(worker, style={"verbosity": 0.1, "example_usage": 0.9, "structure": 0.6})
    assert guidance(worker) == ["Show an example.", "Keep it short."]
    worker.consent(on=False)
    assert guidance(worker) == []
