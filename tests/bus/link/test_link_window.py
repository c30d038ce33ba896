"""The publish window: whatever is lost on the way, every record is taken once and in order."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from aico_memory.bus.link_window import Acknowledgement, PublishWindow
from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.errors import AccessDenied, AicoMemoryError, StorageFull

TOPIC = "memory/working/message/v1/"


def record(number: int, size: int = 10) -> OutgoingRecord:
    return OutgoingRecord(number.to_bytes(16, "big"), TOPIC, "u", b"x" * size)


class Broker:
    """What the broker does with sequences: contiguous or nothing, each event id once."""

    def __init__(self) -> None:
        self.journal: list[bytes] = []
        self.expected = 0

    def hello(self, following: int) -> None:
        self.expected = following

    def publish(self, first: int, records: list[OutgoingRecord]) -> tuple[int, list[tuple[int, int]]] | None:
        if first != self.expected:
            return None
        self.expected += len(records)
        places = []
        for one in records:
            if one.event_id not in self.journal:
                self.journal.append(one.event_id)
            place = self.journal.index(one.event_id) + 1
            places.append((place, place))
        return first, places


STEPS = st.lists(
    st.sampled_from(["add", "add", "send", "send", "lose frame", "deliver ack", "deliver ack", "lose ack", "reconnect"]),
    max_size=120,
)


@settings(max_examples=300, deadline=None)
@given(STEPS, st.integers(1, 4))
def test_every_record_is_journalled_once_and_in_order_whatever_is_lost(steps: list[str], frame_records: int) -> None:
    window: PublishWindow[int] = PublishWindow(frame_records, 10_000)
    broker = Broker()
    broker.hello(window.first_unacknowledged)
    acks: list[tuple[int, list[tuple[int, int]]]] = []
    settled: list[int] = []
    added = 0

    def reconnect() -> None:
        acks.clear()
        broker.hello(window.first_unacknowledged)
        window.reconnected()

    def send(arrives: bool) -> None:
        frame = window.next_frame()
        if frame is None or not arrives:
            return
        answer = broker.publish(*frame)
        if answer is None:
            reconnect()
        else:
            acks.append(answer)

    def take(ack: tuple[int, list[tuple[int, int]]]) -> None:
        ends, whole = window.acknowledge(*ack)
        settled.extend(end.token for end in ends)
        assert all(isinstance(end.outcome, Acknowledgement) for end in ends)
        if not whole:
            reconnect()

    for step in steps:
        if step == "add":
            window.add(record(added), added)
            added += 1
        elif step in ("send", "lose frame"):
            send(step == "send")
        elif step == "reconnect":
            reconnect()
        elif acks and step == "deliver ack":
            take(acks.pop(0))
        elif acks:
            acks.pop(0)
    for _ in range(3):
        reconnect()
        while window.waiting:
            send(True)
        while acks:
            take(acks.pop(0))
    assert settled == list(range(added))
    assert broker.journal == [record(number).event_id for number in range(added)]


def test_a_frame_is_bounded_by_count_and_by_bytes() -> None:
    window: PublishWindow[int] = PublishWindow(3, 100)
    for number, size in enumerate([10, 10, 10, 10, 90, 500, 1]):
        window.add(record(number, size), number)
    frames = []
    while (frame := window.next_frame()) is not None:
        frames.append((frame[0], [len(one.envelope) for one in frame[1]]))
    assert frames == [(1, [10, 10, 10]), (4, [10, 90]), (6, [500]), (7, [1])]


def test_a_refused_record_gets_its_error_and_the_next_ones_go_on() -> None:
    window: PublishWindow[str] = PublishWindow(10, 1000)
    for name in ("a", "b", "c"):
        window.add(record(ord(name)), name)
    window.next_frame()
    window.refuse(2, AccessDenied("not yours"), 0)
    ends, whole = window.acknowledge(1, [(5, 1), (0, 0), (6, 2)])
    assert whole
    assert [end.token for end in ends] == ["a", "b", "c"]
    assert [type(end.outcome) for end in ends] == [Acknowledgement, AccessDenied, Acknowledgement]


def test_a_refusal_without_a_reason_is_still_an_error() -> None:
    window: PublishWindow[str] = PublishWindow(10, 1000)
    window.add(record(1), "a")
    window.next_frame()
    ends, _ = window.acknowledge(1, [(0, 0)])
    assert isinstance(ends[0].outcome, AicoMemoryError)


def test_an_acknowledgement_past_a_lost_one_settles_nothing() -> None:
    window: PublishWindow[str] = PublishWindow(1, 1000)
    window.add(record(1), "a")
    window.add(record(2), "b")
    window.next_frame()
    window.next_frame()
    assert window.acknowledge(2, [(2, 2)]) == ([], False)
    window.reconnected()
    assert window.next_frame() == (1, [record(1)])


def test_a_refusal_of_an_earlier_connection_is_forgotten() -> None:
    window: PublishWindow[str] = PublishWindow(10, 1000)
    window.add(record(1), "a")
    window.next_frame()
    window.refuse(1, StorageFull("full"), 1000)
    window.reconnected()
    window.next_frame()
    ends, _ = window.acknowledge(1, [(1, 1)])
    assert isinstance(ends[0].outcome, Acknowledgement)


def test_what_is_not_acknowledged_is_given_back_at_the_end() -> None:
    window: PublishWindow[str] = PublishWindow(10, 1000)
    window.add(record(1), "a")
    window.next_frame()
    window.add(record(2), "b")
    assert [token for token, _ in window.drain()] == ["a", "b"]
    assert window.waiting == window.unacknowledged == 0
    assert window.first_unacknowledged == 3


def test_what_was_settled_before_is_passed_over() -> None:
    window: PublishWindow[int] = PublishWindow(10, 1000)
    for number in range(3):
        window.add(record(number), number)
    window.next_frame()
    window.acknowledge(1, [(1, 1), (2, 2)])
    ends, whole = window.acknowledge(1, [(1, 1), (2, 2), (3, 3)])
    assert [end.token for end in ends] == [2]
    assert whole
