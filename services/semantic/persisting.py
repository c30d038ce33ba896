"""From what the gate decided to rows, in the transaction at hand: items, proof, history, relations, graph, tags, news."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from aico_memory.contracts.envelope import make_record
from aico_memory.contracts.v1 import semantic_pb2
from aico_memory.domain.gate.apply import Applied, Standing
from aico_memory.domain.gate.policy import WritePolicy, due_dormant
from aico_memory.domain.gate.statement import Known, Neighbour, Statement
from aico_memory.domain.gate.tagging import capture, tag_for
from aico_memory.domain.graph.relations import Sketch, detect, due_for_pruning
from aico_memory.domain.memory import OPEN, Evolution, Memory
from aico_memory.domain.sleep.derived import is_derived
from aico_memory.domain.temporal.evolution import differences
from aico_memory.ids import derive_id
from aico_memory.settings.memory_model import MemoryModelSettings
from aico_memory.settings.write_path import WritePathSettings
from aico_memory.stores.semantic.item_port import Vector
from aico_memory.stores.semantic.port import SemanticTransaction
from services.semantic.convert import id_text, scope_message
from services.semantic.graphing import Graphing
from services.semantic.sleep.deriving import derived_from, set_aside
from services.semantic.tokens import FormationRules

# What an outcome is called in the news of a change.
_NEWS = {
    "CREATE": "created", "REINFORCE": "reinforced", "UPDATE": "updated", "SUPERSEDE": "superseded", "VARIANT": "created",
    "REPLACE_VARIANT": "updated", "CANDIDATE": "created", "SHADOW": "created", "RETRACT": "invalidated", "END": "updated",
}  # fmt: skip


class Persisting:
    """Writes what was decided; knows no rule of its own but the order in which rows can stand."""

    def __init__(
        self, rules: FormationRules, graphing: Graphing, model: MemoryModelSettings, figures: WritePathSettings
    ) -> None:
        self._rules = rules
        self._graphing = graphing
        self._model = model
        self._figures = figures

    def persist(
        self,
        transaction: SemanticTransaction,
        new: Statement,
        applied: Applied,
        standing: Standing,
        near: Sequence[Neighbour],
        vector: Vector | None,
        fingerprint: str,
        sequence: int,
        news: bool = True,
    ) -> None:
        """All that follows from one statement. What it leaves as it is is not written."""
        changed = [one for one in applied.items if (standing.known or {}).get(one.memory.memory_id) != one]
        for item in sorted(changed, key=_opens):
            self.put(transaction, item, (standing.known or {}).get(item.memory.memory_id), sequence)
        self._keep_vectors(transaction, new, changed, standing, vector, fingerprint)
        for event_id, before, after in applied.moved:
            transaction.move_evidence(event_id, before, after)
        for proof in applied.evidence:
            transaction.add_evidence(proof)
        causes = {one.event_id for one in (*standing.statements, new)}
        for memory_id, history in applied.histories:
            transaction.put_history(memory_id, causes, merged(history))
        for change in merged(applied.changes):
            transaction.add_evolution(change)
        told = applied.statement
        if told is not None:
            self._keep(transaction, told, standing)
        elif applied.decision.action in {"CANDIDATE", "SHADOW"}:
            told = new
            transaction.keep_statement(told, "review")
        if told is not None and vector is not None:
            transaction.keep_stated_vector(told.statement_id, fingerprint, vector)
        transaction.add_relations(applied.relations)
        self._let_go(transaction, new, changed, standing, sequence)
        self._link(transaction, new, changed, near)
        self._graphing.follow(transaction, changed)
        self._strengthen(transaction, new, changed, standing, sequence)
        if news:
            announce_outcome(transaction, new, applied, [one.memory.memory_id for one in changed])

    @staticmethod
    def _let_go(
        transaction: SemanticTransaction, new: Statement, changed: Sequence[Known], standing: Standing, sequence: int
    ) -> None:
        """Summaries that tell what is believed no more are told no more, until sleep writes them anew."""
        before = {key for key, one in (standing.known or {}).items() if one.memory.status == "active"}
        over = [one.memory.memory_id for one in changed if one.memory.status != "active" and one.memory.memory_id in before]
        if over:
            derived = derived_from(transaction, over, new.scope)
            cause = uuid.UUID(bytes=new.event_id)
            set_aside(transaction, derived, new.received_at_us, cause, sequence, "what it told is believed no more")

    def put(self, transaction: SemanticTransaction, item: Known, before: Known | None, sequence: int) -> bool:
        """Store an item; its words go into the text index where they are new."""
        same_words = before is not None and before.memory.text == item.memory.text
        return transaction.put_item(item, None if same_words else self._rules.tokens(item.memory), sequence)

    def make_room(
        self, transaction: SemanticTransaction, new: Statement, applied: Applied, policy: WritePolicy, sequence: int
    ) -> None:
        """Beyond the cap of the scope what was said last the longest ago goes dormant, low importance first; never what
        the statement at hand made or confirmed.
        """
        if not policy.scope_items or transaction.active_count(new.scope) <= policy.scope_items:
            return
        # What sleep wrote takes no place from what was said.
        outlines = [one for one in transaction.active_outlines(new.scope) if not is_derived(one)]
        due = due_dormant(outlines, policy, self._model.importance.high, {one.memory.memory_id for one in applied.items})
        for item in transaction.known(due, [new.scope]):
            resting = replace(item, memory=replace(item.memory, tier="dormant", updated_at_us=new.said_at_us))
            transaction.put_item(resting, None, sequence)
            for change in differences(item.memory, resting.memory, new.received_at_us, new.event_id, "the scope is full"):
                transaction.add_evolution(change)
        if due:
            event_id = derive_id(uuid.UUID(bytes=new.statement_id), "demoted")
            announce(transaction, new, event_id, "demoted", due, rule="scope_items", reason="the scope is full")

    def _keep_vectors(
        self,
        transaction: SemanticTransaction,
        new: Statement,
        changed: Sequence[Known],
        standing: Standing,
        vector: Vector | None,
        fingerprint: str,
    ) -> None:
        """Each text that is new has its vector now: one that comes some time later would not be the same in a replay."""
        for item in changed:
            memory = item.memory
            before = (standing.known or {}).get(memory.memory_id)
            if before is not None and before.memory.version == memory.version:
                continue
            if vector is not None and memory.text == new.fact.text:
                transaction.keep_vector(memory.memory_id, fingerprint, vector)
            elif before is None:
                # A late arrival made an item of what was said before, and seemed to repeat what stood already.
                said = transaction.stated_vector(memory.memory_id)
                if said is not None:
                    transaction.keep_vector(memory.memory_id, *said)
            elif vector is not None:
                self._keep_between(transaction, before.memory, memory, vector, fingerprint)

    @staticmethod
    def _keep_between(
        transaction: SemanticTransaction, before: Memory, memory: Memory, vector: Vector, fingerprint: str
    ) -> None:
        """Two texts put together: until anybody embeds the whole, it lies between them; where one says both, with that."""
        former = transaction.former_vector(memory.memory_id, fingerprint)
        if former is not None:
            both = former if before.text == memory.text else former + vector
            length = float(np.linalg.norm(both))
            if length > 0:
                transaction.keep_vector(memory.memory_id, fingerprint, (both / length).astype(np.float32))

    def _keep(self, transaction: SemanticTransaction, statement: Statement, standing: Standing) -> None:
        """A statement that repeats the last two of its key takes the place of the last: a run is told by its ends."""
        said = standing.statements
        again = len(said) >= 2 and statement.order > said[-1].order and _alike(statement, said[-1]) and _alike(*said[-2:])
        if again and said[-1].statement_id not in (standing.known or {}):
            transaction.drop_statement(said[-1].statement_id)
        transaction.keep_statement(statement, "kept")

    def _link(
        self, transaction: SemanticTransaction, new: Statement, changed: Sequence[Known], near: Sequence[Neighbour]
    ) -> None:
        """Relations of a new item to those it was compared with and those that mention what it mentions."""
        fresh = next((one for one in changed if one.memory.memory_id == new.statement_id), None)
        if fresh is None or fresh.memory.status not in {"active", "superseded", "expired"}:
            return
        others = {one.known.memory.memory_id: one.known.memory for one in near if one.known.memory.status == "active"}
        mentioning = transaction.mentioning(new.scope, fresh.memory.entities, self._figures.work.neighbours)
        others |= {one.memory.memory_id: one.memory for one in mentioning if not is_derived(one.memory)}
        others.pop(fresh.memory.memory_id, None)
        mine = self._sketch(fresh.memory)
        found = [detect(mine, self._sketch(other), new.said_at_us, self._model.graph) for other in others.values()]
        added = transaction.add_relations([one for one in found if one is not None])
        if added and transaction.relation_count(new.scope) >= self._model.graph.prune_from:
            transaction.drop_relations(due_for_pruning(transaction.scope_relations(new.scope), self._model.graph))

    def _sketch(self, memory: Memory) -> Sketch:
        words = self._rules.content_words(memory)
        return Sketch(memory.memory_id, memory.kind, words, frozenset(memory.entities))

    def _strengthen(
        self, transaction: SemanticTransaction, new: Statement, changed: Sequence[Known], standing: Standing, sequence: int
    ) -> None:
        """Weak items are tagged; a strong one captures what was tagged in its session."""
        tags, retention = self._figures.tags, self._model.retention
        fresh = [one for one in changed if one.memory.memory_id not in (standing.known or {}) and one.memory.status == "active"]
        for item in fresh:
            tag = tag_for(item.memory, new.received_at_us, tags)
            if tag is not None:
                transaction.put_tag(tag)
            if item.memory.importance < tags.capture_from or not item.memory.session_id:
                continue
            waiting = transaction.tags(new.scope, new.session_id, new.received_at_us)
            known = {one.memory.memory_id: one for one in transaction.known([tag.memory_id for tag in waiting], [new.scope])}
            memories = {memory_id: one.memory for memory_id, one in known.items()}
            for captured, stronger in capture(item.memory, new.received_at_us, waiting, memories, tags, retention):
                transaction.put_tag(captured)
                transaction.put_item(replace(known[stronger.memory_id], memory=stronger), None, sequence)


def announce(
    transaction: SemanticTransaction, new: Statement, event_id: uuid.UUID, action: str, memory_ids: Sequence[bytes],
    *, act: str = "", rule: str = "", reason: str = "", scores: Sequence[tuple[str, float]] = (),
) -> None:  # fmt: skip
    """News of a change that a statement led to."""
    changed = semantic_pb2.Changed(
        action=action, memory_ids=[id_text(one) for one in memory_ids], reason=reason, scope=scope_message(new.scope),
        scores=[semantic_pb2.RankedShare(feature=name, value=value) for name, value in scores],
        act=act, rule=rule, event_id=new.event_id,
    )  # fmt: skip
    cause = uuid.UUID(bytes=new.event_id)
    transaction.emit(
        make_record(changed, event_id=event_id, occurred_us=new.received_at_us, user=new.owner, causation_id=cause)
    )


def announce_outcome(transaction: SemanticTransaction, new: Statement, applied: Applied, memory_ids: Sequence[bytes]) -> None:
    """News of what became of a statement; none where nothing changed."""
    decision = applied.decision
    action = _NEWS.get(decision.action)
    if action is None or not memory_ids:
        return
    event_id = derive_id(uuid.UUID(bytes=new.statement_id), "changed")
    scores = (("importance", new.importance), ("confidence", new.confidence))
    announce(
        transaction, new, event_id, action, memory_ids, act=new.fact.act, rule=decision.rule, reason=decision.reason,
        scores=scores,
    )  # fmt: skip


def merged(changes: Iterable[Evolution]) -> list[Evolution]:
    """One record a field and cause: two statements of one message that change the same field are one change."""
    found: dict[tuple[bytes, bytes, str], Evolution] = {}
    for one in changes:
        place = (one.memory_id, one.cause, one.what)
        first = found.get(place)
        found[place] = one if first is None else replace(one, old_value=first.old_value)
    return [one for one in found.values() if one.old_value != one.new_value]


def _opens(item: Known) -> tuple[bool, bytes]:
    """What gives a key free is stored before what takes it."""
    memory = item.memory
    return memory.status == "active" and memory.valid_until_us == OPEN and memory.variant_of is None, memory.memory_id


def _alike(one: Statement, other: Statement) -> bool:
    """Plain repetitions: the same value, stated open, as from when it was said."""
    left, right = one.fact, other.fact
    plain = all(
        said.fact.act == "assert" and said.fact.valid_until_us == OPEN and said.fact.valid_from_us == said.said_at_us
        for said in (one, other)
    )
    return plain and left.object_key == right.object_key
