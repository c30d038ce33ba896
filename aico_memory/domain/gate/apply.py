"""What a decision does to the memories: values that a store only has to persist, in one transaction.

Statements with a reading are kept under their key and the chain of the key is
folded anew, so the result depends on what was said and when, and not on the order
in which it arrived. What a segment does not change is left as others set it
(an operator's switch, a person's deletion, the tier).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from aico_memory.domain import lifecycle
from aico_memory.domain.gate.chain import Segment, fold
from aico_memory.domain.gate.decide import CHAINED, Decision
from aico_memory.domain.gate.projection import changes_of, memory_of, placed, validity_on
from aico_memory.domain.gate.score import method_of
from aico_memory.domain.gate.statement import Known, Statement
from aico_memory.domain.gate.synthesis import synthesise
from aico_memory.domain.graph.relations import Relation, relate
from aico_memory.domain.memory import Evidence, Evolution, Memory
from aico_memory.domain.strength.confidence import contradicted
from aico_memory.domain.strength.forgetting import awakened
from aico_memory.domain.strength.retention import used
from aico_memory.domain.temporal.evolution import differences
from aico_memory.domain.temporal.versions import STATUS, VALID_FROM, VALID_UNTIL
from aico_memory.settings.memory_model import MemoryModelSettings


@dataclass(frozen=True, slots=True)
class Standing:
    """What is stored that a decision may touch."""

    # Statements kept under the key of the new one.
    statements: tuple[Statement, ...] = ()
    # Items of that key and the target, by id.
    known: Mapping[bytes, Known] | None = None
    # Events that an item rests on, by id.
    evidence_counts: Mapping[bytes, int] | None = None

    def item(self, memory_id: bytes) -> Memory | None:
        known = (self.known or {}).get(memory_id)
        return known.memory if known else None

    def evidence_of(self, memory_id: bytes) -> int:
        return (self.evidence_counts or {}).get(memory_id, 0)


@dataclass(frozen=True, slots=True)
class Applied:
    """What to persist. Empty where nothing changes."""

    # As it was carried out: an immutable item makes a candidate of what was decided.
    decision: Decision
    # New and changed items with their reading.
    items: tuple[Known, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    # To append.
    changes: tuple[Evolution, ...] = ()
    # By item: what statements did to status, valid_from_us and valid_until_us. Takes the place of the stored records
    # of these whose cause is an event of a statement under this key; records by operators and jobs stay.
    histories: tuple[tuple[bytes, tuple[Evolution, ...]], ...] = ()
    relations: tuple[Relation, ...] = ()
    # To keep under its key; none where the statement waits, is refused or awaits review.
    statement: Statement | None = None
    # Evidence that proves another item now: (event, item it proved, item it proves). A late arrival parts what
    # seemed to be one, or shows two to be one.
    moved: tuple[tuple[bytes, bytes, bytes], ...] = ()
    # Items whose statements all belong to another item now: (item, into which).
    merged: tuple[tuple[bytes, bytes], ...] = ()


def apply(new: Statement, decision: Decision, standing: Standing, figures: MemoryModelSettings) -> Applied:
    """Total over decisions; a statement that is already kept, or whose item stands, changes nothing."""
    delivered = any(one.statement_id == new.statement_id for one in standing.statements)
    if delivered or standing.item(new.statement_id) is not None:
        return Applied(replace(decision, action="NOTHING", rule="redelivered", reason="It was applied before"))
    action = decision.action
    if action in {"SKIP", "DISCARD"}:
        return Applied(decision)
    if action in {"CANDIDATE", "SHADOW"}:
        return _beside(new, decision, "candidate" if action == "CANDIDATE" else "shadow", figures)
    if action in {"VARIANT", "REPLACE_VARIANT"}:
        return _variant(new, decision, standing, figures)
    if decision.rule == "echo":
        return _echoed(new, decision, standing, figures)
    if new.fact.predicate and action in CHAINED and not _by_wording(decision, standing):
        return _chained(new, decision, standing, figures)
    return _unread(new, decision, standing, figures)


def _chained(new: Statement, decision: Decision, standing: Standing, figures: MemoryModelSettings) -> Applied:
    earlier = fold(standing.statements)
    before = {one.ids: one for one in earlier}
    segments = fold((*standing.statements, new))
    known = {one: item for one, item in (standing.known or {}).items() if item.memory.variant_of is None}
    place = placed(segments, known)
    moved = _moved(earlier, placed(earlier, known).ids, segments, place.ids)
    items: list[Known] = []
    changes: list[Evolution] = []
    histories: list[tuple[bytes, tuple[Evolution, ...]]] = []
    relations: list[Relation] = []
    about = b""
    for segment in segments:
        memory_id = place.ids[segment.lead.statement_id]
        mine = new.statement_id in segment.ids
        about = memory_id if mine else about
        old = standing.item(memory_id)
        if before.get(segment.ids) == segment or (old is not None and old.status == "invalid"):
            continue
        base = old or memory_of(segment.lead, figures.retention, weights=figures.confidence)
        memory = validity_on(base, segment, place.ids)
        if old is not None and old.immutable and _differs(old, memory):
            return _held(new, decision, old, figures)
        if old is not None:
            lifecycle.require_way(old.status, memory.status)
        if old is not None and old.status != "active" and memory.status == "active":
            # What replaced it turned out to be wrong: it holds again, so it rests no longer.
            memory = awakened(memory, new.received_at_us)
        if any(known[one].memory.pinned for one, into in place.merged.items() if into == memory_id):
            # What is held fast stays so under the name of the other.
            memory = replace(memory, pinned=True)
        if old is not None and mine:
            memory = reinforced(memory, new, standing.evidence_of(memory_id), figures)
        if old is not None:
            reason = f"{decision.action}: {decision.rule}"
            found = differences(old, memory, new.said_at_us, new.event_id, reason)
            changes += (one for one in found if one.what not in {STATUS, VALID_FROM, VALID_UNTIL})
        items.append(_known(memory, segment))
        histories.append((memory_id, changes_of(segment, memory_id)))
        relations += _relations(segment, memory_id, place.ids)
    for gone, into in place.merged.items():
        old = known[gone].memory
        memory = _absorbed(old, into, new)
        if old.immutable and _differs(old, memory):
            return _held(new, decision, old, figures)
        lifecycle.require_way(old.status, memory.status)
        items.append(replace(known[gone], memory=memory))
        histories.append((gone, ()))
    for variant, closed in _closed_variants(new, items, standing, about):
        items.append(replace(variant, memory=closed))
        changes += differences(variant.memory, closed, new.said_at_us, new.event_id, "what it doubted is settled")
    proof = (_evidence(new, about),) if about else ()
    return Applied(
        replace(decision, target=decision.target or about), tuple(items), proof, tuple(changes), tuple(histories),
        tuple(relations), new, moved, tuple(place.merged.items()),
    )  # fmt: skip


def _closed_variants(
    new: Statement, items: Sequence[Known], standing: Standing, about: bytes
) -> Iterable[tuple[Known, Memory]]:
    """Doubts about what is no longer held are settled with it."""
    closed = {one.memory.memory_id for one in items if one.memory.status != "active"}
    for known in (standing.known or {}).values():
        memory = known.memory
        if memory.variant_of in closed and memory.status == "active" and not memory.immutable:
            yield known, lifecycle.superseded(memory, about or memory.variant_of, new.said_at_us, new.said_at_us)


def _moved(
    earlier: Sequence[Segment], earlier_ids: Mapping[bytes, bytes], segments: Sequence[Segment], ids: Mapping[bytes, bytes]
) -> tuple[tuple[bytes, bytes, bytes], ...]:
    proved = {one.statement_id: earlier_ids[segment.lead.statement_id] for segment in earlier for one in segment.statements}
    return tuple(
        (one.event_id, proved[one.statement_id], ids[segment.lead.statement_id])
        for segment in segments
        for one in segment.statements
        if proved.get(one.statement_id, ids[segment.lead.statement_id]) != ids[segment.lead.statement_id]
    )


def _unread(new: Statement, decision: Decision, standing: Standing, figures: MemoryModelSettings) -> Applied:
    """Texts without a reading: compared by their wording, changed one by one."""
    target = standing.item(decision.target)
    if decision.action == "NOTHING":
        return Applied(decision)
    if decision.action == "CREATE" or target is None:
        return _created(new, decision, figures)
    reason = f"{decision.action}: {decision.rule}"
    if decision.action in {"REINFORCE", "UPDATE"}:
        memory = reinforced(target, new, standing.evidence_of(target.memory_id), figures)
        if decision.action == "UPDATE":
            text = synthesise(target.text, new.fact.text)
            if text is None:
                kept = replace(decision, action="CREATE", rule="too_long_together", reason="Both would not fit into one item")
                return _created(new, kept, figures)
            entities = tuple(dict.fromkeys((*target.entities, *new.fact.entities)))
            memory = replace(memory, text=text, entities=entities, version=target.version + 1)
        return _changed(new, decision, target, memory, standing, reason)
    if decision.action == "RETRACT":
        memory = lifecycle.retracted(_live(target, new), new.said_at_us)
        return _changed(new, decision, target, memory, standing, reason)
    end_us = new.fact.valid_from_us or new.said_at_us
    if decision.action == "END":
        return _changed(new, decision, target, lifecycle.expired(target, end_us, new.said_at_us), standing, reason)
    corrects = new.fact.act == "correct"
    closed = lifecycle.superseded(target, new.statement_id, target.valid_from_us if corrects else end_us, new.said_at_us)
    closed = replace(closed, confidence=contradicted(closed.confidence, figures.confidence))
    made = _created(new, decision, figures)
    ended = _changed(new, decision, target, closed, standing, reason)
    relation = relate(new.statement_id, "supersedes", target.memory_id, new.confidence, new.said_at_us)
    return replace(made, items=(*made.items, *ended.items), changes=ended.changes, relations=(relation,))


def _created(new: Statement, decision: Decision, figures: MemoryModelSettings, status: str = "active") -> Applied:
    memory = memory_of(new, figures.retention, status, figures.confidence)
    return Applied(decision, (_read(memory, new),), (_evidence(new, memory.memory_id),), statement=_kept(new, status))


def _beside(new: Statement, decision: Decision, status: str, figures: MemoryModelSettings) -> Applied:
    """A candidate or shadow: it changes nothing else until it is promoted."""
    made = _created(new, decision, figures, status)
    relations = _contradicts(new, decision.target) if decision.rule == "immutable" else ()
    return replace(made, relations=relations)


def _held(new: Statement, decision: Decision, fixed: Memory, figures: MemoryModelSettings) -> Applied:
    """What would change or absorb an immutable item waits for review."""
    held = replace(decision, action="CANDIDATE", rule="immutable", reason="An immutable item would change",
                   target=fixed.memory_id, instead=decision.action)  # fmt: skip
    return _beside(new, held, "candidate", figures)


def _variant(new: Statement, decision: Decision, standing: Standing, figures: MemoryModelSettings) -> Applied:
    replaces = decision.action == "REPLACE_VARIANT"
    target = standing.item(decision.target)
    of = target.variant_of if replaces and target is not None else decision.target
    made = _created(new, decision, figures)
    variant = replace(made.items[0], memory=replace(made.items[0].memory, variant_of=of or None))
    made = replace(made, items=(variant,), relations=_contradicts(new, of or b""), statement=None)
    if not replaces or target is None:
        return made
    closed = lifecycle.superseded(target, new.statement_id, new.said_at_us, new.said_at_us)
    changes = differences(target, closed, new.said_at_us, new.event_id, "REPLACE_VARIANT: a stronger variant")
    return replace(made, items=(*made.items, _same_reading(standing, closed)), changes=changes)


def _echoed(new: Statement, decision: Decision, standing: Standing, figures: MemoryModelSettings) -> Applied:
    """A use and no proof: neither confidence nor evidence grows."""
    target = standing.item(decision.target)
    if target is None or target.status != "active":
        return Applied(replace(decision, action="SKIP"))
    memory = used(target, new.received_at_us, figures.retention)
    return Applied(decision, (_same_reading(standing, replace(memory, reference_count=memory.reference_count + 1)),))


def reinforced(memory: Memory, new: Statement, evidence: int, figures: MemoryModelSettings) -> Memory:
    """Said again: it wakes, lasts longer, and is believed as the mean of all that said it, each repetition weighing more."""
    count = max(evidence, 1)
    again = min(new.confidence * (1 + figures.confidence.repetition * count), 1.0)
    confidence = min(max((memory.confidence * count + again) / (count + 1), 0.0), 1.0)
    lasting = used(awakened(memory, new.received_at_us), new.received_at_us, figures.retention)
    return replace(
        lasting, confidence=confidence, importance=max(memory.importance, new.importance),
        reference_count=memory.reference_count + 1, last_referenced_us=max(memory.last_referenced_us, new.received_at_us),
        updated_at_us=max(memory.updated_at_us, new.said_at_us),
    )  # fmt: skip


def _changed(new: Statement, decision: Decision, old: Memory, memory: Memory, standing: Standing, reason: str) -> Applied:
    changes = differences(old, memory, new.said_at_us, new.event_id, reason)
    return Applied(decision, (_same_reading(standing, memory),), (_evidence(new, old.memory_id),), changes, statement=new)


def _live(memory: Memory, new: Statement) -> Memory:
    """What is over can still turn out to have never been true: the way there leads through active."""
    return memory if memory.status == "active" else lifecycle.activated(memory, new.said_at_us, 1)


def _absorbed(old: Memory, into: bytes, new: Statement) -> Memory:
    return replace(
        old, status="superseded", superseded_by=into, valid_until_us=old.valid_from_us, invalidated_at_us=old.recorded_at_us,
        fact_key="", updated_at_us=max(old.updated_at_us, new.said_at_us),
    )  # fmt: skip


def _by_wording(decision: Decision, standing: Standing) -> bool:
    """A statement with a reading that was matched to an item without one."""
    target = (standing.known or {}).get(decision.target)
    return decision.action in {"REINFORCE", "UPDATE", "SUPERSEDE"} and target is not None and not target.predicate


def _differs(old: Memory, new: Memory) -> bool:
    return any(getattr(old, name) != getattr(new, name) for name in ("status", "valid_from_us", "valid_until_us"))


def _relations(segment: Segment, memory_id: bytes, ids: Mapping[bytes, bytes]) -> Iterable[Relation]:
    by = ids.get(segment.last.by)
    if by is not None and by != memory_id:
        yield relate(by, "supersedes", memory_id, segment.lead.confidence, segment.last.known_us)


def _contradicts(new: Statement, target: bytes) -> tuple[Relation, ...]:
    return (relate(new.statement_id, "contradicts", target, new.confidence, new.said_at_us),) if target else ()


def _kept(new: Statement, status: str) -> Statement | None:
    return new if status == "active" else None


def _known(memory: Memory, segment: Segment) -> Known:
    return _read(memory, segment.lead)


def _read(memory: Memory, statement: Statement) -> Known:
    fact = statement.fact
    return Known(memory, fact.subject, fact.predicate, fact.object_key, fact.single_valued, fact.value)


def _same_reading(standing: Standing, memory: Memory) -> Known:
    known = (standing.known or {}).get(memory.memory_id)
    return replace(known, memory=memory) if known else Known(memory)


def _evidence(new: Statement, memory_id: bytes) -> Evidence:
    return Evidence(
        memory_id, new.event_id, method_of(new.fact, new.role), new.said_at_us, new.confidence, role=new.role,
        name=new.speaker, said_at_us=new.said_at_us, session_id=new.session_id, excerpt=new.fact.excerpt[:300],
        metadata_json=new.metadata_json,
    )  # fmt: skip
