"""The verbs on facts put together: what is asked of them, and what durable commands do to them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import behavioral_pb2, context_pb2, working_pb2, write_path_pb2
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.models.question_tables import load_routing
from aico_memory.models.reader_trust import load_trust
from aico_memory.runtime.ports import Ports, RequestHandler
from aico_memory.settings.root import Settings
from aico_memory.stores.semantic.port import IndexQueue, SemanticStore, SemanticTransaction
from services.semantic.explaining import Explaining
from services.semantic.policing import Policing
from services.semantic.recalling import Recalling
from services.semantic.reinforcing import Reinforcing
from services.semantic.reviewing import Reviewing
from services.semantic.said_alike import SaidAlike
from services.semantic.using import RecallUses
from services.semantic.write_path import Effect, WritePath, answered


class FactVerbs:
    """Recall, explain, review, policy and reinforcement."""

    def __init__(
        self,
        ports: Ports,
        settings: Settings,
        store: SemanticStore,
        indexed: IndexQueue,
        tables: FormationTables,
        write_path: WritePath,
    ) -> None:
        identity, figures, model = settings.identity, settings.write_path, settings.memory_model
        self._store = store
        self._policing = Policing(figures.policy, identity)
        self._reinforcing = Reinforcing(figures.interactions, model.utility, identity, tables, write_path.gating.policy)
        self._reviewing = Reviewing(
            store, indexed, write_path.gating, write_path.persisting, figures.prediction_error, model, identity
        )
        self._write = write_path.writing.write
        self._second_look = write_path.second_look
        self._uses = RecallUses(ports.link, ports.clock, settings.recall.reports)
        explaining = Explaining(store, identity, ports.clock, settings.memory_model.importance)
        recalling = Recalling(
            store, tables, load_trust(ports.home), ports.link, ports.clock, settings.recall, identity,
            settings.semantic.default_language, SaidAlike(store, tables, self._policing, settings.recall),
            partial(load_routing(ports.home).parts, most=settings.context.parts),
        )  # fmt: skip
        self.requests: Mapping[str, RequestHandler] = {
            topic_of(context_pb2.RecallRequest).name: lambda event, _: self._recall(recalling, event),
            topic_of(write_path_pb2.ExplainRequest).name: lambda event, _: explaining.explain(event),
            topic_of(write_path_pb2.ShadowReportRequest).name: lambda event, _: explaining.report(event),
            topic_of(write_path_pb2.ReviewRequest).name: lambda event, _: self._reviewing.waiting(event),
            topic_of(write_path_pb2.PolicyRequest).name: lambda event, _: self._policing.state(store, event),
        }
        self.effects: Mapping[str, Effect] = {
            topic_of(working_pb2.Message).name: self._message,
            topic_of(working_pb2.Turn).name: self._turn,
            topic_of(write_path_pb2.ReviewDecision).name: self._review,
            topic_of(write_path_pb2.PolicyChange).name: self._change_policy,
            topic_of(behavioral_pb2.ConsentChanged).name: self._policing.consent,
            topic_of(write_path_pb2.ReinforceInteraction).name: self._reinforce,
            topic_of(write_path_pb2.MemoriesJudged).name: self._judge,
        }

    def close(self) -> None:
        """Publish what reports of use wait."""
        self._uses.close()

    def _recall(self, recalling: Recalling, event: Event) -> context_pb2.RecallResult:
        answer = recalling.recall(event)
        self._uses.note(event, [fact.id for fact in answer.results])
        return answer

    def _message(self, transaction: SemanticTransaction, event: Event) -> None:
        """What was said is written; then what was said later and refers to it is looked at again."""
        self._write(transaction, event)
        self._second_look.after(transaction, event)

    def _turn(self, transaction: SemanticTransaction, event: Event) -> None:
        """As a message; then what the answer used is strengthened, what was just learned included."""
        self._message(transaction, event)
        self._reinforcing.capture(transaction, event)

    def _review(self, transaction: SemanticTransaction, event: Event) -> None:
        answered(transaction, event, lambda: self._reviewing.decide(transaction, event))

    def _change_policy(self, transaction: SemanticTransaction, event: Event) -> None:
        answered(transaction, event, lambda: self._policing.change(transaction, event))

    def _reinforce(self, transaction: SemanticTransaction, event: Event) -> None:
        answered(transaction, event, lambda: self._reinforcing.again(transaction, event))

    def _judge(self, transaction: SemanticTransaction, event: Event) -> None:
        answered(transaction, event, lambda: self._reinforcing.judge(transaction, event))
