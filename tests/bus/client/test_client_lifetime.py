"""A client from its opening to its end: awaited, entered, closed under its waiters, forked."""

from __future__ import annotations

import asyncio
import os
import threading

import pytest

from aico_memory import AsyncMemoryClient, MemoryClient
from aico_memory.contracts.v1 import working_pb2
from aico_memory.errors import ClosedConnection
from aico_memory.paths import Home


def test_the_asynchronous_client_works_awaited_and_entered(broker, home: Home, worker) -> None:
    page = working_pb2.MessagePage(messages=[working_pb2.StoredMessage(content="hi", role="user")])
    worker("working").answers("memory/working/read/v1/", lambda event: page)

    async def use() -> list[str]:
        async with AsyncMemoryClient.connect(home.root) as client:
            many = [client.add([{"role": "user", "content": str(n)}], "u") for n in range(20)]
            ids = [entry for added in await asyncio.gather(*many) for entry in added]
            assert len(set(ids)) == 20
            found = await client.messages("u")
        awaited = await AsyncMemoryClient.connect(home.root)
        assert awaited.connected
        await awaited.close()
        return [message["content"] for message in found]

    assert asyncio.run(use()) == ["hi"]


def test_an_asynchronous_stream_ends_when_it_is_closed(broker, home: Home) -> None:
    async def use() -> int:
        async with AsyncMemoryClient.connect(home.root) as client:
            stream = await client.subscribe("memory/semantic/changed/v1/")
            asyncio.get_running_loop().call_soon(lambda: asyncio.ensure_future(stream.close()))
            return len([event async for event in stream])

    assert asyncio.run(use()) == 0


def test_a_closed_client_says_so_and_closing_twice_is_fine(client: MemoryClient) -> None:
    client.close()
    client.close()
    with pytest.raises(ClosedConnection):
        client.add([], "u")


def test_whoever_waits_in_another_thread_hears_that_the_client_was_closed(client: MemoryClient) -> None:
    heard: list[Exception] = []
    events = client.subscribe("memory/semantic/changed/v1/")
    listened: list[object] = []

    def ask() -> None:
        try:
            client.search("nobody answers this", "u")
        except Exception as error:
            heard.append(error)

    threads = [threading.Thread(target=ask), threading.Thread(target=lambda: listened.extend(events))]
    for thread in threads:
        thread.start()
    waiting = threading.Event()
    while len(asyncio.all_tasks(client._loop)) < 2:
        waiting.wait(0.01)
    client.close()
    for thread in threads:
        thread.join(60)
    assert [type(error) for error in heard] == [ClosedConnection]
    assert listened == []
    assert not any(thread.is_alive() for thread in threads)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_client_is_refused(client: MemoryClient) -> None:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            client.add([{"role": "user", "content": "x"}], "u")
        except ClosedConnection as error:
            os.write(writing, error.detail.encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    assert b"forked" in os.read(reading, 1000)
    os.close(reading)
