"""Thirty nights in fast motion: a real deployment whose clock is turned, people who go on talking, and what becomes of it.

The clock stands still while work is done and then jumps: to noon, when people talk and ask, and to the next morning,
by when the scheduler has fired what was due at night. With conversations of the retrieval benchmark beside them it is
asked before and after what was said in these.
"""

from __future__ import annotations

import itertools
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from aico_memory.bench.chatter import questions, sentences
from aico_memory.bench.patience import PATIENT, PatientAsking
from aico_memory.bench.retrieval.data import Collection, Question
from aico_memory.bench.retrieval.scoring import Scores, mean, score
from aico_memory.bench.sleep.people import PEOPLE, Person
from aico_memory.bench.system.run import deployment
from aico_memory.client import MemoryClient
from aico_memory.clock import SharedManualClock, parse_time
from aico_memory.domain.memory import KINDS, RECORD, STATUSES
from aico_memory.errors import DeadlineExceeded
from aico_memory.paths import Home
from aico_memory.runtime.clocks import CLOCK_VARIABLE, MANUAL
from aico_memory.runtime.environment import environment

Progress = Callable[[str], None]
FIRST_DAY = datetime(2026, 3, 2, 12, tzinfo=UTC)
_MORNING = timedelta(hours=7)
_BATCH, _MOST = 200, 1_000_000
_NIGHT_SECONDS, _LOOK_SECONDS = 1800.0, 0.2
_OPEN = frozenset({"planned", "fired"})
# The one waits for an idle hour, which a clock that stands still does not bring; the other does not report its end.
_UNAWAITED = frozenset({"index_maintenance", "foresight_due"})
_ITEM_KINDS = tuple(kind for kind in KINDS if kind != RECORD)
AWAKE = ("episodic", "semantic")
_SCORED = "1234"
_TOP = 10
# More than one night starts.
_RUNS = 5


@dataclass(frozen=True, slots=True)
class Day:
    """How things stand in the morning; items of all users, records left out."""

    day: int
    # Items by tier of those that are active, and by status of all.
    tiers: Mapping[str, int]
    statuses: Mapping[str, int]
    # Active items that were there on the first morning and are not dormant, as a share.
    retained: float
    # Share of what people told of themselves on the first day that is still answered.
    recalled: float
    # What the nights' phases did, summed over all runs so far.
    done: Mapping[str, int]
    # Items of the conversations that are awake: nothing is said in these after the first day.
    told_before: int = 0


@dataclass(slots=True)
class Month:
    """What thirty nights made."""

    days: list[Day] = field(default_factory=list)
    # R@10 and the like of conversations by day: everything, and what is dormant left out.
    everything: dict[int, Scores] = field(default_factory=dict)
    awake: dict[int, Scores] = field(default_factory=dict)
    # Searches of conversations that a tier left unanswered in the end.
    degraded: int = 0
    seconds: float = 0.0


def run_month(nights: int, collections: Sequence[Collection], messages_a_day: int, seed: int, progress: Progress) -> Month:
    """All nights on one deployment; `collections` may be empty."""
    with environment({CLOCK_VARIABLE: MANUAL, **PATIENT}), deployment() as folder:
        return _Simulation(folder, collections, messages_a_day, seed, progress).run(nights)


