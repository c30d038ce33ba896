"""Outcomes, profiles, open suggestions and insights in the encrypted database."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import astuple

from aico_memory.domain.advisor.insights import Insight
from aico_memory.domain.advisor.records import OpenSuggestion, SealedOutcome, SealedProfile, SealedVector
from aico_memory.stores.behavioral import outcome_statements as sql
from aico_memory.stores.behavioral.sql_learning import SqlLearningRows


class SqlOutcomeRows(SqlLearningRows):
    """The port `OutcomeRows` on one connection."""

    __slots__ = ()

    def outcomes(self, user: str) -> list[SealedOutcome]:
        return self._outcomes(f"SELECT {sql.OUTCOME} FROM outcomes WHERE user_id = ? ORDER BY number", user)

    def outcome_of_event(self, event_id: uuid.UUID) -> SealedOutcome | None:
        found = self._outcomes(f"SELECT {sql.OUTCOME} FROM outcomes WHERE event_id = ?", event_id.bytes)
        return found[0] if found else None

    def outcomes_of_suggestion(self, user: str, suggestion_id: str) -> list[SealedOutcome]:
        query = f"SELECT {sql.OUTCOME} FROM outcomes WHERE user_id = ? AND suggestion_id = ? ORDER BY number"
        return self._outcomes(query, user, suggestion_id)

    def add_outcome(self, record: SealedOutcome) -> None:
        row = (
            record.user, record.number, record.event_id.bytes, record.suggestion_id, record.type, record.outcome,
            record.created_us, record.decided_us, record.sealed_body, int(record.compacted), record.answer,
        )  # fmt: skip
        self._connection.execute(sql.ADD_OUTCOME, row)

    def compact_outcome(self, user: str, number: int, created_us: int, sealed_body: bytes) -> None:
        self._connection.execute(sql.COMPACT_OUTCOME, (created_us, sealed_body, user, number))

    def delete_outcomes(self, user: str, numbers: Sequence[int]) -> int:
        query = "DELETE FROM outcomes WHERE user_id = ? AND number = ?"
        return sum(self._connection.execute(query, (user, number)).rowcount for number in numbers)

    def outcome_users(self) -> list[str]:
        return [row[0] for row in self._connection.execute(sql.OUTCOME_USERS)]

    def whole_outcomes(self, user: str) -> tuple[int, int, int]:
        whole, size, oldest_us = self._connection.execute(sql.WHOLE_OUTCOMES, (user,)).fetchone()
        return int(whole), int(size), int(oldest_us)

    def outcome_bytes(self, user: str) -> int:
        return int(self._connection.execute(sql.OUTCOME_BYTES, (user,)).fetchone()[0])

    def outcome_vectors(self, user: str) -> list[SealedVector]:
        query = (
            "SELECT number, sealed_vector, fingerprint FROM outcomes "
            "WHERE user_id = ? AND sealed_vector IS NOT NULL ORDER BY number"
        )
        return [SealedVector(*row) for row in self._connection.execute(query, (user,))]

    def outcomes_to_embed(self, fingerprint: str, limit: int) -> list[SealedOutcome]:
        return self._outcomes(sql.OUTDATED, fingerprint, limit) if fingerprint else self._outcomes(sql.TO_EMBED, limit)

    def put_outcome_vector(self, user: str, number: int, body: bytes, sealed: bytes, fingerprint: str) -> bool:
        return self._connection.execute(sql.PUT_VECTOR, (sealed, fingerprint, user, number, body)).rowcount > 0

    def profile(self, user: str) -> SealedProfile | None:
        query = "SELECT user_id, sealed_profile, updated_us FROM outcome_profiles WHERE user_id = ?"
        row = self._connection.execute(query, (user,)).fetchone()
        return None if row is None else SealedProfile(*row)

    def put_profile(self, profile: SealedProfile) -> None:
        query = "INSERT OR REPLACE INTO outcome_profiles (user_id, sealed_profile, updated_us) VALUES (?, ?, ?)"
        self._connection.execute(query, astuple(profile))

    def delete_profile(self, user: str) -> None:
        self._connection.execute("DELETE FROM outcome_profiles WHERE user_id = ?", (user,))

    def open_suggestion(self, user: str, suggestion_id: str) -> OpenSuggestion | None:
        query = f"SELECT {sql.SUGGESTION} FROM open_suggestions WHERE user_id = ? AND suggestion_id = ?"
        row = self._connection.execute(query, (user, suggestion_id)).fetchone()
        return None if row is None else OpenSuggestion(*row)

    def open_suggestions(self, user: str) -> list[OpenSuggestion]:
        query = f"SELECT {sql.SUGGESTION} FROM open_suggestions WHERE user_id = ? ORDER BY created_us, suggestion_id"
        return [OpenSuggestion(*row) for row in self._connection.execute(query, (user,))]

    def put_suggestion(self, suggestion: OpenSuggestion) -> None:
        query = f"INSERT OR REPLACE INTO open_suggestions ({sql.SUGGESTION}) VALUES (?, ?, ?, ?, ?, ?)"
        self._connection.execute(query, astuple(suggestion))

    def close_suggestion(self, user: str, suggestion_id: str) -> None:
        query = "DELETE FROM open_suggestions WHERE user_id = ? AND suggestion_id = ?"
        self._connection.execute(query, (user, suggestion_id))

    def overdue_suggestions(self, now_us: int) -> list[OpenSuggestion]:
        return [OpenSuggestion(*row) for row in self._connection.execute(sql.OVERDUE, (now_us,))]

    def insights(self) -> list[Insight]:
        return [Insight(*row) for row in self._connection.execute(f"SELECT {sql.INSIGHT} FROM insights ORDER BY insight_id")]

    def put_insight(self, insight: Insight) -> None:
        query = f"INSERT OR REPLACE INTO insights ({sql.INSIGHT}) VALUES (?, ?, ?, ?, ?, ?, ?)"
        self._connection.execute(query, astuple(insight))

    def delete_insight(self, insight_id: str) -> None:
        self._connection.execute("DELETE FROM insights WHERE insight_id = ?", (insight_id,))

    def _outcomes(self, query: str, *parameters: object) -> list[SealedOutcome]:
        return [sql.outcome_of(row) for row in self._connection.execute(query, parameters)]
