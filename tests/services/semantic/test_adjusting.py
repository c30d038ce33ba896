"""Write policy and ranking profile under the guardrails, on a twin of the store."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from aico_memory.clock import FixedClock, from_us
from aico_memory.contracts.envelope import Event, open_record, open_reply
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import guardrails_pb2, sleep_pb2, write_path_pb2
from aico_memory.contracts.wire import StampedRecord, reply_topic
from aico_memory.domain.gate.policy import WritePolicy, began, changed
from aico_memory.domain.gate.statement import Known
from aico_memory.domain.guardrails.labels import RankingLabel, ReviewLabel
from aico_memory.domain.memory import Scope
from aico_memory.domain.retrieval.features import NAMES
from aico_memory.domain.retrieval.ranking import Profile
from aico_memory.domain.scopes import GLOBAL
from aico_memory.errors import AicoMemoryError, RefusedTransition
from aico_memory.ids import new_id
from aico_memory.settings.root import Settings
from aico_memory.stores.semantic.twin import MemorySemanticStore
from services.semantic.adjusting import ADJUST, SELF_ADJUST, Adjusting
from services.semantic.convert import id_text
from services.semantic.shown import ShownRows
from tests.services.semantic.statements import policy_of
from tests.support.memory_items import item

START = 1_772_000_000_000_000
REPLY = reply_topic("default", bytes(16))
SHIPPED = Profile("default", {"similarity": 4.0, "coverage": 0.5}, 0.5, -1.0)


class SilentLog:
    def info(self, *_: Any, **__: Any) -> None:
        """Say nothing."""

    warning = info


class OneRanker:
    """Ranks by nothing; remembers what it was told to rank by."""

    shipped = SHIPPED

    def __init__(self) -> None:
        self.profile: Profile | None = None

    def adopt(self, profile: Profile | None) -> None:
        self.profile = profile


class Office:
    def __init__(self, **guardrails: Any) -> None:
        self.store = MemorySemanticStore()
        self.ranker, self.shown = OneRanker(), ShownRows()
        self.at = START
        self.settings = Settings.model_validate({"guardrails": {"labels": 20, "cases": 3, **guardrails}})
        self.restart()

    def restart(self) -> None:
        ports: Any = SimpleNamespace(clock=FixedClock(from_us(START)), log=SilentLog())
        self.adjusting = Adjusting(ports, self.settings, self.store, self.ranker, self.shown, policy_of)
        self.adjusting.after_commit()

    def send(self, effect: Any, message: Any, user: str = "") -> Any:
        self.at += 1_000_000
        event = Event(
            new_id(self.at), "topic", user, message, global_sequence=9, occurred_us=self.at, sender="default", reply_to=REPLY
        )
        with self.store.transaction() as transaction:
            effect(transaction, event)
        self.adjusting.after_commit()
        found = list(self.store.outgoing(100))
        self.store.settle_outgoing([record.event_id for record in found])
        self.said = [
            open_record(StampedRecord(one.topic, one.event_id, one.user, one.envelope, "semantic", 1, 1, 1)) for one in found
        ]
        return next((open_reply(one.message) for one in self.said if one.topic == REPLY), None)

    def run(self, **fields: Any) -> guardrails_pb2.AdjustmentPage:
        page: guardrails_pb2.AdjustmentPage = self.send(
            self.adjusting.effects[SELF_ADJUST], guardrails_pb2.SelfAdjust(**fields)
        )
        return page

    def decide(self, adjustment_id: str, action: str) -> guardrails_pb2.Adjustment:
        message = guardrails_pb2.SemanticAdjustmentDecision(adjustment_id=adjustment_id, action=action)
        decided: guardrails_pb2.Adjustment = self.send(self.adjusting.effects[ADJUST], message)
        return decided

    def page(self, **fields: Any) -> list[guardrails_pb2.Adjustment]:
        event = Event(new_id(START), "t", "", guardrails_pb2.SemanticAdjustmentsRequest(**fields))
        return list(self.adjusting.page(event).adjustments)

    def reviews(self, first: int, count: int, confidence: float, promoted: bool, kind: str = "fact") -> None:
        with self.store.transaction() as transaction:
            for number in range(first, first + count):
                label = ReviewLabel(number.to_bytes(16, "big"), self.at, kind, confidence, promoted)
                transaction.labels().put_review(label)

    def policy(self) -> WritePolicy | None:
        history = self.store.policy(GLOBAL)
        return history.current if history else None

    def questions(self, count: int, right: int = 1) -> None:
        """Answers in which coverage, and not likeness, told what helped."""
        rows = tuple((0.9 - place / 5, 0.9 if place == right else 0.1) for place in range(4))
        with self.store.transaction() as transaction:
            for number in range(count):
                label = RankingLabel(
                    f"q{number}",
                    "ana",
                    self.at,
                    ("similarity", "coverage"),
                    rows,
                    (right,),
                    (),
                    ("fact",) * 4,
                    ("semantic",) * 4,
                )
                transaction.labels().put_ranking(label, 1000)


def test_too_few_labels_are_said_and_change_nothing() -> None:
    office = Office()
    office.reviews(1, 5, 0.7, False)
    page = office.run(firing_id="f1")
    assert dict(page.told) == {
        "write_policy": "too few labels: 5 of 20", "ranking_profile": "too few labels: 0 of 20",
    }  # fmt: skip
    assert not page.adjustments and office.policy() is None and office.ranker.profile is None
    (finished,) = [one.message for one in office.said if one.topic == topic_of(sleep_pb2.JobFinished).name]
    assert finished.firing_id == "f1" and "too few labels: 5 of 20" in finished.detail
    assert finished.at_us == 0, "over when it is heard, and not when it was asked for"


def test_a_policy_is_proposed_from_reviews_applied_on_approval_and_rolled_back_to_what_it_was() -> None:
    office = Office()
    with office.store.transaction() as transaction:
        history = began(WritePolicy(), START, "configuration")
        policy = replace(WritePolicy(), require_approval_kinds=frozenset({"preference"}), scope_items=77)
        transaction.set_policy(GLOBAL, changed(history, policy, START, "ana", office.settings.write_path.policy))
    office.reviews(1, 30, 0.65, False)
    office.reviews(100, 30, 0.9, True)
    (entry,) = office.run().adjustments
    assert (entry.subject, entry.status) == ("write_policy", "proposed"), entry
    assert entry.after.success > entry.before.success and entry.after.violations == 0 < entry.before.violations
    assert office.policy() == policy
    assert office.adjusting.status()["proposed"] == 1
    assert office.run().told["write_policy"] == "nothing new since: proposed"
    assert office.decide(entry.adjustment_id, "approve").status == "applied"
    held = office.policy()
    assert held is not None
    assert 0.65 < held.min_confidence <= 0.9 and held.scope_items == 77
    assert held.require_approval_kinds == frozenset({"preference"})
    assert office.store.policy(GLOBAL).versions[-1].by == "guardrails"  # type: ignore[union-attr]
    assert office.decide(entry.adjustment_id, "rollback").status == "rolled_back"
    assert office.policy() == policy
    versions = office.store.policy(GLOBAL)
    assert office.decide(entry.adjustment_id, "rollback").status == "rolled_back"
    assert office.store.policy(GLOBAL) == versions


def test_a_policy_that_somebody_set_since_is_not_run_over() -> None:
    office = Office()
    office.reviews(1, 30, 0.65, False)
    office.reviews(100, 30, 0.9, True)
    (entry,) = office.run().adjustments
    with office.store.transaction() as transaction:
        transaction.set_policy(GLOBAL, began(WritePolicy(min_confidence=0.5), START, "ana"))
    refused: Any = None
    try:
        office.decide(entry.adjustment_id, "approve")
    except AicoMemoryError as error:
        refused = error
    assert isinstance(refused, RefusedTransition) and office.policy() == WritePolicy(min_confidence=0.5)


def test_in_mode_auto_it_is_applied_and_taken_back_where_people_decide_otherwise_afterwards() -> None:
    office = Office(write_policy="auto", watched_cases=10, drift=0.0)
    office.reviews(1, 30, 0.65, False)
    office.reviews(100, 30, 0.9, True)
    (entry,) = office.run().adjustments
    assert entry.status == "applied"
    raised = office.policy()
    assert raised is not None and raised.min_confidence > 0.65
    office.reviews(500, 20, 0.65, True)
    (back,) = office.run().adjustments
    assert (back.status, back.by) == ("rolled_back", "guardrails")
    assert back.reason.startswith("success fell")
    lowered = office.policy()
    assert lowered is not None and lowered.min_confidence == WritePolicy().min_confidence
    (alarm,) = office.adjusting.status()["alarms"]  # type: ignore[misc]
    assert "took back write_policy" in alarm


def test_off_is_off() -> None:
    office = Office(write_policy="off", ranking_profile="off")
    office.reviews(1, 60, 0.65, False)
    office.questions(60)
    page = office.run()
    assert set(page.told.values()) == {"off"} and not page.adjustments and not office.page()


def test_a_ranking_profile_is_refitted_from_what_helped_and_survives_a_restart_and_a_rollback() -> None:
    office = Office(ranking_profile="auto")
    office.questions(60)
    (entry,) = office.run().adjustments
    assert (entry.subject, entry.status) == ("ranking_profile", "applied"), entry
    assert (entry.before.success, entry.after.success) == (0.5, 1.0)
    learned = office.ranker.profile
    assert learned is not None and learned.weights["coverage"] > SHIPPED.scale * SHIPPED.weights["coverage"]
    office.ranker.profile = None
    office.restart()
    assert office.ranker.profile == learned
    (whole,) = office.page(adjustment_id=entry.adjustment_id)
    assert json.loads(whole.snapshot_json)["weights"] == dict(SHIPPED.weights)
    office.decide(entry.adjustment_id, "rollback")
    assert office.ranker.profile is None
    assert office.run().told["ranking_profile"] == "nothing new since: rolled_back"


def test_a_word_on_a_memory_labels_the_latest_answer_that_showed_it_and_only_to_who_may_see_it() -> None:
    office = Office()
    with office.store.transaction() as transaction:
        memories = [replace(item(number, f"fact {number}"), scope=Scope("user", "ana"), owner="ana") for number in (1, 2)]
        for memory in memories:
            transaction.put_item(Known(memory), [], 1)
    features = np.zeros((2, len(NAMES)), dtype=np.float32)
    features[1, 0] = 0.5
    office.shown.note("where does she live", ["user/ana"], memories, features)

    def judge(which: int, helpful: bool, user: str) -> None:
        message = write_path_pb2.MemoriesJudged(user_id=user, memory_ids=[id_text(memories[which].memory_id)], helpful=helpful)
        office.send(office.adjusting.note_judged, message, user)

    judge(1, True, "ben")
    history = began(WritePolicy(read_only=True), START, "ana")
    with office.store.transaction() as transaction:
        transaction.set_policy(GLOBAL, history)
    judge(1, True, "ana")
    released = changed(history, WritePolicy(), START, "ana", office.settings.write_path.policy)
    with office.store.transaction() as transaction:
        transaction.set_policy(GLOBAL, released)
    with office.store.reading_labels() as labels:
        assert labels.rankings(10) == []
    unknown = write_path_pb2.MemoriesJudged(
        user_id="ana", memory_ids=[id_text(memories[1].memory_id), id_text(b"x" * 16)], helpful=True
    )
    office.send(office.adjusting.note_judged, unknown, "ana")
    with office.store.reading_labels() as labels:
        assert labels.rankings(10) == [], "a word that was refused teaches nothing"
    judge(1, True, "ana")
    judge(0, False, "ana")
    with office.store.reading_labels() as labels:
        (label,) = labels.rankings(10)
    assert (label.helped, label.refused, label.owner, label.names) == ((1,), (0,), "ana", NAMES)
    assert label.rows[1][0] == 0.5 and label.kinds == (memories[0].kind, memories[1].kind)


def test_what_was_never_shown_labels_nothing() -> None:
    shown = ShownRows()
    assert shown.label([b"x" * 16], True, "ana", 1) is None
    shown.note("q", [], [], np.zeros((0, len(NAMES)), dtype=np.float32))
    assert shown.label([b"x" * 16], True, "ana", 1) is None


@pytest.mark.parametrize("action", ["approve", "rollback"])
def test_an_unknown_entry_is_not_found(action: str) -> None:
    with pytest.raises(AicoMemoryError, match="No adjustment"):
        Office().decide("0198c0de-0000-7000-8000-000000000009", action)
