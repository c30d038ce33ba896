"""What sleep reads and writes in the in-memory twin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from aico_memory.domain.gate.statement import Known
from aico_memory.domain.gate.tagging import Pair
from aico_memory.domain.memory import OPEN, RECORD, Condition, Memory, Scope, admits
from aico_memory.domain.sleep.derived import DERIVED_KINDS
from aico_memory.domain.sleep.likeness import Floats
from aico_memory.domain.strength.forgetting import last_use_us
from aico_memory.domain.strength.retention import last_access_us
from aico_memory.errors import NotFound
from aico_memory.stores.semantic.item_port import STRENGTHS
from aico_memory.stores.semantic.sleep_port import STANDING, Crowd, DuePlan, Rested, SleepJob, Tally
from aico_memory.stores.semantic.twin_items import TwinTables

_ENDED = ("superseded", "expired", "disabled")


class TwinSleepReads:
    """The port `SleepReads` over the twin's tables."""

    __slots__ = ()

    @property
    def tables(self) -> TwinTables:
        raise NotImplementedError

    def _read(self, memory_id: bytes) -> Known:
        raise NotImplementedError

    def owners(self, after: str, limit: int) -> list[str]:
        return sorted({one.owner for one in self.tables.memories.values() if one.owner > after})[:limit]

    def tallies(self, owners: Sequence[str]) -> list[Tally]:
        groups: dict[tuple[str, str, str, str], list[int]] = {}
        for one in self.tables.memories.values():
            if one.owner in owners:
                groups.setdefault((one.owner, one.kind, one.tier, one.status), []).append(one.created_at_us)
        return [Tally(*group, len(made), max(made)) for group, made in sorted(groups.items())]

    def owned_scopes(self, owner: str) -> list[Scope]:
        return sorted({one.scope for one in self.tables.memories.values() if one.owner == owner and _in_use(one)})

    def outlines(
        self, scope: Scope, owner: str, wanted: Sequence[Condition], after: bytes, limit: int, rested: Rested | None = None
    ) -> list[Memory]:
        found = (one for one in self._owned(scope, owner) if one.memory_id > after and admits(wanted, one))
        return [_outline(one) for one in found if rested is None or self._is_rested(one, rested)][:limit]

    def waning(self, scope: Scope, owner: str, at_us: int, us_per_stability: float, rested: Rested, limit: int) -> list[Memory]:
        found = [
            one for one in self._owned(scope, owner)
            if _awake(one) and one.stability > 0 and at_us - last_access_us(one) > one.stability * us_per_stability
            and self._is_rested(one, rested)
        ]  # fmt: skip
        found.sort(key=lambda one: (-(float(at_us) - last_access_us(one)) / one.stability, one.memory_id))
        return [_outline(one) for one in found[:limit]]

    def applied_count(self, rested: Rested, scope: Scope, owner: str) -> int:
        mine = [self._memory(key) for (what, key), at_us in self.tables.upkeep.items() if (what, at_us > rested.since_us)
                == (rested.what, True)]  # fmt: skip
        return sum(one.owner == owner and one.scope == scope for one in mine)

    def siblings(self, scope: Scope, owner: str, at_least: int, moved_at_us: int, after: bytes, limit: int) -> list[Memory]:
        counted = [
            one for one in self._owned(scope, owner)
            if not (one.pinned or one.immutable) and one.kind not in DERIVED_KINDS
            and (one.tier == "episodic" or (one.tier == "semantic" and one.updated_at_us == moved_at_us))
        ]  # fmt: skip
        mentions = Counter(entity for one in counted for entity in set(one.entities))
        due = [
            one for one in counted
            if one.tier == "episodic" and one.memory_id > after and any(mentions[uri] >= at_least for uri in one.entities)
        ]  # fmt: skip
        return [_outline(one) for one in due[:limit]]

    def pairs_due(self, scope: Scope, owner: str, at_least: int, limit: int) -> dict[Pair, int]:
        mine, all_ = ({one.memory_id for one in some} for some in (self._owned(scope, owner), self._scope(scope)))
        due = [
            (pair, together) for pair, together in sorted(self.tables.pairs.items())
            if pair.first in mine and pair.second in all_
            and together >= at_least and together > self.tables.replayed.get(pair, 0)
        ]  # fmt: skip
        return dict(due[:limit])

    def plans_due(self, at_us: int, lead_us: int, limit: int) -> list[DuePlan]:
        plans = [
            one for one in self.tables.memories.values()
            if _in_use(one) and one.kind in {"plan", "task_state"}
            and (one.valid_from_us > one.said_at_us or (one.kind == "plan" and one.valid_until_us < OPEN))
        ]  # fmt: skip
        due = [
            DuePlan(one.memory_id, one.owner, one.valid_from_us if one.valid_from_us > one.said_at_us
                    else max(one.said_at_us, one.valid_until_us - lead_us))
            for one in plans if ("due", one.memory_id) not in self.tables.upkeep
        ]  # fmt: skip
        return sorted((one for one in due if one.due_us <= at_us), key=lambda one: (one.due_us, one.memory_id))[:limit]

    def crowd(self, scope: Scope, owner: str) -> Crowd:
        in_use = self._owned(scope, owner)
        accesses = [one.access_count for one in in_use]
        return Crowd(sum(map(_awake, in_use)), sum(accesses) / len(accesses) if accesses else 0.0)

    def contradictions(self, scope: Scope, owner: str, after: bytes, limit: int) -> list[tuple[bytes, bytes]]:
        awake = {one.memory_id: one for one in self._scope(scope) if _awake(one)}
        found = [
            (one.subject, one.object) for _, one in sorted(self.tables.relations.items())
            if one.type == "contradicts" and one.subject in awake and one.object in awake
            and owner in (awake[one.subject].owner, awake[one.object].owner)
            and awake[one.subject].variant_of != one.object and awake[one.object].variant_of != one.subject
            and (one.subject, one.object) > (after[:16], after[16:])
        ]  # fmt: skip
        return sorted(found)[:limit]

    def least_useful(
        self, scope: Scope, owner: str, most_accesses: float, made_before: Mapping[str, int], idle_since_us: int, limit: int
    ) -> list[Memory]:
        due = [
            one for one in self._owned(scope, owner)
            if _awake(one) and not (one.pinned or one.immutable) and one.access_count <= most_accesses
            and one.last_referenced_us <= idle_since_us
            and one.kind in made_before and one.created_at_us <= made_before[one.kind]
        ]  # fmt: skip
        due.sort(key=lambda one: (one.utility, last_use_us(one), one.memory_id))
        return [_outline(one) for one in due[:limit]]

    def active_fingerprint(self) -> str:
        return self.tables.active_model

    def awake_vectors(self, scope: Scope, owner: str, fingerprint: str) -> tuple[list[bytes], Floats]:
        kept = self.tables.vectors.get(fingerprint, {})
        keys = [(one, self.tables.keys[one.memory_id]) for one in self._owned(scope, owner) if _awake(one)]
        held = [(one.memory_id, kept[key].vector) for one, key in keys if key in kept and kept[key].version == one.version]
        vectors = np.array([vector for _, vector in held]).astype(np.float16).astype(np.float32)
        return [memory_id for memory_id, _ in held], vectors.reshape(len(held), -1 if held else 0)

    def restated(self, scope: Scope, owner: str, at_least: int, after: bytes, limit: int) -> list[Known]:
        kept = Counter(one.key for one, state in self.tables.statements.values() if state == "kept" and one.scope == scope)
        due = [
            one for one in self._owned(scope, owner)
            if one.memory_id > after and one.fact_key and one.variant_of is None and kept[one.fact_key] >= at_least
        ]  # fmt: skip
        return [self._read(one.memory_id) for one in due[:limit]]

    def old_records(self, scope: Scope, owner: str, before_us: int, limit: int) -> list[Memory]:
        found = [
            one for one in self.tables.memories.values()
            if (one.scope, one.owner, one.kind, one.status) == (scope, owner, RECORD, "active") and _awake(one)
            and not (one.pinned or one.immutable) and max(one.received_at_us, one.last_accessed_us) < before_us
        ]  # fmt: skip
        return [_outline(one) for one in sorted(found, key=lambda one: one.memory_id)[:limit]]

    def changed_statuses(self, scope: Scope, owner: str, kinds: Sequence[str], since_us: int, until_us: int) -> dict[str, int]:
        ended = Counter(
            one.status for one in self.tables.memories.values()
            if (one.scope, one.owner) == (scope, owner) and one.kind in kinds and one.status in _ENDED
            and since_us <= one.invalidated_at_us < until_us
        )  # fmt: skip
        return dict(sorted(ended.items()))

    def sleep_job(self, event_id: bytes) -> SleepJob | None:
        return self.tables.sleep_jobs.get(event_id)

    def sleep_jobs(self) -> list[SleepJob]:
        return list(self.tables.sleep_jobs.values())

    def _scope(self, scope: Scope) -> list[Memory]:
        found = [one for one in self.tables.memories.values() if one.scope == scope and _in_use(one)]
        return sorted(found, key=lambda one: one.memory_id)

    def _owned(self, scope: Scope, owner: str) -> list[Memory]:
        return [one for one in self._scope(scope) if one.owner == owner]

    def _memory(self, memory_id: bytes) -> Memory:
        return self.tables.memories[self.tables.keys[memory_id]]

    def _is_rested(self, memory: Memory, rested: Rested) -> bool:
        applied_us = self.tables.upkeep.get((rested.what, memory.memory_id))
        return applied_us is None or applied_us <= rested.since_us


