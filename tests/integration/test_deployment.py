"""A whole deployment through its command line and its client: real processes, real stores, the real model."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid

import psutil
import pytest

from aico_memory.client import MemoryClient
from aico_memory.runtime.deployment import PROCESSES, read_table, running_supervisor
from aico_memory.runtime.processes import await_running, stop_deployment
from aico_memory.runtime.waiting import until
from tests.support.deployment import Deployment, MakeDeployment, contents, said

pytestmark = pytest.mark.deployment


def test_the_main_job_runs_through_the_command_line(deployment: Deployment) -> None:
    run = deployment
    event = run.ok("add", "Nora keeps her spare keys in the blue tin", "--user", "cli", "--wait", "--json").json["event_ids"][0]
    found = run.ok("search", "where are the spare keys", "--user", "cli", "--json").json
    assert found["results"][0]["memory"] == "Nora keeps her spare keys in the blue tin"
    assert found["results"][0]["evidence"] == [event]
    answer = run.ok("context", "keys", "--user", "cli", "--json").json
    assert "blue tin" in answer["text"]
    assert run.ok("messages", "--user", "cli", "--json").json[0]["event_id"] == event
    slept = run.ok("sleep", "now", "--user", "cli", "--wait", "--json").json
    assert (slept["status"], slept["experiences"]) == ("complete", 1)


def test_status_says_who_runs_how_far_they_are_which_model_answers_and_what_locks_the_data(
    deployment: Deployment,
) -> None:
    status = deployment.status()
    assert status["ready"]
    assert [process["name"] for process in status["processes"]] == list(PROCESSES)
    assert {process["state"] for process in status["processes"]} == {"running"}
    assert all(psutil.pid_exists(process["pid"]) for process in status["processes"])
    assert {"working", "semantic", "behavioral"} <= {consumer["name"] for consumer in status["consumers"]}
    assert all(isinstance(consumer["lag"], int) for consumer in status["consumers"])
    assert status["model"]["name"]
    assert status["encryption"]["key"] == "development"
    assert status["clock"]["mode"] == "system"
    assert status["home"] == str(deployment.root)
    assert not any("error" in worker for worker in status["workers"].values())


def test_a_skill_is_chosen_and_a_thumb_changes_it_at_once(deployment: Deployment) -> None:
    with deployment.client() as client:
        client.set_consent("thumbs", behavioral=True)
        chosen = client.select_skill("thumbs", "Why does this loop never end?", intent="technical")
        before = {skill["skill_id"]: skill["confidence"] for skill in client.skills("thumbs")}
        assert chosen["skill_id"] is not None
        result = client.feedback("thumbs", "answer-1", chosen["skill_id"], 1, request_id=chosen["request_id"])
        assert result["skill_updated"]
        assert result["new_confidence"] > before[chosen["skill_id"]]


def test_the_same_message_id_twice_has_one_effect(deployment: Deployment) -> None:
    identifier = str(uuid.uuid4())
    with deployment.client() as client:
        first = client.add([said("The meter reads 4711", id=identifier)], "twice")
        second = client.add([said("The meter reads 4711", id=identifier)], "twice")
        client.flush(120)
        assert first == second
        assert contents(client.search("meter", "twice")) == ["The meter reads 4711"]


def test_an_unknown_process_option_or_topic_is_one_clear_line_with_a_documented_code(deployment: Deployment) -> None:
    refused = deployment.run("publish", "memory/no/such/v1/", "{}")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "unknown_topic" in refused.err
    assert deployment.run("restart", "gateway").code == 5
    assert deployment.run("get", str(uuid.uuid4()), "--user", "nobody").code in (0, 5)


def test_a_deployment_cannot_be_started_twice(deployment: Deployment) -> None:
    second = deployment.run("up", "--detach")
    assert second.code == 4
    assert "store_locked" in second.err


def test_doctor_finds_no_fault_in_a_fresh_deployment(deployment: Deployment) -> None:
    report = deployment.run("doctor", "--json")
    assert report.json["ok"], report.out


def test_two_deployments_run_side_by_side_on_ports_of_their_own(
    deployment: Deployment, make_deployment: MakeDeployment
) -> None:
    # A home whose path is longer than any local socket's may be.
    other = make_deployment("a-folder-with-a-long-name/" * 6 + "home")
    assert len(str(other.root)) > 150
    other.up()
    other.ok("add", "Only in the second home", "--user", "side", "--wait")
    assert contents(other.ok("search", "home", "--user", "side", "--json").json) == ["Only in the second home"]
    assert contents(deployment.ok("search", "home", "--user", "side", "--json").json) == []
    assert other.status()["endpoints"] != deployment.status()["endpoints"]
    assert other.ok("down", "--json").json == {"stopped": True, "running": False}
    assert other.run("status", "--json").code == 3


def test_a_killed_worker_comes_back_and_nothing_acknowledged_is_lost(make_deployment: MakeDeployment) -> None:
    own = make_deployment()
    own.up()
    texts = [f"Parcel number {number} stands on shelf {number % 7}" for number in range(60)]
    with own.client() as client:
        for number, text in enumerate(texts):
            client.add([said(text)], "parcels")
            if number in (10, 25, 40):
                name = ("semantic", "working", "broker")[(10, 25, 40).index(number)]
                pid = own.pid(name)
                os.kill(pid, signal.SIGKILL)
                await_running(own.home, name, pid, 120)
        client.flush(120)
        stored = client.get_all("parcels", filters={"kind": "record"}, limit=200)["results"]
        assert sorted(result["memory"] for result in stored) == sorted(texts)
        assert [message["content"] for message in client.messages("parcels", limit=200)] == texts
    restarts = {process["name"]: process["restarts"] for process in own.status()["processes"]}
    assert (restarts["semantic"], restarts["working"], restarts["broker"]) == (1, 1, 1)
    # The broker's death made nobody else start again.
    assert (restarts["behavioral"], restarts["context"], restarts["scheduler"]) == (0, 0, 0)


def test_a_killed_fork_server_costs_nobody_anything_and_a_killed_supervisor_leaves_nobody(
    make_deployment: MakeDeployment,
) -> None:
    # It stays, however long a slow machine takes until it is asked again.
    own = make_deployment(AICO_MEMORY_SET__runtime__fork_idle_seconds="0")
    own.up("--only", "working,semantic,model,context")
    before, first = own.pids(), own.status()["fork_server"]
    os.kill(first, signal.SIGKILL)
    until(
        lambda: ((server := own.status()["fork_server"]) not in (None, first) and server) or None, 120, "no other fork server"
    )
    assert own.pids() == before
    semantic = own.pid("semantic")
    os.kill(semantic, signal.SIGKILL)
    assert psutil.Process(await_running(own.home, "semantic", semantic, 120)).name() == "aico-semantic"
    with own.client() as client:
        client.add([said("The fork is in the third drawer")], "forks")
        client.flush(120)
        assert contents(client.search("fork drawer", "forks")) == ["The fork is in the third drawer"]
    status = own.status()
    family = [psutil.Process(pid) for pid in (*own.pids().values(), status["fork_server"]) if pid]
    os.kill(status["supervisor"], signal.SIGKILL)
    _, alive = psutil.wait_procs(family, timeout=60)
    assert not alive
    assert len(family) == 6
    own.up("--only", "working,semantic,model,context")
    with own.client() as client:
        client.flush(120)
        assert contents(client.search("fork drawer", "forks")) == ["The fork is in the third drawer"]


def test_interrupting_a_foreground_deployment_drains_it(make_deployment: MakeDeployment) -> None:
    own = make_deployment()
    process = subprocess.Popen(
        [sys.executable, "-m", "aico_memory.cli", "up", "--quiet"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=own.variables,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline()]
        while lines[-1] and not lines[-1].startswith("try"):
            lines.append(process.stdout.readline())
        assert lines[0].startswith("ready"), process.stderr
        assert any("development key" in line for line in lines)
        assert any("aico-memory add" in line for line in lines)
        with own.client() as client:
            event = client.add([said("Said just before the interrupt")], "last")[0]
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, err
    assert "Stopped" in out
    assert running_supervisor(own.home) is None
    own.up()
    with own.client() as client:
        client.flush(120)
        assert [message["event_id"] for message in client.messages("last")] == [event]


def test_a_start_that_cannot_be_ready_in_time_says_so_and_leaves_nothing_running(make_deployment: MakeDeployment) -> None:
    own = make_deployment()
    late = own.run("up", "--detach", "--timeout", "0.2", "--json")
    assert late.code == 1
    assert late.json["error"]["code"] == "start_failed"
    until(lambda: True if running_supervisor(own.home) is None else None, 120, "the supervisor is still there")
    table = read_table(own.home)
    assert table is not None
    assert all(state.pid is None for state in table.processes)


def test_a_manual_clock_moves_for_every_process_at_once(make_deployment: MakeDeployment) -> None:
    own = make_deployment(AICO_MEMORY_CLOCK="manual")
    own.up()
    own.ok("clock", "set", "2026-03-01T08:00:00+01:00")
    own.ok("clock", "advance", "1h30m")
    assert own.status()["clock"] == {"mode": "manual", "now": "2026-03-01T08:30:00+00:00"}
    # A client that knows nothing of the variable follows the deployment.
    stranger = Deployment(own.root)
    stranger.ok("add", "Said in March", "--user", "clock", "--wait")
    message = stranger.ok("messages", "--user", "clock", "--json").json[0]
    assert message["timestamp"].startswith("2026-03-01T08:30:00")


def test_what_is_said_is_true_at_once_while_the_clock_stands_still(make_deployment: MakeDeployment) -> None:
    own = make_deployment(AICO_MEMORY_CLOCK="manual")
    own.up("--only", "working,semantic,model,context")
    lists = (
        ("My dog is called Bruno.", "I live in Gdansk.", "I'm allergic to hazelnuts."),
        ("My favourite colour is green.", "I moved to Bergen."),
        ("I moved to Porto.", "I moved to Riga.", "My sister's name is Hania."),
    )
    with MemoryClient.connect(own.root) as client:
        for texts in lists:
            client.add([{"role": "user", "content": text} for text in texts], "still")
        client.flush(60)

        def told(question: str) -> list[str | None]:
            return [one["value"] for one in client.recall(question, "still")["results"]]

        assert told("What is my dog called?") == ["Bruno"]
        assert told("What am I allergic to?") == ["hazelnuts"]
        assert told("What is my favourite colour?") == ["green"]
        assert told("What is my sister's name?") == ["Hania"]
        assert told("Where do I live?") == ["Riga"]
        assert [one["content"] for one in client.messages("still")] == [text for texts in lists for text in texts]


def test_down_stops_everything_and_a_second_down_is_no_error(make_deployment: MakeDeployment) -> None:
    own = make_deployment()
    own.up("--only", "working,semantic,model,context")
    table = read_table(own.home)
    assert table is not None
    pids = [state.pid for state in table.processes]
    assert len(pids) == 5
    own.ok("down")
    assert not any(psutil.pid_exists(pid) for pid in pids if pid)
    assert own.ok("down", "--json").json == {"stopped": False, "running": False}
    assert not stop_deployment(own.home)


def test_logs_carry_ids_and_not_peoples_words(deployment: Deployment) -> None:
    deployment.ok("add", "My secret word is Xylograph", "--user", "quiet", "--wait")
    deployment.ok("search", "Xylograph", "--user", "quiet")
    logs = [path.read_text(errors="replace") for path in deployment.home.logs.iterdir()]
    assert logs
    assert not any("Xylograph" in log for log in logs)


def test_json_of_an_error_is_machine_readable(make_deployment: MakeDeployment) -> None:
    nowhere = make_deployment("nothing-here")
    failed = nowhere.run("search", "x", "--user", "ana", "--json")
    assert failed.code == 3
    assert json.loads(failed.out)["error"]["code"] == "bus_unavailable"
