"""Working memory, semantic memory and the bus as a run sees them, in memory, with a switch that kills the process."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import structlog

from aico_memory.contracts.envelope import Event, open_record
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import semantic_pb2, sleep_pb2, working_pb2
from aico_memory.contracts.wire import OutgoingRecord, StampedRecord
from aico_memory.errors import AicoMemoryError, BusUnavailable, InvalidMessage
from aico_memory.ids import derive_id
from aico_memory.settings.consolidation import ConsolidationSettings
from aico_memory.stores.consolidation.port import ConsolidationStore
from aico_memory.stores.consolidation.twin import MemoryConsolidationStore
from services.consolidation.handlers import RUNS, ConsolidationHandlers

START_US = 1_790_000_000_000_000
SECOND = 1_000_000
WORKING_TOPICS = ("memory/working/message/v1/", "memory/working/consolidated/v1/")


class Killed(BaseException):
    """kill -9, at a moment that a test chose."""


class Sleepers:
    """Long-term memory as phases see it: so many items a user; each phase changes each item once, two a step.

    `errors` leaves the first step of a phase untaken; like the real one it tells where the next one begins.
    """

    STEP = 2

    def __init__(self) -> None:
        self.items: dict[str, int] = {}
        self.steps: list[sleep_pb2.SleepStep] = []
        self.changed: set[tuple[str, str, int]] = set()
        self.errors: dict[str, str] = {}
        self.importance: dict[bytes, float] = {}

    def page(self, message: sleep_pb2.SleepersRequest) -> sleep_pb2.SleepersPage:
        named = sorted(message.user_ids) or sorted(user for user in self.items if user > message.after)
        shown = named[: message.limit or None]
        users = [
            sleep_pb2.Sleeper(user_id=user, active=self.items.get(user, 0), shares={"tier.episodic": self.items.get(user, 0)})
            for user in shown
        ]
        return sleep_pb2.SleepersPage(users=users, next=shown[-1] if len(shown) < len(named) else "")

    def importance_of(self, message: sleep_pb2.ImportanceRequest) -> sleep_pb2.ImportancePage:
        values = [self.importance.get(one, 0.0) for one in message.event_ids]
        return sleep_pb2.ImportancePage(importance=values, questions=message.questions if self.importance else 0)

    def step(self, step: sleep_pb2.SleepStep) -> sleep_pb2.SleepStepDone:
        self.steps.append(step)
        done = sleep_pb2.SleepStepDone(run_id=step.run_id, user_id=step.user_id, phase=step.phase, number=step.number)
        start = int(step.after or 0)
        if start + self.STEP < self.items.get(step.user_id, 0):
            done.next = str(start + self.STEP)
        if not step.after and step.phase in self.errors:
            done.error = self.errors[step.phase]
            return done
        seen = range(start, min(start + self.STEP, self.items.get(step.user_id, 0)))
        fresh = {(step.user_id, step.phase, item) for item in seen} - self.changed
        self.changed |= fresh
        done.counts.update({"seen": len(seen), "changed": len(fresh)})
        for _, _, item in sorted(fresh):
            memory_id = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{step.user_id}/{item}"))
            done.samples.add(memory_id=memory_id, decision=step.phase, rule="each item once", others=[memory_id])
        return done


class World:
    """Everything around the handlers; `settle` lets it all run until nothing moves."""

    def __init__(self, store: Any = None, settings: ConsolidationSettings | None = None) -> None:
        self.store: ConsolidationStore = store or MemoryConsolidationStore()
        self.settings = settings or ConsolidationSettings(batch_size=3, page_size=2)
        self.now_us = START_US
        self.ticks = 0.0
        self.sequence = 0
        self.heads: dict[str, list[int]] = {}
        self.held: dict[bytes, working_pb2.StoredMessage] = {}
        self.working_applied: int | None = None
        self.silent = 0
        self.published: dict[bytes, Any] = {}
        self.sleepers = Sleepers()
        self.semantic_settled: int | None = None
        self.asked: list[Any] = []
        self.replays: list[semantic_pb2.ReplayExperiences] = []
        self.inbox: list[Event] = []
        self.deferred: list[Event] = []
        self.most_users_at_work = 0
        self.ephemeral: list[OutgoingRecord] = []
        self.hold_replays = False
        self.fuse = -1
        self._arm()
        self.start_process()

    # The process and its death.

    def start_process(self) -> None:
        self.handlers = ConsolidationHandlers(self.store, self, self.settings, structlog.get_logger(), lambda: self.ticks)  # type: ignore[arg-type]

    def _arm(self) -> None:
        """Let a transaction die before its commit, or just after it, when the fuse has burnt down."""
        begin = self.store.state.transaction

        @contextmanager
        def transaction() -> Iterator[Any]:
            with begin() as opened:
                yield opened
                self._burn()
            self._burn()

        self.store.state.transaction = transaction  # type: ignore[method-assign]

    def _burn(self) -> None:
        if self.fuse == 0:
            self.fuse = -1
            raise Killed
        self.fuse -= self.fuse > 0

    # The bus.

    def place(self, topic: str) -> int:
        self.sequence += 1
        self.heads[topic] = [self.sequence, self.heads.get(topic, [0, 0])[1] + 1]
        return self.sequence

    def say(self, user: str, number: int, *, feedback: bool = False, received_us: int = 0) -> bytes:
        """A message that working memory holds as pending."""
        event_id = uuid.uuid5(uuid.NAMESPACE_OID, f"{user}/{number}").bytes
        self.held[event_id] = working_pb2.StoredMessage(
            event_id=event_id,
            user_id=user,
            content=f"message {number}",
            received_at_us=received_us or self.now_us,
            has_feedback=feedback,
            sequence=self.place(WORKING_TOPICS[0]),
        )
        return event_id

    def event(self, message: Any, event_id: uuid.UUID | None = None) -> Event:
        topic = topic_of(message).name
        place = self.place(topic)
        return Event(event_id or uuid.UUID(int=place), topic, "", message, global_sequence=place, received_us=self.now_us)

    def start(self, firing_id: str = "", **more: Any) -> None:
        self.inbox.append(self.event(sleep_pb2.ConsolidationStart(firing_id=firing_id, **more)))

    def cancel(self, run_id: str = "") -> None:
        self.inbox.append(self.event(sleep_pb2.ConsolidationCancel(run_id=run_id)))

    def send(self, record: OutgoingRecord) -> None:
        self.ephemeral.append(record)

    def request(self, message: Any, *, user: str = "", timeout: float = 5.0, event_id: Any = None) -> Future[Any]:
        self.asked.append(message)
        answers: dict[type[Any], Any] = {
            working_pb2.PendingUsersRequest: self._users,
            working_pb2.ExperiencesRequest: self._experiences,
            sleep_pb2.SleepersRequest: self.sleepers.page,
            sleep_pb2.ImportanceRequest: self.sleepers.importance_of,
        }
        return self._later(lambda: answers[type(message)](message))

    def control(self, verb: str, body: dict[str, Any]) -> Future[dict[str, Any]]:
        assert verb == "consumers"
        applied = self.sequence if self.working_applied is None else self.working_applied
        settled = self.sequence if self.semantic_settled is None else self.semantic_settled
        consumers = [
            {"name": "working", "topics": list(WORKING_TOPICS), "applied": applied, "settled": applied},
            {"name": "semantic", "topics": [WORKING_TOPICS[0]], "applied": settled, "settled": settled},
        ]
        return self._later(lambda: {"consumers": consumers, "topics": self.heads})

    def _later(self, answer: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if self.silent:
            self.silent -= 1
            if self.silent % 2:
                raise BusUnavailable("Nobody there")
            future.set_exception(BusUnavailable("Nobody answers"))
            return future
        try:
            future.set_result(answer())
        except AicoMemoryError as error:
            future.set_exception(error)
        return future

    def _pending(self) -> list[working_pb2.StoredMessage]:
        return sorted(
            (one for one in self.held.values() if not one.consolidated), key=lambda one: (one.received_at_us, one.sequence)
        )

    def _users(self, message: working_pb2.PendingUsersRequest) -> working_pb2.PendingUsers:
        pending = self._pending()
        users = sorted({one.user_id for one in pending if one.user_id > message.after})[: message.limit]
        if message.user_id:
            users = [user for user in users if user == message.user_id]
        return working_pb2.PendingUsers(
            users=[
                working_pb2.PendingUser(
                    user_id=user,
                    pending=sum(one.user_id == user for one in pending),
                    oldest_us=min(one.received_at_us for one in pending if one.user_id == user),
                )
                for user in users
            ]
        )

    def _experiences(self, message: working_pb2.ExperiencesRequest) -> working_pb2.MessagePage:
        mine = [one for one in self._pending() if one.user_id == message.user_id and one.received_at_us < message.until_us]
        ids = [one.event_id for one in mine]
        start = ids.index(message.after_event_id) + 1 if message.after_event_id else 0
        page = mine[start : start + message.limit]
        # An answer may be cut below the limit by its size.
        shorter = page[:1] if len(page) > 1 else page
        return working_pb2.MessagePage(messages=shorter, cut=len(shorter) < len(page))

    # Time passes.

    def apply(self, event: Event) -> None:
        with self.store.state.transaction() as transaction:
            self.handlers.apply(transaction, event)
        self.handlers.after_commit()

    def turn(self) -> bool:
        """One round of the worker: apply, go on, publish, and what the others make of it; False where nothing moved."""
        moved = False
        while self.inbox:
            self.apply(self.inbox[0])
            self.inbox.pop(0)
            moved = True
        self.handlers.idle(self.now_us)
        self.ticks += 1.0
        with self.store.reading() as ledger:
            run = ledger.current()
            if run is not None:
                self.most_users_at_work = max(self.most_users_at_work, len(ledger.views(run.run_id)))
        for record in self.store.state.outgoing(1000):
            self._publish(record)
            self.store.state.settle_outgoing([record.event_id])
            moved = True
        return moved

    def settle(self, turns: int = 2000) -> None:
        """Run until nothing has moved for a while."""
        still = 0
        for _ in range(turns):
            still = 0 if self.turn() else still + 1
            if still > 20:
                return
        raise AssertionError("The run does not come to rest")

    def _publish(self, record: OutgoingRecord) -> None:
        if record.event_id in self.published:
            return
        stamped = StampedRecord(record.topic, record.event_id, record.user, record.envelope, "consolidation", 1, 1, self.now_us)
        message = open_record(stamped).message
        self.published[record.event_id] = message
        self.place(record.topic)
        if isinstance(message, semantic_pb2.ReplayExperiences):
            self.replays.append(message)
            (self.deferred if self.hold_replays else self.inbox).append(self.replayed(message))
        elif isinstance(message, sleep_pb2.SleepStep):
            done = self.event(self.sleepers.step(message), derive_id(uuid.UUID(bytes=record.event_id), "done"))
            (self.deferred if self.hold_replays else self.inbox).append(done)
        elif isinstance(message, working_pb2.Consolidated):
            led = {one.event_id: one.memory_ids for one in message.led_to}
            for event_id in message.event_ids:
                if event_id not in self.held:
                    raise InvalidMessage("Working memory does not hold this")
                self.held[event_id].consolidated = True
                self.held[event_id].memory_ids[:] = led.get(event_id, ())

    def replayed(self, message: semantic_pb2.ReplayExperiences, purpose: str = "replayed") -> Event:
        answer = semantic_pb2.ExperiencesReplayed(
            run_id=message.run_id,
            user_id=message.user_id,
            batch=message.batch,
            event_ids=message.event_ids,
            memory_ids=[uuid.UUID(bytes=one).hex for one in message.event_ids],
            led_to=[working_pb2.LedTo(event_id=one, memory_ids=[uuid.UUID(bytes=one).hex]) for one in message.event_ids],
        )
        cause = derive_id(uuid.UUID(message.run_id), f"{purpose}/{message.user_id}", message.batch)
        return self.event(answer, cause)

    # What can be seen from outside.

    def said(self, kind: type[Any]) -> list[Any]:
        return [message for message in self.published.values() if isinstance(message, kind)]

    def runs(self, **request: Any) -> list[sleep_pb2.Run]:
        event = Event(uuid.UUID(int=1), RUNS, "", sleep_pb2.RunsRequest(**request))
        return list(self.handlers.requests[RUNS](event, None).runs)  # type: ignore[arg-type]

    def export(self) -> list[str]:
        lines: list[str] = []
        after = ""
        while True:
            page = self.handlers.export("", after, 2)
            lines += page.lines
            if not page.next:
                return sorted(lines)
            after = page.next

    def pending(self) -> set[bytes]:
        return {one.event_id for one in self._pending()}


def slept(world: World, **items: int) -> list[sleep_pb2.Run]:
    """A night by hand over so many items a user."""
    world.sleepers.items |= items
    world.start("by hand", manual=True)
    world.settle()
    return world.runs()


def ask(world: World, request: Any, user: str = "") -> Any:
    topic = topic_of(type(request)).name
    ports = SimpleNamespace(clock=SimpleNamespace(now_us=lambda: world.now_us))
    return world.handlers.requests[topic](Event(uuid.UUID(int=3), topic, user, request), ports)  # type: ignore[arg-type]
