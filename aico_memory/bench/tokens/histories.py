"""Made-up outcomes of suggestions and facts among chatter: the same for the same seed, sized by a tokenizer."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from aico_memory.bench.chatter import NAMES, PLACES, THINGS

TYPES = ("add_habit", "remove_task", "add_task", "reschedule_meeting", "plan_trip", "change_routine")
TARGETS = ("morning_run", "evening_walk", "weekly_review", "language_lesson", "grocery_list", "dentist", "piano_practice",
           "budget", "standup", "reading_hour", "garden", "newsletter")  # fmt: skip
REASONS = (
    "You said that the evenings are too full, and this would take the pressure off the days with school runs.",
    "The calendar has shown three conflicts at this hour since the beginning of the month.",
    "It fits the aim of sleeping earlier, which was mentioned twice, and it needs no equipment.",
    "The last attempt was given up after a week because the reminder came too late in the day.",
)
EVIDENCE = (
    "On {day} {name} wrote that the {thing} takes longer than planned and asked for a calmer start into the week.",
    "The step counter stayed below four thousand on {number} days of the last fortnight.",
    "In the conversation about {place} the wish came up to have one free evening, at best {day}.",
    "{name} declined a similar proposal in spring, with the remark that mornings are for the {thing}.",
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")


@dataclass(frozen=True, slots=True)
class MadeOutcome:
    """The arguments of one `record_outcome`."""

    suggestion_id: str
    type: str
    value: str
    outcome: str
    reason: str
    state_before: dict[str, Any]
    state_after: dict[str, Any]
    evidence: list[str]


def outcomes(rng: random.Random, count: int, tokens: int, counted: Callable[[str], int]) -> Iterator[MadeOutcome]:
    """So many outcomes, each with evidence until its texts have about so many tokens."""
    for number in range(count):
        kind, value = TYPES[number % len(TYPES)], rng.choice(TARGETS)
        reason = " ".join(rng.sample(REASONS, 2))
        before: dict[str, Any] = {
            "entries": [rng.choice(TARGETS) for _ in range(6)],
            "free_minutes": rng.randint(0, 90),
            "streak": 0,
        }
        after = {**before, "entries": [*before["entries"], value], "streak": rng.randint(1, 9)}
        evidence: list[str] = []
        # Ids, names and dates around the texts, and half of the last piece of evidence, come to about seventy more.
        while sum(map(counted, (reason, str(before), str(after), *evidence))) < tokens - 70:
            evidence.append(rng.choice(EVIDENCE).format(
                day=rng.choice(DAYS), name=rng.choice(NAMES), place=rng.choice(PLACES), thing=rng.choice(THINGS),
                number=rng.randint(3, 12),
            ))  # fmt: skip
        yield MadeOutcome(f"s{number}", kind, value, _answer(kind, rng), reason, before, after, evidence)


def facts(rng: random.Random, count: int) -> Iterator[tuple[str, str, str]]:
    """So many (message, question, word that the answer must hold), no two about the same."""
    pairs = [(thing, place) for thing in THINGS for place in PLACES]
    for thing, place in rng.sample(pairs, count):
        code = str(rng.randint(100_000, 999_999))
        about = f"the code for the {thing} in {place}"
        yield f"Please remember: {about} is {code}.", f"What is {about}?", code


def _answer(kind: str, rng: random.Random) -> str:
    # People differ by type, so that there are patterns to keep.
    if kind.startswith("remove"):
        return "rejected"
    if kind.startswith("add"):
        return "accepted" if rng.random() < 0.85 else "rejected"
    return rng.choices(("accepted", "rejected", "expired", "superseded"), (4, 3, 2, 1))[0]
