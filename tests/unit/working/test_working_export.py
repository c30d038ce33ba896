"""The export of working memory: sorted, the same whatever its pages, open about what it leaves out."""

import json

from aico_memory.contracts.v1 import working_pb2
from aico_memory.domain.working.expiry import HOUR_US
from aico_memory.ids import compose_uuid7
from tests.unit.working.worker import NOON, Worker, touch


def pages(worker: Worker, user: str = "", limit: int = 2) -> list[str]:
    lines, after = [], ""
    while True:
        page = worker.handlers.export(user, after, limit)
        assert len(page.lines) <= limit
        lines += page.lines
        if not page.next:
            return lines
        after = page.next


def filled(shift: int = 0) -> Worker:
    """A worker after a little stream; `shift` is how much later the broker received it."""
    worker = Worker()
    for number, user in enumerate(["bob", "ada", "ada", "cem", "ada"]):
        message = working_pb2.Message(
            user_id=user, session_id="s", role="user", content=f"Çay {number}", said_at_us=NOON + number
        )
        identifier = compose_uuid7(5, hex(99 - number).encode() * 3)
        worker.apply(worker.event(message, user, event_id=identifier, received=NOON + number + shift))
    worker.apply(worker.event(working_pb2.Consolidated(user_id="ada", event_ids=[identifier.bytes])))
    touch(worker, ("tea", 0.5), at=NOON + shift)
    return worker


def test_the_export_is_sorted_and_the_same_whatever_its_pages():
    worker = filled()
    lines = pages(worker)
    assert lines == pages(worker, limit=100)
    parsed = [json.loads(line) for line in lines]
    assert [line["key"] for line in parsed] == sorted(line["key"] for line in parsed)
    assert {line["section"] for line in parsed} == {"working.message"} and len(parsed) == 5
    assert [list(line) == sorted(line) for line in parsed] == [True] * 5
    assert pages(worker, user="ada") == [line for line in lines if '"user_id":"ada"' in line]
    assert pages(worker, user="nobody") == []


def test_the_same_stream_received_at_another_time_exports_the_same_bytes():
    assert pages(filled()) == pages(filled(shift=3 * HOUR_US))


def test_the_export_names_what_it_leaves_out():
    page = filled().handlers.export("", "", 10)
    assert set(page.omitted) == {
        "working.message.received_at", "working.message.consolidated_at", "working.message.memory_ids", "working.buffer",
    }  # fmt: skip
    assert "received_at" not in "".join(page.lines)
