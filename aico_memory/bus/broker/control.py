"""Questions to the broker itself: verb and JSON in, JSON out."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any

from google.protobuf.message import DecodeError

from aico_memory.bus.access import refuse_control
from aico_memory.bus.broker.connection import Connection
from aico_memory.bus.broker.registry import ConsumerRegistry
from aico_memory.bus.journal import Journal, read_range
from aico_memory.bus.read_only import ReadOnlySwitch
from aico_memory.clock import Clock
from aico_memory.contracts.registry import topic_of, topics
from aico_memory.contracts.v1 import bus_pb2, envelope_pb2
from aico_memory.contracts.wire import unpack_batch
from aico_memory.errors import InvalidMessage, NotFound

_BODY_BYTES = 64 * 1024
_PAGE = 1000
_REASON_CHARACTERS = 500
_DEAD_LETTERS = topic_of(bus_pb2.DeadLetter).name


class Control:
    """Answers by verb; who may ask what is decided by the role."""

    def __init__(
        self,
        journal: Journal,
        registry: ConsumerRegistry,
        clock: Clock,
        connections: Callable[[], list[dict[str, Any]]],
        statistics: Callable[[], dict[str, Any]],
        switch: ReadOnlySwitch,
        switched: Callable[[str, bool], None],
    ) -> None:
        self._journal = journal
        self._registry = registry
        self._clock = clock
        self._connections = connections
        self._statistics = statistics
        self._switch = switch
        self._switched = switched
        self._verbs: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "ping": self._ping,
            "report": self._report,
            "consumers": self._consumers,
            "consumer_remove": self._consumer_remove,
            "topics": self._topics,
            "connections": lambda _: {"connections": self._connections()},
            "statistics": lambda _: self._statistics(),
            "dead_letters": self._dead_letters,
            "dead_letter_settle": self._settle,
            "read_only_state": lambda _: self._switch.state().as_data(),
        }

    def answer(self, connection: Connection, verb: str, body: str) -> str:
        """The answer's JSON; raises a typed error."""
        verb_handler = partial(self._read_only, connection.identity.name) if verb == "read_only" else self._verbs.get(verb)
        if verb_handler is None:
            known = ", ".join(sorted((*self._verbs, "read_only")))
            raise InvalidMessage(f"The broker knows no verb {verb!r}", f"It knows {known}.")
        refusal = refuse_control(connection.identity, verb)
        if refusal is not None:
            raise refusal
        if len(body) > _BODY_BYTES:
            raise InvalidMessage(f"A question to the broker has at most {_BODY_BYTES} characters")
        try:
            content = json.loads(body) if body else {}
        except (ValueError, RecursionError) as error:
            raise InvalidMessage("The body of a question must be JSON") from error
        if not isinstance(content, dict):
            raise InvalidMessage("The body of a question must be a JSON object")
        return json.dumps(verb_handler(content))

    def _ping(self, _: dict[str, Any]) -> dict[str, Any]:
        return {"now_us": self._clock.now_us(), "epoch": self._journal.epoch}

    def _report(self, body: dict[str, Any]) -> dict[str, Any]:
        self._registry.report(body, self._clock.now_us())
        return {"head": self._journal.head}

    def _read_only(self, asker: str, body: dict[str, Any]) -> dict[str, Any]:
        action, before = _text(body, "action"), self._switch.on
        if action == "on":
            state = self._switch.stop(asker, str(body.get("reason", ""))[:_REASON_CHARACTERS], self._clock.now_us())
        elif action == "off":
            state = self._switch.release()
        else:
            raise InvalidMessage(f"Writing is stopped by on and allowed by off, not by {action!r}")
        if state.on is not before:
            self._switched(asker, state.on)
        return state.as_data()

    def _topics(self, _: dict[str, Any]) -> dict[str, Any]:
        return {
            "topics": [
                {
                    "name": topic.name, "durable": topic.durable, "owner": topic.owner, "message": topic.full_name,
                    "global": self._journal.heads.get(topic.name.encode(), (0, 0))[0],
                    "sequence": self._journal.heads.get(topic.name.encode(), (0, 0))[1],
                }
                for topic in topics().values()
            ]
        }  # fmt: skip

    def _consumers(self, _: dict[str, Any]) -> dict[str, Any]:
        heads = {topic.decode(): list(pair) for topic, pair in sorted(self._journal.heads.items())}
        stop = self._switch.state().as_data()
        return {
            "head": self._journal.head, "topics": heads, "consumers": self._registry.overview(), "read_only": stop,
        }  # fmt: skip

    def _consumer_remove(self, body: dict[str, Any]) -> dict[str, Any]:
        self._registry.remove(_text(body, "consumer"))
        return {}

    def _dead_letters(self, body: dict[str, Any]) -> dict[str, Any]:
        limit, after = min(_number(body, "limit", 100), _PAGE), _number(body, "after", 0)
        page = list(islice(self._waiting_letters(after), limit))
        return {"dead_letters": page, "next": page[-1]["global"] if len(page) == limit and page else None}

    def _waiting_letters(self, after: int) -> Iterator[dict[str, Any]]:
        """Letters that nobody has settled, oldest first."""
        decided = self._journal.meta.dispositions()
        at = after + 1
        while True:
            chunk = read_range(self._journal, [_DEAD_LETTERS.encode()], at, _PAGE, 1 << 20)
            for batch in chunk.batches:
                for record in unpack_batch(batch)[2]:
                    letter = _letter(record.envelope)
                    if letter is not None and str(record.id) not in decided:
                        yield _described(record.id, record.global_sequence, letter)
            at = chunk.next_global
            if chunk.at_head:
                return

    def _settle(self, body: dict[str, Any]) -> dict[str, Any]:
        action, wanted = _text(body, "action"), _text(body, "event_id")
        if action not in ("drop", "replayed"):
            raise InvalidMessage(f"A dead letter is settled by drop or replayed, not by {action!r}")
        chosen = [one["id"] for one in self._waiting_letters(0) if wanted in (one["id"], one["event_id"])]
        if not chosen:
            raise NotFound(f"No dead letter {wanted!r} waits")
        self._journal.meta.settle(chosen, action, self._clock.now_us())
        return {"settled": chosen}


def _letter(envelope: bytes) -> bus_pb2.DeadLetter | None:
    """None where it cannot be read any more: its user was forgotten."""
    try:
        return bus_pb2.DeadLetter.FromString(envelope_pb2.Envelope.FromString(envelope).payload) if envelope else None
    except DecodeError:
        return None


def _described(record_id: uuid.UUID, sequence: int, letter: bus_pb2.DeadLetter) -> dict[str, Any]:
    return {
        "id": str(record_id),
        "event_id": str(uuid.UUID(bytes=letter.event_id)) if len(letter.event_id) == 16 else "",
        "global": sequence, "topic": letter.topic, "user_id": letter.user_id, "sender": letter.sender,
        "consumer": letter.consumer, "code": letter.code, "reason": letter.reason, "attempts": letter.attempts,
        "first_failed_us": letter.first_failed_us, "at_us": letter.at_us,
        "record": letter.record.hex(), "truncated": letter.truncated,
    }  # fmt: skip


def _text(body: dict[str, Any], key: str) -> str:
    value = body.get(key)
    if not isinstance(value, str) or not value:
        raise InvalidMessage(f"The question needs {key!r}")
    return value


def _number(body: dict[str, Any], key: str, default: int) -> int:
    value = body.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidMessage(f"{key!r} must be a whole number from 0 on")
    return value
