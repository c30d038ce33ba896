"""Index maintenance that was asked for: a check every hour, or a rebuild of everything that is derived.

A job remembers how far it has come, so that a kill costs one step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID

from aico_memory.contracts.envelope import make_record
from aico_memory.contracts.v1 import sleep_pb2
from aico_memory.ids import derive_id
from aico_memory.settings.semantic import SemanticSettings
from aico_memory.stores.semantic.port import IndexJob, IndexQueue, SemanticStore
from services.semantic.indexer import Indexer
from services.semantic.live_index import LiveIndex
from services.semantic.tokens import FormationRules

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger


class IndexMaintenance:
    """Does the oldest job step by step in the indexer's thread, between batches of the outbox."""

    def __init__(
        self,
        store: SemanticStore,
        queue: IndexQueue,
        live: LiveIndex,
        indexer: Indexer,
        rules: FormationRules,
        settings: SemanticSettings,
        now_us: Callable[[], int],
        log: FilteringBoundLogger,
    ) -> None:
        self._store = store
        self._queue = queue
        self._live = live
        self._indexer = indexer
        self._rules = rules
        self._settings = settings
        self._now_us = now_us
        self._log = log
        # Of the check under way, in this process: a check that a kill cut in two tells of its second part.
        self._made = self._differences = 0
        self._stages = {"text": self._text, "vectors": self._vectors, "switch": self._switch, "check": self._check}

    def step(self) -> bool:
        """One step of the oldest job; False where there is none."""
        job = self._queue.job()
        if job is None:
            return False
        if not job.rebuild and job.stage == "text":
            job = replace(job, stage="check")
        following = self._stages[job.stage](job)
        if following is None:
            self._finish(job)
        else:
            self._queue.advance_job(following)
        return True

    def _text(self, job: IndexJob) -> IndexJob:
        rows = self._queue.rows_after(job.after_row, self._settings.load_batch)
        if not rows:
            self._indexer.ask_model()
            return replace(job, stage="vectors", after_row=0)
        self._queue.put_tokens([(key, one.scope, self._rules.tokens(one)) for key, one in rows])
        return replace(job, after_row=rows[-1][0])

    def _vectors(self, job: IndexJob) -> IndexJob:
        if not self._indexer.model_fingerprint:
            self._indexer.ask_model()
        model = self._indexer.model_fingerprint
        keys = self._queue.missing(model, job.after_row, self._settings.embed_batch)
        if not keys:
            return replace(job, stage="switch", after_row=0)
        self._indexer.embed(keys)
        # Where another model answers all of a sudden, the work begins anew.
        return replace(job, after_row=keys[-1] if self._indexer.model_fingerprint == model else 0)

    def _switch(self, job: IndexJob) -> IndexJob | None:
        model = self._indexer.model_fingerprint
        if not model:
            # A new process does not know which model the vectors were made for.
            return replace(job, stage="vectors", after_row=0)
        if self._queue.vectors(model).size():
            self._queue.activate(model)
        self._live.rebuild()
        return None

    def _check(self, job: IndexJob) -> IndexJob | None:
        active = self._queue.fingerprint()
        keys = self._queue.missing(active, job.after_row, self._settings.embed_batch) if active else []
        if keys:
            self._indexer.embed(keys)
            self._live.refresh(keys)
            self._made += len(keys)
            return replace(job, after_row=keys[-1])
        for difference in self._live.verify():
            self._differences += 1
            self._log.warning("index_differed", difference=difference)
        return None

    def _finish(self, job: IndexJob) -> None:
        cause = UUID(bytes=job.event_id)
        now_us = self._now_us()
        checked = f"checked; {self._made} missing vectors made, {self._differences} differences mended"
        detail = "rebuilt" if job.rebuild else checked
        self._made = self._differences = 0
        finished = sleep_pb2.JobFinished(firing_id=job.firing_id, outcome="done", at_us=now_us, detail=detail)
        record = make_record(finished, event_id=derive_id(cause, "finished"), occurred_us=now_us, causation_id=cause)
        with self._store.transaction() as transaction:
            transaction.finish_job(job.event_id)
            if job.firing_id:
                transaction.emit(record)
        self._log.info("index_maintained", rebuild=job.rebuild)
