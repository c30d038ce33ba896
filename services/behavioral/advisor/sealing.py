"""Between outcomes as the rules see them and as the store keeps them, sealed with the user's key."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aico_memory.domain.advisor.outcome import Outcome
from aico_memory.domain.advisor.profile import Profile, as_data, from_data
from aico_memory.domain.advisor.records import OpenSuggestion, SealedOutcome, SealedProfile, SealedVector
from aico_memory.errors import KeyDestroyed, WrongKey
from aico_memory.stores.behavioral.port import BehavioralRows
from aico_memory.vault.sealer import Sealer

# The user's key is destroyed, and perhaps another one was made since: what it sealed is gone.
GONE = (KeyDestroyed, WrongKey)
_WORDS = ("value", "reason", "state_before", "state_after", "evidence", "tags")


def sealed_body(outcome: Outcome, sealer: Sealer) -> bytes:
    """Value, reason, states, evidence and tags; what is empty is left out."""
    words = {name: getattr(outcome, name) for name in _WORDS if getattr(outcome, name)}
    plain = json.dumps(words, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return sealer.seal(plain.encode(), _body_context(outcome))


def opened(record: SealedOutcome, sealer: Sealer) -> Outcome:
    """The outcome with its words; without them where the user's key is gone."""
    words: dict[str, Any] = {}
    try:
        words = json.loads(sealer.open(record.sealed_body, _body_context(record)))
    except GONE:
        words = {}
    return Outcome(
        user=record.user,
        event_id=record.event_id,
        number=record.number,
        suggestion_id=record.suggestion_id,
        type=record.type,
        outcome=record.outcome,
        created_us=record.created_us,
        decided_us=record.decided_us,
        value=words.get("value", ""),
        reason=words.get("reason", ""),
        state_before=words.get("state_before", ""),
        state_after=words.get("state_after", ""),
        evidence=tuple(words.get("evidence", ())),
        tags=tuple(words.get("tags", ())),
        compacted=record.compacted,
    )


def sealed(outcome: Outcome, sealer: Sealer, answer: bytes) -> SealedOutcome:
    """As it is stored."""
    return SealedOutcome(
        outcome.user, outcome.number, outcome.event_id, outcome.suggestion_id, outcome.type, outcome.outcome,
        outcome.created_us, outcome.decided_us, sealed_body(outcome, sealer), outcome.compacted, answer,
    )  # fmt: skip


def profile_of(rows: BehavioralRows, user: str, sealer: Sealer) -> Profile:
    """The user's profile; where there is none, or its key is gone, an empty one that gives no number twice."""
    found = rows.profile(user)
    if found is None:
        return Profile()
    try:
        return from_data(json.loads(sealer.open(found.sealed, _profile_context(user))))
    except GONE:
        return Profile(last_number=max((one.number for one in rows.outcomes(user)), default=0))


def put_profile(rows: BehavioralRows, user: str, profile: Profile, sealer: Sealer, at_us: int) -> None:
    """Store it."""
    plain = json.dumps(as_data(profile), sort_keys=True, separators=(",", ":")).encode()
    rows.put_profile(SealedProfile(user, sealer.seal(plain, _profile_context(user)), at_us))


def exported(record: SealedOutcome | SealedProfile | OpenSuggestion, sealer: Sealer) -> dict[str, Any]:
    """The words of a record, for the export; none where the user's key is gone."""
    try:
        if isinstance(record, SealedProfile):
            sealed_words, context = record.sealed, _profile_context(record.user)
        elif isinstance(record, SealedOutcome):
            sealed_words, context = record.sealed_body, _body_context(record)
        else:
            sealed_words, context = record.sealed_body, suggestion_context(record.user, record.suggestion_id)
        words: dict[str, Any] = json.loads(sealer.open(sealed_words, context))
    except GONE:
        words = {}
    return words


def sealed_vector(vector: NDArray[np.float32], record: SealedOutcome, sealer: Sealer) -> bytes:
    """In half precision: a cosine keeps three digits."""
    return sealer.seal(vector.astype("<f2").tobytes(), _vector_context(record.user, record.number))


def opened_vector(found: SealedVector, user: str, sealer: Sealer) -> NDArray[np.float32] | None:
    """The vector; None where nothing could be embedded, or the key is gone."""
    if not found.sealed:
        return None
    try:
        plain = sealer.open(found.sealed, _vector_context(user, found.number))
    except GONE:
        return None
    return np.frombuffer(plain, dtype="<f2").astype(np.float32)


def opened_suggestion(found: OpenSuggestion, sealer: Sealer) -> dict[str, Any]:
    """Its words by name; none where the key is gone."""
    try:
        words: dict[str, Any] = json.loads(sealer.open(found.sealed_body, suggestion_context(found.user, found.suggestion_id)))
    except GONE:
        words = {}
    return words


def suggestion_context(user: str, suggestion_id: str) -> bytes:
    """What the words of an open suggestion are bound to."""
    return f"suggestion/body\0{user}\0{suggestion_id}".encode()


def _body_context(outcome: Outcome | SealedOutcome) -> bytes:
    return b"outcome/body\0" + outcome.event_id.bytes


def _profile_context(user: str) -> bytes:
    return b"outcome/profile\0" + user.encode()


def _vector_context(user: str, number: int) -> bytes:
    return f"outcome/vector\0{user}\0{number}".encode()
