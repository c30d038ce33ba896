"""Outcomes, profiles, open suggestions and insights of the in-memory twin."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace

from aico_memory.domain.advisor.insights import Insight
from aico_memory.domain.advisor.records import OpenSuggestion, SealedOutcome, SealedProfile, SealedVector
from aico_memory.stores.behavioral.twin_learning import MemoryLearningRows


class MemoryOutcomeRows(MemoryLearningRows):
    """The port `OutcomeRows` on dictionaries."""

    def outcomes(self, user: str) -> list[SealedOutcome]:
        return [one for key, one in sorted(self._tables.outcomes.items()) if key[0] == user]

    def outcome_of_event(self, event_id: uuid.UUID) -> SealedOutcome | None:
        return next((one for one in self._tables.outcomes.values() if one.event_id == event_id), None)

    def outcomes_of_suggestion(self, user: str, suggestion_id: str) -> list[SealedOutcome]:
        return [one for one in self.outcomes(user) if one.suggestion_id == suggestion_id]

    def add_outcome(self, record: SealedOutcome) -> None:
        if (record.user, record.number) in self._tables.outcomes or self.outcome_of_event(record.event_id):
            raise ValueError(f"{record.event_id} or the number {record.number} stands already")
        self._tables.outcomes[record.user, record.number] = record

    def compact_outcome(self, user: str, number: int, created_us: int, sealed_body: bytes) -> None:
        key, tables = (user, number), self._tables
        if key in tables.outcomes:
            tables.outcomes[key] = replace(tables.outcomes[key], created_us=created_us, sealed_body=sealed_body, compacted=True)
            tables.vectors.pop(key, None)

    def delete_outcomes(self, user: str, numbers: Sequence[int]) -> int:
        found = [(user, number) for number in numbers if (user, number) in self._tables.outcomes]
        for key in found:
            del self._tables.outcomes[key]
            self._tables.vectors.pop(key, None)
        return len(found)

    def outcome_users(self) -> list[str]:
        return sorted({user for user, _ in self._tables.outcomes} | set(self._tables.profiles))

    def whole_outcomes(self, user: str) -> tuple[int, int, int]:
        whole = [one for one in self.outcomes(user) if not one.compacted]
        return len(whole), sum(map(self._size, whole)), min((one.decided_us for one in whole), default=0)

    def outcome_bytes(self, user: str) -> int:
        return sum(map(self._size, self.outcomes(user)))

    def _size(self, outcome: SealedOutcome) -> int:
        vector = self._tables.vectors.get((outcome.user, outcome.number))
        return 64 + len(outcome.sealed_body) + (len(vector.sealed) if vector else 0)

    def outcome_vectors(self, user: str) -> list[SealedVector]:
        return [one for key, one in sorted(self._tables.vectors.items(), key=lambda item: item[0]) if key[0] == user]

    def outcomes_to_embed(self, fingerprint: str, limit: int) -> list[SealedOutcome]:
        found = []
        for key, one in sorted(self._tables.outcomes.items(), key=lambda item: item[0]):
            vector = self._tables.vectors.get(key)
            if vector is None or (fingerprint and vector.fingerprint != fingerprint):
                found.append(one)
        return found[:limit]

    def put_outcome_vector(self, user: str, number: int, body: bytes, sealed: bytes, fingerprint: str) -> bool:
        standing = self._tables.outcomes.get((user, number))
        if standing is None or standing.sealed_body != body:
            return False
        self._tables.vectors[user, number] = SealedVector(number, sealed, fingerprint)
        return True

    def profile(self, user: str) -> SealedProfile | None:
        return self._tables.profiles.get(user)

    def put_profile(self, profile: SealedProfile) -> None:
        self._tables.profiles[profile.user] = profile

    def delete_profile(self, user: str) -> None:
        self._tables.profiles.pop(user, None)

    def open_suggestion(self, user: str, suggestion_id: str) -> OpenSuggestion | None:
        return self._tables.suggestions.get((user, suggestion_id))

    def open_suggestions(self, user: str) -> list[OpenSuggestion]:
        found = [one for one in self._tables.suggestions.values() if one.user == user]
        return sorted(found, key=lambda one: (one.created_us, one.suggestion_id))

    def put_suggestion(self, suggestion: OpenSuggestion) -> None:
        self._tables.suggestions[suggestion.user, suggestion.suggestion_id] = suggestion

    def close_suggestion(self, user: str, suggestion_id: str) -> None:
        self._tables.suggestions.pop((user, suggestion_id), None)

    def overdue_suggestions(self, now_us: int) -> list[OpenSuggestion]:
        rows = sorted(self._tables.suggestions.items(), key=lambda item: item[0])
        return [one for _, one in rows if one.expires_us <= now_us]

    def insights(self) -> list[Insight]:
        return [one for _, one in sorted(self._tables.insights.items())]

    def put_insight(self, insight: Insight) -> None:
        self._tables.insights[insight.insight_id] = insight

    def delete_insight(self, insight_id: str) -> None:
        self._tables.insights.pop(insight_id, None)
