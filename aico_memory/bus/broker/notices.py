"""What the broker itself publishes: audit events and dead letters, both bounded in rate."""

from __future__ import annotations

import json
from collections import Counter

from google.protobuf.message import Message

from aico_memory.bus.broker.connection import Connection, TokenBucket
from aico_memory.bus.broker.intake import Intake
from aico_memory.clock import Clock
from aico_memory.contracts.envelope import make_record
from aico_memory.contracts.v1 import bus_pb2
from aico_memory.errors import AicoMemoryError
from aico_memory.ids import new_id
from aico_memory.log import get_logger
from aico_memory.settings.bus import BusSettings

_log = get_logger(__name__)


class BrokerNotices:
    """Counts every refusal; audits and quarantines as many as the rates allow."""

    def __init__(self, settings: BusSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._audit_bucket = TokenBucket(settings.audit_per_second, max(1.0, settings.audit_per_second * 2))
        self._quarantine_bucket = TokenBucket(settings.quarantine_per_second, max(1.0, settings.quarantine_per_second * 2))
        self.intake: Intake | None = None
        self.counts: Counter[str] = Counter()

    def denied(self, connection: Connection, error: AicoMemoryError) -> None:
        """An identity asked for what its role does not allow."""
        self.denied_identity(connection.identity.name, error)

    def denied_identity(self, name: str, error: AicoMemoryError) -> None:
        """The same where there is no connection."""
        self.counts["access_denied"] += 1
        if self._audit_bucket.take(1):
            _log.warning("access denied", identity=name, reason=error.detail)
            self.audit("access_denied", name, "", {"reason": error.detail})

    def quarantined(self, sender: str, frame: bytes, error: AicoMemoryError) -> None:
        """A frame that could not be taken: a dead letter says why and keeps its beginning."""
        self.counts["malformed"] += 1
        if not self._quarantine_bucket.take(1):
            return
        _log.warning("malformed frame", identity=sender, reason=error.detail, size=len(frame))
        now = self._clock.now_us()
        kept = frame[: self._settings.quarantine_bytes]
        self._publish(
            bus_pb2.DeadLetter(
                sender=sender, consumer="broker", code=error.code, reason=error.detail, attempts=1,
                first_failed_us=now, at_us=now, record=kept, truncated=len(kept) < len(frame),
            ),
            now,
        )  # fmt: skip

    def audit(self, action: str, actor: str, subject: str, detail: dict[str, object]) -> None:
        """An entry of the audit stream."""
        now = self._clock.now_us()
        event = bus_pb2.AuditEvent(
            action=action, actor=actor, subject=subject, detail_json=json.dumps(detail, sort_keys=True), at_us=now
        )
        self._publish(event, now)

    def _publish(self, message: Message, now_us: int) -> None:
        if self.intake is not None:
            self.intake.publish_own(make_record(message, event_id=new_id(now_us), occurred_us=now_us))
