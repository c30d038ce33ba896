"""What the store keeps of outcomes: the same facts with people's words sealed."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from aico_memory.domain.advisor.outcome import Outcome


@dataclass(frozen=True, slots=True)
class SealedOutcome:
    """One outcome; value, reason, states, evidence and tags are in the sealed body."""

    user: str
    number: int
    event_id: uuid.UUID
    suggestion_id: str
    type: str
    outcome: str
    created_us: int
    decided_us: int
    sealed_body: bytes
    compacted: bool = False
    # The serialised answer that its event got.
    answer: bytes = b""


@dataclass(frozen=True, slots=True)
class SealedVector:
    """The embedding of one outcome by the model that the fingerprint names."""

    number: int
    sealed: bytes
    fingerprint: str


@dataclass(frozen=True, slots=True)
class OpenSuggestion:
    """A suggestion that was not answered yet."""

    user: str
    suggestion_id: str
    type: str
    created_us: int
    expires_us: int
    sealed_body: bytes


@dataclass(frozen=True, slots=True)
class SealedProfile:
    """A user's profile."""

    user: str
    sealed: bytes
    updated_us: int


AnyOutcome = TypeVar("AnyOutcome", Outcome, SealedOutcome)


def named_by(wanted: str, outcomes: Sequence[AnyOutcome]) -> list[AnyOutcome]:
    """The outcome of this id; where there is none, those of the suggestion of this id."""
    found = [one for one in outcomes if f"o{one.number}" == wanted]
    return found or [one for one in outcomes if one.suggestion_id == wanted]
