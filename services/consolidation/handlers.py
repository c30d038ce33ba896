"""The consolidation's handlers: starts, replayed batches, cancels, and questions about runs."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import bus_pb2, semantic_pb2, sleep_pb2
from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.domain.consolidation.run import FINAL, Batch, Run, Status, run_identity
from aico_memory.errors import AicoMemoryError, InvalidMessage, NotFound
from aico_memory.runtime.ports import Handlers, LinkPort, Ports
from aico_memory.settings.consolidation import ConsolidationSettings
from aico_memory.stores.consolidation.port import ConsolidationLedger, ConsolidationStore
from aico_memory.stores.consolidation.sql import SqlConsolidationStore
from services.consolidation.messages import consolidated_record, progress_record, run_message
from services.consolidation.saga import PHASES, REPLAY, Saga, finish

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

START = topic_of(sleep_pb2.ConsolidationStart).name
REPLAYED = topic_of(semantic_pb2.ExperiencesReplayed).name
CANCEL = topic_of(sleep_pb2.ConsolidationCancel).name
RUNS = topic_of(sleep_pb2.RunsRequest).name
MAX_RUNS = 1000
DEFAULT_RUNS = 20
OMITTED = ("consolidation.started", "consolidation.finished", "consolidation.sent", "consolidation.until")


def build(ports: Ports) -> ConsolidationHandlers:
    """The consolidation on its encrypted store."""
    key = ports.vault.store_key("consolidation")
    store = SqlConsolidationStore.open(ports.home.store("consolidation") / "consolidation.db", key)
    return ConsolidationHandlers(store, ports.link, ports.settings.consolidation, ports.log)


class ConsolidationHandlers(Handlers):
    """Applies events to the ledger; the saga goes on between them."""

    name = "consolidation"
    topics: Sequence[str] = (START, REPLAYED, CANCEL)

    def __init__(
        self,
        store: ConsolidationStore,
        link: LinkPort,
        settings: ConsolidationSettings,
        log: FilteringBoundLogger,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.state = store.state
        self.requests = {RUNS: self._answer_runs}
        self._store = store
        self._link = link
        self._log = log
        self._saga = Saga(store, link, settings, monotonic, log)
        self._progress: list[OutgoingRecord] = []

    def apply(self, transaction: Any, event: Event) -> None:
        ledger = self._store.within(transaction)
        if event.topic == START:
            self._start(ledger, transaction, event)
        elif event.topic == REPLAYED:
            self._replayed(ledger, transaction, event)
        elif event.topic == CANCEL:
            self._cancel(ledger, transaction, event)

    def after_commit(self) -> None:
        self._saga.changed()
        waiting, self._progress = self._progress, []
        for record in waiting:
            try:
                self._link.send(record)
            except AicoMemoryError as error:
                self._log.debug("progress_lost", code=error.code)

    def idle(self, now_us: int) -> None:
        self._saga.step(now_us)

    def status(self) -> dict[str, object]:
        with self._store.reading() as ledger:
            run = ledger.current()
            last = next((one for one in ledger.runs(DEFAULT_RUNS) if one.status in FINAL), None)
            counts = ledger.user_counts(run.run_id) if run else {}
            totals = ledger.totals(run.run_id) if run else []
        return {
            "run": str(run.run_id) if run else None,
            "status": run.status.value if run else "idle",
            "users": {status.value: count for status, count in counts.items()},
            "experiences": sum(total.experiences for total in totals),
            "replayed": sum(total.replayed for total in totals),
            "last_run": {"run": str(last.run_id), "status": last.status.value, "error": last.error} if last else None,
            "phases": [phase.name for phase in PHASES],
        }

    def export(self, user: str, after: str, limit: int) -> bus_pb2.ExportPage:
        """One line a finished or running batch: which experiences went in which order, and what they led to."""
        try:
            start = None if not after else _opened(after)
        except ValueError as error:
            raise InvalidMessage(f"{after!r} is no place in this export") from error
        with self._store.reading() as ledger:
            found = ledger.batches(user, start, limit)
        lines = [_line(run_id, batch) for run_id, batch in found]
        following = _place(found[-1][0], found[-1][1]) if len(found) == limit else ""
        return bus_pb2.ExportPage(lines=lines, next=following, omitted=OMITTED)

    def close(self) -> None:
        self._store.close()

    def _start(self, ledger: ConsolidationLedger, transaction: Any, event: Event) -> None:
        message = event.message
        received_us = event.received_us or event.occurred_us
        run = Run(
            run_identity(message.firing_id, event.event_id),
            message.firing_id,
            Status.WAITING,
            message.shard,
            # What was received in the same microsecond is told apart by its place in the order.
            until_us=received_us + 1,
            sequence=event.global_sequence,
            user_ids=tuple(message.user_ids),
            phases=tuple(message.phases),
            manual=message.manual,
        )
        if not ledger.add_run(run):
            self._log.info("start_repeated", run_id=str(run.run_id))
            return
        unknown = sorted(set(run.phases) - {phase.name for phase in PHASES})
        if unknown:
            error = f"There is no phase {unknown[0]!r}; there is: {', '.join(phase.name for phase in PHASES)}"
            finish(ledger, transaction, run, Status.FAILED, error, received_us)

    def _replayed(self, ledger: ConsolidationLedger, transaction: Any, event: Event) -> None:
        message = event.message
        run = _run_named(ledger, message.run_id)
        batch = ledger.batch(run.run_id, message.user_id, REPLAY, message.batch) if run else None
        if run is None or batch is None or batch.status is Status.DONE:
            self._log.info("replay_report_ignored", run_id=message.run_id, batch=message.batch, known=batch is not None)
            return
        now_us = event.received_us or event.occurred_us
        done = replace(batch, status=Status.DONE, memories=len(message.memory_ids), unknown=message.unknown, finished_us=now_us)
        ledger.put_batch(run.run_id, done)
        # Also where the run has ended meanwhile: the experiences are replayed, so they are acknowledged.
        transaction.emit(consolidated_record(run, done, now_us))
        self._announce(ledger, run, done, now_us)

    def _cancel(self, ledger: ConsolidationLedger, transaction: Any, event: Event) -> None:
        named = event.message.run_id
        run = _run_named(ledger, named) if named else ledger.current()
        if run is None or run.status in FINAL:
            self._log.info("cancel_ignored", run_id=named)
            return
        finish(ledger, transaction, run, Status.CANCELLED, "Cancelled by hand", event.received_us or event.occurred_us)

    def _announce(self, ledger: ConsolidationLedger, run: Run, batch: Batch, now_us: int) -> None:
        phase = ledger.phase(run.run_id, batch.user, batch.phase)
        first = ledger.batch(run.run_id, batch.user, batch.phase, 0)
        if phase is not None and first is not None:
            done = batch.number * len(first.event_ids) + len(batch.event_ids)
            self._progress.append(progress_record(run, batch, done, phase.experiences, now_us))

    def _answer_runs(self, event: Event, ports: Ports) -> sleep_pb2.RunsPage:
        request = event.message
        with self._store.reading() as ledger:
            if request.run_id or request.firing_id:
                run = _run_named(ledger, request.run_id) if request.run_id else ledger.run_of(request.firing_id)
                if run is None:
                    raise NotFound(f"There is no run {request.run_id or 'of the firing ' + request.firing_id}")
                runs = [run]
            else:
                runs = ledger.runs(min(request.limit or DEFAULT_RUNS, MAX_RUNS))
            found = [run_message(run, ledger.user_counts(run.run_id), ledger.totals(run.run_id)) for run in runs]
        # Whoever hears "complete" may rely on working memory having been told: a run whose last words are still on
        # their way to the bus goes on.
        if self.state.outgoing(1):
            for run_shown in found:
                if run_shown.status == Status.DONE.value:
                    run_shown.status = Status.ACTIVE.value
        return sleep_pb2.RunsPage(runs=found)


def _run_named(ledger: ConsolidationLedger, run_id: str) -> Run | None:
    try:
        return ledger.run(uuid.UUID(run_id))
    except ValueError:
        return None


def _line(run_id: uuid.UUID, batch: Batch) -> str:
    record = {
        "section": "consolidation",
        "key": _place(run_id, batch),
        "run": str(run_id),
        "user": batch.user,
        "phase": batch.phase,
        "batch": batch.number,
        "status": batch.status.value,
        "events": [str(uuid.UUID(bytes=event_id)) for event_id in batch.event_ids],
        "memories": batch.memories,
        "unknown": batch.unknown,
    }
    return json.dumps(record, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _place(run_id: uuid.UUID, batch: Batch) -> str:
    return f"{batch.user}/{run_id}/{batch.phase}/{batch.number:08}"


def _opened(place: str) -> tuple[str, bytes, str, int]:
    user, run_id, phase, number = place.rsplit("/", 3)
    return user, uuid.UUID(run_id).bytes, phase, int(number)
