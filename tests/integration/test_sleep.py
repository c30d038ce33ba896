"""Nights of a real deployment: killed at any moment, slept twice, watched, estimated and ended by hand."""

from __future__ import annotations

import json
import signal
import uuid
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from aico_memory.bus.link import Link
from aico_memory.cli.face import Exit
from aico_memory.client import MemoryClient
from aico_memory.contracts.v1 import sleep_pb2
from aico_memory.domain.sleep.names import NAMES, STEPPED
from aico_memory.errors import DeadlineExceeded, InvalidMessage, NotFound, ReadOnly
from aico_memory.runtime.processes import restart_process
from aico_memory.runtime.sleeping import ENDED, await_sleep, start_sleep
from scripts.build_stream import Scenario, write_stream
from tests.support.deployment import Deployment, MakeDeployment, eventually, said

pytestmark = [pytest.mark.deployment, pytest.mark.timeout(1500)]

HEADING = {"name": "night", "start": "2026-05-04T09:00:00+00:00"}
USERS = ("ana", "ben", "eva")
CITIES = ("Rome", "Oslo", "Bath", "Turin", "Porto", "Graz")
# Small batches and steps: many moments to be killed at.
SETTINGS = {
    "AICO_MEMORY_CLOCK": "manual",
    "AICO_MEMORY_SET__consolidation__batch_size": "3",
    "AICO_MEMORY_SET__semantic__sleep_step_items": "2",
    "AICO_MEMORY_SET__bus__retention_seconds": "3600",
}
FIRST, SECOND = (
    uuid.UUID(int=0x01A0_0000_0000_7000_8000_0000_0000_0001),
    uuid.UUID(int=0x01A0_0000_0000_7000_8000_0000_0000_0002),
)


def stream(path: Path) -> Path:
    """What three people tell of themselves: homes that change, likes, colleagues."""
    steps: list[dict[str, Any]] = []
    for number, city in enumerate(CITIES):
        for user in USERS:
            for place, text in enumerate(
                (f"I live in {city} now.", f"I like number {number} best.", f"My friend Nora{number} works at Siemens.")
            ):
                label = f"{user}{number}{place}"
                steps.append({"message": {"label": label, "user": user, "role": "user", "content": text}})
    write_stream(Scenario(HEADING, steps), path)
    return path


def told(make_deployment: MakeDeployment, name: str, recording: Path) -> Deployment:
    """A deployment that has heard the stream, forty days later."""
    deployment = make_deployment(name, **SETTINGS)
    # Without the scheduler no other night comes in between when the clock jumps.
    deployment.up("--only", "broker,working,semantic,model,consolidation")
    assert deployment.ok("replay", str(recording), "--json").json["unexpected"] == []
    clock = deployment.clock()
    clock.advance(timedelta(days=40))
    clock.close()
    return deployment


def slept(deployment: Deployment, event_id: uuid.UUID, kills: tuple[str, ...] = ()) -> tuple[Any, int]:
    """One night under this id, these processes killed one after the other; and how many kills it had to survive."""
    clock = deployment.clock()
    now = clock.now_us()
    clock.close()
    survived = 0
    with deployment.link() as link:
        firing = start_sleep(link, event_id, now)
        for name in kills:
            restart_process(deployment.home, name, 120, signal.SIGKILL)
            survived += not ended(link, firing)
        return await_sleep(link, firing, 300.0), survived


def ended(link: Link, firing: str) -> bool:
    """Whether the run of this firing is over; one that nobody can tell about is not."""
    try:
        page = link.request(sleep_pb2.RunsRequest(firing_id=firing, limit=1), timeout=30).result(60)
    except (NotFound, DeadlineExceeded):
        return False
    return any(run.status in ENDED for run in page.runs)


def memories(deployment: Deployment) -> list[str]:
    """The canonical export without the consolidation's own records, which name their run."""
    return [line for line in deployment.export() if json.loads(line).get("section") != "consolidation"]


def test_a_night_with_kills_ends_as_one_without_and_a_second_night_changes_nothing(
    make_deployment: MakeDeployment, tmp_path: Path
) -> None:
    recording = stream(tmp_path / "night.stream")
    calm = told(make_deployment, "calm", recording)
    before = memories(calm)
    run, _ = slept(calm, FIRST)
    assert (run.status, run.users_done, run.experiences) == ("complete", 3, 54)
    assert [phase.phase for phase in run.phases] == list(NAMES)
    assert {phase.phase: phase.error for phase in run.phases if phase.error} == {}
    counted = {name: count for phase in run.phases for name, count in phase.counts.items()}
    assert counted["promoted"] > 0 and counted["rehearsed"] > 0, "forty days leave work for a night"
    assert dict(run.before)["tier.episodic"] > dict(run.after)["tier.episodic"]
    after, whole = memories(calm), calm.export()
    assert after != before
    again, _ = slept(calm, SECOND)
    assert (again.status, again.experiences) == ("complete", 0)
    assert memories(calm) == after
    calm.down()

    wild = told(make_deployment, "wild", recording)
    assert memories(wild) == before
    run, survived = slept(wild, FIRST, ("consolidation", "semantic", "consolidation", "semantic", "working", "consolidation"))
    assert survived > 1
    assert (run.status, run.users_done, run.experiences) == ("complete", 3, 54)
    assert wild.export() == whole


