"""What a client may rely on: one effect for one id, all found after flush, nothing published of what is wrong; expiry."""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from aico_memory import MemoryClient
from aico_memory.bus.link import Link
from aico_memory.clock import SharedManualClock
from aico_memory.contracts.v1 import sleep_pb2
from aico_memory.errors import DeadlineExceeded, InvalidMessage, NaiveTime, TooLarge
from aico_memory.runtime.probe import broker_says, worker_status
from tests.support.deployment import Deployment, contents, eventually, said

pytestmark = pytest.mark.deployment
MESSAGES = "memory/working/message/v1/"
START = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)


def someone() -> str:
    return f"user-{uuid.uuid4().hex[:8]}"


def head_of_messages(deployment: Deployment) -> int:
    """How many messages stand in the journal."""
    with deployment.link() as link:
        return int(broker_says(link, "consumers")["topics"].get(MESSAGES, [0, 0])[1])


def test_the_same_id_twice_has_one_effect_and_returns_the_same_id(deployment: Deployment) -> None:
    user, event = someone(), str(uuid.uuid4())
    before = head_of_messages(deployment)
    with deployment.client() as client:
        first = client.add([said("The boiler was serviced in March", id=event)], user_id=user)
        assert client.add([said("The boiler was serviced in March", id=event)], user_id=user) == first == [event]
    with deployment.client() as another:
        # Also from another connection, and next to a new one in the same list.
        both = another.add([said("The boiler was serviced in March", id=event), said("By Mr Falk")], user_id=user)
        assert both[0] == event
        another.flush(120)
        assert [one["event_id"] for one in another.messages(user)] == both
        records = another.get_all(user, filters={"kind": "record"})
        assert sorted(contents(records)) == ["By Mr Falk", "The boiler was serviced in March"]
        assert contents(another.search("boiler", user)).count("The boiler was serviced in March") == 1
    assert head_of_messages(deployment) == before + 2


def test_feedback_with_the_same_id_teaches_once(deployment: Deployment) -> None:
    user, event = someone(), str(uuid.uuid4())
    with deployment.client() as client:
        client.set_consent(user, behavioral=True)
        message = client.add([said("Shorter, please")], user_id=user)[0]
        once = client.feedback(user, message, "concise_response", 1, event_id=event)
        again = client.feedback(user, message, "concise_response", 1, event_id=event)
        assert again["new_confidence"] == once["new_confidence"]
        other = client.feedback(user, message, "concise_response", 1)
        assert other["new_confidence"] > once["new_confidence"]


def test_after_flush_every_message_is_found_by_its_words_and_by_its_meaning(deployment: Deployment) -> None:
    user = someone()
    words = [f"zibeth{number:03d}" for number in range(40)]
    with deployment.client() as client:
        for start in range(0, 40, 10):
            client.add([said(f"The {word} arrived with the morning post") for word in words[start : start + 10]], user_id=user)
        client.add([said("My daughter has started to learn the cello")], user_id=user)
        client.flush(120)
        for word in words:
            assert word in contents(client.search(word, user, top_k=3))[0]
        # No word in common: only the vector can find it.
        found = client.search("Which musical instrument does the child play?", user, top_k=3, explain=True)
        assert "My daughter has started to learn the cello" in contents(found)
    with deployment.link() as link:
        assert worker_status(link, "semantic")["index_outbox"] == 0


def test_messages_as_large_as_the_bus_takes_them_come_back_whole_and_hold_nothing_up(deployment: Deployment) -> None:
    user = someone()
    texts = [(f"{number} " + f"ledger{number} " * 120_000)[:1_000_000] for number in range(3)]
    with deployment.client() as client:
        client.add([said(text) for text in texts], user_id=user, session_id="s")
        client.flush(120)
        assert [one["content"] for one in client.messages(user)] == texts
        assert sorted(contents(client.get_all(user))) == texts
        assert contents(client.search("ledger2", user, top_k=1)) == [texts[2]]
        context = client.context("ledger2", user, session_id="s", max_tokens=300)
        assert "ledger" in context["text"]
        assert context["tokens"] <= 300
        assert client.sleep_now(user, wait=True, timeout_seconds=120)["experiences"] == 3
        memory = client.search("ledger1", user, top_k=1)["results"][0]["id"]
        client.update(memory, texts[2], user)
        assert client.get(memory, user)["memory"] == texts[2]
    exported = deployment.ok("export", "--canonical", "--user", user).out
    assert all(text in exported for text in texts)


def test_many_who_send_one_id_at_once_have_one_effect(deployment: Deployment) -> None:
    user, event = someone(), str(uuid.uuid4())
    before = head_of_messages(deployment)

    def send(_: int) -> list[str]:
        with deployment.client() as client:
            return client.add([said("Who was first?", id=event)], user_id=user)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(send, range(16))) == [[event]] * 16
    assert head_of_messages(deployment) == before + 1


