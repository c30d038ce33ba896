"""Phases 12 and 13: habits that the largest clusters show, and a summary of every kind that has enough items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import date

from aico_memory.domain.formation.when import from_us
from aico_memory.domain.memory import record_of
from aico_memory.domain.sleep.derived import derived_id, language_of
from aico_memory.domain.sleep.names import ABSTRACTION, KINDS
from aico_memory.domain.sleep.patterns import HABIT, HabitWording, habit_of
from aico_memory.domain.sleep.themes import OF_KIND, kinds_due, summary_of_kind
from aico_memory.models.sleep_tables import SleepWords
from aico_memory.settings.memory_model import MemoryModelSettings
from aico_memory.stores.semantic.port import SemanticTransaction
from services.semantic.sleep.deriving import Deriving, News, sample_of
from services.semantic.sleep.phase import Outcome, Sample, Step
from services.semantic.sleep.reading import Place, SnapshotReader
from services.semantic.sleep.theming import SAMPLES, named, names_over_all


class Abstraction:
    """One step a batch: only the largest clusters are looked at."""

    name = ABSTRACTION

    def __init__(
        self, reader: SnapshotReader, deriving: Deriving, languages: Mapping[str, SleepWords], model: MemoryModelSettings
    ) -> None:
        self._reader = reader
        self._deriving = deriving
        self._wordings: Mapping[str, HabitWording] = {code: one.habit for code, one in languages.items()}
        self._model = model

    def step(self, transaction: SemanticTransaction, step: Step) -> Outcome:
        """The habits of one batch; behind the last batch those whose cluster fell apart are told no more."""
        place = Place.of(step.after)
        snapshot = self._reader.read(transaction, step, place.batch)
        if not snapshot.pieces and not snapshot.derived:
            return Outcome()
        news = News()
        found = named(snapshot, place.batch, self._model)
        counts: Counter[str] = Counter(seen=len(snapshot.pieces), clusters=len(found))
        samples: list[Sample] = []
        for cluster in found[: self._model.knowledge.pattern_clusters]:
            days = {one.memory.memory_id: _days(transaction, one.memory.memory_id) for one in cluster.pieces}
            draft = habit_of(cluster, days, self._wordings, self._reader.rules.default_language, self._model.knowledge)
            if draft is None:
                counts["no_habit"] += 1
                continue
            written = self._deriving.write(transaction, step, draft, news)
            counts.update({"patterns": 1, written: 1})
            if written in {"created", "updated"}:
                samples.append(sample_of(step, draft, written))
        if snapshot.last:
            names = names_over_all(self._reader, transaction, step, place.batch, found, self._model)
            standing = {derived_id(step.scope, step.owner, f"{HABIT}{name}") for name in names}
            for one in snapshot.derived:
                if one.memory.fact_key.startswith(HABIT) and one.memory.memory_id not in standing:
                    self._deriving.expire(transaction, step, one, "sleep: what showed the habit belongs together no more", news)
                    counts["expired"] += 1
        if news.asked:
            counts["asked_model"] = news.asked
        after = "" if snapshot.last else str(Place(place.batch + 1))
        return Outcome(counts, tuple(samples[:SAMPLES]), news.changed, after)


def _days(transaction: SemanticTransaction, memory_id: bytes) -> list[date]:
    """Of each message that an item rests on the day on which it was said, where it was said; UTC where no zone was given."""
    found = []
    for proof in transaction.evidence(memory_id):
        at_us = proof.said_at_us or proof.at_us
        if at_us > 0:
            record = transaction.memory(record_of(proof.event_id))
            found.append(from_us(at_us, record.zone if record is not None else "").date())
    return found


class KindSummaries:
    """One summary a kind of a scope, over the first batch of its items: a scope rarely has more."""

    name = KINDS

    def __init__(
        self, reader: SnapshotReader, deriving: Deriving, languages: Mapping[str, SleepWords], model: MemoryModelSettings
    ) -> None:
        self._reader = reader
        self._deriving = deriving
        self._languages = languages
        self._figures = model.knowledge

    def step(self, transaction: SemanticTransaction, step: Step) -> Outcome:
        """All kinds that are due, and the end of summaries whose kind has too few items by now."""
        snapshot = self._reader.read(transaction, step, 0, vectors=False)
        if not snapshot.pieces and not snapshot.derived:
            return Outcome()
        news = News()
        due = kinds_due(snapshot.pieces, self._figures)
        counts: Counter[str] = Counter(seen=len(snapshot.pieces))
        samples: list[Sample] = []
        renewed = {one.memory.memory_id: one.memory.updated_at_us for one in snapshot.derived}
        for kind, pieces in due.items():
            memory_id = derived_id(step.scope, step.owner, f"{OF_KIND}{kind}")
            age_us = step.at_us - renewed.get(memory_id, 0)
            if 0 <= age_us < self._figures.kind_seconds * 1_000_000:
                counts.update({"kinds": 1, "debounced": 1})
                continue
            words = self._reader.words_of(pieces[0].memory)
            draft = summary_of_kind(
                kind, pieces, self._title(kind, language_of([one.known for one in pieces])), words, self._figures
            )
            written = self._deriving.write(transaction, step, draft, news)
            counts.update({"kinds": 1, written: 1})
            if written in {"created", "updated"}:
                samples.append(sample_of(step, draft, written))
        for one in snapshot.derived:
            kind = one.memory.fact_key.removeprefix(OF_KIND)
            if kind != one.memory.fact_key and kind not in due and snapshot.last:
                self._deriving.expire(transaction, step, one, "sleep: too few items of its kind are left", news)
                counts["expired"] += 1
        if news.asked:
            counts["asked_model"] = news.asked
        return Outcome(counts, tuple(samples[:SAMPLES]), news.changed)

    def _title(self, kind: str, language: str) -> str:
        """What a kind is called in a language; in one that is not known nothing."""
        known = self._languages.get(language)
        return known.habit.kinds.get(kind, "") if known else ""
