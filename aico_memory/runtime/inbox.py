"""Applying records: a batch in one transaction, and one by one where something fails."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from aico_memory.contracts.envelope import Event, open_record
from aico_memory.contracts.wire import OutgoingRecord, StampedRecord
from aico_memory.errors import (
    AicoMemoryError,
    BusUnavailable,
    InvalidMessage,
    JournalLost,
    ModelMismatch,
    StorageFull,
    StoreCorrupt,
    WrongKey,
)  # fmt: skip
from aico_memory.ids import derive_id
from aico_memory.runtime.links import OPERATOR
from aico_memory.runtime.poison import answers_of_failure, dead_letter
from aico_memory.runtime.ports import Handlers
from aico_memory.runtime.watchdog import Watch, unwatched
from aico_memory.settings.runtime import RuntimeSettings

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

# Nothing that another attempt in this process could change.
FATAL = (StoreCorrupt, WrongKey, JournalLost, ModelMismatch)
# Longer than any commit that comes to an end; a question that waited so long is answered from what stands.
_STANDING_SECONDS = 5.0
_FULL_TEXTS = ("disk is full", "MDB_MAP_FULL", "No space left")


def is_pressure(error: BaseException) -> bool:
    """Whether the surroundings are at fault, not the record: then it waits, and no attempt is counted."""
    if isinstance(error, (StorageFull, BusUnavailable)):
        return True
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return True
    return any(text in str(error) for text in _FULL_TEXTS)


class Work(NamedTuple):
    """What is being applied: since when by the monotonic clock, how many records, and the first of them."""

    since: float
    records: int
    first: str


class _WritingStopped(Exception):
    """All writing was stopped before these records were: they wait as they are."""


class Inbox:
    """Applies records in order, each with its effects, cursor and outgoing records in one transaction."""

    def __init__(
        self,
        handlers: Handlers,
        epoch: int,
        settings: RuntimeSettings,
        log: FilteringBoundLogger,
        now_us: Callable[[], int],
        stop: threading.Event,
        name: Callable[[Event], Event] = lambda event: event,
        read_only: Callable[[], bool] = lambda: False,
        hand_over: Callable[[Sequence[OutgoingRecord]], None] = lambda emitted: None,
        watch: Watch = unwatched,
        answer_early: Callable[[Sequence[OutgoingRecord]], Sequence[OutgoingRecord]] = lambda emitted: (),
    ) -> None:
        self._handlers = handlers
        self._name = name
        self._epoch = epoch
        self._settings = settings
        self._log = log
        self._now_us = now_us
        self._stop = stop
        self._read_only = read_only
        # Told of what was emitted as soon as it stands.
        self._hand_over = hand_over
        self._watch = watch
        # Sends the answers of a transaction before it stands; which ones went out.
        self._answer_early = answer_early
        self._early: Callable[[Sequence[Event]], bool] = getattr(handlers, "answers_early", lambda events: False)
        self._standing = threading.Event()
        self._standing.set()
        # What is being applied just now.
        self.work: Work | None = None
        self.applied = handlers.state.cursor()[1]
        self.dead_letters = 0
        # The first batch after a start is counted as one attempt: one of its records may have killed the last process.
        self._first = True
        # Optional: only workers that ask others before they apply have it.
        self._prepare: Callable[[Sequence[Event]], None] = getattr(handlers, "prepare", lambda events: None)

    def wait_standing(self) -> None:
        """Whoever has an answer finds what it tells of: wait for the transaction whose answers left before it stood."""
        self._standing.wait(_STANDING_SECONDS)

    def apply(self, records: Sequence[StampedRecord]) -> bool:
        """Apply what is newer than the cursor; False where the worker is told to stop, or all writing is, before the end."""
        try:
            return self._apply(records)
        except _WritingStopped:
            return False

    def _apply(self, records: Sequence[StampedRecord]) -> bool:
        fresh = [record for record in records if record.global_sequence > self.applied]
        if not fresh:
            return True
        self._check_writing()
        mark = derive_id(fresh[0].id, "first batch").bytes if self._first else b""
        suspicious = bool(mark) and self._handlers.state.note_attempt(mark) > 1
        if suspicious or not self._try_together(fresh):
            for record in fresh:
                if self._stop.is_set() or not self._apply_alone(record):
                    return False
        if mark:
            self._handlers.state.forget_attempts(mark)
        self._first = False
        return True

    def _check_writing(self) -> None:
        if self._read_only():
            raise _WritingStopped

    def _try_together(self, records: Sequence[StampedRecord]) -> bool:
        try:
            self._commit([(record, self._open(record)) for record in records])
        except (*FATAL, _WritingStopped):
            raise
        except Exception as error:
            self._log.warning("batch_rolled_back", records=len(records), error=type(error).__name__)
            return False
        return True

    def _apply_alone(self, record: StampedRecord) -> bool:
        """Apply one record or give it up; False where the worker is told to stop first."""
        self._check_writing()
        state = self._handlers.state
        wait_ms = self._settings.retry_first_ms
        attempts = state.note_attempt(record.event_id)
        if attempts > self._settings.max_attempts:
            self._give_up(record, AicoMemoryError("The process died each time it applied this record"), attempts - 1)
            return True
        while True:
            try:
                self._commit([(record, self._open(record))])
            except (*FATAL, _WritingStopped):
                raise
            except Exception as error:
                pressure = is_pressure(error)
                self._log.warning("apply_failed", event_id=str(record.id), topic=record.topic, attempts=attempts,
                                  waiting=pressure, error=type(error).__name__, exc_info=not pressure)  # fmt: skip
                if not pressure and attempts >= self._settings.max_attempts:
                    self._give_up(record, error, attempts)
                    return True
                if self._stop.wait(wait_ms / 1000):
                    return False
                wait_ms = min(wait_ms * 2, self._settings.retry_limit_ms)
                if not pressure:
                    attempts = state.note_attempt(record.event_id)
                continue
            state.forget_attempts(record.event_id)
            return True

    def _open(self, record: StampedRecord) -> Event | InvalidMessage | None:
        """The event; what is wrong with it; or None where the user was forgotten, or it is sent again for somebody else."""
        if record.erased:
            return None
        try:
            event = open_record(record)
            # Nobody else decides what counts as which event.
            if event.again_of is not None and event.sender == OPERATOR:
                if event.again_for != self._handlers.name:
                    return None
                event = replace(event, event_id=event.again_of)
            return self._name(event)
        except InvalidMessage as error:
            return error

    def _commit(self, opened: Sequence[tuple[StampedRecord, Event | InvalidMessage | None]]) -> None:
        self.work = Work(monotonic(), len(opened), str(opened[0][0].id))
        try:
            with self._watch(len(opened)):
                self._transact(opened)
        finally:
            self.work = None
        self._handlers.after_commit()

    def _transact(self, opened: Sequence[tuple[StampedRecord, Event | InvalidMessage | None]]) -> None:
        events = [event for _, event in opened if isinstance(event, Event)]
        invalid = 0
        if events:
            self._prepare(events)
        early: Sequence[OutgoingRecord] = ()
        try:
            with self._handlers.state.transaction() as transaction:
                for record, event in opened:
                    if isinstance(event, Event):
                        self._handlers.apply(transaction, event)
                    elif event is not None:
                        invalid += 1
                        self._bury(transaction, record, event, 1)
                # The last moment at which nothing has been written yet: the transaction is rolled back.
                self._check_writing()
                transaction.set_cursor(self._epoch, opened[-1][0].global_sequence)
                if events and not invalid and self._early(events):
                    self._standing.clear()
                    early = self._answer_early(transaction.emitted)
        finally:
            self._standing.set()
        self.applied = opened[-1][0].global_sequence
        self._hand_over([record for record in transaction.emitted if record not in early] if early else transaction.emitted)
        self.dead_letters += invalid

    def _give_up(self, record: StampedRecord, error: BaseException, attempts: int) -> None:
        with self._handlers.state.transaction() as transaction:
            self._bury(transaction, record, error, attempts)
            transaction.set_cursor(self._epoch, record.global_sequence)
        self.applied = record.global_sequence
        self._hand_over(transaction.emitted)
        self.dead_letters += 1
        self._handlers.state.forget_attempts(record.event_id)
        self._log.error(
            "dead_letter", event_id=str(record.id), topic=record.topic, attempts=attempts, error=type(error).__name__
        )
        self._handlers.after_commit()

    def _bury(self, transaction: Any, record: StampedRecord, error: BaseException, attempts: int) -> None:
        letters: list[OutgoingRecord] = [dead_letter(record, self._handlers.name, error, attempts, self._now_us())]
        letters.extend(answers_of_failure(record, error))
        for letter in letters:
            transaction.emit(letter)
