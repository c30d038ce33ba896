"""The part of the port that the advisor's memory needs."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Protocol

from aico_memory.domain.advisor.insights import Insight
from aico_memory.domain.advisor.records import OpenSuggestion, SealedOutcome, SealedProfile, SealedVector


class OutcomeRows(Protocol):
    """Reads see the transaction's own writes."""

    def outcomes(self, user: str) -> list[SealedOutcome]:
        """All of a user's, by number."""

    def outcome_of_event(self, event_id: uuid.UUID) -> SealedOutcome | None: ...

    def outcomes_of_suggestion(self, user: str, suggestion_id: str) -> list[SealedOutcome]:
        """By number; more than one where it was decided again."""

    def add_outcome(self, record: SealedOutcome) -> None:
        """Raises where the event id or the user's number stands already."""

    def compact_outcome(self, user: str, number: int, created_us: int, sealed_body: bytes) -> None:
        """Put a smaller body in the place of the whole one; its vector goes, to be made anew."""

    def delete_outcomes(self, user: str, numbers: Sequence[int]) -> int:
        """How many there were."""

    def outcome_users(self) -> list[str]:
        """Whoever has outcomes or a profile, sorted."""

    def whole_outcomes(self, user: str) -> tuple[int, int, int]:
        """Of a user's that are not compacted: how many, their stored bytes, and when the oldest was decided (0: none)."""

    def outcome_bytes(self, user: str) -> int:
        """The stored bytes of all of a user's."""

    def outcome_vectors(self, user: str) -> list[SealedVector]:
        """Of those that were embedded, by number."""

    def outcomes_to_embed(self, fingerprint: str, limit: int) -> list[SealedOutcome]:
        """Some that have no vector of this model ("": no vector at all), by user and number."""

    def put_outcome_vector(self, user: str, number: int, body: bytes, sealed: bytes, fingerprint: str) -> bool:
        """Keep a vector where the body is still the one it was made of; whether it is."""

    def profile(self, user: str) -> SealedProfile | None: ...

    def put_profile(self, profile: SealedProfile) -> None: ...

    def delete_profile(self, user: str) -> None: ...

    def open_suggestion(self, user: str, suggestion_id: str) -> OpenSuggestion | None: ...

    def open_suggestions(self, user: str) -> list[OpenSuggestion]:
        """Oldest first."""

    def put_suggestion(self, suggestion: OpenSuggestion) -> None: ...

    def close_suggestion(self, user: str, suggestion_id: str) -> None:
        """It is answered or gone; nothing where there is none."""

    def overdue_suggestions(self, now_us: int) -> list[OpenSuggestion]:
        """Everybody's whose time has passed, by user and id."""

    def insights(self) -> list[Insight]:
        """By id."""

    def put_insight(self, insight: Insight) -> None: ...

    def delete_insight(self, insight_id: str) -> None: ...
