"""The working process beside a real broker: what a client says is held once, whatever dies when."""

import os
import random
import subprocess
import sys
import threading
import uuid

import pytest

from aico_memory.client import MemoryClient
from aico_memory.stores.working import LmdbWorkingStore
from tests.bus.conftest import RunningBroker, make_home


class Process:
    """The working process; started ready, killed and started again."""

    def __init__(self, home) -> None:
        self.home = home
        self.start()

    def start(self) -> None:
        reader, writer = os.pipe()
        arguments = [sys.executable, "-m", "services.working", "--home", str(self.home.root), "--ready-fd", str(writer)]
        environment = {**os.environ, "AICO_MEMORY_SET__working__page_bytes": "4096"}
        with (self.home.root / "working.log").open("a") as log:
            self.process = subprocess.Popen(arguments, pass_fds=[writer], env=environment, stderr=log)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            assert pipe.readline() == "ready\n", (self.home.root / "working.log").read_text()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        self.process.terminate()
        return self.process.wait(60)


@pytest.fixture
def running(tmp_path):
    home = make_home(tmp_path)
    broker = RunningBroker(home).start()
    process = Process(home)
    yield broker, process
    if process.process.poll() is None:
        process.kill()
    broker.stop()


def said(number: int, text: str = "the orchard behind the mill") -> dict[str, str]:
    return {"role": "user", "content": f"{text} {number}"}


def test_what_a_client_says_can_be_read_at_once_and_lies_nowhere_in_the_clear(running):
    _, process = running
    with MemoryClient.connect(process.home.root) as client:
        ids = client.add([said(number) for number in range(20)], "ada", session_id="s")
        assert client.add([{**said(0), "id": ids[0]}], "ada", session_id="s") == ids[:1]
        client.flush(120)
        held = client.messages("ada")
        assert [message["event_id"] for message in held] == ids
        assert client.messages("ada", session_id="t") == client.messages("bob") == []
    assert process.stop() == 0
    for path in process.home.root.rglob("*"):
        assert path.is_dir() or b"orchard" not in path.read_bytes(), path


def test_a_conversation_longer_than_an_answer_is_read_whole(running):
    _, process = running
    with MemoryClient.connect(process.home.root) as client:
        ids = client.add([said(number, "x" * 1000) for number in range(25)], "ada", session_id="s")
        client.flush(120)
        assert [message["event_id"] for message in client.messages("ada")] == ids
        assert [message["event_id"] for message in client.messages("ada", limit=10)] == ids[-10:]


@pytest.mark.faults
def test_killed_under_load_it_holds_everything_once(running):
    broker, process = running
    ids: list[str] = []
    enough, progress, going = threading.Event(), threading.Semaphore(0), threading.Event()
    going.set()
    failures: list[BaseException] = []

    def load() -> None:
        try:
            with MemoryClient.connect(process.home.root) as client:
                number = 0
                while not enough.is_set() or number < 20:
                    going.wait(30)
                    number += 1
                    ids.extend(client.add([said(number) for _ in range(5)], f"user-{number % 3}", session_id="s"))
                    progress.release()
                client.flush(120)
        except BaseException as error:
            failures.append(error)

    loading = threading.Thread(target=load)
    loading.start()
    rng = random.Random(5)
    for _ in range(4):
        for _ in range(rng.randrange(1, 30)):
            assert progress.acquire(timeout=120)
        process.kill()
        # The load rests while the process starts, so that what it has to catch up with stays small.
        going.clear()
        process.start()
        going.set()
    enough.set()
    loading.join()
    assert not failures
    assert process.stop() == 0
    store = LmdbWorkingStore.open(process.home.store("working"), broker.vault, 1 << 20)
    held = [message.event_id for user in store.users() for message in store.read(user, limit=10**6)]
    assert len(held) == len(set(held))
    assert set(held) == {uuid.UUID(identifier).bytes for identifier in ids}
    assert store.outgoing(10) == []
    store.close()
