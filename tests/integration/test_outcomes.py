"""The advisor's memory through real processes: an outcome counts once whatever dies, and is found by what it means."""

from __future__ import annotations

import json
import signal
import threading
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from aico_memory.clock import SystemClock
from aico_memory.contracts.envelope import make_record
from aico_memory.contracts.v1 import sleep_pb2
from aico_memory.errors import InvalidMessage, NotFound
from aico_memory.ids import new_id
from aico_memory.runtime.processes import restart_process
from aico_memory.runtime.waiting import until
from tests.support.deployment import Deployment

pytestmark = pytest.mark.deployment


def test_outcomes_are_counted_once_though_the_worker_is_killed_between_recording_and_asking(
    make_deployment: Callable[..., Deployment],
) -> None:
    deployment = make_deployment("outcomes")
    deployment.up()
    with deployment.client() as client:
        client.set_consent("ana", behavioral=True)
        ids = [str(new_id(1_700_000_000_000_000 + number)) for number in range(12)]

        def record(number: int) -> dict:
            outcome = "accepted" if number % 4 else "rejected"
            return client.record_outcome("ana", f"s{number}", "add_habit", f"h{number}", outcome, event_id=ids[number])

        for number in range(6):
            assert record(number)["status"] == "recorded"
        killed = threading.Thread(target=restart_process, args=(deployment.home, "behavioral", 60, signal.SIGKILL))
        killed.start()
        answers = [record(number) for number in range(6, 12)]
        killed.join()
        assert {answer["status"] for answer in answers} == {"recorded"}
        profile = client.profile("ana")
        assert profile["totals"] == {"outcomes": 12, "accepted": 9, "rejected": 3, "expired": 0, "superseded": 0}
        # The same events again, now to the process that came after.
        assert [record(number) for number in range(6, 12)] == answers
        assert client.profile("ana") == profile
    lines = deployment.ok("export", "--canonical").out.splitlines()
    assert sum('"section": "behavioral.outcome"' in line for line in lines) == 12


def test_what_is_suggested_decided_and_asked_goes_through_client_and_command_line(deployment: Deployment) -> None:
    user = "advised"
    with deployment.client() as client:
        assert client.record_outcome(user, "s0", "add_habit", "run", "accepted")["status"] == "no_consent"
        assert client.should_suggest(user, "add_habit")["learning"] is False
        client.set_consent(user, behavioral=True)
        made = client.make_suggestion(user, "add_habit", "morning_run", reason="you said that you sleep badly")
        assert [one["suggestion_id"] for one in client.suggestions(user)] == [made["suggestion_id"]]
    rejected = deployment.ok("suggestion", "reject", made["suggestion_id"], "--reason", "too early", "-u", user, "--json").json
    assert rejected["status"] == "recorded"
    advice = deployment.ok("should-suggest", "add_habit", "morning_run", "--user", user, "--json").json
    assert advice["verdict"] == "no"
    assert advice["reasons"][0]["rule"] == "rejected_recently"
    shown = deployment.ok("outcomes", "show", rejected["outcome_id"], "--user", user).out
    assert "reason: too early" in shown
    with deployment.client() as client:
        for tool in client.tools():
            assert tool["function"]["parameters"]["type"] == "object"
        call = {"user_id": user, "suggestion_id": "s9", "type": "plan_trip", "outcome": "accepted"}
        assert client.call_tool("record_outcome", json.dumps(call))["status"] == "recorded"
        assert client.call_tool("get_user_profile", {"user_id": user})["totals"]["outcomes"] == 2
        assert client.call_tool("get_suggestion_outcomes", {"user_id": user, "layer": 1})["layer"] == 1
        with pytest.raises(InvalidMessage):
            client.call_tool("forget_everything", {})
        with pytest.raises(InvalidMessage):
            client.call_tool("record_outcome", {"user_id": user})
        with pytest.raises(NotFound):
            client.accept_suggestion(user, "never-made")


def test_outcomes_are_found_by_what_they_mean_and_cost_less_the_less_is_told(deployment: Deployment) -> None:
    user = "searcher"
    said = {
        "morning_run": ("add_habit", "jogging before breakfast would help with the bad sleep"),
        "rome": ("plan_trip", "a weekend in Italy with the children"),
        "taxes": ("add_task", "the declaration is due at the end of the month"),
    }
    with deployment.client() as client:
        client.set_consent(user, behavioral=True)
        for value, (kind, reason) in said.items():
            client.record_outcome(user, value, kind, value, "accepted", reason=reason, evidence=["said so " * 20])

        def embedded() -> bool | None:
            return None if client.outcomes(user, query="sport")["degraded"] else True

        until(embedded, 60, "The outcomes are embedded")
        found = client.outcomes(user, query="doing sport early in the day", top_k=1)
        assert [one["value"] for one in found["results"]] == ["morning_run"]
        assert found["answered_by"] == "hybrid"
        assert found["tokens"] < found["tokens_in_full"]
        assert client.outcomes(user, query="holiday abroad", top_k=1)["results"][0]["value"] == "rome"
        assert client.outcomes(user, 3, ids=["taxes"])["results"][0]["evidence"]


