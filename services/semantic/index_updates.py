"""The verb `update_index`: words, vectors and links of some memories, or of all that a user has, brought up to date."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import semantic_pb2
from aico_memory.domain.gate.policy import WritePolicy, require_writable
from aico_memory.domain.gate.statement import Known
from aico_memory.domain.memory import RECORD, Scope
from aico_memory.errors import InvalidMessage, NotFound
from aico_memory.ids import derive_id
from aico_memory.settings.identity import IdentitySettings
from aico_memory.stores.semantic.item_port import ItemReads
from aico_memory.stores.semantic.port import SemanticTransaction
from services.semantic.convert import id_bytes, id_text, scopes_of
from services.semantic.graphing import Graphing
from services.semantic.sleep.phase import Sample, Step
from services.semantic.sleep.verifying import UnifiedIndex
from services.semantic.tokens import FormationRules
from services.semantic.writing import announce

# Memories of one command: everything behind it waits for its transaction.
MOST = 200
_TOLD = 20


class IndexUpdates:
    """Repairs what a night would, at once and for these memories alone; what is asked for again finds nothing left to do.

    Words are written anew, and the indexer takes each memory through its outbox once more: it embeds
    what has no vector, and overwrites whatever the vector index and the words in memory hold of it.
    """

    def __init__(
        self, rules: FormationRules, graphing: Graphing, policy: Callable[[ItemReads, Scope], WritePolicy],
        identity: IdentitySettings,
    ) -> None:  # fmt: skip
        self._rules = rules
        self._links = UnifiedIndex(graphing)
        self._policy = policy
        self._identity = identity

    def update(self, transaction: SemanticTransaction, event: Event) -> semantic_pb2.IndexUpdated:
        """What was found and repaired. Raises NotFound, InvalidMessage, AccessDenied, ReadOnly.

        Links are those of the user's own words: in a shared scope what others said is theirs to repair.
        """
        message: semantic_pb2.UpdateIndex = event.message
        names = self._identity.names(event.user)
        scopes = scopes_of(message.scopes, event.user, names)
        own, following = self._asked(transaction, message, scopes, names)
        for scope in dict.fromkeys(one.memory.scope for one in own if one.memory.kind != RECORD):
            require_writable(self._policy(transaction, scope), scope)
        counts, samples = self._mend(transaction, event, own)
        return semantic_pb2.IndexUpdated(
            memories=len(own), links=counts["links"], dangling=counts["dangling"], repaired=counts["repaired"],
            without_record=counts["without_record"], vectors=self._index(transaction, event, own, scopes),
            findings=[_finding(one) for one in samples[:_TOLD]], next=following,
        )  # fmt: skip

    @staticmethod
    def _asked(
        transaction: SemanticTransaction, message: semantic_pb2.UpdateIndex, scopes: Sequence[Scope], names: Sequence[str]
    ) -> tuple[list[Known], str]:
        """The memories, and where the next page begins."""
        if len(message.memory_ids) > MOST:
            raise InvalidMessage(
                f"{len(message.memory_ids)} memories at once; at most {MOST} are taken", "Ask in several steps."
            )
        if not message.memory_ids:
            after = id_bytes(message.after) if message.after else b""
            page = transaction.owned(scopes, names, after, MOST)
            return transaction.known(page, scopes), id_text(page[-1]) if len(page) == MOST else ""
        wanted = list(dict.fromkeys(map(id_bytes, message.memory_ids)))
        found = [one for one in transaction.known(wanted, scopes) if one.memory.owner in names]
        missing = set(wanted) - {one.memory.memory_id for one in found}
        if missing:
            raise NotFound(f"No memory {id_text(min(missing))} of this user")
        return found, ""

    def _mend(self, transaction: SemanticTransaction, event: Event, own: Sequence[Known]) -> tuple[Counter[str], list[Sample]]:
        counts: Counter[str] = Counter()
        samples: list[Sample] = []
        for place, scope in enumerate(dict.fromkeys(one.memory.scope for one in own)):
            items = [one for one in own if one.memory.scope == scope and one.memory.kind != RECORD]
            step = Step(scope, event.user, "", len(items), event.occurred_us, event.event_id, event.global_sequence)
            outcome = self._links.mended(transaction, step, items)
            counts.update(outcome.counts)
            samples += outcome.samples
            for action, memory_ids in outcome.changed.items():
                cause = derive_id(event.event_id, action, place)
                announce(transaction, cause, event.occurred_us, event.user, scope, action, memory_ids, "update_index")
        return counts, samples

    def _index(self, transaction: SemanticTransaction, event: Event, own: Sequence[Known], scopes: Sequence[Scope]) -> int:
        """Give each to the indexes again, as it stands after the repair; how many had no vector of their present text."""
        ids = [one.memory.memory_id for one in own]
        model = transaction.active_fingerprint()
        vectors = transaction.vectors_of(ids, model) if model else {}
        for one in transaction.known(ids, scopes):
            transaction.replace(one.memory, self._rules.tokens(one.memory), event.global_sequence)
        return len(set(ids) - set(vectors))


def _finding(sample: Sample) -> semantic_pb2.IndexFinding:
    return semantic_pb2.IndexFinding(
        memory_id=id_text(sample.memory_id), decision=sample.decision, rule=sample.rule,
        others=[id_text(one) for one in sample.others],
    )  # fmt: skip