def test_flush_of_one_client_does_not_wait_for_what_others_publish(deployment: Deployment) -> None:
    with deployment.client() as quiet, deployment.client() as busy:
        quiet.flush(0.001)
        busy.add([said(f"something {number}") for number in range(50)], user_id=someone())
        quiet.flush(0.001)
        busy.flush(120)


@contextmanager
def stopped(deployment: Deployment, name: str) -> Iterator[None]:
    """A process that stands still (it is not dead) for a while."""
    pid = deployment.pid(name)
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_flush_that_cannot_be_kept_says_who_is_behind(deployment: Deployment) -> None:
    user = someone()
    with deployment.client() as client:
        with stopped(deployment, "semantic"):
            client.add([said("The seeds are in the tin")], user_id=user)
            with pytest.raises(DeadlineExceeded, match="semantic"):
                client.flush(0.5)
        client.flush(120)
        assert contents(client.search("seeds", user)) == ["The seeds are in the tin"]


WRONG: list[tuple[type[Exception], Any, str]] = [
    (InvalidMessage, {"role": "user"}, "content"),
    (InvalidMessage, {"role": "user", "content": ""}, "content"),
    (InvalidMessage, {"role": "user", "content": 7}, "content"),
    (InvalidMessage, {"role": "robot", "content": "hi"}, "role"),
    (InvalidMessage, {"content": "hi"}, "role"),
    (InvalidMessage, {"role": "user", "content": "hi", "colour": "red"}, "colour"),
    (InvalidMessage, {"role": "user", "content": "hi", "id": "not-a-uuid"}, "id"),
    (InvalidMessage, {"role": "user", "content": "hi", "id": str(uuid.UUID(int=0))}, "nil UUID"),
    (InvalidMessage, {"role": "user", "content": "hi", "timestamp": "9999-12-31T23:59:59Z"}, "calendar"),
    (InvalidMessage, {"role": "user", "content": "hi", "metadata": ["a"]}, "metadata"),
    (InvalidMessage, {"role": "user", "content": "hi", "metadata": {"a": float("nan")}}, "metadata"),
    (InvalidMessage, {"role": "user", "content": "half a \ud800 pair"}, "content"),
    (InvalidMessage, {"role": "user", "content": "hi", "timestamp": "yesterday"}, "timestamp"),
    (NaiveTime, {"role": "user", "content": "hi", "timestamp": "2026-05-04T09:00:00"}, "timestamp"),
    (NaiveTime, {"role": "user", "content": "hi", "timestamp": datetime(2026, 5, 4, 9)}, "timestamp"),
    (TooLarge, {"role": "user", "content": "x" * 2_000_000}, "bytes"),
    (InvalidMessage, "hello", "mapping"),
]


@pytest.mark.parametrize(("kind", "wrong", "named"), WRONG)
def test_a_list_with_one_bad_message_publishes_nothing(
    deployment: Deployment, kind: type[Exception], wrong: Any, named: str
) -> None:
    user = someone()
    before = head_of_messages(deployment)
    with deployment.client() as client:
        with pytest.raises(kind, match=named) as caught:
            client.add([said("a good one"), wrong, said("another good one")], user_id=user)
        assert type(caught.value) is kind
        # The connection is as good as before.
        client.add([said("all is well")], user_id=user)
        client.flush(120)
        assert [one["content"] for one in client.messages(user)] == ["all is well"]
    assert head_of_messages(deployment) == before + 1


@pytest.mark.parametrize(
    "ask",
    [
        lambda client, user: client.search("x", user, as_of="2026-05-04T09:00:00"),
        lambda client, user: client.search("x", user, as_of=datetime(2026, 5, 4)),
        lambda client, user: client.search("x", user, known_as_of="2026-05-04"),
        lambda client, user: client.search("x", user, filters={"since": "2026-05-04T09:00"}),
        lambda client, user: client.get_all(user, filters={"until": "2026-05-04T09:00"}),
    ],
)
def test_a_time_without_a_zone_is_refused_wherever_one_goes_in(
    deployment: Deployment, ask: Callable[[MemoryClient, str], Any]
) -> None:
    with deployment.client() as client, pytest.raises(NaiveTime):
        ask(client, someone())


def test_times_come_out_in_iso_with_zone_and_keep_said_and_received_apart(deployment: Deployment) -> None:
    user = someone()
    with deployment.client() as client:
        client.add([said("It was long ago", timestamp="1999-12-31T23:59:59+01:00", metadata={"mood": "wistful"})], user_id=user)
        client.flush(120)
        [message] = client.messages(user)
        assert datetime.fromisoformat(message["timestamp"]) == datetime(1999, 12, 31, 22, 59, 59, tzinfo=UTC)
        assert message["metadata"] == {"mood": "wistful"}
        [found] = client.search("long ago", user)["results"]
        assert datetime.fromisoformat(found["created_at"]).tzinfo is not None
        assert abs(datetime.fromisoformat(found["created_at"]) - datetime.now(UTC)) < timedelta(minutes=5)


