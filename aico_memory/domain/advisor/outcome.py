"""A suggestion's outcome, and how much of it is told at each depth."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from aico_memory.errors import InvalidMessage

ACCEPTED: Final = "accepted"
REJECTED: Final = "rejected"
EXPIRED: Final = "expired"
SUPERSEDED: Final = "superseded"
OUTCOMES = (ACCEPTED, REJECTED, EXPIRED, SUPERSEDED)
DECIDED = frozenset({ACCEPTED, REJECTED})
MAX_EVIDENCE_CHARACTERS = 2000
MAX_TAG_CHARACTERS = 64
_TYPE = re.compile(r"[a-z0-9][a-z0-9_.:-]{0,63}")
_SEPARATORS = re.compile(r"[_.:-]+")
_ELLIPSIS = "…"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one suggestion. Times are Unix microseconds; states are JSON texts, "" where none is known."""

    user: str
    event_id: uuid.UUID
    # 1, 2, …: the user's outcomes in the order they were recorded; `o17` to readers.
    number: int
    suggestion_id: str
    type: str
    outcome: str
    created_us: int
    decided_us: int
    # Key of the target, "" where there is none.
    value: str = ""
    reason: str = ""
    state_before: str = ""
    state_after: str = ""
    evidence: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    compacted: bool = False

    @property
    def outcome_id(self) -> str:
        """How readers name it."""
        return f"o{self.number}"


def checked_type(name: str) -> str:
    """A type's name; InvalidMessage where it is none, so that types never hold sentences."""
    if not _TYPE.fullmatch(name):
        raise InvalidMessage(
            f"{name[:64]!r} is no type of suggestion", "Lower-case letters, digits and _ . : - ; at most 64 characters."
        )
    return name


def is_name(text: str) -> bool:
    """Whether a text is a plain key and no sentence."""
    return bool(_TYPE.fullmatch(text))


def checked_outcome(name: str) -> str:
    """One of OUTCOMES; InvalidMessage otherwise."""
    if name not in OUTCOMES:
        raise InvalidMessage(f"The outcome is {name[:32]!r}", f"Allowed are {', '.join(OUTCOMES)}.")
    return name


def checked_texts(texts: Sequence[str], what: str, longest: int) -> tuple[str, ...]:
    """The texts; InvalidMessage where one is longer than allowed."""
    if any(len(text) > longest for text in texts):
        raise InvalidMessage(f"A text of {what} is longer than {longest} characters")
    return tuple(texts)


def words_of(name: str) -> list[str]:
    """The words of a type or key: `add_habit` is add, habit."""
    return [word for word in _SEPARATORS.split(name.casefold()) if word]


def repeats(later: Outcome, standing: Outcome) -> bool:
    """Whether a later outcome of a suggestion says no more than the one that stands. What it leaves empty says nothing; of a
    compacted one nothing but type, value and outcome is known.
    """
    names = ("value",) if standing.compacted else ("value", "reason", "state_before", "state_after", "evidence", "tags")
    return (later.type, later.outcome) == (standing.type, standing.outcome) and all(
        getattr(later, name) in ("", (), getattr(standing, name)) for name in names
    )


def compacted(outcome: Outcome) -> Outcome:
    """What is kept of an old one: id, type, value, outcome and date."""
    return replace(
        outcome, created_us=outcome.decided_us, reason="", state_before="", state_after="", evidence=(), tags=(), compacted=True
    )


def line(outcome: Outcome, snippet: int = 0, replaced_by: str = "") -> str:
    """Layer 1: id, type, value, outcome, date, and the id of what stands in its place where the suggestion was answered anew.

    With `snippet` up to so many characters of the reason.
    """
    date = datetime.fromtimestamp(outcome.decided_us / 1e6, UTC).date().isoformat()
    parts = (outcome.outcome_id, outcome.type, outcome.value, outcome.outcome, date)
    told = " ".join(part for part in parts if part) + (f" (replaced by {replaced_by})" if replaced_by else "")
    return f"{told}: {cut(outcome.reason, snippet)}" if snippet and outcome.reason else told


def timeline(outcome: Outcome, before: Sequence[str], after: Sequence[str], longest: int, replaced_by: str = "") -> str:
    """Layer 2: the line, the reason and both states cut to `longest` characters each, and its neighbours' lines."""
    told = [
        line(outcome, replaced_by=replaced_by),
        *_named("reason", cut(outcome.reason, longest)),
        *_named("before", cut(outcome.state_before, longest)),
        *_named("after", cut(outcome.state_after, longest)),
        *(f"earlier: {one}" for one in before),
        *(f"later: {one}" for one in after),
    ]
    return "\n".join(told)


def detail(outcome: Outcome, replaced_by: str = "") -> str:
    """Layer 3: everything; of a compacted one that is its line."""
    if outcome.compacted:
        return line(outcome, replaced_by=replaced_by)
    created = datetime.fromtimestamp(outcome.created_us / 1e6, UTC).date().isoformat()
    told = [
        line(outcome, replaced_by=replaced_by),
        f"suggestion: {outcome.suggestion_id}, made {created}",
        *_named("reason", outcome.reason),
        *_named("before", outcome.state_before),
        *_named("after", outcome.state_after),
        *(f"evidence: {one}" for one in outcome.evidence),
        *_named("tags", ", ".join(outcome.tags)),
    ]
    return "\n".join(told)


def embedded_text(outcome: Outcome) -> str:
    """What an outcome is found by: type, value, reason and evidence."""
    named = " ".join((*words_of(outcome.type), *words_of(outcome.value)))
    return ". ".join(part for part in (named, outcome.reason, *outcome.evidence) if part)


def cut(text: str, longest: int) -> str:
    """On one line, at most so many characters and an ellipsis."""
    flat = " ".join(text.split())
    return flat if len(flat) <= longest else flat[:longest].rstrip() + _ELLIPSIS


def _named(name: str, text: str) -> tuple[str, ...]:
    return (f"{name}: {text}",) if text else ()
