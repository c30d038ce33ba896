"""Labels for self-adjustment beside the memories: kept while they are new enough to say something, without any text."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from aico_memory.domain.guardrails.labels import RankingLabel, ReviewLabel
from aico_memory.stores.sql import Connection

_PUT_REVIEW = "INSERT OR REPLACE INTO review_labels (memory_id, at_us, kind, confidence, promoted) VALUES (?, ?, ?, ?, ?)"
_REVIEWS = "SELECT memory_id, at_us, kind, confidence, promoted FROM review_labels ORDER BY at_us DESC, memory_id LIMIT ?"
_PUT_RANKING = """
INSERT INTO ranking_labels (label_id, owner, at_us, names, rows, kinds, tiers, helped, refused)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (label_id) DO UPDATE SET at_us = excluded.at_us, helped = excluded.helped, refused = excluded.refused
"""
_RANKING = "SELECT label_id, owner, at_us, names, rows, kinds, tiers, helped, refused FROM ranking_labels"
_PRUNE = """
DELETE FROM ranking_labels WHERE position <= (SELECT position FROM ranking_labels ORDER BY position DESC LIMIT 1 OFFSET ?)
"""


class Labels(Protocol):
    """Reads see the transaction's own writes."""

    def reviews(self, limit: int) -> list[ReviewLabel]:
        """The newest first."""

    def put_review(self, label: ReviewLabel) -> None:
        """One item, one label: the last word counts."""

    def rankings(self, limit: int) -> list[RankingLabel]:
        """The newest first."""

    def ranking(self, label_id: str) -> RankingLabel | None: ...

    def put_ranking(self, label: RankingLabel, kept: int) -> None:
        """Store a question's label; known rows stay as they are, and beyond `kept` the oldest go."""


class SqlLabels:
    """The port on a connection."""

    __slots__ = ("_label_connection",)

    def __init__(self, connection: Connection) -> None:
        self._label_connection = connection

    def reviews(self, limit: int) -> list[ReviewLabel]:
        rows = self._label_connection.execute(_REVIEWS, (limit,))
        return [
            ReviewLabel(memory_id, at_us, kind, confidence, bool(promoted))
            for memory_id, at_us, kind, confidence, promoted in rows
        ]

    def put_review(self, label: ReviewLabel) -> None:
        row = (label.memory_id, label.at_us, label.kind, label.confidence, int(label.promoted))
        self._label_connection.execute(_PUT_REVIEW, row)

    def rankings(self, limit: int) -> list[RankingLabel]:
        return [_label(*row) for row in self._label_connection.execute(f"{_RANKING} ORDER BY position DESC LIMIT ?", (limit,))]

    def ranking(self, label_id: str) -> RankingLabel | None:
        row = self._label_connection.execute(f"{_RANKING} WHERE label_id = ?", (label_id,)).fetchone()
        return None if row is None else _label(*row)

    def put_ranking(self, label: RankingLabel, kept: int) -> None:
        self._label_connection.execute(_PUT_RANKING, _row(label))
        self._label_connection.execute(_PRUNE, (kept,))


class MemoryLabels:
    """The twin of `SqlLabels`, on dictionaries that their owner copies."""

    def __init__(self, reviews: dict[bytes, ReviewLabel], rankings: dict[str, RankingLabel]) -> None:
        self._reviews = reviews
        self._rankings = rankings

    def reviews(self, limit: int) -> list[ReviewLabel]:
        return sorted(self._reviews.values(), key=lambda one: (-one.at_us, one.memory_id))[:limit]

    def put_review(self, label: ReviewLabel) -> None:
        self._reviews[label.memory_id] = label

    def rankings(self, limit: int) -> list[RankingLabel]:
        return list(reversed(self._rankings.values()))[:limit]

    def ranking(self, label_id: str) -> RankingLabel | None:
        return self._rankings.get(label_id)

    def put_ranking(self, label: RankingLabel, kept: int) -> None:
        first = self._rankings.get(label.label_id, label)
        self._rankings[label.label_id] = _label(
            *_row(replace(first, at_us=label.at_us, helped=label.helped, refused=label.refused))
        )
        for old in self.rankings(len(self._rankings))[kept:]:
            del self._rankings[old.label_id]


def _row(label: RankingLabel) -> tuple[Any, ...]:
    rows = np.asarray(label.rows, dtype="<f4").tobytes()
    lists = [json.dumps(one) for one in (label.kinds, label.tiers, label.helped, label.refused)]
    return (label.label_id, label.owner, label.at_us, json.dumps(label.names), rows, *lists)


def _label(label_id: str, owner: str, at_us: int, names: str, rows: bytes, *lists: str) -> RankingLabel:
    named = tuple(json.loads(names))
    values = np.frombuffer(rows, dtype="<f4").reshape(-1, max(1, len(named))).tolist()
    kinds, tiers, helped, refused = (tuple(json.loads(one)) for one in lists)
    return RankingLabel(label_id, owner, at_us, named, tuple(map(tuple, values)), helped, refused, kinds, tiers)