class _Simulation:
    def __init__(
        self, folder: Path, collections: Sequence[Collection], messages_a_day: int, seed: int, progress: Progress
    ) -> None:
        self._clock = SharedManualClock(Home(folder).manual_clock)
        self._folder = folder
        self._collections = collections
        self._each = messages_a_day
        self._say = progress
        self._rng = random.Random(seed)
        self._texts = sentences(self._rng)
        self._asked = questions(random.Random(seed + 1))
        self._said: dict[str, str] = {}
        self._first: frozenset[str] = frozenset()
        self._done: Counter[str] = Counter()
        self._runs: set[str] = set()
        self._asking = PatientAsking()

    def run(self, nights: int) -> Month:
        month, started = Month(), time.monotonic()
        self._clock.set(FIRST_DAY)
        with MemoryClient.connect(home=self._folder) as client:
            self._tell_conversations(client)
            for person in PEOPLE:
                client.add(
                    [{"role": "user", "content": text} for text in person.tells], user_id=person.name, session_id="first"
                )
            client.flush(_NIGHT_SECONDS)
            self._look(client, month, 0)
            for night in range(1, nights + 1):
                self._say(f"night {night} of {nights}")
                self._noon(client, night)
                self._night(client, night)
                self._look(client, month, night, last=night == nights)
        month.degraded = self._asking.degraded
        month.seconds = time.monotonic() - started
        return month

    def _tell_conversations(self, client: MemoryClient) -> None:
        for collection in self._collections:
            self._say(f"telling {collection.name}")
            for session, run in itertools.groupby(collection.messages, key=lambda message: message.session):
                for part in _parts(list(run)):
                    told = [{"role": "user", "content": one.text, "timestamp": one.at, "name": one.name} for one in part]
                    events = client.add(told, user_id=collection.name, session_id=session)
                    self._said.update((event, one.id) for event, one in zip(events, part, strict=True))

    def _noon(self, client: MemoryClient, night: int) -> None:
        """People talk of this and that, and ask; what they are answered with is used."""
        for person in PEOPLE:
            texts = list(itertools.islice(self._texts, self._each))
            client.add([{"role": "user", "content": text} for text in texts], user_id=person.name, session_id=f"day-{night}")
            fact = person.facts[night % len(person.facts)]
            client.recall(fact.question, person.name)
            client.context(next(self._asked), user_id=person.name, session_id=f"day-{night}")
        client.flush(_NIGHT_SECONDS)

    def _night(self, client: MemoryClient, night: int) -> None:
        morning = FIRST_DAY.replace(hour=0) + timedelta(days=night) + _MORNING
        self._clock.set(morning)
        until = time.monotonic() + _NIGHT_SECONDS
        while time.monotonic() < until:
            try:
                shown = client.jobs(history=50)
            except DeadlineExceeded:
                # A busy machine: what is measured is what the nights do, not how soon.
                continue
            planned = all(parse_time(job["next"]) > morning for job in shown["jobs"] if job["enabled"] and job["next"])
            if planned and not any(_under_way(firing) for firing in shown["firings"]):
                break
            time.sleep(_LOOK_SECONDS)
        else:
            raise DeadlineExceeded(f"Night {night} has not ended after {_NIGHT_SECONDS:g} s")
        client.flush(_NIGHT_SECONDS)
        self._clock.set(morning + (timedelta(hours=12) - _MORNING))
        for run in client.sleep_runs(_RUNS):
            if run["run_id"] not in self._runs:
                self._runs.add(run["run_id"])
                for phase in run["phases"]:
                    self._done.update(phase["counts"])

    def _look(self, client: MemoryClient, month: Month, night: int, *, last: bool = False) -> None:
        users = [*(person.name for person in PEOPLE), *(collection.name for collection in self._collections)]
        wanted = {"kind": list(_ITEM_KINDS), "status": list(STATUSES)}
        held = {user: client.get_all(user, wanted, limit=_MOST)["results"] for user in users}
        items = list(itertools.chain.from_iterable(held.values()))
        active = [item for item in items if item["status"] == "active"]
        awake = frozenset(item["id"] for item in active if item["tier"] in AWAKE)
        self._first = self._first or awake
        month.days.append(
            Day(
                night, Counter(item["tier"] for item in active), Counter(item["status"] for item in items),
                len(awake & self._first) / max(1, len(self._first)), _recalled(client, PEOPLE), dict(self._done),
                sum(item["id"] in awake for one in self._collections for item in held[one.name]),
            )
        )  # fmt: skip
        if self._collections and (night == 0 or last):
            self._say(f"night {night}: asking what was said in the conversations")
            month.everything[night] = self._scores(client, {})
            month.awake[night] = self._scores(client, {"tier": list(AWAKE)})

    def _scores(self, client: MemoryClient, filters: Mapping[str, Any]) -> Scores:
        found = []
        for collection in self._collections:
            for question in collection.questions:
                if question.category in _SCORED:
                    found.append(score(self._found(client, collection.name, question, filters), question.gold))
        return mean(found)

    def _found(self, client: MemoryClient, user: str, question: Question, filters: Mapping[str, Any]) -> list[str]:
        answer = self._asking.whole(lambda: client.search(question.text, user, top_k=2 * _TOP, filters=dict(filters) or None))
        ids = (self._said[event] for hit in answer["results"] for event in hit["evidence"][:1] if event in self._said)
        return list(dict.fromkeys(ids))


def _under_way(firing: Mapping[str, Any]) -> bool:
    return firing["outcome"] in _OPEN and firing["job"] not in _UNAWAITED


def _recalled(client: MemoryClient, people: Sequence[Person]) -> float:
    """Share of all facts that are answered with the value that was told."""
    right = [
        any(fact.value.casefold() in (one["value"] or one["memory"]).casefold() for one in answer["results"])
        for person in people
        for fact in person.facts
        for answer in (client.recall(fact.question, person.name),)
    ]
    return sum(right) / len(right)


def _parts(said: Sequence[Any]) -> list[Sequence[Any]]:
    return [said[start : start + _BATCH] for start in range(0, len(said), _BATCH)]
