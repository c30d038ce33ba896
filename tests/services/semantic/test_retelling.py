"""Summaries in a model's words: asked behind the night, taken up once, gone with the text they are meant for."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aico_memory.contracts.envelope import open_record
from aico_memory.contracts.v1 import extraction_pb2
from aico_memory.contracts.wire import StampedRecord
from aico_memory.domain.sleep import names
from aico_memory.domain.sleep.telling import text_digest
from aico_memory.errors import ModelUnavailable
from aico_memory.settings.language_model import LanguageModelSettings
from services.semantic.sleep.wishing import Wish, Wishes
from tests.services.semantic.statements import items, set_policy
from tests.services.semantic.test_knowledge_in_use import SAID, summaries, told
from tests.services.semantic.worker import START, Worker
from tests.support.sleeping import slumber

DAY = 86_400_000_000
MODEL = LanguageModelSettings(enabled=True, model="local", queue_first_seconds=5, queue_hours=1)
WORDS = "The user lives and works in Lisbon."


class ModelWorker(Worker):
    """A worker whose language model answers as the test says."""

    def __init__(self, root: Path) -> None:
        self.asked: list[extraction_pb2.SummariseRequest] = []
        self.reply = extraction_pb2.Summary(text=WORDS, answered_by="local", model="local", prompt_hash="abc")
        self.away = False
        super().__init__(root)

    def start(self) -> Any:
        self.settings = self.settings.model_copy(update={"language_model": MODEL})
        self.link.answers[extraction_pb2.SummariseRequest] = self.summarise
        self.link.answers[extraction_pb2.ExtractRequest] = lambda message, user: extraction_pb2.Extraction(answered_by="rules")
        return super().start()

    def summarise(self, message: Any, user: str) -> extraction_pb2.Summary:
        self.asked.append(message)
        if self.away:
            raise ModelUnavailable("The model is away")
        return self.reply

    def told_by_model(self, number: int) -> list[Any]:
        """What the teller has published, when there are so many, as the bus brings it."""
        topic = "memory/semantic/summary_told/v1/"
        assert self.link.wait_for(lambda: sum(one.topic == topic for one in self.link.published) >= number)
        return [one for one in self.link.published if one.topic == topic]

    def bring(self, record: Any) -> None:
        self.sequence += 1
        at_us = self.clock.now_us()
        event = open_record(
            StampedRecord(
                record.topic, record.event_id, record.user, record.envelope, "semantic", self.sequence, self.sequence, at_us
            )
        )
        with self.handlers.state.transaction() as transaction:
            self.handlers.apply(transaction, event)
            transaction.set_cursor(1, self.sequence)
        self.handlers.after_commit()


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Any]:
    made = ModelWorker(tmp_path / "home")
    yield made
    made.handlers.close()


def test_a_model_tells_the_summary_in_its_own_words_and_a_second_night_leaves_them(worker: Any) -> None:
    told(worker, *SAID)
    slept = slumber(worker, names.THEMES, START + DAY)
    assert slept.counts["asked_model"] == 1
    (by_rule,) = summaries(worker, "active")
    (record,) = worker.told_by_model(1)
    assert list(worker.asked[0].texts) and worker.asked[0].characters == 800
    # By rule until the answer has arrived.
    assert summaries(worker, "active")[0].text == by_rule.text != WORDS
    set_policy(worker, read_only=True)
    worker.bring(record)
    assert summaries(worker, "active")[0].text == by_rule.text, "while items are read-only nothing is retold"
    set_policy(worker)
    worker.bring(record)
    worker.bring(record)
    (summary,) = summaries(worker, "active")
    assert (summary.text, summary.version) == (WORDS, by_rule.version + 1)
    proofs = worker.handlers.state.evidence([summary.memory_id])[summary.memory_id]
    (proof,) = [one for one in proofs if one.method == "llm_extract"]
    assert '"model": "local"' in proof.metadata_json and proof.event_id == record.event_id
    (change,) = [one for one in worker.handlers.state.evolution(summary.memory_id) if one.what == "text"]
    assert change.reason == "model local, instructions abc"
    worker.settle()
    once = items(worker)
    assert "asked_model" not in slumber(worker, names.THEMES, START + 2 * DAY).counts
    assert items(worker) == once


def test_a_habit_is_told_by_the_model_too(worker: Any) -> None:
    for number in range(4):
        worker.say(f"The cafe number {number} in Lisbon belongs to a baker", said_at_us=START + number * DAY)
    told(worker, *SAID)
    slept = slumber(worker, names.ABSTRACTION, START + 9 * DAY)
    (by_rule,) = summaries(worker, "active")
    assert (by_rule.kind, by_rule.text, slept.counts["asked_model"]) == ("pattern", "User often talks about Lisbon.", 1)
    worker.bring(worker.told_by_model(1)[0])
    assert worker.asked[0].kind == "pattern"
    assert [one.text for one in summaries(worker, "active")] == [WORDS]
    assert "asked_model" not in slumber(worker, names.ABSTRACTION, START + 10 * DAY).counts


def test_new_items_bring_the_text_by_rule_back_and_the_model_is_asked_again(worker: Any) -> None:
    told(worker, *SAID)
    slumber(worker, names.THEMES, START + DAY)
    worker.bring(worker.told_by_model(1)[0])
    told(worker, "My cousin Rui teaches in Lisbon")
    slept = slumber(worker, names.THEMES, START + 2 * DAY)
    (summary,) = summaries(worker, "active")
    assert "Rui" in summary.text and slept.counts["asked_model"] == 1
    late, fresh = worker.told_by_model(2)
    assert late.event_id != fresh.event_id


def test_an_answer_for_another_text_or_to_another_user_is_not_taken(worker: Any) -> None:
    told(worker, *SAID)
    slumber(worker, names.THEMES, START + DAY)
    (summary,) = summaries(worker, "active")
    reply = worker.reply
    for basis, user in ((text_digest("another text"), "ada"), (text_digest(summary.text), "ben")):
        worker.tell(extraction_pb2.SummaryTold(memory_id=summary.memory_id, basis=basis, summary=reply), user)
    record = next(one for one in items(worker) if one.memory.kind != "summary").memory
    worker.tell(extraction_pb2.SummaryTold(memory_id=record.memory_id, basis=text_digest(record.text), summary=reply))
    worker.tell(extraction_pb2.SummaryTold(memory_id=uuid.uuid4().bytes, basis=b"x", summary=reply))
    assert all(one.memory.text != WORDS for one in items(worker))


def test_without_the_model_the_text_by_rule_stands_and_the_status_says_why(worker: Any) -> None:
    worker.away = True
    told(worker, *SAID)
    slumber(worker, names.THEMES, START + DAY)
    (summary,) = summaries(worker, "active")
    assert worker.link.wait_for(lambda: bool(worker.asked))

    def shown() -> dict[str, Any]:
        status: dict[str, Any] = worker.handlers.status()["language_model"]
        return dict(status["summaries"])

    worker.handlers._teller.close()
    assert (shown()["left_to_rules"], shown()["last"], shown()["told"]) == (1, "model_unavailable", 0)
    assert summaries(worker, "active") == [summary]


def test_a_cycle_wishes_for_so_many_summaries_and_never_twice_for_what_was_refused() -> None:
    wishes = Wishes(2)
    made = [Wish(bytes([number]) * 16, "ada", b"basis", ("a",), 100) for number in range(3)]
    assert [wishes.add(one, 1) for one in (*made, made[0])] == [True, True, False, False]
    assert wishes.add(made[2], 2) and wishes.next() == made[0] and len(wishes) == 2
    wishes.refuse(made[0])
    assert not wishes.add(made[0], 3)
