"""The statements of outcomes, profiles, open suggestions and insights, and how a row becomes an outcome."""

from __future__ import annotations

import uuid
from typing import Any

from aico_memory.domain.advisor.records import SealedOutcome

OUTCOME = "user_id, number, event_id, suggestion_id, type, outcome, created_us, decided_us, sealed_body, compacted, answer"
SUGGESTION = "user_id, suggestion_id, type, created_us, expires_us, sealed_body"
INSIGHT = "insight_id, statement, type, people, rate, status, at_us"
ADD_OUTCOME = f"INSERT INTO outcomes ({OUTCOME}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
COMPACT_OUTCOME = """
UPDATE outcomes SET created_us = ?, sealed_body = ?, compacted = 1, sealed_vector = NULL, fingerprint = ''
WHERE user_id = ? AND number = ?
"""
OUTCOME_USERS = "SELECT user_id FROM outcomes UNION SELECT user_id FROM outcome_profiles ORDER BY user_id"
_BYTES = "coalesce(sum(64 + length(sealed_body) + coalesce(length(sealed_vector), 0)), 0)"
WHOLE_OUTCOMES = f"SELECT count(*), {_BYTES}, coalesce(min(decided_us), 0) FROM outcomes WHERE user_id = ? AND compacted = 0"
OUTCOME_BYTES = f"SELECT {_BYTES} FROM outcomes WHERE user_id = ?"
TO_EMBED = f"SELECT {OUTCOME} FROM outcomes WHERE sealed_vector IS NULL ORDER BY user_id, number LIMIT ?"
OUTDATED = f"""
SELECT {OUTCOME} FROM outcomes WHERE sealed_vector IS NULL OR fingerprint <> ? ORDER BY user_id, number LIMIT ?
"""
PUT_VECTOR = "UPDATE outcomes SET sealed_vector = ?, fingerprint = ? WHERE user_id = ? AND number = ? AND sealed_body = ?"
OVERDUE = f"SELECT {SUGGESTION} FROM open_suggestions WHERE expires_us <= ? ORDER BY user_id, suggestion_id"


def outcome_of(row: Any) -> SealedOutcome:
    user, number, event_id, suggestion_id, kind, outcome, created_us, decided_us, body, compacted, answer = row
    return SealedOutcome(
        user, number, uuid.UUID(bytes=event_id), suggestion_id, kind, outcome, created_us, decided_us, body, bool(compacted),
        answer,
    )  # fmt: skip
