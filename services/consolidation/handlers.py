"""The consolidation's handlers: starts, replayed batches, cancels, and questions about runs."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from aico_memory.contracts.envelope import Event, reply_record
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import bus_pb2, semantic_pb2, sleep_pb2
from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.domain.consolidation.run import FINAL, Batch, Decision, Run, Status, run_identity
from aico_memory.domain.sleep.names import NAMES, REPLAY, require_phases
from aico_memory.errors import AicoMemoryError, InvalidMessage, NotFound
from aico_memory.runtime.ports import Handlers, LinkPort, Ports
from aico_memory.settings.consolidation import ConsolidationSettings
from aico_memory.stores.consolidation.port import ConsolidationLedger, ConsolidationStore
from aico_memory.stores.consolidation.rows import ID_BYTES
from aico_memory.stores.consolidation.sql import SqlConsolidationStore
from services.consolidation.answers import DEFAULT_RUNS, RUNS_MEND, Answers, brief_run, run_named
from services.consolidation.messages import consolidated_record, marked_record, progress_message, progress_record
from services.consolidation.saga import Saga
from services.consolidation.steps import Steps

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

START = topic_of(sleep_pb2.ConsolidationStart).name
REPLAYED = topic_of(semantic_pb2.ExperiencesReplayed).name
SLEPT = topic_of(sleep_pb2.SleepStepDone).name
CANCEL = topic_of(sleep_pb2.ConsolidationCancel).name
JOB_CANCELLED = topic_of(sleep_pb2.JobCancelled).name
MARK = topic_of(sleep_pb2.MarkConsolidated).name
RUNS = topic_of(sleep_pb2.RunsRequest).name
OMITTED = ("consolidation.started", "consolidation.finished", "consolidation.sent", "consolidation.until")


def build(ports: Ports) -> ConsolidationHandlers:
    """The consolidation on its encrypted store."""
    key = ports.vault.store_key("consolidation")
    store = SqlConsolidationStore.open(ports.home.store("consolidation") / "consolidation.db", key)
    return ConsolidationHandlers(store, ports.link, ports.settings.consolidation, ports.log)


class ConsolidationHandlers(Handlers):
    """Applies events to the ledger; the saga goes on between them."""

    name = "consolidation"
    topics: Sequence[str] = (START, REPLAYED, SLEPT, CANCEL, JOB_CANCELLED, MARK)

    def __init__(
        self,
        store: ConsolidationStore,
        link: LinkPort,
        settings: ConsolidationSettings,
        log: FilteringBoundLogger,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.state = store.state
        answers = Answers(store, link, settings)
        self.requests = {
            RUNS: answers.runs,
            topic_of(sleep_pb2.SleepStatusRequest).name: answers.status,
            topic_of(sleep_pb2.PendingRequest).name: answers.pending,
            topic_of(sleep_pb2.EstimateRequest).name: answers.estimate,
        }
        self._store = store
        self._link = link
        self._log = log
        self._settings = settings
        self._saga = Saga(store, link, settings, monotonic, log)
        self._progress: list[OutgoingRecord] = []

    def apply(self, transaction: Any, event: Event) -> None:
        ledger = self._store.within(transaction)
        if event.topic == START:
            self._start(ledger, transaction, event)
        elif event.topic == REPLAYED:
            self._replayed(ledger, transaction, event)
        elif event.topic == SLEPT:
            self._slept(ledger, transaction, event)
        elif event.topic in (CANCEL, JOB_CANCELLED):
            self._cancel(ledger, transaction, event)
        elif event.topic == MARK:
            self._mark(ledger, transaction, event)

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
            "phases": list(NAMES),
        }

    def export(self, user: str, after: str, limit: int) -> bus_pb2.ExportPage:
        """One line an experience in the order of its replay, and one a step: how a replay was cut does not show."""
        try:
            start = None if not after else _opened(after)
        except ValueError as error:
            raise InvalidMessage(f"{after!r} is no place in this export") from error
        with self._store.reading() as ledger:
            found = ledger.batches(user, start, limit)
        lines = [line for run_id, batch in found for line in export_lines(run_id, batch)]
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
        try:
            require_phases(run.phases)
        except InvalidMessage as error:
            # Not a dead letter: whoever fired it waits for the end of the run.
            self._steps(ledger, transaction, run).finish_run(Status.FAILED, str(error), received_us)

    def _replayed(self, ledger: ConsolidationLedger, transaction: Any, event: Event) -> None:
        message = event.message
        run, batch = _sent(ledger, message.run_id, message.user_id, REPLAY, message.batch)
        if run is None or batch is None:
            self._log.info("replay_report_ignored", run_id=message.run_id, batch=message.batch)
            return
        now_us = event.received_us or event.occurred_us
        # Also where the run has ended meanwhile: the experiences are replayed, so they are acknowledged.
        transaction.emit(consolidated_record(run, batch, message.led_to, now_us))
        done = replace(batch, memories=len(message.memory_ids), unknown=message.unknown)
        self._reported(ledger, transaction, run, done, "", now_us)

    def _slept(self, ledger: ConsolidationLedger, transaction: Any, event: Event) -> None:
        message = event.message
        run, step = _sent(ledger, message.run_id, message.user_id, message.phase, message.number)
        if run is None or step is None:
            self._log.info("sleep_report_ignored", run_id=message.run_id, phase=message.phase, number=message.number)
            return
        samples = tuple(_decision(one) for one in message.samples[: self._settings.samples])
        done = replace(step, counts=dict(message.counts), samples=samples, error=message.error)
        self._reported(ledger, transaction, run, done, message.next, event.received_us or event.occurred_us)

    def _reported(
        self, ledger: ConsolidationLedger, transaction: Any, run: Run, done: Batch, following: str, now_us: int
    ) -> None:
        """Write a report down, and go on at once where that needs nobody else."""
        steps = self._steps(ledger, transaction, run)
        goes_on = run.status is Status.ACTIVE
        steps.report(done, now_us, following if goes_on else "")
        part = ledger.user(run.run_id, done.user)
        if part is None:
            return
        if goes_on:
            part = steps.lead_on(done.user, now_us, heavy=done.phase != REPLAY)
        amounts = ledger.amounts(run.run_id, done.user, done.phase)
        phase = ledger.phase(run.run_id, done.user, done.phase)
        if done.phase == REPLAY and phase is not None:
            told, total = amounts.experiences_done, phase.experiences
        else:
            told, total = amounts.batches_done, 0
        users = ledger.user_counts(run.run_id)
        self._progress.append(progress_record(progress_message(run, part, done, told, total, users), run, now_us))

    def _cancel(self, ledger: ConsolidationLedger, transaction: Any, event: Event) -> None:
        """End a run by hand, or the run of a firing that has taken too long; the step under way is still applied."""
        message = event.message
        run_id = getattr(message, "run_id", "")
        if run_id:
            run = run_named(ledger, run_id)
        else:
            run = ledger.run_of(message.firing_id) if message.firing_id else ledger.current()
        answer: sleep_pb2.Run | AicoMemoryError
        if run is None or run.status in FINAL:
            self._log.info("cancel_ignored", run_id=run_id or message.firing_id)
            answer = _nothing_to_cancel(run, run_id or message.firing_id)
        else:
            reason = message.reason or "Cancelled by hand"
            self._steps(ledger, transaction, run).finish_run(Status.CANCELLED, reason, event.received_us or event.occurred_us)
            answer = brief_run(ledger, ledger.run(run.run_id) or run)
        if event.reply_to:
            transaction.emit(reply_record(event, answer))

    def _mark(self, ledger: ConsolidationLedger, transaction: Any, event: Event) -> None:
        """Tell working memory that these may expire without a replay."""
        ids = event.message.event_ids
        wrong = [one for one in ids if len(one) != ID_BYTES]
        if ids and not wrong:
            transaction.emit(marked_record(event))
        if event.reply_to:
            refusal = InvalidMessage(f"{wrong[0]!r} is no event id: it has {ID_BYTES} bytes") if wrong else None
            transaction.emit(reply_record(event, refusal or sleep_pb2.Marked(experiences=len(ids))))

    def _steps(self, ledger: ConsolidationLedger, transaction: Any, run: Run) -> Steps:
        return Steps(ledger, transaction, run, self._settings)


def _nothing_to_cancel(run: Run | None, named: str) -> NotFound:
    if run is not None:
        return NotFound(f"The run {run.run_id} has ended already: {run.status.value}", RUNS_MEND)
    return NotFound(f"There is no run {named}" if named else "No run is at work, and none waits", RUNS_MEND)


def _sent(ledger: ConsolidationLedger, run_id: str, user: str, phase: str, number: int) -> tuple[Run | None, Batch | None]:
    """The run and its batch or step that a report is about, where it is still under way."""
    run = run_named(ledger, run_id)
    batch = ledger.batch(run.run_id, user, phase, number) if run is not None else None
    return run, batch if batch is not None and batch.status is Status.ACTIVE else None


def _decision(sample: sleep_pb2.PhaseSample) -> Decision:
    return Decision(sample.memory_id, sample.decision, sample.rule, sample.detail, tuple(sample.others))


def export_lines(run_id: uuid.UUID, batch: Batch) -> list[str]:
    """The canonical lines of one batch or step."""
    common = {"section": "consolidation", "run": str(run_id), "user": batch.user, "phase": batch.phase}
    if batch.phase != REPLAY:
        step = {
            **common,
            "key": _place(run_id, batch),
            "step": batch.number,
            "status": batch.status.value,
            "counts": dict(batch.counts),
            "error": batch.error,
        }
        return [_json(step)]
    first = int(batch.begins_after or 0)
    return [
        _json(
            {
                **common,
                "key": f"{batch.user}/{run_id}/{REPLAY}/{place:08}",
                "status": batch.status.value,
                "event": str(uuid.UUID(bytes=event_id)),
            }
        )
        for place, event_id in enumerate(batch.event_ids, first)
    ]


def _json(record: Mapping[str, object]) -> str:
    return json.dumps(record, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _place(run_id: uuid.UUID, batch: Batch) -> str:
    return f"{batch.user}/{run_id}/{batch.phase}/{batch.number:08}"


def _opened(place: str) -> tuple[str, bytes, str, int]:
    user, run_id, phase, number = place.rsplit("/", 3)
    return user, uuid.UUID(run_id).bytes, phase, int(number)
