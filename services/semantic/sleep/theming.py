"""Phases 9 and 10: which items belong together, and a summary of each group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from aico_memory.domain.sleep.clusters import Cluster, clusters
from aico_memory.domain.sleep.derived import derived_id
from aico_memory.domain.sleep.names import CLUSTERS, THEMES
from aico_memory.domain.sleep.themes import THEME, theme_of
from aico_memory.settings.memory_model import MemoryModelSettings
from aico_memory.stores.semantic.port import SemanticTransaction
from services.semantic.sleep.deriving import RESTED, Deriving, News, sample_of
from services.semantic.sleep.phase import Outcome, Sample, Step
from services.semantic.sleep.reading import Place, Snapshot, SnapshotReader

# Decisions told of one step.
SAMPLES = 5


class Clusters:
    """Decides and reports; themes and abstraction find the same clusters again in the same items."""

    name = CLUSTERS

    def __init__(self, reader: SnapshotReader, model: MemoryModelSettings) -> None:
        self._reader = reader
        self._figures = model.knowledge

    def step(self, transaction: SemanticTransaction, step: Step) -> Outcome:
        """One batch."""
        place = Place.of(step.after)
        snapshot = self._reader.read(transaction, step, place.batch)
        if not snapshot.pieces:
            return Outcome()
        found = clusters(snapshot.pieces, self._figures)
        inside = sum(len(one.pieces) for one in found)
        counts = {
            "seen": len(snapshot.pieces), "clusters": len(found), "clustered": inside,
            "by_entity": sum(one.rule == "entity" for one in found), "alone": len(snapshot.pieces) - inside,
        }  # fmt: skip
        samples = tuple(
            Sample(one.pieces[0].memory.memory_id, "cluster", one.rule, f"{len(one.pieces)} items",
                   tuple(piece.memory.memory_id for piece in one.pieces[1:]))
            for one in found[:SAMPLES]
        )  # fmt: skip
        return Outcome(counts, samples, after="" if snapshot.last else str(Place(place.batch + 1)))


class Themes:
    """Writes the summary of each cluster, in the order of their names, as many in a step as its limit allows."""

    name = THEMES

    def __init__(self, reader: SnapshotReader, deriving: Deriving, model: MemoryModelSettings) -> None:
        self._reader = reader
        self._deriving = deriving
        self._model = model

    def step(self, transaction: SemanticTransaction, step: Step) -> Outcome:
        """Some clusters of one batch; behind the last batch what has no cluster any more is told no more."""
        place = Place.of(step.after)
        snapshot = self._reader.read(transaction, step, place.batch)
        if not snapshot.pieces and not snapshot.derived:
            return Outcome()
        news = News()
        found = sorted(named(snapshot, place.batch, self._model), key=lambda one: one.name)
        counts: Counter[str] = Counter(seen=0)
        samples: list[Sample] = []
        for cluster in found:
            if cluster.name <= place.name:
                continue
            if counts["seen"] >= step.limit or counts["themes"] >= self._model.knowledge.theme_step:
                return self._outcome(counts, samples, news, str(place))
            words = self._reader.words_of(cluster.pieces[0].memory)
            draft = theme_of(
                cluster, words, step.at_us, snapshot.threshold, self._model.knowledge, self._model.kinds
            )  # fmt: skip
            written = self._deriving.write(transaction, step, draft, news)
            counts.update({"seen": len(cluster.pieces), "themes": 1, written: 1})
            if written in {"created", "updated"}:
                samples.append(sample_of(step, draft, written))
            place = place._replace(name=cluster.name)
        if not snapshot.last:
            return self._outcome(counts, samples, news, str(Place(place.batch + 1)))
        counts["expired"] = self._expire(transaction, step, place.batch, snapshot, found, news)
        return self._outcome(counts, samples, news)

    @staticmethod
    def _outcome(counts: Counter[str], samples: list[Sample], news: News, after: str = "") -> Outcome:
        counts["superseded"] = news.count("superseded")
        if news.count(RESTED):
            counts["rested"] = news.count(RESTED)
        if news.asked:
            counts["asked_model"] = news.asked
        return Outcome(counts, tuple(samples[:SAMPLES]), news.changed, after)

    def _expire(
        self, transaction: SemanticTransaction, step: Step, batch: int, snapshot: Snapshot, found: list[Cluster], news: News
    ) -> int:
        names = names_over_all(self._reader, transaction, step, batch, found, self._model)
        standing = {derived_id(step.scope, step.owner, f"{THEME}{name}") for name in names}
        gone = [
            one for one in snapshot.derived
            if one.memory.fact_key.startswith(THEME) and one.memory.memory_id not in standing
        ]  # fmt: skip
        for one in gone:
            self._deriving.expire(transaction, step, one, "sleep: its items belong together no more", news)
        return len(gone)


def names_over_all(
    reader: SnapshotReader, transaction: SemanticTransaction, step: Step, batch: int, found: Iterable[Cluster],
    model: MemoryModelSettings,
) -> set[str]:  # fmt: skip
    """The names of the clusters of a whole scope, of which `found` are those of this batch, its last."""
    names = {one.name for one in found}
    for earlier in range(batch):
        names.update(one.name for one in named(reader.read(transaction, step, earlier), earlier, model))
    return names


def named(snapshot: Snapshot, batch: int, model: MemoryModelSettings) -> tuple[Cluster, ...]:
    """The clusters of a batch, under names that no other batch has; the largest first."""
    found = clusters(snapshot.pieces, model.knowledge)
    if not batch:
        return found
    return tuple(replace(one, name=f"{one.name}#{batch}") for one in found)
