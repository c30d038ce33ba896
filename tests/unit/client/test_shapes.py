"""What a client returns: the keys that are promised, with None where there is nothing."""

from __future__ import annotations

import subprocess
import sys
import uuid
from typing import Any

from aico_memory.client.context_shapes import context_shape
from aico_memory.client.operation_verbs import _behind
from aico_memory.client.shapes import choice_shape, detailed_shape, history_shape, memory_shape, message_shape, search_shape
from aico_memory.contracts.v1 import behavioral_pb2, context_pb2, semantic_pb2, working_pb2

EVENT = uuid.UUID("0198c0de-0000-7000-8000-000000000001")
OTHER = uuid.UUID("0198c0de-0000-7000-8000-000000000002")
AT = 1_767_225_600_000_000
AT_TEXT = "2026-01-01T00:00:00+00:00"


def record() -> semantic_pb2.MemoryRecord:
    return semantic_pb2.MemoryRecord(
        memory_id="m1",
        kind="record",
        text="I moved to Lisbon",
        tier="episodic",
        status="active",
        created_at_us=AT,
        valid_from_us=AT,
        version=1,
        sources=[
            semantic_pb2.EvidenceSource(event_id=EVENT.bytes, role="user", name="Ana", said_at_us=AT, metadata_json='{"k": 1}'),
            semantic_pb2.EvidenceSource(event_id=OTHER.bytes, role="assistant"),
        ],
    )


def test_a_memory_names_its_evidence_and_takes_metadata_from_the_best_source() -> None:
    memory = memory_shape(record())
    assert memory["id"] == "m1"
    assert memory["memory"] == "I moved to Lisbon"
    assert memory["evidence"] == [str(EVENT), str(OTHER)]
    assert memory["metadata"] == {"k": 1}
    assert memory["sources"] == [
        {"event_id": str(EVENT), "role": "user", "name": "Ana", "timestamp": AT_TEXT, "metadata": {"k": 1}},
        {"event_id": str(OTHER), "role": "assistant", "name": None, "timestamp": None, "metadata": {}},
    ]
    assert memory["created_at"] == memory["valid_from"] == AT_TEXT
    assert memory["valid_until"] is None


def test_a_memory_that_was_asked_for_by_itself_tells_strengths_use_feeling_and_provenance() -> None:
    one = record()
    one.sources[0].method, one.sources[0].confidence, one.sources[0].excerpt = "rule", 0.72, "I moved to Lisbon"
    one.detail.CopyFrom(
        semantic_pb2.MemoryDetail(
            stability=2.5, difficulty=5, storage_strength=1, retrieval_strength=0.9, importance_level="low", emotion="joy",
            reference_count=3, last_referenced_us=AT, data_source="user_message", write_source="formation",
            source_confidence=0.8,
        )
    )  # fmt: skip
    memory = detailed_shape(one)
    assert memory["memory"] == "I moved to Lisbon" and memory["temporal_type"] == "persistent"
    assert memory["strength"] == {"stability": 2.5, "difficulty": 5, "storage": 1, "retrieval": 0.9}
    assert memory["use"] == {"accesses": 0, "last_accessed": None, "references": 3, "last_referenced": AT_TEXT}
    assert memory["feeling"] == {"valence": 0, "arousal": 0, "emotion": "joy", "flashbulb": False}
    assert memory["provenance"] == {"write_source": "formation", "data_source": "user_message", "source_confidence": 0.8}
    assert (memory["importance_level"], memory["variant_of"], memory["fact_key"]) == ("low", None, None)
    first: Any = memory["sources"][0]
    assert (first["method"], first["confidence"], first["excerpt"]) == ("rule", 0.72, "I moved to Lisbon")


def test_a_search_carries_timings_degraded_tiers_and_the_model() -> None:
    result = context_pb2.SearchResult(
        hits=[
            semantic_pb2.SearchHit(
                record=record(), score=0.5, layer="L1", shares=[semantic_pb2.RankedShare(feature="text", value=0.25)]
            )
        ],
        timings=[semantic_pb2.StageTiming(stage="embed", milliseconds=1.5)],
        degraded=["working"],
        model="mini",
        dropped=[semantic_pb2.DroppedItem(id="m2", rule="budget")],
    )
    plain = search_shape(result, explain=False)
    assert plain["timings_ms"] == {"embed": 1.5}
    assert plain["degraded"] == ["working"]
    assert plain["model"] == "mini"
    assert plain["results"][0]["score"] == 0.5
    assert "shares" not in plain["results"][0]
    explained = search_shape(result, explain=True)
    assert explained["results"][0]["shares"] == {"text": 0.25}
    assert explained["dropped"] == [{"id": "m2", "rule": "budget"}]


def test_a_raw_message_has_exactly_the_promised_keys() -> None:
    stored = working_pb2.StoredMessage(event_id=EVENT.bytes, role="user", content="x", received_at_us=AT)
    assert message_shape(stored) == {
        "event_id": str(EVENT),
        "session_id": None,
        "role": "user",
        "name": None,
        "content": "x",
        "timestamp": AT_TEXT,
        "metadata": {},
    }


