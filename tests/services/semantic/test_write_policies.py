"""What a scope's policy lets in: review, read-only, bounds of inference and of the scope."""

from __future__ import annotations

import pytest

from aico_memory.contracts.v1 import semantic_pb2, write_path_pb2
from aico_memory.domain.scopes import GLOBAL
from aico_memory.ids import derive_id
from tests.services.semantic.statements import ADA, items, message, replay, set_policy, values


@pytest.mark.parametrize(
    ("policy", "status"),
    [
        ({"mode": "shadow"}, "shadow"),
        ({"mode": "manual"}, "candidate"),
        ({"require_approval_kinds": frozenset({"profile"})}, "candidate"),
    ],
)
def test_what_needs_review_waits_with_its_statement_and_changes_nothing_else(worker, policy, status):
    worker.say("I live in Rome")
    set_policy(worker, **policy)
    worker.say("I moved to Oslo")
    assert values(worker) == [("Rome", "active"), ("Oslo", status)]
    waiting = next(one.memory for one in items(worker, ADA, status))
    statement, state = worker.handlers.state.statement(waiting.memory_id)
    assert (statement.fact.value, state) == ("Oslo", "review")
    explained = worker.handlers.state.explanation(statement.event_id, [ADA])
    assert [one.in_auto for one in explained.outcomes] == ["SUPERSEDE"]


def test_read_only_survives_a_restart_and_nothing_said_meanwhile_is_lost(worker):
    worker.say("I live in Rome")
    set_policy(worker, GLOBAL, read_only=True)
    worker.restart()
    said = worker.tell(message("I moved to Oslo"))
    worker.tell(message("My name is Ada"))
    assert values(worker) == [("Rome", "active")]
    replay(worker, said.event_id)
    assert values(worker) == [("Rome", "active")]
    set_policy(worker, GLOBAL)
    replay(worker, said.event_id)
    assert dict(values(worker)) == {"Rome": "superseded", "Oslo": "active", "Ada": "active"}
    assert worker.handlers.state.waiting("ada", (), 9) == []


def test_inferences_beyond_a_limit_wait_for_sleep_and_what_is_said_outright_never_does(worker):
    set_policy(worker, session_writes=2)
    said = [worker.tell(message(text)) for text in ("I use Figma", "I own a red tent", "I use Obsidian", "I live in Oslo")]
    worker.tell(message("Remember that I use Krita"))
    worker.tell(message("I use Blender", session_id="s2"))
    active = {value for value, status in values(worker) if status == "active"}
    assert {"Figma", "red tent", "Oslo", "Krita", "Blender"} <= active
    assert "Obsidian" not in active
    assert [one.fact.value for one in worker.handlers.state.waiting("ada", (), 9)] == ["Obsidian"]
    assert replay(worker, said[2].event_id).unknown == 0
    assert "Obsidian" in {value for value, status in values(worker) if status == "active"}


def test_what_too_few_events_have_said_is_written_with_the_event_that_proves_it(worker):
    set_policy(worker, min_evidence=2)
    first = worker.tell(message("I live in Rome"))
    worker.tell(message("I live in Oslo", user="bo"), "bo")
    assert values(worker) == []
    assert worker.handlers.state.explanation(first.event_id.bytes, [ADA]).outcomes[0].rule == "evidence_missing"
    replay(worker, first.event_id)
    assert values(worker) == []
    second = worker.tell(message("I live in Rome"))
    (rome,) = items(worker)
    assert (rome.value, rome.memory.status, rome.memory.said_at_us) == ("Rome", "active", first.occurred_us)
    proofs = worker.handlers.state.evidence([rome.memory.memory_id])[rome.memory.memory_id]
    assert [one.event_id for one in proofs] == [first.event_id.bytes, second.event_id.bytes]
    assert worker.handlers.state.unproven(ADA, rome.memory.fact_key, 9) == []


def test_another_value_and_one_event_told_twice_prove_nothing_and_an_end_of_what_is_known_needs_no_second_word(worker):
    worker.say("I live in Rome")
    set_policy(worker, min_evidence=2)
    worker.say("I moved to Oslo. I live in Oslo.")
    worker.say("I live in Bergen")
    assert values(worker) == [("Rome", "active")]
    worker.say("I no longer live in Rome")
    assert values(worker) == [("Rome", "expired")]
    worker.say("I live in Bergen")
    assert ("Bergen", "active") in values(worker)


def test_a_deleted_message_proves_nothing(worker):
    set_policy(worker, min_evidence=2)
    record = worker.say("I live in Rome")
    worker.answered(semantic_pb2.InvalidateMemory(user_id="ada", memory_id=record))
    worker.say("I live in Rome")
    assert values(worker) == []
    worker.say("I live in Rome")
    assert values(worker) == [("Rome", "active")]


