"""Parts of a deployment stand still, die, or come back elsewhere: what the others do meanwhile, and afterwards.

The deployment of this module lives in a folder with a very long path.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic

import psutil
import pytest

from aico_memory.bus.link import read_address
from aico_memory.errors import BusUnavailable, DeadlineExceeded
from aico_memory.runtime.deployment import running_supervisor
from aico_memory.runtime.probe import broker_says
from aico_memory.runtime.processes import await_running
from aico_memory.settings.load import load_settings
from tests.support.deployment import Deployment, contents, eventually, said

pytestmark = pytest.mark.deployment
MESSAGES = "memory/working/message/v1/"
LIVENESS = 2.0
PATIENCE = 60.0
WORKERS = ("working", "semantic", "behavioral", "consolidation", "context", "model", "scheduler")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    root = tmp_path_factory.mktemp("long")
    while len(str(root)) < 170:
        root /= "a-folder-with-a-rather-long-name"
    made = Deployment(root / "home")
    made.home.config.mkdir(parents=True)
    # So that a silent broker is noticed soon; clients of this home read it too.
    (made.home.config / "memory.yaml").write_text(f"link:\n  liveness_seconds: {LIVENESS}\n  ping_seconds: 0.5\n")
    try:
        made.up()
        yield made
    finally:
        made.down()


@contextmanager
def standing_still(run: Deployment, *names: str) -> Iterator[None]:
    pids = [run.pid(name) for name in names]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def someone() -> str:
    return f"user-{uuid.uuid4().hex[:8]}"


def test_a_very_long_home_path_works(run: Deployment) -> None:
    assert len(str(run.root)) > 150
    assert all(len(str(path)) > 150 for path in (run.home.run, run.home.curve))
    user = someone()
    with run.client() as client:
        client.add([said("The ferry leaves at noon")], user_id=user)
        client.flush(120)
        assert contents(client.search("ferry", user)) == ["The ferry leaves at noon"]
        assert "noon" in client.context("when does the ferry leave", user)["text"]
    assert run.status()["ready"]


@pytest.mark.parametrize(
    ("stopped", "named"),
    [
        (["working"], ["working"]),
        (["model"], ["model"]),
        (["semantic"], ["semantic"]),
        (["behavioral", "consolidation", "scheduler"], []),
    ],
)
def test_a_context_comes_in_time_and_names_who_is_missing(run: Deployment, stopped: list[str], named: list[str]) -> None:
    user = someone()
    deadline = load_settings(run.home, {}).context.deadline_ms / 1000
    with run.client() as client:
        client.add([said("The spare fuse is behind the clock")], user_id=user, session_id="s")
        client.flush(120)

        def missing() -> list[str]:
            before = monotonic()
            # Another question each time: an answer from a cache would prove nothing.
            context = client.context(f"where is the fuse, {uuid.uuid4().hex}?", user, session_id="s")
            # The way there and back on a busy machine comes on top.
            assert monotonic() - before < deadline + 20
            assert "behind the clock" in context["text"]
            return list(context["degraded"])

        # On a busy machine a tier may be late once; who stands still is named each time.
        assert eventually(lambda: missing() == [] or None, "a tier is missing before anything stopped")
        with standing_still(run, *stopped):
            assert eventually(lambda: missing() == named or None, f"{named} are not what is named")
            assert set(missing()) >= set(named)
            asked = client.search(f"fuse clock {uuid.uuid4().hex}", user)["degraded"]
            assert set(asked) >= {name for name in named if name != "working"}
        assert eventually(lambda: missing() == [] or None, f"{stopped} is not back")


def test_a_worker_that_stood_still_shows_its_lag_slows_nobody_and_catches_up(run: Deployment) -> None:
    user = someone()
    texts = [f"Parcel {number} went to shelf {number % 7}" for number in range(400)]
    with run.client() as client:
        with standing_still(run, "working"):
            for start in range(0, 400, 50):
                client.add([said(text) for text in texts[start : start + 50]], user_id=user)
            # The others are done with all of it.
            with run.link() as operator:

                def done() -> bool | None:
                    rows = {row["name"]: row for row in broker_says(operator, "consumers")["consumers"]}
                    return True if rows["semantic"]["lag"] == 0 and rows["working"]["lag"] >= 400 else None

                assert eventually(done, "semantic is held up by working, or working's lag does not show", 120)
            assert contents(client.search("Parcel 399", user, top_k=1)) == [texts[399]]
        client.flush(120)
        assert [one["content"] for one in client.messages(user, limit=1000)] == texts


def test_a_broker_that_stands_still_is_named_and_everybody_resumes(run: Deployment) -> None:
    user = someone()
    pids = run.pids()
    with run.client() as client, run.client() as writer:
        client.add([said("before")], user_id=user)
        added: list[list[str]] = []
        with standing_still(run, "broker"):
            # What is published now waits; it is not lost and need not be sent again, even where nobody waited so long.
            def add() -> None:
                with suppress(BusUnavailable, DeadlineExceeded):
                    added.append(writer.add([said("meanwhile")], user_id=user))

            waiting = threading.Thread(target=add)
            waiting.start()
            before = monotonic()
            with pytest.raises((BusUnavailable, DeadlineExceeded)) as caught:
                client.search("before", user)
            assert monotonic() - before < 40
            assert caught.value.mend
            # Long enough for every worker to notice.
            assert eventually(lambda: True if not client.connected else None, "the silence is not noticed", PATIENCE)
        waiting.join(PATIENCE)
        assert not waiting.is_alive()
        assert all(len(ids) == 1 for ids in added)
        client.add([said("after")], user_id=user)

        def all_there() -> bool | None:
            there = sorted(one["content"] for one in client.messages(user))
            assert len(there) <= 3
            return True if there == ["after", "before", "meanwhile"] else None

        assert eventually(all_there, "what was published while the bus stood still is not there")
        client.flush(120)
        writer.flush(120)
        assert contents(client.search("meanwhile", user, top_k=1)) == ["meanwhile"]
    assert run.pids() == pids


def kill_broker(run: Deployment) -> int:
    pid = run.pid("broker")
    os.kill(pid, signal.SIGKILL)
    return pid


def test_a_broker_that_dies_under_a_live_client_loses_nothing_and_nobody_else_is_restarted(run: Deployment) -> None:
    user = someone()
    workers = {name: run.pid(name) for name in WORKERS}
    texts = [f"Entry {number}" for number in range(300)]
    with run.client() as client, run.client("operator") as listener, listener.subscribe(MESSAGES) as heard:
        going = threading.Event()

        def write() -> None:
            for text in texts:
                client.add([said(text)], user_id=user)
                going.set()

        writer = threading.Thread(target=write)
        writer.start()
        for _ in range(3):
            going.clear()
            assert going.wait(PATIENCE)
            await_running(run.home, "broker", kill_broker(run), 120)
        writer.join(2 * PATIENCE)
        assert not writer.is_alive()
        client.flush(120)
        assert [one["content"] for one in client.messages(user, limit=1000)] == texts
        assert sorted(contents(client.get_all(user, limit=1000))) == sorted(texts)
        # Who listened all the time heard each once and in order.
        assert [found["fields"]["content"] for found in (heard.next(60) for _ in texts) if found is not None] == texts
        assert heard.next(0.3) is None
    assert {name: run.pid(name) for name in WORKERS} == workers


def test_a_broker_that_comes_back_on_other_ports_is_found_by_everybody(run: Deployment) -> None:
    user = someone()
    workers = {name: run.pid(name) for name in WORKERS}
    with run.client() as client:
        client.add([said("on the old port")], user_id=user)
        old = read_address(run.home)
        port = int(old.router.rsplit(":", 1)[1])
        with socket.socket() as squatter:
            squatter.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            pid = kill_broker(run)

            def taken() -> bool | None:
                try:
                    squatter.bind(("127.0.0.1", port))
                    squatter.listen()
                except OSError:
                    return None
                return True

            assert eventually(taken, "the port was not to be had", 120)
            await_running(run.home, "broker", pid, 120)
            assert read_address(run.home).router != old.router
            client.add([said("on the new port")], user_id=user)
            client.flush(120)
            assert [one["content"] for one in client.messages(user)] == ["on the old port", "on the new port"]
            assert contents(client.search("new port", user, top_k=1)) == ["on the new port"]
    assert {name: run.pid(name) for name in WORKERS} == workers


def test_workers_that_die_together_come_back_and_miss_nothing(run: Deployment) -> None:
    user = someone()
    with run.client() as client:
        client.add([said("one")], user_id=user)
        pids = {name: run.pid(name) for name in ("working", "semantic", "model", "context")}
        for pid in pids.values():
            os.kill(pid, signal.SIGKILL)
        client.add([said("two")], user_id=user)
        for name, pid in pids.items():
            await_running(run.home, name, pid, 120)
        client.flush(120)
        assert [one["content"] for one in client.messages(user)] == ["one", "two"]
        assert sorted(contents(client.search("one two", user))) == ["one", "two"]


def test_a_supervisor_that_is_killed_takes_its_processes_with_it_and_the_next_goes_on(run: Deployment) -> None:
    user = someone()
    processes = [psutil.Process(pid) for pid in run.pids().values() if pid is not None]
    supervisor = running_supervisor(run.home)
    assert supervisor is not None
    with run.client() as client:
        client.add([said("under the first")], user_id=user)
        os.kill(supervisor, signal.SIGKILL)
        # No orphan may hold a store or a port against those who come next.
        assert psutil.wait_procs(processes, timeout=60)[1] == []
        assert run.run("status", "--json").json["running"] is False
        run.up()
        client.add([said("under the second")], user_id=user)
        client.flush(120)
        assert [one["content"] for one in client.messages(user)] == ["under the first", "under the second"]
        assert sorted(contents(client.search("under", user))) == ["under the first", "under the second"]
