"""Handlers of the working process: event -> rule -> store -> events."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from itertools import islice

from google.protobuf.message import Message

from aico_memory.contracts.envelope import Event, make_record
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import behavioral_pb2, sleep_pb2, working_pb2
from aico_memory.contracts.v1.bus_pb2 import ExportPage
from aico_memory.domain.working.expiry import HOUR_US, Retention, sweep_bounds
from aico_memory.ids import derive_id
from aico_memory.runtime.ports import Handlers, Ports, RequestHandler
from aico_memory.settings.working import WorkingSettings
from aico_memory.stores.working import LmdbWorkingStore, WorkingStore, WorkingTransaction
from services.working.export import export_page
from services.working.reading import Reading
from services.working.recording import experiences_of, order_of

NAME = "working"
# Event ids in one report of what expired unreplayed: far below the largest envelope.
REPORTED_AT_ONCE = 1000


class WorkingHandlers(Handlers):
    """Holds what was said and seen until consolidation has it; answers for it."""

    name = NAME

    def __init__(self, store: WorkingStore, settings: WorkingSettings) -> None:
        self.state = store
        self._store = store
        self._retention = Retention(int(settings.time_to_live_hours * HOUR_US), int(settings.hard_cap_hours * HOUR_US))
        self._buffer_idle_us = int(settings.buffer_idle_hours * HOUR_US)
        self._effects: dict[str, Callable[[WorkingTransaction, Event], None]] = {
            topic_of(kind).name: effect
            for kind, effect in (
                (working_pb2.Message, self._hold),
                (working_pb2.ToolResult, self._hold),
                (working_pb2.Turn, self._hold),
                (working_pb2.SessionEnded, self._end_session),
                (working_pb2.Consolidated, self._acknowledge),
                (working_pb2.Sweep, self._sweep),
                (behavioral_pb2.FeedbackEvent, self._mark_feedback),
            )
        }
        self.topics: Sequence[str] = tuple(self._effects)
        reading = Reading(store, settings)
        self.requests: Mapping[str, RequestHandler] = {
            topic_of(kind).name: _without_ports(answer)
            for kind, answer in (
                (working_pb2.ReadMessages, reading.messages),
                (working_pb2.ReadBuffer, reading.buffer),
                (working_pb2.BufferTouched, reading.touched),
                (working_pb2.PendingUsersRequest, reading.pending_users),
                (working_pb2.ExperiencesRequest, reading.experiences),
            )
        }

    def apply(self, transaction: WorkingTransaction, event: Event) -> None:
        self._effects[event.topic](transaction, event)

    def status(self) -> dict[str, object]:
        counts = self._store.counts()
        return {
            "messages": counts.messages,
            "pending": counts.pending,
            "users": counts.users,
            "buffers": counts.buffers,
            "expired": counts.expired,
            "expired_unreplayed": counts.expired_unreplayed,
            "unreadable": counts.unreadable,
            "alarms": [_lost(counts.expired_unreplayed)] if counts.expired_unreplayed else [],
        }

    def export(self, user: str, after: str, limit: int) -> ExportPage:
        return export_page(self._store, user, after, limit)

    def close(self) -> None:
        self._store.close()

    def _hold(self, transaction: WorkingTransaction, event: Event) -> None:
        """Each experience once; announced only where something new is held."""
        held = [
            message.event_id
            for ordinal, message in enumerate(experiences_of(event))
            if transaction.add(message, order_of(event, ordinal))
        ]
        if held:
            stored = working_pb2.Stored(user_id=event.user, session_id=event.message.session_id, event_ids=held)
            _announce(transaction, event, stored, "stored", event.user)

    def _end_session(self, transaction: WorkingTransaction, event: Event) -> None:
        transaction.clear_buffer(event.user, event.message.session_id)

    def _acknowledge(self, transaction: WorkingTransaction, event: Event) -> None:
        led_to = {one.event_id: one.memory_ids for one in event.message.led_to}
        transaction.acknowledge(event.user, event.message.event_ids, led_to)

    def _mark_feedback(self, transaction: WorkingTransaction, event: Event) -> None:
        try:
            judged = uuid.UUID(event.message.message_id)
        except ValueError:
            # Feedback may judge a message that was never ours.
            return
        transaction.mark_feedback(event.user, judged.bytes, event.global_sequence)

    def _sweep(self, transaction: WorkingTransaction, event: Event) -> None:
        """By the broker's clock, like the receipts that it is compared with."""
        now_us = event.received_us
        swept = transaction.sweep(sweep_bounds(now_us, self._retention))
        transaction.drop_idle_buffers(now_us - self._buffer_idle_us)
        for user, lost in sorted(swept.unreplayed.items()):
            remaining = iter(lost)
            ordinal = 0
            while some := list(islice(remaining, REPORTED_AT_ONCE)):
                report = working_pb2.ExpiredUnreplayed(user_id=user, event_ids=some, at_us=now_us)
                _announce(transaction, event, report, f"expired_unreplayed/{user}", user, ordinal)
                ordinal += 1
        if event.message.firing_id:
            finished = sleep_pb2.JobFinished(
                firing_id=event.message.firing_id, outcome="done", detail=f"{swept.expired} expired"
            )
            _announce(transaction, event, finished, "finished")


def build(ports: Ports) -> WorkingHandlers:
    """The handlers on the home's store."""
    settings = ports.settings.working
    return WorkingHandlers(LmdbWorkingStore.open(ports.home.store(NAME), ports.vault, settings.map_bytes), settings)


def _announce(
    transaction: WorkingTransaction, cause: Event, message: Message, purpose: str, user: str = "", ordinal: int = 0
) -> None:
    record = make_record(
        message,
        event_id=derive_id(cause.event_id, purpose, ordinal),
        occurred_us=cause.received_us,
        user=user,
        causation_id=cause.event_id,
        correlation_id=cause.correlation_id,
        traceparent=cause.traceparent,
    )
    transaction.emit(record)


def _without_ports(answer: Callable[[Event], Message]) -> RequestHandler:
    return lambda event, ports: answer(event)


def _lost(count: int) -> dict[str, object]:
    """What went without a replay: it has happened, so that nothing is broken now."""
    return {
        "detail": f"{count} experiences expired before they were consolidated (counted since this store was made)",
        "mend": "Their records still stand and are found. So that no more go: let nights run (`aico-memory jobs`), or raise "
        "working.hard_cap_hours.",
        "past": True,
    }
