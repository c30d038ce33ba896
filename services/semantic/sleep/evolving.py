"""Phases of the weekly jobs: how stated numbers and preferences change, and how long the records of changes are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from aico_memory.domain.gate.statement import Known
from aico_memory.domain.kinds import DAY_US
from aico_memory.domain.memory import Evolution, Memory
from aico_memory.domain.sleep.evolution import TREND, Finding, found
from aico_memory.domain.strength.retention import last_access_us
from aico_memory.domain.temporal.evolution import kept_since_us
from aico_memory.domain.temporal.series import stated_series
from aico_memory.domain.temporal.versions import version_of_memory
from aico_memory.settings.memory_model import MemoryModelSettings
from aico_memory.stores.semantic.port import SemanticTransaction
from services.semantic.sleep.phase import Outcome, Sample, Step
from services.semantic.sleep.placing import rest
from services.semantic.sleep.strength_phases import after_id

# What these jobs do beside the phases of a night.
EVOLUTION: Final = "evolution"
HISTORY: Final = "history"
_WEEK_US: Final = 7 * DAY_US
# Folding what was said under a key opens every statement of it.
_KEYS: Final = 20


class WeeklyEvolution:
    """Trends of numbers that were stated again and again, and how many preferences and facts ended in the week."""

    name = EVOLUTION

    def __init__(self, model: MemoryModelSettings, statements: int) -> None:
        self._figures = model.evolution
        self._statements = statements

    def step(self, transaction: SemanticTransaction, step: Step) -> Outcome:
        """The next facts of a scope that were stated often enough."""
        limit = min(step.limit, _KEYS)
        page = transaction.restated(step.scope, step.owner, self._figures.trend_points, after_id(step), limit)
        counts: Counter[str] = Counter({"seen": len(page)} if page else {})
        samples: list[Sample] = []
        for known in page:
            finding = self._finding(transaction, known)
            if finding is not None and self._told(transaction, step, known, finding):
                counts[f"trends: {finding.direction}"] += 1
                counts["change_points"] += finding.changes
                samples.append(Sample(known.memory.memory_id, "trend", finding.direction, finding.told))
        if not step.after:
            counts.update(self._drift(transaction, step))
        after = page[-1].memory.memory_id.hex() if len(page) == limit else ""
        changed = {"updated": [one.memory_id for one in samples]}
        return Outcome(+counts, tuple(samples), changed, after)

    def _finding(self, transaction: SemanticTransaction, known: Known) -> Finding | None:
        scope, key = known.memory.scope, known.memory.fact_key
        statements = transaction.statements(scope, key, self._statements)
        items = transaction.by_key(scope, key)
        histories = transaction.histories([one.memory.memory_id for one in items])
        versions = [
            replace(version_of_memory(one.memory, histories[one.memory.memory_id]), value=one.value or one.memory.text)
            for one in items
        ]
        return found(stated_series(statements, versions), self._figures)

    @staticmethod
    def _told(transaction: SemanticTransaction, step: Step, known: Known, finding: Finding) -> bool:
        """Whether it is news; what was found before and still holds is not told again."""
        memory_id = known.memory.memory_id
        before = [one.new_value for one in transaction.histories([memory_id])[memory_id] if one.what == TREND]
        if before and before[-1] == finding.told:
            return False
        former = before[-1] if before else ""
        cause, reason = step.cause.bytes, f"sleep: {EVOLUTION}"
        transaction.add_evolution(Evolution(memory_id, TREND, former, finding.told, step.at_us, cause, reason))
        return True

    @staticmethod
    def _drift(transaction: SemanticTransaction, step: Step) -> dict[str, int]:
        """How many preferences and facts of the week turned out to be over, by how."""
        since_us = step.at_us - _WEEK_US
        drift: dict[str, int] = {}
        for name, kinds in (("preferences", ["preference"]), ("facts", ["profile", "fact", "entity"])):
            ended = transaction.changed_statuses(step.scope, step.owner, kinds, since_us, step.at_us)
            drift |= {f"{name} {status}": count for status, count in ended.items()}
        return drift


class History:
    """Records of changes go after their time, and records of what was said rest after theirs: both by receipt."""

    name = HISTORY

    def __init__(self, model: MemoryModelSettings) -> None:
        self._model = model

    def step(self, transaction: SemanticTransaction, step: Step) -> Outcome:
        """The next of both; what is done is not found again."""
        before_us = kept_since_us(step.at_us, self._model.evolution)
        dropped = transaction.drop_evolution(step.owner, before_us, step.limit)
        days = self._model.forgetting.record_days
        resting: Sequence[Memory] = ()
        if days is not None:
            resting = transaction.old_records(step.scope, step.owner, step.at_us - round(days * DAY_US), step.limit)
        for record in resting:
            rest(transaction, step, record, "sleep: long unused")
        samples = tuple(
            Sample(one.memory_id, "rested", "a record unused since", str(last_access_us(one))) for one in resting[:1]
        )
        counts = {name: count for name, count in (("dropped_changes", dropped), ("rested_records", len(resting))) if count}
        more = step.limit in (dropped, len(resting))
        return Outcome(counts, samples, {"demoted": [one.memory_id for one in resting]}, "00" if more else "")
