"""The emergency stop with real processes: nothing is written on any worker, nothing is lost, nothing resets it."""

from __future__ import annotations

import hashlib
import json
import signal
from typing import Any

import pytest

from aico_memory.errors import ReadOnly
from aico_memory.runtime.processes import restart_process
from tests.support.deployment import Deployment, MakeDeployment, contents, eventually, said

pytestmark = [pytest.mark.deployment, pytest.mark.timeout(900)]
WRITERS = ("working", "semantic", "behavioral", "consolidation", "scheduler")


def stores(deployment: Deployment) -> dict[str, str]:
    """A digest of every file in which workers keep what they know."""
    files = [path for name in WRITERS for path in deployment.home.store(name).rglob("*") if path.is_file()]
    # Locks are no knowledge: LMDB's names who reads at present.
    kept = [path for path in files if not path.name.endswith(".lock") and path.name != "lock.mdb"]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in kept}


def quiet_stores(deployment: Deployment) -> dict[str, str]:
    """The same once what was decided before has left the outboxes."""

    def rests() -> dict[str, str] | None:
        workers = deployment.status()["workers"]
        if any(workers[name]["outbox"] for name in WRITERS):
            return None
        before = stores(deployment)
        return before if before == stores(deployment) else None

    return eventually(rests, "The stores do not come to rest", 120)


def test_all_writing_stops_on_every_worker_survives_kills_and_loses_nothing(make_deployment: MakeDeployment) -> None:
    run = make_deployment()
    run.up()
    with run.client() as client:
        client.set_consent("ana", behavioral=True)
        client.add(said("I live in Lisbon with my cat Miso"), "ana")
        client.flush()
        stopped = run.ok("read-only", "on", "--reason", "strange facts", "--json").json
        assert stopped["on"] and set(stopped["workers"]) >= set(WRITERS) and all(stopped["workers"].values())
        before = quiet_stores(run)

        first = client.add(said("I moved to Oslo last week"), "ana")
        second = client.add(said("My new employer is Equinor"), "ana")
        with pytest.raises(ReadOnly, match="strange facts"):
            client.sleep_now("ana")
        # A night that the scheduler or somebody else starts waits.
        night = {"firing_id": "manual/told", "planned_at_us": 1_767_600_000_000_000, "manual": True, "user_ids": ["ana"]}
        client.publish("memory/consolidation/start/v1/", night)
        with pytest.raises(ReadOnly, match="strange facts"):
            client.feedback("ana", "m1", "casual_chat", 1)
        with pytest.raises(ReadOnly):
            client.flush(5.0)
        found = contents(client.search("where does she live", "ana"))
        assert "I live in Lisbon with my cat Miso" in found and not any("Oslo" in text or "Equinor" in text for text in found)
        assert stores(run) == before

        for name in ("broker", *WRITERS):
            restart_process(run.home, name, 120, signal.SIGKILL)
        told = run.ok("read-only", "status", "--json").json
        assert told["on"] and told["reason"] == "strange facts" and all(told["workers"].values())
        assert told["waiting"]["working"] == 2
        alarms = [alarm["alarm"] for alarm in run.status()["alarms"]]
        assert "read_only" in alarms
        found = json.loads(run.run("doctor", "--json").out)["findings"]
        assert any(one["subject"] == "alarms" and "strange facts" in one["detail"] for one in found)
        found = contents(client.search("where does she live", "ana"))
        assert "I live in Lisbon with my cat Miso" in found and not any("Oslo" in text or "Equinor" in text for text in found)
        assert [one["content"] for one in client.messages("ana")] == ["I live in Lisbon with my cat Miso"]

        assert not run.ok("read-only", "off", "--json").json["on"]
        client.flush()
        assert [one["event_id"] for one in client.messages("ana")][1:] == [*first, *second]
        assert client.recall("Where do I live?", "ana")["results"][0]["value"] == "Oslo"
        eventually(lambda: run.ok("sleep", "runs", "--json").json or None, "The run that waited has not begun")


def test_a_consolidation_under_way_rests_over_a_kill_and_ends_afterwards(make_deployment: MakeDeployment) -> None:
    run = make_deployment("asleep")
    run.up()
    with run.client() as client:
        lines = [said(f"Note {number}: the parcel for shelf {number} arrived") for number in range(200)]
        client.add(lines, "eva")
        client.flush()
        firing = client.sleep_now("eva")["firing_id"]
        client.stop_writing("stop the night")
        run.ok("read-only", "on")
        before = quiet_stores(run)
        restart_process(run.home, "consolidation", 120.0, signal.SIGKILL)
        assert run.ok("read-only", "status", "--json").json["workers"]["consolidation"] is True
        after = stores(run)
        # Opening a database may move its log into it; nobody else's files change.
        changed = {path for path in before | after if before.get(path) != after.get(path)}
        assert all("/consolidation/" in path for path in changed), changed
        client.allow_writing()
        ended = eventually(lambda: finished(run, firing), "The run that rested has not ended", 120.0)
        assert ended["status"] == "complete" and ended["experiences"] == 200


def finished(run: Deployment, firing: str) -> Any:
    runs = run.ok("sleep", "runs", "--json").json
    return next((one for one in runs if one["firing_id"] == firing and one["status"] in ("complete", "failed")), None)


def test_a_stop_can_be_made_without_a_deployment_and_holds_in_the_next(make_deployment: MakeDeployment) -> None:
    run = make_deployment("cold")
    run.up()
    run.down()
    assert run.ok("read-only", "on", "--json").json["by"] == "command line"
    run.up()
    with run.client() as client:
        client.add(said("I keep bees on the roof"), "ben")
        assert client.writing_stop()["on"] and not client.messages("ben")
        client.allow_writing()
        client.flush()
        assert contents(client.search("bees", "ben")) == ["I keep bees on the roof"]
