"""The questions and commands about time and the graph, by topic."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from google.protobuf.message import Message

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import temporal_pb2
from aico_memory.domain.gate.policy import WritePolicy
from aico_memory.domain.memory import Scope
from aico_memory.runtime.ports import Ports, RequestHandler
from aico_memory.stores.semantic.item_port import ItemReads
from aico_memory.stores.semantic.port import SemanticStore, SemanticTransaction
from services.semantic.graph_answers import GraphAnswers
from services.semantic.timing import Timing
from services.semantic.write_path import Effect, answered

Answer = Callable[[Event], Message]
Command = Callable[[SemanticTransaction, Event], Message]


class TimeVerbs:
    """What is asked about time and the graph, and merges of entities."""

    def __init__(self, ports: Ports, store: SemanticStore, policy: Callable[[ItemReads, Scope], WritePolicy]) -> None:
        figures, identity = ports.settings.memory_model.evolution, ports.settings.identity
        timing = Timing(store, ports.clock, figures, identity)
        graph = GraphAnswers(store, ports.clock, figures.looked_at, identity, policy)
        answers: dict[type[Message], Answer] = {
            temporal_pb2.StateRequest: timing.state,
            temporal_pb2.TimelineRequest: timing.timeline,
            temporal_pb2.EvolutionRequest: timing.evolution,
            temporal_pb2.TrendRequest: timing.trend,
            temporal_pb2.EntitiesRequest: graph.entities,
            temporal_pb2.NeighboursRequest: graph.neighbours,
            temporal_pb2.PathsRequest: graph.paths,
            temporal_pb2.GraphChangesRequest: graph.changed,
            temporal_pb2.HubRequest: graph.hub,
            temporal_pb2.RelatedRequest: graph.related,
        }
        commands: dict[type[Message], Command] = {
            temporal_pb2.MergeEntities: graph.merge,
            temporal_pb2.UndoMerge: graph.undo,
        }
        self.requests: Mapping[str, RequestHandler] = {topic_of(kind).name: _asked(one) for kind, one in answers.items()}
        self.effects: Mapping[str, Effect] = {topic_of(kind).name: _done(one) for kind, one in commands.items()}


def _asked(answer: Answer) -> RequestHandler:
    return lambda event, _: answer(event)


def _done(command: Command) -> Effect:
    return lambda transaction, event: answered(transaction, event, lambda: command(transaction, event))
