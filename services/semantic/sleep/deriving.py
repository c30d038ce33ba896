"""Writing what sleep derives, so that it is renewed and never doubled; and taking it back where its ground is gone."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from aico_memory.domain import lifecycle
from aico_memory.domain.gate.statement import Known
from aico_memory.domain.graph.relations import ELABORATES, SUPERSEDES, RelationKey, relate
from aico_memory.domain.memory import OPEN, Evidence, Memory, Scope
from aico_memory.domain.sleep.derived import PATTERN, WRITTEN_BY, Draft, derived_id, is_derived
from aico_memory.domain.sleep.telling import text_digest
from aico_memory.domain.strength.forgetting import awakened
from aico_memory.domain.strength.retention import encoded
from aico_memory.domain.temporal.evolution import differences
from aico_memory.settings.memory_model import RetentionSettings
from aico_memory.stores.semantic.port import SemanticTransaction
from services.semantic.sleep.phase import Sample, Step
from services.semantic.sleep.placing import rest
from services.semantic.sleep.strength_phases import note_changes
from services.semantic.sleep.wishing import Wish, Wishes, told_of
from services.semantic.tokens import FormationRules

Written = Literal["created", "updated", "kept", "left"]
# What ties a summary to what it tells; the second where the item gave way to it, or rests behind it.
_TIES: Final = (ELABORATES, SUPERSEDES)
# What became of items that a summary holds and that are still asked for as facts.
RESTED: Final = "demoted"
_HELD: Final = "sleep: a summary holds all it says"
# A person deleted it or switched it off: it is not written anew.
_UNWANTED: Final = frozenset({"invalid", "disabled"})


@dataclass(slots=True)
class News:
    """What changed in a step, by what became of it, for whoever announces it."""

    changed: dict[str, list[bytes]] = field(default_factory=dict)
    # Summaries that a language model was asked for.
    asked: int = 0

    def add(self, action: str, *memory_ids: bytes) -> None:
        """These were created, updated or superseded."""
        if memory_ids:
            self.changed.setdefault(action, []).extend(memory_ids)

    def count(self, action: str) -> int:
        """How many there are of it."""
        return len(self.changed.get(action, ()))


class Deriving:
    """Persists drafts; a draft that stands already changes nothing."""

    def __init__(
        self, rules: FormationRules, retention: RetentionSettings, wishes: Wishes | None = None, characters: int = 0
    ) -> None:
        self._rules = rules
        self._retention = retention
        # Where a language model is to tell summaries in its own words; and of how many characters.
        self._wishes = wishes
        self._characters = characters

    def write(self, transaction: SemanticTransaction, step: Step, draft: Draft, news: News) -> Written:
        """What became of a draft; what else changed with it stands in the news."""
        memory_id = derived_id(step.scope, step.owner, draft.name)
        stored = transaction.known([memory_id], [step.scope])
        sources = transaction.known(draft.sources, [step.scope])
        before = stored[0].memory if stored else None
        # Whoever edits it makes it their own.
        unwanted = before is not None and (before.status in _UNWANTED or not is_derived(before))
        if not sources or not draft.text or unwanted:
            return "left"
        linked = _linked(transaction, memory_id)
        by_rule = draft.text
        if before is not None and before.text != by_rule and told_of(transaction, memory_id) == text_digest(by_rule):
            # A model has told this very text in its own words.
            draft = replace(draft, text=before.text)
        memory = self._renewed(before, draft, step) if before else self._made(memory_id, draft, sources, step)
        stands = before is not None and memory == before and {one.object for one in linked} == set(draft.sources)
        if not stands:
            same_words = before is not None and before.text == memory.text
            if memory != before:
                transaction.put_item(Known(memory), None if same_words else self._rules.tokens(memory), step.sequence)
            self._rest_on(transaction, memory_id, sources, step)
            left = [one for one in linked if one.object not in draft.sources]
            transaction.drop_relations(left)
            news.add("updated", *release(transaction, left, step.scope, step.at_us, step.cause, step.sequence))
            transaction.add_relations(
                [relate(memory_id, ELABORATES, one.memory.memory_id, memory.confidence, step.at_us) for one in sources]
            )
            if before is not None:
                reason = f"sleep: {draft.rule}"
                for change in differences(before, memory, step.at_us, step.cause.bytes, reason):
                    transaction.add_evolution(change)
        covered = [one for one in sources if one.memory.memory_id in draft.covered]
        news.add("superseded", *self._cover(transaction, memory_id, covered, step))
        held = [one for one in sources if one.memory.memory_id in draft.resting]
        news.add(RESTED, *self._lay_to_rest(transaction, memory_id, held, step))
        written: Written = "kept" if stands else "created" if before is None else "updated"
        if written != "kept":
            news.add(written, memory_id)
        if self._wishes is not None and memory.text == by_rule and memory.status == "active":
            texts = tuple(one.memory.text for one in sources)
            wish = Wish(memory_id, step.owner, text_digest(by_rule), texts, self._characters, draft.kind)
            if self._wishes.add(wish, step.at_us):
                news.asked += 1
        return written

    def expire(self, transaction: SemanticTransaction, step: Step, derived: Known, reason: str, news: News) -> None:
        """Its ground is gone: it is told no more, and what gave way to it stands again."""
        news.add("updated", *set_aside(transaction, [derived], step.at_us, step.cause, step.sequence, reason))

    def _made(self, memory_id: bytes, draft: Draft, sources: Sequence[Known], step: Step) -> Memory:
        confidence = round(sum(one.memory.confidence for one in sources) / len(sources), 4)
        said_at_us = max(one.memory.said_at_us for one in sources)
        memory = Memory(
            memory_id=memory_id, scope=step.scope, owner=step.owner, kind=draft.kind, text=draft.text, said_at_us=said_at_us,
            recorded_at_us=step.at_us, valid_from_us=said_at_us, created_at_us=step.at_us, updated_at_us=step.at_us,
            received_at_us=step.at_us, group_id=_common(one.memory.group_id for one in sources),
            project_id=_common(one.memory.project_id for one in sources), language=draft.language, tier="semantic",
            sub_tier="schematic" if draft.kind == PATTERN else "factual", fact_key=draft.name, confidence=confidence,
            importance=draft.importance, last_referenced_us=step.at_us, write_source=WRITTEN_BY, data_source="system",
            entities=draft.entities,
        )  # fmt: skip
        return encoded(memory, self._retention)

    @staticmethod
    def _renewed(before: Memory, draft: Draft, step: Step) -> Memory:
        """As it was where nothing is new; what is new wakes it, and makes another version of its text."""
        fresh = replace(before, text=draft.text, language=draft.language, entities=draft.entities, importance=draft.importance)
        if before.status in {"expired", "superseded"}:
            fresh = lifecycle.activated(fresh, step.at_us, 1)
        if fresh == before:
            return before
        version = before.version + (before.text != draft.text)
        tier = "semantic" if before.tier == "dormant" else before.tier
        return replace(fresh, version=version, tier=tier, updated_at_us=step.at_us)

    @staticmethod
    def _rest_on(transaction: SemanticTransaction, memory_id: bytes, sources: Sequence[Known], step: Step) -> None:
        """It rests on whatever its sources rest on; a repetition, and no proof of its own."""
        proofs = {proof.event_id: proof for one in sources for proof in transaction.evidence(one.memory.memory_id)}
        for event_id in sorted(proofs):
            proof = proofs[event_id]
            transaction.add_evidence(
                Evidence(
                    memory_id, event_id, "replay", step.at_us, proof.confidence, role=proof.role, name=proof.name,
                    said_at_us=proof.said_at_us, session_id=proof.session_id,
                )
            )  # fmt: skip

    @staticmethod
    def _cover(transaction: SemanticTransaction, memory_id: bytes, covered: Sequence[Known], step: Step) -> list[bytes]:
        gave_way: list[bytes] = []
        for one in covered:
            if one.memory.status != "active":
                continue
            resting = lifecycle.superseded(one.memory, memory_id, OPEN, step.at_us)
            transaction.put_item(replace(one, memory=resting), None, step.sequence)
            note_changes(transaction, step, one.memory, resting, _HELD)
            transaction.add_relations([relate(memory_id, SUPERSEDES, one.memory.memory_id, 1.0, step.at_us)])
            gave_way.append(one.memory.memory_id)
        return gave_way

    @staticmethod
    def _lay_to_rest(transaction: SemanticTransaction, memory_id: bytes, held: Sequence[Known], step: Step) -> list[bytes]:
        """The tie says who stands for them, so that they still count in their cluster, and wake when it is told no more."""
        rested: list[bytes] = []
        for one in held:
            if one.memory.status != "active" or one.memory.tier == "dormant":
                continue
            rest(transaction, step, one.memory, _HELD)
            transaction.add_relations([relate(memory_id, SUPERSEDES, one.memory.memory_id, 1.0, step.at_us)])
            rested.append(one.memory.memory_id)
        return rested


def sample_of(step: Step, draft: Draft, written: Written) -> Sample:
    """A draft that was written, with its reason."""
    memory_id = derived_id(step.scope, step.owner, draft.name)
    return Sample(memory_id, written, draft.rule, draft.detail, draft.sources)


def derived_from(transaction: SemanticTransaction, memory_ids: Sequence[bytes], scope: Scope) -> list[Known]:
    """The active summaries and patterns that tell any of these items."""
    wanted = set(memory_ids)
    ties = [one for one in transaction.relations(memory_ids) if one.type in _TIES and one.object in wanted]
    found = transaction.known(sorted({one.subject for one in ties}), [scope])
    return [one for one in found if is_derived(one.memory) and one.memory.status == "active"]


def set_aside(
    transaction: SemanticTransaction, derived: Iterable[Known], at_us: int, cause: uuid.UUID, sequence: int, reason: str
) -> list[bytes]:
    """These are told no more, until sleep writes them anew. What gave way to them stands again; the ids of all."""
    gone: list[bytes] = []
    for one in derived:
        before = one.memory
        over = lifecycle.expired(before, OPEN, at_us)
        transaction.put_item(replace(one, memory=over), None, sequence)
        for change in differences(before, over, at_us, cause.bytes, reason):
            transaction.add_evolution(change)
        told = _linked(transaction, before.memory_id)
        gone += [before.memory_id, *release(transaction, told, before.scope, at_us, cause, sequence)]
    return gone


def release(
    transaction: SemanticTransaction, ties: Collection[RelationKey], scope: Scope, at_us: int, cause: uuid.UUID, sequence: int
) -> list[bytes]:
    """Items that gave way to a summary, or rest behind it, stand again; which. `ties`: the summary's to what it told.

    Not where the key of an item that gave way has been taken meanwhile.
    """
    stood_for = {one.object: one.subject for one in ties if one.type == SUPERSEDES}
    back: list[bytes] = []
    for one in transaction.known(sorted(stood_for), [scope]):
        memory = one.memory
        awake = memory
        if memory.status == "active":
            awake = awakened(memory, at_us)
        elif memory.status == "superseded" and memory.superseded_by == stood_for[memory.memory_id]:
            rivals = transaction.by_key(scope, memory.fact_key)
            if not any(rival.memory.status == "active" and rival.memory.variant_of is None for rival in rivals):
                awake = lifecycle.activated(memory, at_us, 1)
        if awake == memory:
            continue
        transaction.put_item(replace(one, memory=awake), None, sequence)
        for change in differences(memory, awake, at_us, cause.bytes, "what it gave way to is told no more"):
            transaction.add_evolution(change)
        back.append(memory.memory_id)
    return back


def _linked(transaction: SemanticTransaction, memory_id: bytes) -> list[RelationKey]:
    return [one.key for one in transaction.relations([memory_id]) if one.subject == memory_id and one.type in _TIES]


def _common(values: Iterable[str]) -> str:
    found = set(values)
    return found.pop() if len(found) == 1 else ""