def test_a_full_scope_lets_the_oldest_of_low_importance_rest(worker):
    set_policy(worker, scope_items=3, session_writes=0)
    for thing in ("tea", "jazz", "chess", "rye bread", "maps"):
        worker.say(f"I like {thing}")
    tiers = {one.value: one.memory.tier for one in items(worker)}
    assert [value for value, tier in tiers.items() if tier == "dormant"] == ["tea", "jazz"]
    assert {one.memory.status for one in items(worker)} == {"active"}
    assert "demoted" in [one.action for one in worker.emitted(("changed", semantic_pb2.Changed))]


def test_what_is_said_again_in_a_full_scope_wakes_and_what_was_said_longest_ago_rests(worker):
    set_policy(worker, scope_items=3, session_writes=0)
    for thing in ("tea", "jazz", "chess", "maps", "tea", "chess"):
        worker.say(f"I like {thing}")
    resting = {one.value for one in items(worker) if one.memory.tier == "dormant"}
    assert resting == {"jazz"}
    worker.say("I like jazz")
    assert {one.value for one in items(worker) if one.memory.tier == "dormant"} == {"maps"}


def active(worker) -> set[str]:
    return {value for value, status in values(worker) if status == "active"}


def test_what_is_said_in_no_session_is_held_off_by_no_session(worker):
    set_policy(worker, session_writes=2)
    for tool in ("Figma", "Obsidian", "Krita", "Blender"):
        worker.say(f"I use {tool}", session_id="")
    assert active(worker) == {"Figma", "Obsidian", "Krita", "Blender"}
    assert worker.handlers.state.waiting("ada", (), 9) == []


def held_off(worker) -> str:
    """A message whose statement waits for sleep; the id of its record."""
    set_policy(worker, session_writes=1)
    worker.say("I use Figma")
    record = worker.say("I use Obsidian")
    assert [one.fact.value for one in worker.handlers.state.waiting("ada", (), 9)] == ["Obsidian"]
    return record


def edit(worker, record: str, text: str) -> None:
    worker.answered(semantic_pb2.UpdateMemory(user_id="ada", memory_id=record, text=text))


def night(worker) -> None:
    replay(worker, derive_id(worker.tell(message("Good evening")).event_id, "x"))


def test_the_night_takes_up_nothing_of_a_deleted_message(worker):
    record = held_off(worker)
    worker.answered(semantic_pb2.InvalidateMemory(user_id="ada", memory_id=record))
    night(worker)
    assert active(worker) == {"Figma"}
    assert worker.handlers.state.waiting("ada", (), 9) == []


def test_the_night_takes_up_what_a_message_says_now_and_none_of_its_former_words(worker):
    record = held_off(worker)
    edit(worker, record, "I use Blender")
    edit(worker, record, "I use Krita")
    assert len(worker.handlers.state.waiting("ada", (), 9)) == 3
    night(worker)
    assert active(worker) == {"Figma", "Krita"}
    assert worker.handlers.state.waiting("ada", (), 9) == []


def test_of_a_message_that_was_reworded_and_then_deleted_the_night_takes_up_nothing(worker):
    record = held_off(worker)
    edit(worker, record, "I use Blender")
    worker.answered(semantic_pb2.InvalidateMemory(user_id="ada", memory_id=record))
    night(worker)
    assert active(worker) == {"Figma"}
    assert worker.handlers.state.waiting("ada", (), 9) == []


def test_the_explanation_of_what_waited_says_what_became_of_it(worker):
    set_policy(worker, session_writes=1)
    worker.say("I use Figma")
    said = worker.tell(message("I use Obsidian"))
    night(worker)
    (told,) = worker.ask(write_path_pb2.ExplainRequest(user_id="ada", event_id=said.event_id.bytes)).events
    waited, taken_up = told.outcomes
    assert (waited.action, waited.rule, waited.waits) == ("SKIP", "session_limit", True)
    assert (taken_up.action, taken_up.waits, len(taken_up.written)) == ("CREATE", False, 1)
    report = worker.ask(write_path_pb2.ShadowReportRequest(user_id="ada"))
    assert {one.name: one.count for one in report.done} == {"CREATE": 2}


def test_the_explanation_of_what_was_proven_later_says_so_and_the_review_tells_the_last_decision(worker):
    set_policy(worker, min_evidence=2, mode="manual")
    first = worker.tell(message("I live in Rome"))
    worker.say("I live in Rome")
    (told,) = worker.ask(write_path_pb2.ExplainRequest(user_id="ada", event_id=first.event_id.bytes)).events
    assert [(one.action, one.rule) for one in told.outcomes] == [("SKIP", "evidence_missing"), ("CANDIDATE", "mode_manual")]
    waiting = worker.ask(write_path_pb2.ReviewRequest(user_id="ada")).items
    assert {(one.instead, one.rule) for one in waiting} == {("CREATE", "mode_manual")}
