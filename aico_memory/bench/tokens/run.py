"""Three-depth reading against fetching all, compaction, and the size of contexts, on a deployment of its own."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import mean
from typing import Any

from aico_memory.bench.chatter import sentences
from aico_memory.bench.system.run import deployment
from aico_memory.bench.tokens.histories import MadeOutcome, facts, outcomes
from aico_memory.client import MemoryClient
from aico_memory.models.token_counter import TokenCounter, token_counter
from aico_memory.settings.models import ModelSettings

Progress = Callable[[str], None]
FULL, HISTORY, YOUNG = 20, 150, 30
QUERY = "how did suggestions about the mornings and sleep go?"
# Of the lines that are read first, so many are opened.
OPENED, FOLLOWED = 3, 5


@dataclass(frozen=True, slots=True)
class Plan:
    """Tokens of an outcome in full; facts that are asked for, among so many lines of chatter."""

    tokens: int = 500
    facts: int = 40
    chatter: int = 400
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read outcomes: its tokens by depth, and their sum against fetching all."""

    name: str
    parts: dict[str, int]
    tokens: int
    saved: float


@dataclass(frozen=True, slots=True)
class Tokens:
    """What was measured."""

    tokenizer: str
    fetched: int
    readings: tuple[Reading, ...]
    compaction: dict[str, Any]
    # Patterns of the profile before, and whether they are the same afterwards.
    patterns: tuple[str, ...]
    patterns_kept: bool
    context_recall: float
    context_mean: float
    context_largest: int


def run_tokens(plan: Plan, progress: Progress) -> Tokens:
    """All scenarios in one run."""
    counter = token_counter(ModelSettings().embedding)
    # The history is compacted when it is told to, so that the saving of all of it is measured.
    whole = {"AICO_MEMORY_SET__behavioral__outcomes__compact_after": "100000",
             "AICO_MEMORY_SET__behavioral__outcomes__compact_bytes": "1000000000"}  # fmt: skip
    with deployment(whole) as home, MemoryClient.connect(home=home) as client:
        progress(f"three depths: {FULL} outcomes")
        fetched, readings = _three_depths(client, plan, counter)
        progress(f"compaction: {HISTORY} outcomes")
        report, patterns, kept = _compaction(client, plan, counter)
        progress(f"contexts: {plan.facts} facts among {plan.chatter} lines")
        recall, sizes = _contexts(client, plan)
    return Tokens(
        counter.name, fetched, readings, report, patterns, kept, recall, mean(sizes) if sizes else 0.0, max(sizes, default=0)
    )


def _three_depths(client: MemoryClient, plan: Plan, counter: TokenCounter) -> tuple[int, tuple[Reading, ...]]:
    user = "reader"
    _record(client, user, list(outcomes(random.Random(plan.seed), FULL, plan.tokens, counter.count)), [0] * FULL)
    everything = client.outcomes(user, 3, top_k=FULL)
    lines = client.outcomes(user, 1, QUERY, top_k=FULL)
    ranked = [one["outcome_id"] for one in lines["results"]]
    opened = client.outcomes(user, 3, ids=ranked[:OPENED])
    followed = client.outcomes(user, 2, ids=ranked[:FOLLOWED])
    last = client.outcomes(user, 3, ids=ranked[:1])
    ways = {
        f"all lines, {OPENED} in full": {"lines": lines["tokens"], "detail": opened["tokens"]},
        f"all lines, {FOLLOWED} timelines, one in full": {
            "lines": lines["tokens"], "timeline": followed["tokens"], "detail": last["tokens"],
        },
    }  # fmt: skip
    total = everything["tokens"]
    return total, tuple(
        Reading(name, parts, sum(parts.values()), 1 - sum(parts.values()) / total) for name, parts in ways.items()
    )


def _compaction(client: MemoryClient, plan: Plan, counter: TokenCounter) -> tuple[dict[str, Any], tuple[str, ...], bool]:
    user = "historian"
    made = list(outcomes(random.Random(plan.seed + 1), HISTORY, plan.tokens, counter.count))
    # The latest YOUNG lie within the month that stays whole, one a day at most; the others before it.
    ages = [31 + (HISTORY - YOUNG - number) for number in range(HISTORY - YOUNG)]
    ages += [(YOUNG - number) * 29 // YOUNG for number in range(YOUNG)]
    _record(client, user, made, ages)
    before = client.profile(user)
    report = client.compact_outcomes(user)
    after = client.profile(user)
    names = tuple(one["name"] for one in before["patterns"])
    kept = report["patterns_unchanged"] and before["patterns"] == after["patterns"]
    return dict(report), names, kept


def _contexts(client: MemoryClient, plan: Plan) -> tuple[float, list[int]]:
    user, rng = "talker", random.Random(plan.seed + 2)
    planted = list(facts(rng, plan.facts))
    lines = [*itertools.islice(sentences(rng), plan.chatter), *(message for message, _, _ in planted)]
    rng.shuffle(lines)
    for at in range(0, len(lines), 100):
        client.add([{"role": "user", "content": text} for text in lines[at : at + 100]], user_id=user, session_id=f"s{at}")
    client.flush(600)
    found, sizes = 0, []
    for _, question, code in planted:
        answer = client.context(question, user_id=user)
        found += code in answer["text"]
        sizes.append(answer["tokens"])
    return found / len(planted) if planted else 0.0, sizes


def _record(client: MemoryClient, user: str, made: Sequence[MadeOutcome], days_ago: Sequence[int]) -> None:
    client.set_consent(user, behavioral=True)
    now = datetime.now(UTC)
    for one, days in zip(made, days_ago, strict=True):
        decided = now - timedelta(days=days)
        client.record_outcome(
            user, one.suggestion_id, one.type, one.value, one.outcome, one.reason, one.state_before, one.state_after,
            one.evidence, created=decided, decided=decided,
        )  # fmt: skip
