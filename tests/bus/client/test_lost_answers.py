"""Answers that were lost on their way: what was applied is found out, or the command is given again."""

from __future__ import annotations

import uuid

import pytest

from aico_memory import MemoryClient
from aico_memory.contracts.envelope import reply_record
from aico_memory.contracts.v1 import behavioral_pb2, semantic_pb2, write_path_pb2
from aico_memory.errors import DeadlineExceeded, ImmutableItem
from aico_memory.paths import Home


def test_feedback_sent_again_gets_the_answer_that_stands(client: MemoryClient, worker) -> None:
    behavioral = worker("behavioral")
    result = behavioral_pb2.FeedbackResult(status="success", skill_updated=True, new_confidence=0.59)
    behavioral.answers("memory/behavioral/feedback/v1/", lambda event: result)
    behavioral.answers("memory/behavioral/feedback_answer/v1/", lambda event: result)
    event_id = str(uuid.uuid4())
    answers = [client.feedback("u", "m", "s", 1, event_id=event_id) for _ in range(2)]
    assert answers == [{"status": "success", "skill_updated": True, "new_confidence": 0.59}] * 2
    assert [event.topic for event in behavioral.seen].count("memory/behavioral/feedback/v1/") == 1


@pytest.fixture
def impatient(monkeypatch) -> None:
    """The client looks at once for an answer that does not come."""
    monkeypatch.setattr("aico_memory.client.session._FIRST_LOOK", 0.05)


def applied(worker, event) -> None:
    """The worker has applied this event and says so; called in its I/O thread, which must not wait."""
    body = {"consumer": worker.name, "topics": [event.topic], "applied": event.global_sequence, "settled": 0, "outbox": 0}
    worker.link.control("report", body)


def test_an_update_whose_answer_was_lost_is_told_by_the_history(client: MemoryClient, worker, impatient) -> None:
    memory_id = str(uuid.uuid4())
    semantic = worker("semantic")
    semantic.answers("memory/semantic/update/v1/", lambda event: applied(semantic, event))

    def history(event) -> semantic_pb2.MemoryHistory:
        return semantic_pb2.MemoryHistory(
            changes=[semantic_pb2.EvolutionRecord(what="fact", cause_event_id=semantic.seen[0].event_id.bytes)]
        )

    semantic.answers("memory/semantic/history/v1/", history)
    record = semantic_pb2.MemoryRecord(memory_id=memory_id, text="new")
    semantic.answers("memory/semantic/get/v1/", lambda event: semantic_pb2.MemoryPage(records=[record]))
    assert client.update(memory_id, "new", "u")["memory"]["memory"] == "new"
    assert [event.topic for event in semantic.seen].count("memory/semantic/update/v1/") == 1


def test_a_command_that_changed_nothing_and_whose_answer_was_lost_is_given_again(
    client: MemoryClient, worker, impatient
) -> None:
    semantic = worker("semantic")
    topic = "memory/semantic/invalidate/v1/"

    def refuse_the_second(event) -> ImmutableItem | None:
        applied(semantic, event)
        commands = [seen for seen in semantic.seen if seen.topic == topic]
        return ImmutableItem("It is pinned") if len(commands) > 1 else None

    semantic.answers(topic, refuse_the_second)
    semantic.answers("memory/semantic/history/v1/", lambda event: semantic_pb2.MemoryHistory())
    with pytest.raises(ImmutableItem, match="pinned"):
        client.delete(str(uuid.uuid4()), "u")
    first, second = (seen.event_id for seen in semantic.seen if seen.topic == topic)
    assert first != second


def test_a_consent_whose_answer_was_lost_is_asked_for(client: MemoryClient, worker, impatient) -> None:
    behavioral = worker("behavioral")
    topic = "memory/behavioral/consent/v1/"

    def answer_the_question(event) -> behavioral_pb2.ConsentState | None:
        applied(behavioral, event)
        if event.message.HasField("behavioral"):
            return None
        return behavioral_pb2.ConsentState(behavioral=True, long_term=True)

    behavioral.answers(topic, answer_the_question)
    assert client.set_consent("u", behavioral=True) == {"behavioral": True, "long_term": True}
    assert [event.message.HasField("behavioral") for event in behavioral.seen] == [True, False]


def test_an_answer_that_was_lost_is_asked_for_and_comes_again(client: MemoryClient, worker, impatient) -> None:
    semantic = worker("semantic")
    topic = "memory/semantic/review_decision/v1/"
    semantic.answers(topic, lambda event: None)

    def again(event) -> None:
        (command,) = (seen for seen in semantic.seen if seen.topic == topic)
        assert event.message.event_id == command.event_id.bytes
        outcome = write_path_pb2.ReviewOutcome(action="ADD", rule="new")
        semantic.link.send(reply_record(command, outcome))

    semantic.answers("memory/system/answer_again/v1/", again)
    outcome = client.promote(str(uuid.uuid4()), "u")
    assert (outcome["action"], outcome["rule"]) == ("ADD", "new")
    assert [event.topic for event in semantic.seen].count(topic) == 1


def test_a_command_that_nobody_applies_is_a_deadline(home: Home, broker, monkeypatch) -> None:
    monkeypatch.setenv("AICO_MEMORY_SET__link__command_seconds", "1.5")
    with MemoryClient.connect(home.root) as client, pytest.raises(DeadlineExceeded, match="memory/semantic/update"):
        client.update(str(uuid.uuid4()), "new", "u")
