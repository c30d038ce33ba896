"""The context worker's answers. It owns nothing durable."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import context_pb2
from aico_memory.errors import InvalidMessage
from aico_memory.models.token_counter import TokenCounter, token_counter
from aico_memory.runtime.ports import Handlers, Ports, RequestHandler, SubscriptionPort
from aico_memory.stores.sql.twin import MemoryConsumerState
from services.context.assembling import Assembling
from services.context.caching import Answers, HotTiers, Watch, watched_topics
from services.context.disclosing import Disclosing
from services.context.planning import Planning
from services.context.searching import Searching
from services.context.tables import load_reading_tables
from services.context.tiers import TierHealth
from services.context.understanding import Understanding
from services.context.unified import Unified
from services.context.usage import UseReports


class ContextHandlers(Handlers):
    """Searches and contexts over all tiers."""

    name = "context"

    def __init__(
        self, searching: Searching, assembling: Assembling, disclosing: Disclosing, unified: Unified, reports: UseReports,
        counter: TokenCounter, health: TierHealth, answers: Answers, heard: SubscriptionPort,
    ) -> None:  # fmt: skip
        self.state = MemoryConsumerState()
        self._assembling = assembling
        self._reports = reports
        self._counter = counter
        self._health = health
        self._answers = answers
        self._heard = heard
        self.requests: Mapping[str, RequestHandler] = MappingProxyType(
            {
                topic_of(context_pb2.SearchRequest).name: lambda event, _: searching.search(event),
                topic_of(context_pb2.ContextRequest).name: self._on_context,
                topic_of(context_pb2.DiscloseRequest).name: lambda event, _: disclosing.disclose(event),
                topic_of(context_pb2.UnifiedRequest).name: lambda event, _: unified.query(event),
                topic_of(context_pb2.VerifyLinksRequest).name: lambda event, _: unified.verify(event),
            }
        )

    def _on_context(self, event: Event, ports: Ports) -> context_pb2.ContextAnswer:
        assembled = self._assembling.context(event)
        self._reports.note(event, event.message.session_id, assembled.items)
        return assembled.answer

    def apply(self, transaction: object, event: Event) -> None:
        raise InvalidMessage(f"The context worker consumes nothing, and was given {event.topic}")

    def status(self) -> dict[str, object]:
        return {
            "tokenizer": self._counter.name,
            "tiers": self._health.as_status(),
            "cache": self._answers.status(),
            "use_reported": self._reports.reported,
            "use_not_reported": self._reports.lost,
        }

    def close(self) -> None:
        self._heard.close()
        self._reports.close()


def build(ports: Ports) -> ContextHandlers:
    """The handlers of this deployment."""
    settings = ports.settings.context
    counter = token_counter(ports.settings.models.embedding)
    tables, health, watch = load_reading_tables(ports.home), TierHealth(), Watch(ports.settings.identity)
    answers = Answers(watch, settings.cache, ports.clock)
    hot = HotTiers(watch, settings.hot.seconds, settings.cache.entries, ports.clock)
    # Before any question comes: one connection brings both, in the order in which the broker sent them.
    heard = ports.link.subscribe(watched_topics(), watch.hear)
    ports.link.on_connect = watch.forget
    planning = Planning(settings, tables, Understanding(ports.link, settings, health))
    assembling = Assembling(ports.link, settings, tables, counter, health, answers, hot, ports.clock, ports.courtesy, planning)
    reports = UseReports(
        ports.link, ports.clock, settings.feedback_queue, settings.full_score, settings.feedback_ms, ports.courtesy.give_way
    )
    searching = Searching(ports.link, settings, health, tables, ports.courtesy, answers)
    disclosing = Disclosing(ports.link, settings, searching, counter, health, ports.clock, answers)
    unified = Unified(ports.link, settings, searching, tables, health, watch, hot)
    return ContextHandlers(searching, assembling, disclosing, unified, reports, counter, health, answers, heard)
