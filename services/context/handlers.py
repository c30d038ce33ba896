"""The context worker's answers. It owns nothing durable."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import context_pb2
from aico_memory.errors import InvalidMessage
from aico_memory.models.language_tables import load_function_words, load_tables
from aico_memory.models.token_counter import TokenCounter, token_counter
from aico_memory.runtime.ports import Handlers, Ports, RequestHandler
from aico_memory.stores.sql.twin import MemoryConsumerState
from services.context.reading import ReadPath
from services.context.usage import UseReports


class ContextHandlers(Handlers):
    """Searches and contexts over all tiers."""

    name = "context"

    def __init__(self, path: ReadPath, reports: UseReports, counter: TokenCounter) -> None:
        self.state = MemoryConsumerState()
        self._path = path
        self._reports = reports
        self._counter = counter
        self.requests: Mapping[str, RequestHandler] = MappingProxyType(
            {
                topic_of(context_pb2.SearchRequest).name: self._on_search,
                topic_of(context_pb2.ContextRequest).name: self._on_context,
            }
        )

    def _on_search(self, event: Event, ports: Ports) -> context_pb2.SearchResult:
        return self._path.search(event)

    def _on_context(self, event: Event, ports: Ports) -> context_pb2.ContextAnswer:
        answer, items = self._path.context(event)
        self._reports.note(event, event.message.session_id, items)
        return answer

    def apply(self, transaction: object, event: Event) -> None:
        raise InvalidMessage(f"The context worker consumes nothing, and was given {event.topic}")

    def status(self) -> dict[str, object]:
        return {
            "tokenizer": self._counter.name,
            "tiers": self._path.health.as_status(),
            "use_reported": self._reports.reported,
            "use_not_reported": self._reports.lost,
        }

    def close(self) -> None:
        self._reports.close()


def build(ports: Ports) -> ContextHandlers:
    """The handlers of this deployment."""
    settings = ports.settings.context
    counter = token_counter(ports.settings.models.embedding)
    path = ReadPath(ports.link, settings, load_tables(ports.home), load_function_words(ports.home), counter)
    return ContextHandlers(path, UseReports(ports.link, ports.clock, settings.feedback_queue), counter)
