"""Figures by the hour, the ready-made queries over them, and what the log is told."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.contracts.v1 import behavioral_pb2
from aico_memory.domain.behavioral import metrics
from aico_memory.domain.behavioral.records import HourFigure
from aico_memory.errors import InvalidMessage
from aico_memory.stores.behavioral.sql_store import SqlBehavioralStore
from aico_memory.stores.behavioral.twin import MemoryBehavioralStore
from tests.unit.behavioral.worker import START_US, Worker, own_skill

HOUR_US = 3_600_000_000


class Log:
    def __init__(self):
        self.lines = []

    def info(self, event, **fields):
        self.lines.append(fields)

    def warning(self, *_, **__):
        """Nothing to hear."""

    def of(self, kind):
        return [line for line in self.lines if line.get("metric_type") == f"behavioral_memory_{kind}"]


@pytest.fixture(params=["memory", "sql"])
def worker(request, tmp_path):
    store = MemoryBehavioralStore() if request.param == "memory" else SqlBehavioralStore.open(tmp_path / "s", bytes(32))
    made = Worker(store, tmp_path)
    made.consent()
    made.log = made.handlers._measuring._log = Log()
    yield made
    made.handlers.close()


def query(worker, name, **fields):
    answer = worker.ask(behavioral_pb2.BehaviorMetricsRequest(query=name, **fields), user="")
    return [
        {"hour": row.hour_us, "skill": row.skill_id, "user": row.user_id, **dict(row.values)} for row in answer.rows
    ]  # fmt: skip


def teach(worker, ups, downs, user="ann"):
    for number in range(ups + downs):
        chosen = worker.select(user=user, request_id=f"{user}-{number}")
        worker.feedback(chosen.skill_id, 1 if number < ups else -1, user=user, request_id=f"{user}-{number}")


def test_selection_and_feedback_tell_the_log_their_figures(worker):
    teach(worker, 1, 1)
    first = worker.log.of("selection")[0]
    assert first["candidates"] >= 1
    assert first["selection_ms"] > 0
    assert first["context_extraction_ms"] >= 0
    up, down = worker.log.of("feedback")
    assert up["confidence_delta"] == pytest.approx(up["new_confidence"] - up["old_confidence"])
    assert (up["usage"], up["positive_rate"], up["negative_rate"], up["has_free_text"]) == (1, 1.0, 0.0, False)
    assert down["reward"] == -1


def test_the_queries_tell_accuracy_speed_exploration_and_adaptation(worker):
    teach(worker, 12, 3)
    rows = query(worker, "accuracy")
    assert sum(row["positive"] for row in rows) == 12
    assert sum(row["negative"] for row in rows) == 3
    assert all(row["accuracy"] == row["positive"] / (row["positive"] + row["negative"]) for row in rows)
    slow = query(worker, "slow_skills")
    assert sum(row["selections"] for row in slow) == 15
    assert [row["mean_ms"] for row in slow] == sorted((row["mean_ms"] for row in slow), reverse=True)
    assert len(query(worker, "slow_skills", limit=1)) == 1
    (hour,) = query(worker, "exploration")
    assert hour["explored"] + hour["exploited"] == 15
    (person,) = query(worker, "adaptation")
    assert (person["user"], person["thumbs"], person["adapted_after"]) == ("ann", 15, 10)
    (performance,) = query(worker, "performance")
    assert performance["selection_ms_p50"] <= performance["selection_ms_p95"] <= performance["selection_ms_p99"]
    assert performance["bytes_per_user"] > 0
    with pytest.raises(InvalidMessage):
        query(worker, "wishes")
    assert query(worker, "accuracy", from_us=START_US + 100 * HOUR_US) == []


def test_adaptation_is_told_of_the_thumbs_of_the_time_that_is_named(worker):
    worker.consent("bob")
    for user, hour, reward in (("ann", 0, 1), ("ann", 5, -1), ("ann", 6, -1), ("bob", 0, 1)):
        worker.feedback("concise_response", reward, user=user, timestamp=START_US + hour * HOUR_US)
    later = query(worker, "adaptation", from_us=START_US + 5 * HOUR_US)
    assert [(row["user"], row["thumbs"], row["last_accuracy"]) for row in later] == [("ann", 2, 0.0)]
    first = query(worker, "adaptation", until_us=START_US + 5 * HOUR_US)
    assert [(row["user"], row["thumbs"]) for row in first] == [("ann", 1), ("bob", 1)]
    assert [row["thumbs"] for row in query(worker, "adaptation")] == [3, 1]


def test_the_aggregate_counts_who_came_back(worker):
    day = 24 * HOUR_US
    for user, days in (("ann", (1, 9)), ("bob", (9,)), ("cid", (1,))):
        worker.consent(user)
        for number in days:
            worker.select(user=user, request_id=f"{user}{number}", timestamp=START_US - number * day)
    (found,) = query(worker, "aggregate", from_us=START_US - 30 * day)
    assert (found["people"], found["retention"], found["selections"]) == (2, 0.5, 4)


def test_the_turn_of_an_hour_tells_the_log_what_the_last_one_was_like(worker):
    teach(worker, 3, 1)
    worker.handlers.idle(START_US)
    assert worker.log.of("aggregate") == []
    worker.handlers.idle(START_US + HOUR_US)
    (aggregate,) = worker.log.of("aggregate")
    assert (aggregate["accuracy"], aggregate["mean_reward"]) == (0.75, 0.5)
    assert aggregate["skill_accuracy"]
    (performance,) = worker.log.of("performance")
    assert performance["selection_ms_p50"] > 0
    worker.handlers.idle(START_US + 2 * HOUR_US)
    assert len(worker.log.of("aggregate")) == 1


def test_a_nightly_batch_tells_what_it_learned_from(worker):
    for person in range(7):
        worker.consent(f"p{person}")
        teach(worker, 2, 1, f"p{person}")
    worker.publish(behavioral_pb2.LearnNow(), user="")
    (told,) = worker.log.of("thompson_sampling")
    assert (told["trajectories"], told["alpha_change"], told["beta_change"]) == (21, 14, 7)
    (row,) = query(worker, "thompson_sampling")
    assert (row["thumbs"], row["alpha"], row["beta"]) == (21, 14, 7)
    worker.publish(behavioral_pb2.LearnNow(), user="")
    assert len(query(worker, "thompson_sampling")) == 1
    assert query(worker, "thompson_sampling")[0]["thumbs"] == 21


def test_a_batch_that_fits_nothing_tells_the_thumbs_since_the_batch_before(worker):
    teach(worker, 2, 1)
    worker.publish(behavioral_pb2.LearnNow(), user="")
    worker.publish(behavioral_pb2.LearnNow(), user="")
    worker.feedback("concise_response", -1)
    worker.publish(behavioral_pb2.LearnNow(), user="")
    told = worker.log.of("thompson_sampling")
    assert [(one["outcome"], one["trajectories"]) for one in told] == [(told[0]["outcome"], number) for number in (3, 0, 1)]
    assert told[0]["outcome"] not in ("learned", "refused", "proposed")
    # A fit is of all that waited for it.
    for person in range(7):
        worker.consent(f"p{person}")
        teach(worker, 2, 1, f"p{person}")
    worker.publish(behavioral_pb2.LearnNow(), user="")
    assert worker.log.of("thompson_sampling")[-1]["trajectories"] == 25


@given(st.lists(st.floats(0.001, 50_000), min_size=1, max_size=300))
def test_a_percentile_is_at_most_a_bin_above_the_true_one(times):
    figures = [HourFigure(0, "", metrics.bin_of("selection_ms", one), 1, one, one) for one in times]
    found = metrics.percentiles("selection_ms", figures)
    ordered = sorted(times)
    for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
        true = ordered[math.ceil(share * len(times) - 1e-9) - 1]
        assert true <= found[name] * (1 + 1e-9)
        assert found[name] <= max(true * metrics.FACTOR, metrics.FIRST_MS) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("rewards", "adapted"), [([1] * 10, 10), ([-1] * 5 + [1] * 12, 12), ([1] * 20 + [-1] * 10, None), ([1] * 3, None)]
)
def test_adaptation_is_the_thumb_from_which_it_stays_good(rewards, adapted):
    assert metrics.adaptation(rewards, 10, 0.7).get("adapted_after") == adapted


def state(worker, user="ann", **fields):
    return worker.publish(behavioral_pb2.PutPreference(user_id=user, **fields), user=user)


def preference(worker, bucket):
    found = worker.ask(behavioral_pb2.PreferencesRequest(user_id="ann", bucket=bucket)).buckets
    return dict(found[0].style) if found else {}


def slope(worker, dimension):
    taste = worker.ask(behavioral_pb2.PreferencesRequest(user_id="ann")).taste
    return next(one.slope for one in taste if one.dimension == dimension)


def test_a_stated_style_stands_in_its_bucket_alone(worker):
    before = slope(worker, "verbosity")
    assert state(worker, style={"verbosity": 0.1, "structure": 0.9}, bucket=7).status == "stated"
    assert (preference(worker, 7)["verbosity"], preference(worker, 7)["structure"]) == (0.1, 0.9)
    assert preference(worker, 7)["patience"] == 0.5
    assert slope(worker, "verbosity") == before
    assert state(worker, reset=True).buckets == 1
    assert preference(worker, 7)["verbosity"] == 0.5


@pytest.mark.parametrize(
    "fields", [{}, {"style": {"volume": 1.0}}, {"style": {"verbosity": 1.2}}, {"reset": True, "bucket": 100}]
)
def test_what_is_no_style_is_refused(worker, fields):
    with pytest.raises(InvalidMessage):
        state(worker, **fields)


def test_without_consent_no_style_is_kept(worker):
    worker.consent(on=False)
    assert state(worker, style={"verbosity": 0.1}, bucket=7).status == "no_consent"
    assert preference(worker, 7) == {}


def test_undo_takes_back_later_statements_and_keeps_earlier_ones(worker):
    state(worker, style={"verbosity": 0.1}, bucket=7)
    kept = json.dumps(preference(worker, 7), sort_keys=True), slope(worker, "verbosity")
    between = START_US + worker.count * 1_000_000 + 500_000
    state(worker, style={"verbosity": 0.9, "formality": 0.9}, bucket=7)
    worker.publish(behavioral_pb2.UndoLearning(user_id="ann", until_us=between))
    assert (json.dumps(preference(worker, 7), sort_keys=True), slope(worker, "verbosity")) == kept
    worker.publish(behavioral_pb2.UndoLearning(user_id="ann", until_us=0))
    assert preference(worker, 7) == {}


def fill_hours(worker, hours, kinds):
    with worker.store.state.transaction() as transaction:
        rows = worker.store.within(transaction)
        for hour in range(hours):
            for kind in range(kinds):
                rows.count_hour(hour * HOUR_US, "concise_response", f"selection_ms:{kind}", 1.0)
            rows.count_hour(hour * HOUR_US, "concise_response", "positive", 1.0)


def test_figures_that_one_answer_does_not_hold_come_page_by_page(worker):
    most = worker.settings.bus.reply_bytes
    fill_hours(worker, 24 * 30, 120)
    found, request = [], behavioral_pb2.BehaviorFiguresRequest()
    while True:
        page = worker.ask(request, user="")
        assert page.ByteSize() < most
        found += [(one.hour_us, one.what) for one in page.figures]
        if not page.next_us:
            break
        assert page.next_us > found[-1][0]
        request.from_us = page.next_us
    assert len(found) == len(set(found)) == 24 * 30 * 121
    assert request.from_us, "there is more than one page"


def test_rows_that_one_answer_does_not_hold_are_told_behind_it(worker):
    worker.handlers._measuring._most_bytes = 4000
    fill_hours(worker, 100, 0)
    first = worker.ask(behavioral_pb2.BehaviorMetricsRequest(query="accuracy"), user="")
    assert 0 < len(first.rows) < 100 and first.left == 100 - len(first.rows)
    told, left = list(first.rows), first.left
    while left:
        page = worker.ask(behavioral_pb2.BehaviorMetricsRequest(query="accuracy", after=len(told)), user="")
        told, left = [*told, *page.rows], page.left
    assert [row.hour_us for row in told] == [hour * HOUR_US for hour in range(100)]
    assert worker.ask(behavioral_pb2.BehaviorMetricsRequest(query="accuracy", limit=3, after=98), user="").left == 0


def test_skills_of_peoples_own_are_counted_together_and_old_figures_go(worker):
    own_skill(worker, "anna_therapy_2026", name="Anna", intents=["rhyming"])
    chosen = worker.select(intent="rhyming", request_id="mine")
    worker.feedback(chosen.skill_id, 1, request_id="mine")
    assert chosen.skill_id == "anna_therapy_2026"

    def counted():
        return {one.skill_id for one in worker.ask(behavioral_pb2.BehaviorFiguresRequest(), user="").figures}

    assert counted() == {"", "own"}
    with worker.store.state.transaction() as transaction:
        worker.store.within(transaction).count_hour(START_US // HOUR_US * HOUR_US, "of_before", "positive", 1.0)
    worker.apply(worker.event(behavioral_pb2.BehavioralCleanUp(), user=""))
    assert counted() == {"", "own"}
    later = START_US + 10 * 366 * 24 * HOUR_US
    worker.apply(worker.event(behavioral_pb2.BehavioralCleanUp(planned_at_us=later), user=""))
    assert counted() == set()
