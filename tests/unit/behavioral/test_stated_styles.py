"""Over the worker's handlers: a style that is stated for all situations is where contexts begin that come later."""

import json
import uuid

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aico_memory.contracts.v1 import behavioral_pb2
from aico_memory.domain.behavioral.dimensions import NEUTRAL, alignment, named
from aico_memory.domain.behavioral.records import Evolution
from aico_memory.stores.behavioral.sql_store import SqlBehavioralStore
from aico_memory.stores.behavioral.twin import MemoryBehavioralStore
from tests.unit.behavioral.worker import START_US, Worker

LEARNED = ("behavioral.posterior", "behavioral.preference", "behavioral.stated_style", "behavioral.statement",
           "behavioral.taste", "behavioral.wish")  # fmt: skip
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
    assert {one.dimension: one.stated for one in shown(worker).taste if one.HasField("stated")} == {
        "verbosity": 0.1,
        "structure": 0.5,
    }


def said(worker):
    """By bucket (None: in all situations) and dimension, what stands of what was said."""
    lines = [line for line in learned(worker) if line["section"] == "behavioral.statement"]
    return {(line["bucket"], line["dimension"]): line["value"] for line in lines}


def test_what_is_stated_again_takes_the_place_of_what_was_and_counts_by_its_value(worker):
    untold = slope(worker, "verbosity")
    slopes = []
    for value in (0.1, 0.1, 0.2, 0.49, 0.5, 0.9):
        state(worker, style={"verbosity": value})
        slopes.append(slope(worker, "verbosity"))
    assert slopes[0] == slopes[1]
    assert slopes[1:] == sorted(slopes[1:])
    assert len(set(slopes)) == 5
    assert slopes[4] == 0.0 != untold
    assert slopes[3] == pytest.approx(slopes[0] / 40)
    state(worker, reset=True)
    assert slope(worker, "verbosity") == untold


def test_a_reset_of_all_ends_what_thumbs_and_reasons_have_taught_of_style(worker):
    untold, chosen = slope(worker, "verbosity"), worker.select(request_id="before").shares
    for _ in range(5):
        judged(worker, "morning")
        worker.feedback("detailed_explanation", -1, reason="too_verbose")
    assert slope(worker, "verbosity") != untold
    state(worker, reset=True)
    assert slope(worker, "verbosity") == untold
    assert {line["section"] for line in learned(worker)} == {
        "behavioral.posterior",
        "behavioral.preference",
        "behavioral.stated_style",
    }
    worker.publish(behavioral_pb2.DeleteSelections(user_id="ann"))
    assert worker.select(request_id="before").shares == chosen


def test_what_is_stated_for_one_context_holds_there_and_nowhere_else(worker):
    untold = slope(worker, "verbosity")
    here, there = worker.select(request_id="here"), worker.select(request_id="there", time_of_day="night")
    state(worker, style={"verbosity": 0.0, "explanation_depth": 0.0}, bucket=here.bucket)
    worker.publish(behavioral_pb2.DeleteSelections(user_id="ann"))
    assert slope(worker, "verbosity") == untold
    again = worker.select(request_id="there", time_of_day="night")
    assert (again.skill_id, again.shares, again.propensity) == (there.skill_id, there.shares, there.propensity)
    assert worker.select(request_id="here").shares != here.shares
    assert said(worker) == {(here.bucket, "verbosity"): 0.0, (here.bucket, "explanation_depth"): 0.0}


def test_a_reset_takes_back_what_was_said_of_what_it_resets(worker):
    state(worker, style={"verbosity": 0.9}, bucket=7)
    state(worker, style={"verbosity": 0.8}, bucket=8)
    state(worker, reset=True, bucket=7)
    assert said(worker) == {(8, "verbosity"): 0.8}
    state(worker, reset=True)
    assert said(worker) == {}


def test_a_reset_of_one_context_leaves_what_others_have_taught(worker):
    night = worker.select(request_id="night", time_of_day="night").bucket
    for time_of_day in ("morning", "night"):
        judged(worker, time_of_day)
    state(worker, reset=True, bucket=night)
    cells = [line["time_of_day"] for line in learned(worker) if line["section"] == "behavioral.taste"]
    assert cells == ["morning"]


def test_what_is_stated_for_all_takes_the_place_of_what_was_stated_for_single_contexts(worker):
    state(worker, style={"verbosity": 0.9, "structure": 0.9}, bucket=7)
    state(worker, style={"verbosity": 0.1})
    assert said(worker) == {(None, "verbosity"): 0.1, (7, "structure"): 0.9}
    state(worker, style={"verbosity": 0.9}, bucket=7)
    state(worker, reset=True, bucket=7)
    assert said(worker) == {(None, "verbosity"): 0.1}, "what was said of all contexts stands"


def taught(worker, times, reason=""):
    """Thumbs that like the long way and refuse the short one."""
    for number in range(times):
        for skill, reward in (("detailed_explanation", 1), ("concise_response", -1)):
            answer = worker.select(request_id=f"{skill}{number}")
            worker.feedback(skill, reward, request_id=answer.request_id, reason="" if reward > 0 else reason)


@pytest.mark.parametrize("reason", ["", "too_brief"])
def test_what_is_stated_stands_over_what_was_learned_and_feedback_goes_on_from_it(worker, reason):
    def chosen(word):
        return [worker.select(request_id=f"{word}{number}").skill_id for number in range(20)]

    taught(worker, 10, reason)
    assert set(chosen("before")) == {"detailed_explanation"}
    state(worker, style={"verbosity": 0.0, "explanation_depth": 0.0})
    assert slope(worker, "verbosity") < 0
    assert "detailed_explanation" not in chosen("after")
    for number in range(30):
        answer = worker.select(request_id=f"more{number}")
        worker.feedback("detailed_explanation", request_id=answer.request_id)
    assert "detailed_explanation" in chosen("later")


def test_what_was_noted_as_wishes_before_is_read_as_it_was_meant(worker):
    rows = (
        ("stated_everywhere", "verbosity", None, 0.1),
        ("stated_everywhere", "structure", None, 0.9),
        ("stated_everywhere", "structure", None, 0.5),
        ("stated_wish", "formality", 7, 0.8),
        ("stated_wish", "patience", 7, 0.8),
        ("stated_wish", "patience", 7, 0.5),
    )
    with worker.store.state.transaction() as transaction:
        for place, (what, subject, bucket, value) in enumerate(rows):
            change = Evolution("ann", uuid.UUID(int=place), place, what, subject, START_US + place, 0.5, value, bucket)
            worker.store.within(transaction).add_evolution(change)
    worker.feedback("casual_chat", event_id=uuid.UUID(int=99))
    worker.publish(behavioral_pb2.UndoLearning(user_id="ann", event_id=uuid.UUID(int=99).bytes))
    assert said(worker) == {(None, "verbosity"): 0.1, (7, "formality"): 0.8}
    (style,) = [line["dimensions"] for line in learned(worker) if line["section"] == "behavioral.stated_style"]
    assert (style["verbosity"], style["structure"]) == (0.1, 0.5)


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


def test_what_is_kept_of_style_can_be_reset_without_consent_and_nothing_can_be_stated(worker):
    state(worker, style={"verbosity": 0.1})
    worker.consent(on=False)
    assert state(worker, style={"verbosity": 0.9}).status == "no_consent"
    assert state(worker, reset=True).status == "stated"
    assert not [line for line in worker.export() if '"behavioral.statement"' in line]
    worker.consent()
    assert guidance(worker) == []