class TwinSleepWrites(TwinSleepReads):
    """The port `SleepWrites` over the twin's tables."""

    __slots__ = ()

    def put_outline(self, memory: Memory, sequence: int) -> None:
        key = self.tables.keys.get(memory.memory_id)
        if key is None:
            raise NotFound(f"No memory {memory.memory_id.hex()}")
        changed = {name: getattr(memory, name) for name in (*STANDING, *STRENGTHS)}
        self.tables.memories[key] = replace(self.tables.memories[key], **changed)
        entry, self.tables.next_entry = self.tables.next_entry, self.tables.next_entry + 1
        self.tables.outbox[entry] = (key, sequence)

    def note_replayed(self, pairs: Mapping[Pair, int]) -> None:
        self.tables.replayed.update(pairs)

    def drop_tags(self, scope: Scope, owner: str, before_us: int) -> int:
        gone = [
            key for key, tag in self.tables.tags.items()
            if tag.expires_at_us <= before_us and (self._memory(key).scope, self._memory(key).owner) == (scope, owner)
        ]  # fmt: skip
        for key in gone:
            del self.tables.tags[key]
        return len(gone)

    def drop_evolution(self, owner: str, before_us: int, limit: int) -> int:
        gone = [
            key for key, one in self.tables.evolution.items()
            if one.at_us < before_us and self._memory(one.memory_id).owner == owner
        ]  # fmt: skip
        for key in gone[:limit]:
            del self.tables.evolution[key]
        return len(gone[:limit])

    def put_sleep_job(self, job: SleepJob) -> None:
        self.tables.sleep_jobs[job.event_id] = job

    def finish_sleep_job(self, event_id: bytes) -> None:
        self.tables.sleep_jobs.pop(event_id, None)


def _in_use(memory: Memory) -> bool:
    return memory.status == "active" and memory.kind != RECORD


def _awake(memory: Memory) -> bool:
    return memory.tier != "dormant"


def _outline(memory: Memory) -> Memory:
    return replace(memory, text="", entities=(), fact_key="", speaker="", zone="")