@pytest.fixture
def sleeper(deployment: Deployment) -> Iterator[tuple[MemoryClient, str]]:
    user = f"sleeper-{uuid.uuid4()}"
    with deployment.client() as client:
        client.add([said(f"I like number {number} and live in {city}.") for number, city in enumerate(CITIES)], user)
        client.flush(120)
        yield client, user


def test_a_user_sees_what_waits_what_it_would_take_and_what_was_done(
    sleeper: tuple[MemoryClient, str], deployment: Deployment
) -> None:
    client, user = sleeper
    (waits,) = client.sleep_pending(user)
    assert (waits["user_id"], waits["experiences"]) == (user, 6)
    estimate = client.sleep_estimate(user)
    assert (estimate["users"], estimate["experiences"]) == (1, 6)
    assert estimate["seconds"] > 0
    run = client.sleep_now(user, wait=True, timeout_seconds=120)
    assert (run["status"], run["experiences"], run["users_done"]) == ("complete", 6, 1)
    assert [phase["phase"] for phase in run["phases"]] == list(NAMES)
    assert run["after"]["active"] > 0
    assert client.sleep_pending(user) == []
    status = client.sleep_status(user)
    assert status["user"]["last_replayed"] is not None
    assert client.sleep_runs(run_id=run["run_id"])[0]["phases"] == run["phases"]
    told_by = {phase["phase"]: phase["runs"] for phase in client.sleep_estimate(user)["phases"]}
    assert told_by["replay"] > 0
    assert user in deployment.ok("sleep", "status", "--user", user).out
    assert "decay" in deployment.ok("sleep", "runs", run["run_id"]).out
    assert "experiences" in deployment.ok("sleep", "estimate", "--user", user).out


@pytest.mark.parametrize("phase", ["decay", STEPPED[-1]])
def test_one_phase_runs_alone(sleeper: tuple[MemoryClient, str], deployment: Deployment, phase: str) -> None:
    client, user = sleeper
    run = deployment.ok("sleep", "now", "--user", user, "--phase", phase, "--wait", "--json").json
    assert [one["phase"] for one in run["phases"]] == [phase]
    assert client.sleep_pending(user)[0]["experiences"] == 6, "nothing was replayed"


def test_messages_marked_by_hand_wait_no_more(sleeper: tuple[MemoryClient, str]) -> None:
    client, user = sleeper
    ids = [message["event_id"] for message in client.messages(user)]
    assert client.mark_consolidated(user, ids[:4]) == 4

    def two_left() -> bool | None:
        return (client.sleep_pending(user)[0]["experiences"] == 2) or None

    eventually(two_left, "Working memory does not know of the marks")
    assert client.sleep_now(user, wait=True, timeout_seconds=120)["experiences"] == 2


def test_only_a_run_that_is_at_work_can_be_cancelled(sleeper: tuple[MemoryClient, str], deployment: Deployment) -> None:
    client, user = sleeper
    with pytest.raises(NotFound, match="no run"):
        client.sleep_cancel(uuid.uuid4())
    run = client.sleep_now(user, phases=["decay"], wait=True, timeout_seconds=120)
    with pytest.raises(NotFound, match="ended already: complete"):
        client.sleep_cancel(run["run_id"])
    refused = deployment.run("sleep", "cancel", run["run_id"])
    assert refused.code == Exit.NOT_FOUND and "sleep runs" in refused.err
    client.sleep_now(user)
    ended = client.sleep_cancel()
    assert (ended["status"], ended["error"]) == ("cancelled", "Cancelled by hand")


def test_every_job_can_be_fired_by_hand_and_its_firing_is_told(
    sleeper: tuple[MemoryClient, str], deployment: Deployment
) -> None:
    client, user = sleeper
    fired = client.run_job("rehearsal", user)
    assert (fired["job"], fired["manual"]) == ("rehearsal", True)

    def over() -> bool | None:
        return (
            any(one["firing_id"] == fired["firing_id"] and one["outcome"] == "done" for one in client.jobs(20)["firings"])
            or None
        )

    eventually(over, "The rehearsal has not ended")
    assert deployment.ok("jobs", "--run", "working_sweep", "--json").json["job"] == "working_sweep"
    with pytest.raises(InvalidMessage, match="takes no users"):
        client.run_job("working_sweep", user)
    with pytest.raises(NotFound, match="no job 'nonsense'"):
        client.run_job("nonsense")
    assert deployment.ok("jobs", "--history", "0", "--json").json["firings"] == []


def test_a_sleep_is_refused_while_all_writing_is_stopped(make_deployment: MakeDeployment) -> None:
    deployment = make_deployment("stopped")
    deployment.up("--only", "broker,working,semantic,consolidation")
    with deployment.client() as client:
        client.stop_writing("strange facts")
        with pytest.raises(ReadOnly, match="strange facts"):
            client.sleep_now("ada", wait=True, timeout_seconds=5)
        refused = deployment.run("sleep", "now", "--wait", "--timeout", "5")
        assert refused.code != 0 and "read-only off" in refused.err
        client.allow_writing()
        assert client.sleep_runs() == [], "nothing waited for the release"