def test_a_history_tells_adding_editing_and_deleting_apart() -> None:
    changes = [
        semantic_pb2.EvolutionRecord(what="created", new_value="a", at_us=AT, cause_event_id=EVENT.bytes),
        semantic_pb2.EvolutionRecord(what="text", old_value="a", new_value="b", at_us=AT, reason="edited"),
        semantic_pb2.EvolutionRecord(what="tier", old_value="episodic", new_value="semantic", at_us=AT),
        semantic_pb2.EvolutionRecord(what="status", old_value="active", new_value="invalid", at_us=AT),
    ]
    told = [(entry["event"], entry["old_memory"], entry["new_memory"]) for entry in history_shape("m1", changes)]
    assert told == [("ADD", None, "a"), ("UPDATE", "a", "b"), ("TIER", "b", "b"), ("DELETE", "b", None)]


def test_a_history_tells_a_change_a_retraction_and_a_deletion_apart_and_times_as_times() -> None:
    def event(new: str, reason: str = "") -> str:
        change = semantic_pb2.EvolutionRecord(what="status", old_value="active", new_value=new, at_us=AT, reason=reason)
        return str(history_shape("m1", [change])[0]["event"])

    assert event("superseded", "changed") == "SUPERSEDE"
    assert event("disabled", "retracted: never true") == "RETRACT"
    assert event("disabled", "ended") == "DISABLE"
    assert event("expired") == "EXPIRE"
    assert event("invalid") == "DELETE"
    until = semantic_pb2.EvolutionRecord(what="valid_until_us", old_value=str(1 << 62), new_value=str(AT), at_us=AT)
    told = history_shape("m1", [until])[0]
    assert (told["event"], told["field"]) == ("VALID_UNTIL", "valid_until")
    assert (told["old_value"], told["new_value"]) == (None, AT_TEXT)


def test_no_skill_is_none() -> None:
    assert choice_shape(behavioral_pb2.SkillSelectionResponse(request_id="r", outcome="no_applicable_skill")) is None


def test_a_choice_has_exactly_the_promised_keys() -> None:
    response = behavioral_pb2.SkillSelectionResponse(
        request_id="r",
        skill_id="s",
        skill_name="S",
        procedure_template="t",
        confidence_score=0.5,
        preference_alignment=0.25,
        shares={"trigger": 0.5},
        bucket=3,
        is_exploration=True,
        question="Was it short enough?",
        explanation="S scores 0.5.",
        answered_by="intent=caller",
        outcome="applied",
        policy="hierarchical-thompson",
    )
    assert choice_shape(response) == {
        "request_id": "r",
        "skill_id": "s",
        "skill_name": "S",
        "template": "t",
        "confidence": 0.5,
        "alignment": 0.25,
        "shares": {"trigger": 0.5},
        "bucket": 3,
        "is_exploration": True,
        "question": "Was it short enough?",
        "explanation": "S scores 0.5.",
        "answered_by": "intent=caller",
        "outcome": "applied",
        "policy": "hierarchical-thompson",
    }


def test_a_context_names_its_items_with_their_evidence() -> None:
    answer = context_pb2.ContextAnswer(
        text="block",
        tokens=7,
        items=[context_pb2.ContextItem(id="m1", text="a", evidence=[EVENT.bytes], tokens=3)],
        timings=[semantic_pb2.StageTiming(stage="total", milliseconds=2.0)],
    )
    shaped = context_shape(answer, explain=False)
    assert {"text", "items", "timings_ms", "degraded", "tokens"} <= shaped.keys()
    assert shaped["items"][0]["evidence"] == [str(EVENT)]
    assert shaped["model"] is None
    assert "shares" not in shaped["items"][0] and "dropped" not in shaped


def test_a_context_tells_its_intent_and_parts_unasked() -> None:
    shaped = context_shape(context_pb2.ContextAnswer(intent="temporal", parts=["When?", "Where?"]), explain=False)
    assert (shaped["intent"], shaped["parts"]) == ("temporal", ["When?", "Where?"])


def test_flush_waits_for_owners_and_for_all_who_read_the_topic() -> None:
    topic = "memory/working/message/v1/"
    working = {"name": "working", "topics": [topic], "settled": 9}
    semantic = {"name": "semantic", "topics": [topic], "settled": 4}
    other = {"name": "scheduler", "topics": ["memory/scheduler/trigger/v1/"], "settled": 0}
    assert _behind({topic: 5}, [working, semantic, other]) == ["semantic"]
    assert _behind({topic: 4}, [working, semantic, other]) == []
    assert _behind({topic: 4}, [semantic]) == ["working"]


def test_importing_the_package_does_not_load_the_client() -> None:
    code = "import sys, aico_memory; assert 'zmq' not in sys.modules; aico_memory.MemoryClient; assert 'zmq' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
