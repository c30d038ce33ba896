"""The life of one worker: receive, apply, publish, report, answer, until it is told to stop."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

import psutil
from google.protobuf.message import Message

from aico_memory.contracts.envelope import Event, make_record
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import bus_pb2
from aico_memory.contracts.wire import StampedRecord
from aico_memory.errors import AicoMemoryError, JournalLost
from aico_memory.ids import new_id
from aico_memory.runtime.answers import Answer, Answers
from aico_memory.runtime.inbox import Inbox
from aico_memory.runtime.naming import under_one_name
from aico_memory.runtime.outbox import Outbox
from aico_memory.runtime.paging import fitting, half_of
from aico_memory.runtime.ports import Handlers, Ports, RequestHandler
from aico_memory.runtime.watchdog import Watch, unwatched

if TYPE_CHECKING:
    from aico_memory.runtime.ports import ConsumerPort, SubscriptionPort

STATUS_TOPIC = topic_of(bus_pb2.WorkerStatusRequest).name
EXPORT_TOPIC = topic_of(bus_pb2.ExportRequest).name
AGAIN_TOPIC = topic_of(bus_pb2.AnswerAgain).name
MAX_EXPORT_LINES = 1000
ID_BYTES = 16


class WorkerLoop:
    """Runs one worker's handlers on a started link; `run` returns when `stop` is set and all is drained."""

    def __init__(
        self,
        handlers: Handlers,
        ports: Ports,
        stop: threading.Event,
        progress: threading.Event,
        watch: Watch = unwatched,
    ) -> None:
        self._handlers = handlers
        self._ports = ports
        self._settings = ports.settings.runtime
        self._stop = stop
        self._progress = progress
        self._check_epoch()
        log = ports.log
        self._name = partial(under_one_name, identity=ports.settings.identity)
        self._outbox = Outbox(
            handlers, ports.link, self._settings, log, ports.clock.now_us, lambda: self._inbox.applied, progress.set
        )
        self._inbox = Inbox(handlers, ports.link.epoch, self._settings, log, ports.clock.now_us, stop, self._name,
                            ports.read_only, self._outbox.hand_over, watch, self._outbox.answer_early)  # fmt: skip
        settings = self._settings
        self._most_bytes = ports.settings.bus.reply_bytes
        self._answers = Answers(
            self._all_answers(), ports.link, settings.threads_of(handlers.name), settings.request_queue, log, self._most_bytes,
            ports.courtesy, self._inbox.wait_standing,
        )  # fmt: skip
        # What the loop itself has seen: from then on nothing is applied.
        self._read_only = False
        self._process = psutil.Process()
        self._closed = threading.Event()
        self._reporter = threading.Thread(target=self._report_progress, name="reports", daemon=True)

    def run(self, ready: Callable[[], None]) -> None:
        """Work until told to stop; calls `ready` once what stood in the journal at the start is applied."""
        link = self._ports.link
        topics = tuple(self._handlers.topics)
        subscription = link.subscribe(sorted(self._all_answers()), self._answers.deliver)
        consumer = link.consume(topics, link.epoch, self._inbox.applied) if topics else None
        self._outbox.start()
        self._reporter.start()
        try:
            if consumer is None:
                ready()
                self._wait()
            else:
                self._consume(consumer, self._target(topics), ready)
        finally:
            self._drain(subscription, consumer)

    def status(self) -> dict[str, object]:
        """What the runtime knows of this worker, with the handlers' own words."""
        own = self._handlers.status()
        return {
            "pid": os.getpid(),
            "applied": self._inbox.applied,
            "settled": self._settled(),
            "outbox": self._outbox.waiting,
            "dead_letters": self._inbox.dead_letters,
            "read_only": self._read_only,
            "refused": self._outbox.refused,
            "requests": {
                "answered": self._answers.answered, "expired": self._answers.expired, "failed": self._answers.failed,
            },
            "resident_bytes": self._process.memory_info().rss,
            **own,
            "alarms": [*self._stands_still(), *_alarms_of(own)],
        }  # fmt: skip

    def _stands_still(self) -> list[str]:
        work = self._inbox.work
        seconds = monotonic() - work.since if work is not None else 0.0
        if work is None or seconds < self._settings.slow_seconds:
            return []
        others = f" and {work.records - 1} more" if work.records > 1 else ""
        return [f"has been applying {work.first}{others} for {seconds:.0f} s"]

    def _check_epoch(self) -> None:
        epoch, cursor = self._handlers.state.cursor()
        current = self._ports.link.epoch
        if cursor and epoch != current:
            raise JournalLost(
                f"The store of {self._handlers.name} follows the journal {epoch:x}, but the broker has {current:x}",
                "Restore journal and stores from the same backup, or replay a recording into an empty home.",
            )

    def _target(self, topics: tuple[str, ...]) -> int:
        """Global sequence of the last record that stands in the journal for these topics now."""
        answer = self._ports.link.control("consumers", {}).result(timeout=30.0)
        heads = answer.get("topics", {})
        return max((int(heads[topic][0]) for topic in topics if topic in heads), default=0)

    def _consume(self, consumer: ConsumerPort, target: int, ready: Callable[[], None]) -> None:
        idle = self._settings.idle_ms / 1000
        waiting_for_ready = True
        next_idle = monotonic()
        # What was received when all writing was stopped.
        held: list[StampedRecord] = []
        while not self._stop.is_set():
            stopped = self._writing_stopped()
            # Retention may have removed the last record of a topic: then nothing arrives up to the target.
            if waiting_for_ready and (stopped or self._inbox.applied >= target or consumer.caught_up):
                ready()
                waiting_for_ready = False
            if stopped:
                self._stop.wait(idle)
                continue
            records = held or consumer.receive(self._settings.batch_records, idle)
            if records:
                held = [] if self._inbox.apply(records) else records
                self._progress.set()
            if monotonic() >= next_idle:
                self._idle()
                next_idle = monotonic() + idle

    def _wait(self) -> None:
        while not self._stop.wait(self._settings.idle_ms / 1000):
            if not self._writing_stopped():
                self._idle()

    def _writing_stopped(self) -> bool:
        before, self._read_only = self._read_only, self._ports.read_only()
        if before is not self._read_only:
            self._ports.log.warning("read_only", on=self._read_only)
            if before:
                # What follows the effects may have rested as well.
                self._handlers.after_commit()
        return self._read_only

    def _idle(self) -> None:
        try:
            self._handlers.idle(self._ports.clock.now_us())
            self._handlers.state.forget_settled()
        except AicoMemoryError as error:
            self._ports.log.warning("idle_failed", code=error.code, detail=error.detail)
        self._outbox.wake()

    def _drain(self, subscription: SubscriptionPort, consumer: ConsumerPort | None) -> None:
        if consumer is not None:
            consumer.close()
        subscription.close()
        self._answers.close()
        drained = self._outbox.close(self._settings.drain_seconds)
        self._closed.set()
        self._progress.set()
        self._reporter.join()
        if not drained:
            self._ports.log.warning("outbox_left", records=self._outbox.waiting)
        self._handlers.close()

    def _settled(self) -> int:
        return min(self._handlers.settled(self._inbox.applied), self._outbox.settled)

    def _report_progress(self) -> None:
        """Tell the broker how far this worker is, when that changes, and a heartbeat in between."""
        reported: tuple[int, int, int] | None = None
        last = 0.0
        while not self._closed.is_set():
            self._progress.wait(self._settings.heartbeat_seconds)
            self._progress.clear()
            try:
                now = monotonic()
                state = (self._inbox.applied, self._settled(), self._outbox.waiting)
                due = now - last >= self._settings.heartbeat_seconds
                if state != reported or due:
                    self._report(*state)
                    reported = state
                if due:
                    self._beat()
                    last = now
            except AicoMemoryError as error:
                self._ports.log.info("report_lost", code=error.code)
            except Exception:
                # Without reports nobody would know how far this worker is: this thread outlives a fault of its handlers.
                self._ports.log.warning("report_failed", exc_info=True)
            self._closed.wait(self._settings.report_ms / 1000)

    def _report(self, applied: int, settled: int, outbox: int) -> None:
        body = {
            "consumer": self._handlers.name, "topics": list(self._handlers.topics),
            "applied": applied, "settled": settled, "outbox": outbox,
        }  # fmt: skip
        if self._handlers.topics:
            self._ports.link.control("report", body).add_done_callback(_forget)

    def _beat(self) -> None:
        now = self._ports.clock.now_us()
        beat = bus_pb2.Heartbeat(
            process=self._handlers.name,
            pid=os.getpid(),
            state="draining" if self._stop.is_set() else "running",
            cursor=self._inbox.applied,
            outbox=self._outbox.waiting,
            resident_bytes=self._process.memory_info().rss,
            at_us=now,
        )
        self._ports.link.send(make_record(beat, event_id=new_id(now), occurred_us=now))

    def _all_answers(self) -> Mapping[str, Answer]:
        answers: dict[str, Answer] = {
            STATUS_TOPIC: self._answer_status, EXPORT_TOPIC: self._answer_export, AGAIN_TOPIC: self._answer_again,
        }  # fmt: skip
        for topic, handler in self._handlers.requests.items():
            answers[topic] = self._bound(handler)
        return answers

    def _bound(self, handler: RequestHandler) -> Answer:
        return lambda event: handler(self._name(event), self._ports)

    def _answer_status(self, event: Event) -> Message | None:
        if event.message.process != self._handlers.name:
            return None
        return bus_pb2.WorkerStatus(process=self._handlers.name, detail_json=json.dumps(self.status(), default=str))

    def _answer_again(self, event: Event) -> None:
        if len(event.message.event_id) == ID_BYTES:
            self._outbox.send_again(uuid.UUID(bytes=event.message.event_id))

    def _answer_export(self, event: Event) -> Message | None:
        request = event.message
        if request.process != self._handlers.name:
            return None
        limit = min(request.limit or MAX_EXPORT_LINES, MAX_EXPORT_LINES)
        page = fitting(partial(self._handlers.export, request.user_id, request.after), limit, self._most_bytes)
        for place, line in enumerate(page.lines):
            if len(line.encode()) > half_of(self._most_bytes):
                page.lines[place] = digest_line(line)
        return page


def _alarms_of(status: Mapping[str, object]) -> list[object]:
    alarms = status.get("alarms")
    return list(alarms) if isinstance(alarms, list | tuple) else []


def digest_line(line: str) -> str:
    """What stands for a line that no answer carries: two exports can still be told apart by it."""
    content = json.loads(line)
    short = {name: content[name] for name in ("section", "key") if name in content}
    data = line.encode()
    return json.dumps({**short, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}, sort_keys=True)


def _forget(future: Future[Any]) -> None:
    if not future.cancelled():
        future.exception()
