"""A job that nobody waits for any more ends between two of its steps; what its steps did stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import sleep_pb2
from aico_memory.stores.semantic.port import IndexQueue, SemanticTransaction

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger


class Cancelling:
    """Effect of `JobCancelled`: the scheduler has closed the firing, so nothing is reported."""

    def __init__(self, queue: IndexQueue, log: FilteringBoundLogger) -> None:
        self._queue = queue
        self._log = log

    def cancel(self, transaction: SemanticTransaction, event: Event) -> None:
        """End the job over all owners, or the index maintenance, that this firing asked for."""
        message: sleep_pb2.JobCancelled = event.message
        if not message.firing_id:
            return
        for job in transaction.sleep_jobs():
            if job.firing_id == message.firing_id:
                transaction.finish_sleep_job(job.event_id)
                self._log.info("job_cancelled", job=job.job, users=job.users)
        maintenance = self._queue.job()
        if maintenance is not None and maintenance.firing_id == message.firing_id:
            transaction.finish_job(maintenance.event_id)
            self._log.info("job_cancelled", job="reindex", stage=maintenance.stage)