def test_compaction_on_demand_says_what_it_saved_and_everything_can_be_deleted(deployment: Deployment) -> None:
    user = "old-timer"
    with deployment.client() as client:
        client.set_consent(user, behavioral=True)
        now = datetime.now(UTC)
        for number in range(6):
            decided = now - timedelta(days=20 * number)
            client.record_outcome(
                user, f"s{number}", "add_habit", f"h{number}", "accepted", reason="because it helps " * 20, decided=decided
            )
        before = client.profile(user)
        report = client.compact_outcomes(user)
        assert (report["compacted"], report["kept_whole"], report["patterns_unchanged"]) == (4, 2, True)
        assert report["saved"] > 0.5
        after = client.profile(user)
        assert after["patterns"] == before["patterns"]
        assert after["compacted_through"] is not None
        assert client.delete_outcomes(user, everything=True)["deleted"] == 6
        assert client.profile(user)["totals"]["outcomes"] == 0


def test_outcomes_are_disclosed_beside_memories_in_the_same_depths(deployment: Deployment) -> None:
    user = "discloser"
    with deployment.client() as client:
        client.set_consent(user, behavioral=True)
        client.record_outcome(user, "s1", "add_habit", "run", "rejected", reason="too early in the day", tags=["morning"])
        client.record_outcome(user, "s2", "plan_trip", "rome", "accepted", reason="a weekend away")
        tagged = client.disclose(user, "search", "a weekend away", filters={"kind": "outcome", "tag": "morning"})
        assert [one["id"] for one in tagged["results"]] == ["o1"]
        rejected = {"kind": "outcome", "status": "rejected"}
        found = client.disclose(user, "search", "habits", filters=rejected)
        assert [(one["id"], one["kind"]) for one in found["results"]] == [("o1", "outcome")]
        whole = client.disclose(user, "detail", memory_ids=["o1"], filters={"kind": "outcome"})
        assert "reason: too early in the day" in whole["results"][0]["text"]
        assert found["tokens"] < found["tokens_in_full"]


def test_figures_are_asked_for_by_name_and_a_stated_style_stands(deployment: Deployment) -> None:
    user = "measured"
    with deployment.client() as client:
        client.set_consent(user, behavioral=True)
        for number in range(3):
            chosen = client.select_skill(user, "Tell me", intent="question", sentiment="neutral", request_id=f"m{number}")
            client.feedback(user, f"a{number}", chosen["skill_id"], 1, request_id=f"m{number}")
        assert sum(row["positive"] for row in client.behavior_metrics("accuracy")) >= 3
        assert client.behavior_metrics("performance")[0]["selection_ms_p95"] > 0
        assert {row["user_id"] for row in client.behavior_metrics("adaptation")} >= {user}
        assert client.set_preference(user, {"verbosity": 0.1}, bucket=3) == {"status": "stated", "buckets": 1}
        (stated,) = client.preferences(user, bucket=3)
        assert stated["dimensions"]["verbosity"] == pytest.approx(0.1)
    shown = deployment.ok("behavior-metrics", "exploration", "--json").json
    assert sum(row["explored"] + row["exploited"] for row in shown) >= 3
    assert deployment.run("behavior-metrics", "nonsense").code == 2
    assert deployment.ok("preference-reset", "--user", user, "--bucket", "3", "--json").json["buckets"] == 1


def test_the_job_fired_by_the_scheduler_compacts_and_its_history_tells_the_saving(deployment: Deployment) -> None:
    user = "weekly"
    with deployment.client() as client:
        client.set_consent(user, behavioral=True)
        for number in range(4):
            decided = datetime.now(UTC) - timedelta(days=60 + number)
            client.record_outcome(user, f"s{number}", "add_habit", "run", "accepted", "it helps " * 30, decided=decided)
    link = deployment.link()
    try:
        job = sleep_pb2.TriggerJob(job="outcome_compaction")
        link.publish([make_record(job, event_id=uuid.uuid4(), occurred_us=SystemClock().now_us())])[0].result(90)

        def ended() -> str | None:
            firings = link.request(sleep_pb2.JobsRequest(history=20)).result(60).firings
            told = [one.detail for one in firings if one.job == "outcome_compaction" and one.finished_us]
            return told[0] if told else None

        detail = until(ended, 60, "The compaction has ended")
    finally:
        link.close()
    assert "outcomes of" in detail
    assert "% saved" in detail
    with deployment.client() as client:
        assert {one["compacted"] for one in client.outcomes(user)["results"]} == {True}
        assert client.profile(user)["totals"]["accepted"] == 4
