"""What sleep wrote beside what was said: found, never taken for a statement, and gone as soon as its ground is gone."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aico_memory.contracts.v1 import context_pb2, semantic_pb2, temporal_pb2
from aico_memory.domain.memory import Memory, Scope
from aico_memory.domain.sleep import names
from tests.services.semantic.statements import items
from tests.services.semantic.test_ranking import ranked, texts
from tests.services.semantic.worker import START, Worker
from tests.support.sleeping import slumber

ADA = Scope("user", "ada")
DAY = 86_400_000_000
SAID = ("I live in Lisbon", "I work at Acme in Lisbon", "My sister Lena studies in Lisbon", "I like the trams of Lisbon")


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Any]:
    made = Worker(tmp_path / "home")
    yield made
    made.handlers.close()


def told(worker: Any, *said: str) -> list[str]:
    found = [worker.say(text) for text in said]
    worker.settle()
    return found


def summaries(worker: Any, *statuses: str) -> list[Memory]:
    return [one.memory for one in items(worker, ADA, *statuses) if one.memory.write_source == "consolidation"]


def text_id(memory: Memory) -> str:
    return str(uuid.UUID(bytes=memory.memory_id))


def test_a_night_writes_a_summary_that_is_found_by_its_kind_and_stands_behind_what_was_said(worker: Any) -> None:
    told(worker, *SAID)
    before = texts(ranked(worker, "what is there in Lisbon", limit=4))
    slept = slumber(worker, names.THEMES, START + DAY)
    assert slept.counts["created"] == 1 and not slept.errors
    worker.settle()
    (summary,) = summaries(worker, "active")
    assert summary.text.startswith("Lisbon: ")
    assert texts(ranked(worker, "what is there in Lisbon", limit=4))[:3] == before[:3]
    assert summary.text in texts(ranked(worker, "what is there in Lisbon", limit=10))
    of_kind = ranked(worker, "Lisbon", filters=semantic_pb2.SearchFilters(kinds=["summary"]))
    assert texts(of_kind) == [summary.text] and of_kind.lists[0].scores[0] > 0
    assert len(of_kind.records[0].sources) >= 3


def test_scores_of_what_was_said_are_the_same_with_and_without_a_summary(worker: Any) -> None:
    told(worker, *SAID, "The garden needs water", "Tomorrow it rains in Porto")
    questions = ("where do I live", "who studies", "trams", "rain tomorrow", "Lisbon")

    def scores() -> list[list[tuple[str, float]]]:
        found = []
        for answer in (ranked(worker, question, limit=50) for question in questions):
            kinds = {record.memory_id: record.kind for record in answer.records}
            listed = zip(answer.lists[0].memory_ids, answer.lists[0].scores, strict=True)
            found.append([(one, score) for one, score in listed if kinds[one] != "summary"])
        return found

    before = scores()
    slumber(worker, names.THEMES, START + DAY)
    worker.settle()
    assert summaries(worker, "active")
    assert scores() == before


def test_no_question_for_a_fact_is_answered_by_a_summary(worker: Any) -> None:
    told(worker, *SAID)
    slumber(worker, names.THEMES, START + DAY)
    worker.settle()
    summary = summaries(worker, "active")[0]
    for question in ("Where do I live?", "What is there in Lisbon?", "Who is my sister?", "Where do I work?"):
        answer = worker.ask(context_pb2.RecallRequest(user_id="ada", question=question))
        assert text_id(summary) not in [one.id for one in answer.results]
    answer = worker.ask(context_pb2.RecallRequest(user_id="ada", question="Where do I live?"))
    assert [one.value for one in answer.results] == ["Lisbon"]


def test_what_was_true_at_a_moment_lists_facts_and_no_summaries(worker: Any) -> None:
    told(worker, *SAID)
    before = worker.ask(temporal_pb2.StateRequest(user_id="ada", at_us=START + 5 * DAY)).facts
    slumber(worker, names.THEMES, START + DAY)
    after = worker.ask(temporal_pb2.StateRequest(user_id="ada", at_us=START + 5 * DAY)).facts
    assert summaries(worker, "active") and len(before) >= 4
    assert [one.memory_id for one in after] == [one.memory_id for one in before]


def test_a_new_statement_is_compared_with_statements_alone(worker: Any) -> None:
    told(worker, *SAID)
    slumber(worker, names.THEMES, START + DAY)
    worker.settle()
    (summary,) = summaries(worker, "active")
    told(worker, summary.text)
    (stands,) = summaries(worker, "active")
    assert (stands.text, stands.confidence, stands.reference_count) == (summary.text, summary.confidence, 0)


def test_what_a_person_deletes_no_summary_tells_any_more(worker: Any) -> None:
    said = told(worker, *SAID)
    slumber(worker, names.THEMES, START + DAY)
    assert "Acme" in summaries(worker, "active")[0].text
    worker.answered(semantic_pb2.InvalidateMemory(user_id="ada", memory_id=said[1]))
    assert not summaries(worker, "active") and len(summaries(worker, "expired")) == 1
    slumber(worker, names.THEMES, START + 2 * DAY)
    (summary,) = summaries(worker, "active")
    assert "Acme" not in summary.text and "trams" in summary.text


def test_what_is_believed_no_more_no_summary_tells_any_more(worker: Any) -> None:
    told(worker, *SAID)
    slumber(worker, names.THEMES, START + DAY)
    told(worker, "I moved to Oslo")
    assert not summaries(worker, "active")
    slumber(worker, names.THEMES, START + 2 * DAY)
    assert "lives in Lisbon" not in summaries(worker, "active")[0].text


def test_who_deletes_a_summary_deletes_nothing_that_was_said(worker: Any) -> None:
    said = told(worker, *SAID)
    slumber(worker, names.THEMES, START + DAY)
    (summary,) = summaries(worker, "active")
    worker.answered(semantic_pb2.InvalidateMemory(user_id="ada", memory_id=text_id(summary)))
    assert [one.status for one in summaries(worker)] == ["invalid"]
    records = worker.ask(semantic_pb2.GetMemory(user_id="ada", memory_ids=said)).records
    assert [one.status for one in records] == ["active"] * 4
    assert all(one.memory.status == "active" for one in items(worker) if one.memory.kind != "summary")
    slumber(worker, names.THEMES, START + 2 * DAY)
    assert not summaries(worker, "active")


def test_all_phases_of_knowledge_run_over_the_bus_and_a_second_night_changes_nothing(worker: Any) -> None:
    told(worker, *SAID)
    phases = names.STEPPED[names.STEPPED.index(names.CLUSTERS) :]
    for name in phases:
        assert not slumber(worker, name, START + DAY).errors
    once = items(worker)
    for name in phases:
        slumber(worker, name, START + 2 * DAY)
    assert items(worker) == once
