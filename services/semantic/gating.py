"""The gate at work: each statement of a message against what is stored, inside the transaction that stores the outcome."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from aico_memory.domain.formation.formed import Formed, FormedFact
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.gate.apply import Applied, Standing, apply
from aico_memory.domain.gate.decide import Decision, decide, resolved, thresholds_for
from aico_memory.domain.gate.explain import Outcome, explanation, outcome
from aico_memory.domain.gate.policy import EVIDENCE_MISSING, Admission, WritePolicy, admit, effective, initial_policy
from aico_memory.domain.gate.reference import referred
from aico_memory.domain.gate.score import Score, Similar, attention, excitement, novelty, reward, score
from aico_memory.domain.gate.statement import CLOSING, Known, Neighbour, Statement, in_chains
from aico_memory.domain.memory import Scope
from aico_memory.domain.recall.matching import same_object
from aico_memory.domain.scopes import GLOBAL
from aico_memory.domain.sleep.derived import is_derived
from aico_memory.domain.strength.importance import Channels
from aico_memory.ids import derive_id
from aico_memory.settings.memory_model import MemoryModelSettings
from aico_memory.settings.write_path import WritePathSettings
from aico_memory.stores.semantic.item_port import ItemReads, Vector
from aico_memory.stores.semantic.port import SemanticTransaction
from services.semantic.forming import Prepared, Vectors, facts_of
from services.semantic.pausing import is_held
from services.semantic.persisting import Persisting
from services.semantic.proving import Proving
from services.semantic.saying import Said
from services.semantic.stated import keep_stated, stated

# Neither raised nor lowered: what raises encoding (novelty, feeling) has channels of its own.
_BOOST = 1.0


@dataclass(frozen=True, slots=True)
class _Judged:
    """A statement with everything it was judged by."""

    statement: Statement
    score: Score
    neighbours: tuple[Neighbour, ...]
    admission: Admission
    decision: Decision
    applied: Applied | None


class Gating:
    """Decides and persists; one instance a worker, used by its consumer thread only."""

    def __init__(
        self, tables: FormationTables, persisting: Persisting, model: MemoryModelSettings, figures: WritePathSettings
    ) -> None:
        self._tables = tables
        self._persisting = persisting
        self._model = model
        self._figures = figures
        self._initial = initial_policy(figures.policy)
        self._proven = Proving(figures.work.statements)
        self._negations = frozenset(word for one in tables.signals.values() for word in one.negations)
        self._urgent = {code: one.urgency for code, one in tables.signals.items()}

    def take(self, transaction: SemanticTransaction, prepared: Prepared) -> None:
        """Everything that a message states, each with exactly one outcome; and the record of why."""
        said, formed = prepared.said, prepared.formed
        outcomes: list[Outcome] = []
        for place, fact in enumerate(facts_of(formed)):
            statement = self.statement(said, formed, fact, place)
            closing_id = derive_id(said.event_id, "closing", place).bytes
            outcomes += self.judge(transaction, statement, closing_id, formed, prepared.vectors, said.sequence)
        told = explanation(said.event_id.bytes, formed, outcomes)
        transaction.explain(told, said.scope, said.owner, said.occurred_us)

    def take_up(self, transaction: SemanticTransaction, statement: Statement, vectors: Vectors, sequence: int) -> list[Outcome]:
        """What waited for sleep, which knows no limits of session and hour; it waits on while nothing may be written."""
        policy = self.policy(transaction, statement.scope)
        if is_held(transaction, policy, statement.owner):
            return []
        vectors = stated(transaction, statement, vectors)
        transaction.drop_statement(statement.statement_id)
        formed = Formed(arousal=statement.arousal, language=statement.fact.language)
        closing_id = derive_id(event_of(statement), "closing", statement.place).bytes
        judged = self._in_parts(transaction, statement, closing_id, formed, vectors, policy, sequence, fast=False)
        outcomes = [self._outcome(one) for one in judged]
        tell_since(transaction, statement, outcomes)
        return outcomes

    def judge(
        self,
        transaction: SemanticTransaction,
        statement: Statement,
        closing_id: bytes,
        formed: Formed,
        vectors: Vectors,
        sequence: int,
    ) -> list[Outcome]:
        """One statement: resolved by what is stored, told to the chain of each key that it touches."""
        policy = self.policy(transaction, statement.scope)
        judged = self._in_parts(transaction, statement, closing_id, formed, vectors, policy, sequence, fast=True)
        if is_held(transaction, policy, statement.owner):
            # It waits as it was said: what it refers to may wait, too, and is known when both are taken up.
            for one in judged:
                transaction.drop_statement(one.statement.statement_id)
            keep_stated(transaction, statement, "sleep", vectors)
        return [self._outcome(one) for one in judged]

    def _in_parts(
        self,
        transaction: SemanticTransaction,
        statement: Statement,
        closing_id: bytes,
        formed: Formed,
        vectors: Vectors,
        policy: WritePolicy,
        sequence: int,
        fast: bool,
    ) -> list[_Judged]:
        near = self.near(transaction, statement, vectors)
        found = []
        for part in in_chains(self.meaning(statement, near), closing_id):
            if not fast and _is_kept(transaction, part):
                # Carried out when the other part had to wait.
                continue
            # What is near has been read already, unless another reading turned out to be meant.
            known = near if part is statement else self.near(transaction, part, vectors)
            found.append(self._judged(transaction, part, known, formed, vectors, policy, sequence, fast=fast))
        return found

    def meaning(self, statement: Statement, near: Sequence[Neighbour]) -> Statement:
        """The statement in terms of what was said before it, whenever that arrived."""
        before = [one for one in near if one.known.memory.said_at_us <= statement.said_at_us]
        alike = partial(same_object, language=statement.fact.language)
        return resolved(referred(statement, [one.known for one in before]), before, alike)

    def settle(
        self, transaction: SemanticTransaction, part: Statement, near: Sequence[Neighbour], vectors: Vectors, sequence: int
    ) -> Outcome:
        """One statement as one chain sees it, judged by keys alone: what was admitted before is not held off again.

        Its vector is that of the item that it makes.
        """
        formed = Formed(arousal=part.arousal, language=part.fact.language)
        policy = self.policy(transaction, part.scope)
        judged = self._judged(transaction, part, near, formed, Vectors(), policy, sequence, fast=False, told=vectors)
        return self._outcome(judged)

    def policy(self, reads: ItemReads, scope: Scope) -> WritePolicy:
        """What may be written in a scope."""
        return effective(reads.policy(scope), reads.policy(GLOBAL), self._initial)

    def statement(self, said: Said, formed: Formed, fact: FormedFact, place: int) -> Statement:
        """A fact as one person's word; importance and confidence follow from what it is compared with."""
        return Statement(
            statement_id=derive_id(said.event_id, "item", place).bytes, event_id=said.event_id.bytes, place=place,
            scope=said.scope, owner=said.owner, said_at_us=said.said_at_us, received_at_us=said.occurred_us, fact=fact,
            confidence=0.0, role=said.role, session_id=said.session_id, group_id=said.group_id, project_id=said.project_id,
            speaker=said.name, valence=formed.valence, arousal=formed.arousal, emotion=formed.emotion,
            metadata_json=said.metadata_json, heard=said.sequence,
        )  # fmt: skip

    def _judged(
        self,
        transaction: SemanticTransaction,
        part: Statement,
        near: Sequence[Neighbour],
        formed: Formed,
        vectors: Vectors,
        policy: WritePolicy,
        sequence: int,
        fast: bool,
        evidence: int = 0,
        told: Vectors | None = None,
    ) -> _Judged:
        """`evidence`: how many events have said it; 0: they are counted. `told`: vectors to store, where not `vectors`."""
        if not evidence:
            evidence, earlier = self._proven.so_far(transaction, part, policy)
            for one in earlier:
                # What was said before comes first, so that the item is as old as the first word of it.
                # Not those of the batch: whether this was said in it depends on how the stream is cut.
                mine = stated(transaction, one, Vectors(vectors.fingerprint))
                transaction.drop_statement(one.statement_id)
                calm = Formed(arousal=one.arousal, language=one.fact.language)
                before = self.near(transaction, one, mine)
                proven = self._judged(transaction, one, before, calm, mine, policy, sequence, fast=False, evidence=evidence)
                tell_since(transaction, one, [self._outcome(proven)])
            near = self.near(transaction, part, vectors) if earlier else near
        vector = vectors.of(part.fact.text)
        scored = self._score(transaction, part, formed, near, vector, vectors.fingerprint)
        part = replace(part, confidence=scored.confidence, importance=scored.importance, flashbulb=scored.flashbulb)
        by_key = transaction.by_key(part.scope, part.key)
        admission = self._admission(transaction, part, formed, by_key, policy, evidence, fast)
        variants = _variants(transaction, near)
        figures = self._figures.prediction_error
        thresholds = thresholds_for(vectors.fingerprint, figures)
        decision = decide(part, near, variants, admission, policy, thresholds, figures, self._negations)
        if decision.waits:
            keep_stated(transaction, part, "sleep", vectors)
        elif admission.rule == EVIDENCE_MISSING and part.fact.act not in CLOSING:
            keep_stated(transaction, part, "unproven", vectors)
        applied = None
        if decision.action not in {"SKIP", "DISCARD"}:
            standing = self._standing(transaction, part, decision, by_key, variants)
            applied = apply(part, decision, standing, self._model)
            told = told or vectors
            said = told.of(part.fact.text)
            self._persisting.persist(transaction, part, applied, standing, near, said, told.fingerprint, sequence)
            if fast and applied.items and _counts(applied.decision):
                transaction.count_write(part.scope, part.session_id, part.received_at_us)
            self._persisting.make_room(transaction, part, applied, policy, sequence)
        return _Judged(part, scored, tuple(near), admission, decision, applied)

    def near(self, reads: ItemReads, statement: Statement, vectors: Vectors) -> list[Neighbour]:
        """Items of its scope: those most alike, those of its reading, those of the object it corrects or ends."""
        work, fact, scope = self._figures.work, statement.fact, statement.scope
        vector = vectors.of(fact.text)
        alike: dict[bytes, Neighbour] = {}
        if vector is not None:
            found = reads.nearest(scope, vectors.fingerprint, vector, work.neighbours)
            alike = {one.known.memory.memory_id: one for one in found}
        read = [*reads.by_key(scope, statement.key), *reads.by_predicate(scope, fact.subject, fact.predicate, work.readings)]
        if fact.act != "assert" or fact.corrected:
            read += reads.by_object(scope, fact.corrected or fact.object_key, work.readings)
            read += reads.newest(scope, work.readings)
        fresh = {one.memory.memory_id: one for one in read if one.memory.memory_id not in alike and not is_derived(one.memory)}
        near = reads.similarities(list(fresh), vectors.fingerprint, vector) if vector is not None else {}
        return [*alike.values(), *(Neighbour(one, near.get(memory_id, 0.0)) for memory_id, one in fresh.items())]

    def _score(
        self,
        reads: ItemReads,
        part: Statement,
        formed: Formed,
        near: Sequence[Neighbour],
        vector: Vector | None,
        fingerprint: str,
    ) -> Score:
        figures = self._figures.score
        similar = [Similar(one.similarity, one.known.memory.utility) for one in near if one.known.memory.status == "active"]
        words = part.fact.excerpt.casefold().split() or part.fact.text.casefold().split()
        urgent = sum(word.strip(".,;:!?") in self._urgent.get(formed.language, frozenset()) for word in words)
        asked: list[float] = []
        if vector is not None and figures.recent_queries:
            questions = reads.questions(part.scope, fingerprint, figures.recent_queries)
            asked = [round(float(question @ vector), 2) for question in questions]
        channels = Channels(
            novelty=novelty(similar), arousal=excitement(formed.arousal, urgent, figures),
            reward=reward(similar, figures), attention=attention(asked, figures),
        )  # fmt: skip
        return score(part.fact, channels, formed.arousal, part.role, _BOOST, 1, self._model, figures)

    def _admission(
        self,
        reads: ItemReads,
        part: Statement,
        formed: Formed,
        by_key: Sequence[Known],
        policy: WritePolicy,
        evidence: int,
        fast: bool,
    ) -> Admission:
        # The limits hold off what is new and was only inferred. What a person says outright is to be answered at once,
        # and what changes, ends or confirms a known item has to be right at once.
        known = any(one.memory.status == "active" for one in by_key)
        outright = part.fact.explicit or part.fact.confidence_base >= self._model.confidence.explicit
        limited = fast and not (known or outright or part.fact.act in CLOSING or part.fact.act == "correct")
        usage = reads.usage(part.scope, part.session_id, part.received_at_us)
        paused = bool(reads.paused_us(part.owner))
        return admit(policy, part.fact.kind, part.confidence, evidence, usage, limited, formed.orders, paused)

    def _standing(
        self,
        reads: ItemReads,
        part: Statement,
        decision: Decision,
        by_key: Sequence[Known],
        variants: Sequence[Known],
    ) -> Standing:
        known = {one.memory.memory_id: one for one in (*by_key, *variants)}
        wanted = [one for one in (decision.target, part.statement_id) if one and one not in known]
        known |= {one.memory.memory_id: one for one in reads.known(wanted, [part.scope])}
        return Standing(self.said_under(reads, part, by_key), known, reads.evidence_counts(list(known)))

    def said_under(self, reads: ItemReads, part: Statement, by_key: Sequence[Known]) -> tuple[Statement, ...]:
        """What was stated under its key, as far back as its history is told from, and whatever founded what still holds."""
        most = self._figures.work.statements
        said = reads.statements(part.scope, part.key, most)
        if len(said) < most:
            return tuple(said)
        # What holds has to be told of: left out, it would stand open beside what takes its place.
        held = {one.statement_id for one in said}
        open_ids = (
            one.memory.memory_id for one in by_key if one.memory.status == "active" and one.memory.memory_id not in held
        )
        founding = (reads.statement(memory_id) for memory_id in open_ids)
        return (*(found[0] for found in founding if found is not None and found[1] == "kept"), *said)

    def _outcome(self, judged: _Judged) -> Outcome:
        return outcome(
            judged.statement, judged.score, judged.neighbours, judged.admission, judged.decision, judged.applied,
            self._negations, self._figures.prediction_error.same_wording,
        )  # fmt: skip


def tell_since(transaction: SemanticTransaction, statement: Statement, outcomes: Sequence[Outcome]) -> None:
    """What became of a statement after its message had been decided, in the explanation of that message."""
    told = transaction.explanation(statement.event_id, [statement.scope])
    if told is not None and outcomes:
        more = replace(told, outcomes=(*told.outcomes, *outcomes))
        transaction.explain(more, statement.scope, statement.owner, statement.received_at_us)


def event_of(statement: Statement) -> uuid.UUID:
    """The event that a statement was made in."""
    return uuid.UUID(bytes=statement.event_id)


def _is_kept(reads: ItemReads, part: Statement) -> bool:
    held = reads.statement(part.statement_id)
    return held is not None and held[1] == "kept"


def _variants(reads: ItemReads, near: Sequence[Neighbour]) -> list[Known]:
    """What hangs on the items at hand that could be doubted."""
    doubted = [one.known.memory.memory_id for one in near if one.known.memory.status == "active"]
    return reads.variants(doubted)


def _counts(decision: Decision) -> bool:
    return decision.action in {"CREATE", "UPDATE", "SUPERSEDE", "VARIANT", "REPLACE_VARIANT", "CANDIDATE", "SHADOW"}