@pytest.fixture(scope="module")
def by_hand(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A deployment whose clock is turned by hand, from START on."""
    run = Deployment(tmp_path_factory.mktemp("by_hand") / "home", {"AICO_MEMORY_CLOCK": "manual"})
    run.clock().set(START)
    try:
        run.up()
        yield run
    finally:
        run.down()


def test_messages_leave_working_memory_by_the_clock_and_never_before_they_are_consolidated(by_hand: Deployment) -> None:
    run, clock = by_hand, by_hand.clock()
    with run.client() as client, run.link() as operator:

        def held(user: str) -> list[str]:
            return [one["content"] for one in client.messages(user)]

        client.add([said("This is slept over")], user_id="sleeper")
        client.flush(120)
        slept = client.sleep_now("sleeper", wait=True, timeout_seconds=120)
        assert (slept["status"], slept["experiences"]) == ("complete", 1)
        assert held("sleeper") == ["This is slept over"]
        # From here on nobody consolidates.
        with stopped(run, "consolidation"):
            client.add([said("This is never slept over")], user_id="waker")
            client.flush(120)
            sweep_after(operator, clock, timedelta(hours=23))
            assert (held("sleeper"), held("waker")) == (["This is slept over"], ["This is never slept over"])
            sweep_after(operator, clock, timedelta(hours=2))
            assert held("sleeper") == []
            assert held("waker") == ["This is never slept over"]
            sweep_after(operator, clock, timedelta(days=12, hours=22))
            assert held("waker") == ["This is never slept over"]
            assert worker_status(operator, "working")["expired_unreplayed"] == 0
            with run.client("operator") as witness, witness.subscribe("memory/working/expired_unreplayed/v1/") as lost:
                sweep_after(operator, clock, timedelta(hours=2))
                assert held("waker") == []
                report = lost.next(60)
            assert report is not None
            assert report["user_id"] == "waker"
            assert len(report["fields"]["event_ids"]) == 1
            status = run.status()
            assert status["workers"]["working"]["expired_unreplayed"] == 1
            assert any("before they were consolidated" in str(alarm) for alarm in status["alarms"])
        # What is gone from working memory is in long-term memory all the same.
        assert contents(client.search("slept over", "sleeper")) == ["This is slept over"]
        assert contents(client.search("slept over", "waker")) == ["This is never slept over"]


def test_a_clock_that_jumps_breaks_nothing(by_hand: Deployment) -> None:
    user, event, pids = someone(), str(uuid.uuid4()), by_hand.pids()
    clock = by_hand.clock()
    jumps = (timedelta(0), timedelta(hours=-3), timedelta(days=-400), timedelta(days=402), timedelta(days=365 * 20))
    with by_hand.client() as client:
        client.add([said("note 0", id=event)], user_id=user)
        for number, jump in enumerate(jumps, 1):
            clock.advance(jump)
            client.add([said(f"note {number}")], user_id=user)
            client.flush(120)
            assert contents(client.search(f"note {number}", user, top_k=1)) == [f"note {number}"]
            assert client.context(f"note {number}", user)["degraded"] == []
            # However far the clock went: a message sent again is the same message.
            assert client.add([said("note 0", id=event)], user_id=user) == [event]
        client.flush(120)
        assert sorted(contents(client.get_all(user))) == [f"note {number}" for number in range(len(jumps) + 1)]
    assert by_hand.pids() == pids
    assert by_hand.run("dead-letters", "list", "--json").json == []


def sweep_after(operator: Link, clock: SharedManualClock, by: timedelta) -> None:
    """Turn the clock, and wait until a sweep that was fired after it has been applied (the scheduler fires it by itself)."""

    def last_sweep() -> int:
        return int(broker_says(operator, "consumers")["topics"].get("memory/working/sweep/v1/", [0, 0])[0])

    before = last_sweep()
    clock.advance(by)
    now_us = clock.now_us()

    def done() -> bool | None:
        # The scheduler notes a firing before its outbox has brought it to the bus.
        if not fired_since(operator, now_us) or (last := last_sweep()) <= before:
            return None
        consumers = broker_says(operator, "consumers")["consumers"]
        return True if next(one["applied"] for one in consumers if one["name"] == "working") >= last else None

    eventually(done, "no sweep was applied", 120)


def fired_since(operator: Link, now_us: int) -> bool:
    page = operator.request(sleep_pb2.JobsRequest(history=0), timeout=60).result(90)
    return any(job.name == "working_sweep" and job.next_us > now_us for job in page.jobs)


def test_a_message_that_was_refused_at_the_client_left_no_trace_at_the_broker(deployment: Deployment) -> None:
    with deployment.link() as operator:
        before = broker_says(operator, "statistics")
        with deployment.client() as client, pytest.raises(InvalidMessage):
            client.publish(MESSAGES, {"user_id": "u", "role": "user"}, user_id="u")
        with deployment.client() as client, pytest.raises(InvalidMessage):
            client.publish(MESSAGES, {"user_id": "u", "role": "user", "content": "c", "no_such_field": 1}, user_id="u")
        after = broker_says(operator, "statistics")
        assert after["durable"] == before["durable"]
        assert after["refused"] == before["refused"]
