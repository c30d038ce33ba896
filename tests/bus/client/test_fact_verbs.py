"""The verbs on facts over a real broker: what they ask, and the shapes they return, on both faces."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import pytest

from aico_memory import AsyncMemoryClient, MemoryClient
from aico_memory.contracts.envelope import open_record
from aico_memory.contracts.v1 import context_pb2, envelope_pb2, semantic_pb2, working_pb2, write_path_pb2
from aico_memory.errors import DeadlineExceeded, InvalidMessage, NaiveTime, NotFound, RefusedTransition
from aico_memory.paths import Home

START = 1_772_000_000_000_000
EVENT, MEMORY = uuid.UUID(int=7), str(uuid.UUID(int=9))
RECALL = "memory/context/recall/v1/"


def answered(event: Any) -> context_pb2.RecallResult:
    fact = context_pb2.RecalledFact(
        id=MEMORY, memory="User lives in Porto", value="Porto", valid_from_us=START, confidence=0.9, evidence=[EVENT.bytes]
    )
    unread = context_pb2.RecalledFact(id=MEMORY, memory="Never use sudo", valid_until_us=START)
    return context_pb2.RecallResult(results=[fact, unread], language="en", degraded=["model: deadline_exceeded"])


def test_recall_asks_with_both_times_and_scopes_and_returns_exactly_the_agreed_shape(client: MemoryClient, worker) -> None:
    semantic = worker("semantic")
    semantic.answers(RECALL, answered)
    found = client.recall(
        "Where do I live?", "ana", as_of="2026-03-01T00:00:00+02:00", known_as_of="2026-04-01T00:00:00Z", group_id="choir",
        project_id="tour",
    )  # fmt: skip
    assert found == {
        "results": [
            {
                "id": MEMORY, "memory": "User lives in Porto", "value": "Porto", "valid_from": "2026-02-25T06:13:20+00:00",
                "valid_until": None, "confidence": 0.9, "evidence": [str(EVENT)],
            },
            {
                "id": MEMORY, "memory": "Never use sudo", "value": None, "valid_from": None,
                "valid_until": "2026-02-25T06:13:20+00:00", "confidence": 0.0, "evidence": [],
            },
        ],
        "degraded": ["model: deadline_exceeded"],
    }  # fmt: skip
    asked = semantic.seen[0].message
    assert (asked.user_id, asked.group_id, asked.project_id, asked.zone) == ("ana", "choir", "tour", "Etc/GMT-2")
    assert (asked.as_of_us, asked.known_as_of_us) == (1_772_316_000_000_000, 1_775_001_600_000_000)


def test_recall_is_asynchronous_too(broker: object, home: Home, worker) -> None:
    worker("semantic").answers(RECALL, answered)

    async def ask() -> list[str | None]:
        async with AsyncMemoryClient.connect(home.root) as client:
            return [fact["value"] for fact in (await client.recall("Where do I live?", "ana"))["results"]]

    assert asyncio.run(ask()) == ["Porto", None]


def test_a_question_that_cannot_be_asked_is_refused_before_it_is_sent(client: MemoryClient) -> None:
    with pytest.raises(InvalidMessage, match="question is empty"):
        client.recall("", "ana")
    with pytest.raises(NaiveTime, match="known_as_of"):
        client.recall("Where?", "ana", known_as_of="2026-03-01T00:00:00")
    with pytest.raises(InvalidMessage, match="identifier"):
        client.explain("that one", "ana")
    with pytest.raises(InvalidMessage, match="allowed are"):
        client.review_queue("ana", status="active")
    with pytest.raises(InvalidMessage, match="no field volume"):
        client.set_policy("ana", volume=11)
    with pytest.raises(InvalidMessage, match="no field read_only"):
        client.set_policy("ana", read_only=True)
    with pytest.raises(InvalidMessage, match="read_only must be True or False"):
        client.set_read_only("off", "ana")
    with pytest.raises(InvalidMessage, match="scope_items cannot be"):
        client.set_policy("ana", scope_items=-1)
    with pytest.raises(InvalidMessage, match="delta"):
        client.reinforce("i1", "ana", delta=-0.1)
    for helpful in ("no", 1, None):
        with pytest.raises(InvalidMessage, match="helpful must be True or False"):
            client.judge(MEMORY, "ana", helpful)  # type: ignore[arg-type]
    with pytest.raises(InvalidMessage, match="top_k"):
        client.disclose("ana", memory_ids=[MEMORY], top_k=1)
    with pytest.raises(InvalidMessage, match="input or a response"):
        client.add_turn("ana", "", "")


def test_who_did_not_answer_is_named(client: MemoryClient) -> None:
    client._client._session.settings = client._client._session.settings.model_copy(update={"request_seconds": 0.2})
    with pytest.raises(DeadlineExceeded, match="recall/v1/ from semantic"):
        client.recall("Where do I live?", "ana")


def test_an_explanation_names_filters_statements_neighbours_and_what_shadow_would_do(client: MemoryClient, worker) -> None:
    outcome = write_path_pb2.StatementOutcome(
        statement_id=MEMORY, kind="profile", act="assert", predicate="home_city", importance=0.5, confidence=0.72, novelty=0.9,
        admission="admitted", action="SUPERSEDE", rule="more_confident", reason="another object", target=MEMORY,
        in_auto="SUPERSEDE", in_shadow="SHADOW", written=[MEMORY],
        neighbours=[write_path_pb2.SeenNeighbour(memory_id=MEMORY, similarity=0.81, same_key=True, status="active")],
    )  # fmt: skip
    event = write_path_pb2.EventExplanation(
        event_id=EVENT.bytes, filtered=["emoji"], classes=[semantic_pb2.RankedShare(feature="fact", value=0.25)], density=3,
        emotion="joy", valence=0.5, arousal=0.2, language="en", strong=True, outcomes=[outcome],
    )  # fmt: skip
    change = semantic_pb2.EvolutionRecord(what="created", new_value="User lives in Porto", at_us=START)
    explained = write_path_pb2.Explained(
        events=[event], memories=[semantic_pb2.MemoryRecord(memory_id=MEMORY, text="x", value="Porto")], changes=[change]
    )
    semantic = worker("semantic")
    semantic.answers("memory/semantic/explain/v1/", lambda _: explained)
    found = client.explain(str(EVENT), "ana")
    (said,) = found["events"]
    (done,) = said["statements"]
    assert (said["filtered"], said["classes"], said["emotion"]) == (["emoji"], {"fact": 0.25}, "joy")
    assert (done["rule"], done["in_shadow"], done["channels"]["novelty"]) == ("more_confident", "SHADOW", 0.9)
    assert done["neighbours"] == [
        {"id": MEMORY, "similarity": 0.81, "same_key": True, "contradiction": None, "status": "active"}
    ]
    assert found["memories"][0]["value"] == "Porto" and found["changes"][0]["event"] == "ADD"
    asked = semantic.seen[0].message
    assert asked.event_id == EVENT.bytes and asked.memory_id == str(EVENT), "an id may be of either"


def test_review_lists_and_decides(client: MemoryClient, worker) -> None:
    record = semantic_pb2.MemoryRecord(memory_id=MEMORY, text="User likes tea", status="candidate")
    semantic = worker("semantic")
    item = write_path_pb2.WaitingItem(record=record, instead="CREATE", rule="mode_manual", reason="novel")
    semantic.answers("memory/semantic/review/v1/", lambda _: write_path_pb2.ReviewPage(items=[item], waiting=4))

    def decided(event: Any) -> Any:
        if event.message.decision == "reject":
            return RefusedTransition("active does not lead to invalid", "From active an item can become: …")
        record.status = "active"
        return write_path_pb2.ReviewOutcome(record=record, action="CREATE", rule="novel", changed=[MEMORY])

    semantic.answers("memory/semantic/review_decision/v1/", decided)
    waiting = client.review_queue("ana", status=["candidate"], limit=1)
    assert waiting["waiting"] == 4
    assert (waiting["results"][0]["memory"], waiting["results"][0]["instead"]) == ("User likes tea", "CREATE")
    outcome = client.promote(MEMORY, "ana", reason="she told me")
    assert (outcome["action"], outcome["memory"]["status"], outcome["changed"]) == ("CREATE", "active", [MEMORY])
    with pytest.raises(RefusedTransition, match="does not lead"):
        client.reject(MEMORY, "ana")
    assert [event.message.reason for event in semantic.seen[1:]] == ["she told me", ""]


def test_a_report_of_a_time_that_ends_before_it_begins_is_refused(client: MemoryClient) -> None:
    with pytest.raises(InvalidMessage, match="since is not before until"):
        client.shadow_report("ana", since="2026-02-01T00:00:00Z", until="2026-01-01T00:00:00Z")


def test_policies_name_their_scope_and_fields(client: MemoryClient, worker) -> None:
    semantic = worker("semantic")

    def state(event: Any) -> write_path_pb2.PolicyState:
        policy = write_path_pb2.Policy(mode="manual", min_confidence=0.6)
        version = write_path_pb2.PolicyVersion(number=2, policy=policy, at_us=START, by="default")
        return write_path_pb2.PolicyState(scope=event.message.scope, effective=policy, versions=[version])

    for topic in ("policy", "policy_change"):
        semantic.answers(f"memory/semantic/{topic}/v1/", state)
    assert client.policy()["scope"] == "everybody"
    assert client.policy("ana", group_id="choir")["scope"] == "group:choir"
    changed = client.set_policy("ana", mode="manual", require_approval_kinds=["preference"], scope_items=0)
    assert changed["scope"] == "user:ana"
    assert (changed["versions"][0]["number"], changed["versions"][0]["by"]) == (2, "default")
    client.rollback_policy("ana")
    client.set_read_only(True)
    said = [event.message for event in semantic.seen[2:]]
    assert [one.action for one in said] == ["set", "rollback", "read_only"]
    assert list(said[0].fields) == ["mode", "require_approval_kinds", "scope_items"]
    assert said[2].read_only and not said[2].HasField("scope")


def test_a_turn_is_published_whole_and_reinforcement_is_asked_for_by_its_interaction(
    client: MemoryClient, worker, connect
) -> None:
    turn = client.add_turn(
        "ana", "Where do I live?", "In Porto.", "city", "i1", "s1", timestamp="2026-03-01T00:00:00Z", zone="Europe/Lisbon",
        injected=[MEMORY], reinforce=False, group_id="choir",
    )  # fmt: skip
    (record,) = connect("operator").read("memory/working/turn/v1/")
    said = open_record(record).message
    assert turn == {"event_id": str(record.id), "interaction_id": "i1"}
    assert said == working_pb2.Turn(
        user_id="ana", session_id="s1", interaction_id="i1", input="Where do I live?", response="In Porto.",
        response_summary="city", said_at_us=1_772_323_200_000_000, injected_memory_ids=[MEMORY], group_id="choir",
        zone="Europe/Lisbon",
    )  # fmt: skip
    item = write_path_pb2.ReinforcedItem(memory_id=MEMORY, old_confidence=0.7, new_confidence=0.75)
    semantic = worker("semantic")
    semantic.answers(
        "memory/semantic/reinforce/v1/",
        lambda event: (
            write_path_pb2.InteractionReinforced(interaction_id="i1", items=[item])
            if event.message.interaction_id == "i1"
            else NotFound("No interaction", "Give one.")
        ),
    )
    assert client.reinforce("i1", "ana", 0.05) == {
        "interaction_id": "i1", "results": [{"id": MEMORY, "old_confidence": 0.7, "new_confidence": 0.75}],
    }  # fmt: skip
    with pytest.raises(NotFound):
        client.reinforce("i2", "ana")
    assert [event.message.HasField("delta") for event in semantic.seen] == [True, False]


def test_judging_names_memories_and_the_same_event_id_is_one_event(client: MemoryClient, worker, connect) -> None:
    semantic = worker("semantic")
    record = semantic_pb2.MemoryRecord(memory_id=MEMORY, utility=0.55)
    semantic.answers("memory/semantic/judged/v1/", lambda _: semantic_pb2.MemoryPage(records=[record]))
    assert client.judge(MEMORY, "ana", helpful=True)["results"][0]["utility"] == 0.55
    assert semantic.seen[0].message.helpful and list(semantic.seen[0].message.memory_ids) == [MEMORY]


def test_a_shadow_report_counts_by_name(client: MemoryClient, worker) -> None:
    report = write_path_pb2.ShadowReport(
        messages=2, statements=3, done=[write_path_pb2.CountByName(name="CREATE", count=3)],
        in_shadow=[write_path_pb2.CountByName(name="SHADOW", count=3)],
    )  # fmt: skip
    worker("semantic").answers("memory/semantic/shadow_report/v1/", lambda _: report)
    found = client.shadow_report("ana", since="2026-03-01T00:00:00Z")
    assert (found["messages"], found["done"], found["in_shadow"], found["cut"]) == (2, {"CREATE": 3}, {"SHADOW": 3}, False)


def test_verbs_on_single_memories_name_the_scopes_where_to_look(client: MemoryClient, worker) -> None:
    semantic = worker("semantic")
    page = semantic_pb2.MemoryPage(records=[semantic_pb2.MemoryRecord(memory_id=MEMORY)])
    for topic in ("get", "list", "update", "invalidate"):
        semantic.answers(f"memory/semantic/{topic}/v1/", lambda _: page)
    client.get(MEMORY, "ana")
    client.get(MEMORY, "ana", group_id="choir")
    client.get_all("ana", project_id="tour")
    client.update(MEMORY, "new", "ana", group_id="choir")
    client.delete(MEMORY, "ana", project_id="tour")
    named = [[(scope.kind, scope.id) for scope in event.message.scopes] for event in semantic.seen]
    own = (envelope_pb2.SCOPE_KIND_USER, "ana")
    choir, tour = (envelope_pb2.SCOPE_KIND_GROUP, "choir"), (envelope_pb2.SCOPE_KIND_PROJECT, "tour")
    assert named == [[], [own, choir], [own, tour], [own, choir], [own, tour]]
