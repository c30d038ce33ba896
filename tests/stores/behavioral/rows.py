"""Rows of the behavioral store, and how a test writes and reads them."""

import uuid
from dataclasses import replace

from sqlcipher3 import dbapi2

from aico_memory.domain.behavioral.learning import Posterior, Preference, SkillState
from aico_memory.domain.behavioral.records import FeedbackRecord, FormerFeedback, SelectionRecord, Trajectory, UserSkill

KEY = bytes(range(32))
TWICE = (ValueError, dbapi2.IntegrityError)
STATE = SkillState(0.59, 3, 2, 1, 5, 2, 1, 1, 1_700_000_000_000_000)
POSTERIOR = Posterior(3.0, 2.0)
OWN = UserSkill("ann", "own", 1, b"sealed", (0.5,) * 16, "accepted", 1, 2)
PREFERENCE = Preference(tuple(number / 16 for number in range(16)), 4)


def event(number: int) -> uuid.UUID:
    return uuid.UUID(int=number)


def selection(user="ann", request="r1", skill="short", **changes):
    plain = SelectionRecord(
        user, request, event(1), 10, 42, "question", "neutral", "morning", "applied", "hybrid-40-30-30", skill,
        True, 0.5, 0.8, 0.7, {"trigger": 0.4, "posterior": 0.1, "alignment": 0.2}, "because", "why?", "intent=caller",
    )  # fmt: skip
    return replace(plain, **changes)


def feedback(number=1, user="ann", **changes):
    plain = FeedbackRecord(
        user, event(number), "m1", "short", 1, 20, 42, "success", True, 0.59, "too_brief", b"sealed", "r1", True
    )
    return replace(plain, **changes)


def former(number=1, user="ann", **changes):
    plain = FormerFeedback(
        user, event(number), 25, event(6), True, -1, "success", 0.4, "", None, {"none": 0.9}, 24, "words", 0.5
    )
    return replace(plain, **changes)


def trajectory(user="ann", request="r1", **changes):
    return replace(Trajectory(user, request, "c1", 1, "short", False, 100, b"sealed"), **changes)


def write(store, *steps):
    with store.state.transaction() as transaction:
        rows = store.within(transaction)
        return [step(rows) for step in steps]


def read(store, question):
    with store.reading() as rows:
        return question(rows)
