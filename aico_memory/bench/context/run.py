"""Contexts of conversations that are known, asked of one deployment under one configuration after another."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

import yaml

from aico_memory.bench.patience import PATIENT, PatientAsking
from aico_memory.bench.retrieval.data import Collection, Question, load_conversations
from aico_memory.bench.retrieval.through_bus import Deployment
from aico_memory.bench.system.run import deployment
from aico_memory.client import MemoryClient
from aico_memory.errors import InvalidMessage
from aico_memory.paths import Home
from aico_memory.runtime.environment import environment
from aico_memory.runtime.processes import restart_process
from aico_memory.settings.load import FILE

Progress = Callable[[str], None]
SCORED = ("1", "2", "3", "4")
AS_CONFIGURED = "as configured"
# A process that is restarted for each configuration is no crash loop.
_RESTARTS = {"AICO_MEMORY_SET__runtime__crash_loop_count": "100", "AICO_MEMORY_SET__context__deadline_ms": "20000"}
_NO_BOOSTS: dict[str, Any] = {
    "entity": 0.0, "kind": 0.0, "same_episode": 0.0, "co_activation": 0.0, "graph": 0.0, "attention": 0.0, "mood": 1.0,
    "over": 1.0, "dormant": 1.0, "weak_source": 1.0,
    "sub_tiers": {"personal": 1.0, "vicarious": 1.0, "schematic": 1.0, "procedural": 1.0},
}  # fmt: skip
# Name -> what of `context` is another; the first once more at the end, since contexts leave traces of use.
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    AS_CONFIGURED: {},
    "without diversity (lambda 1)": {"diversity": 1.0},
    "the specification's diversity (lambda 0.7)": {"diversity": 0.7},
    "without boosts": {"boosts": _NO_BOOSTS},
    "without the boost of entities": {"boosts": {"entity": 0.0}},
    "without the boost of kinds that are asked for": {"boosts": {"kind": 0.0}},
    "without the factors of sub-tiers": {"boosts": {"sub_tiers": _NO_BOOSTS["sub_tiers"]}},
    "without the factor of what is over": {"boosts": {"over": 1.0}},
    "without caps of a kind": {"most_of_kind": 200},
    "records stay beside their items": {"covered": 1.0},
    "without detail by score": {"full_score": 0.0, "short_score": 0.0},
    "the specification's thresholds of detail (0.7, 0.4)": {"full_score": 0.7, "short_score": 0.4},
    "twice the least score (0.001)": {"short_score": 0.001},
    "ten times the least score (0.005)": {"short_score": 0.005},
    "the specification's numbers of items (10 of three intents)": {
        "intents": {
            "factual": {"limit": 10, "utility": 0.2},
            "preference": {"limit": 10, "kinds": ["preference", "correction", "constraint"]},
            "general": {"limit": 10},
        }
    },
    "without parts": {"parts": 1},
    "parts merged by ranks": {"merge": "rrf"},
    "made-up answers by templates": {"expansion": "templates"},
    "as configured, once more": {},
}


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be asked."""

    data: Path
    conversations: int = 2
    # The first of them, counted from 0: what is decided on some is confirmed on others.
    first: int = 0
    # Of each conversation, and half as many times two in one.
    questions: int = 100
    # Configurations whose name holds one of these, beside the first; empty: all.
    only: tuple[str, ...] = ()


@dataclass(slots=True)
class Row:
    """Means over questions of one configuration. Recall: the share of the right turns that the context rests on."""

    recall: list[float] = field(default_factory=list)
    # 1 / the place of the first item that rests on a right turn.
    reciprocal: list[float] = field(default_factory=list)
    items: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)

    def means(self) -> dict[str, float]:
        """Plain numbers."""
        return {
            "questions": len(self.recall), "recall": round(mean(self.recall), 4), "mrr": round(mean(self.reciprocal), 4),
            "items": round(mean(self.items), 2), "tokens": round(mean(self.tokens), 1),
        }  # fmt: skip


def run_context(plan: Plan, progress: Progress) -> dict[str, dict[str, dict[str, float]]]:
    """By configuration: `single` questions, and `pairs`, two of a conversation asked at once. Raises InvalidMessage."""
    variants = chosen(plan.only)
    collections = load_conversations(plan.data)[plan.first : plan.first + plan.conversations]
    found: dict[str, dict[str, dict[str, float]]] = {}
    with environment({**PATIENT, **_RESTARTS}), deployment(dict(os.environ)) as folder:
        home = Home(folder)
        with MemoryClient.connect(home=folder) as client:
            held = Deployment(client)
            for collection in collections:
                held.remember(collection, progress)
            for name, changes in variants.items():
                progress(name)
                _configure(home, changes)
                kinds = {"single": singles, "pairs": pairs}
                found[name] = {kind: _asked(client, held, collections, plan, of).means() for kind, of in kinds.items()}
    return found


def chosen(only: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """The configurations whose name holds one of these, and the one that they are held against.

    Raises InvalidMessage where one of these is part of no name: what was asked for would not be measured.
    """
    if unknown := [one for one in only if not any(one in name for name in VARIANTS)]:
        raise InvalidMessage(f"No configuration's name holds {unknown[0]!r}", f"There are: {'; '.join(VARIANTS)}.")
    wanted = (AS_CONFIGURED, *only)
    return {name: changes for name, changes in VARIANTS.items() if not only or any(one in name for one in wanted)}


def singles(collection: Collection, most: int) -> list[Question]:
    """Questions of the scored categories, spread evenly over the conversation."""
    scored = [one for one in collection.questions if one.category in SCORED]
    return scored[:: max(1, len(scored) // most)][:most]


def pairs(collection: Collection, most: int) -> list[Question]:
    """Two questions of the conversation in one text; what answers either is right."""
    asked = singles(collection, most)
    return [
        Question(f"{one.text} {other.text}", tuple(dict.fromkeys((*one.gold, *other.gold))), "pair")
        for one, other in zip(asked[::2], asked[1::2], strict=False)
    ]


def _asked(
    client: MemoryClient, held: Deployment, collections: Sequence[Collection], plan: Plan,
    of: Callable[[Collection, int], Sequence[Question]],
) -> Row:  # fmt: skip
    row, asking = Row(), PatientAsking()
    for collection in collections:
        for question in of(collection, plan.questions):
            answer = asking.whole(partial(client.context, question.text, collection.name))
            note(row, question, [set(held.said(item["evidence"])) for item in answer.get("items", ())])
            row.items.append(len(answer.get("items", ())))
            row.tokens.append(answer.get("tokens", 0))
    return row


def note(row: Row, question: Question, rests_on: Sequence[set[str]]) -> None:
    """Add a context whose items rest on these messages, in their order."""
    gold = set(question.gold)
    seen = set().union(*rests_on) if rests_on else set[str]()
    row.recall.append(len(gold & seen) / len(gold))
    row.reciprocal.append(next(_places(gold, rests_on), 0.0))


def _places(gold: set[str], rests_on: Sequence[set[str]]) -> Iterator[float]:
    yield from (1 / place for place, events in enumerate(rests_on, start=1) if gold & events)


def _configure(home: Home, changes: Mapping[str, Any]) -> None:
    """The context process runs with these settings beside the shipped ones; no answer of before is kept."""
    home.config.mkdir(parents=True, exist_ok=True)
    (home.config / FILE).write_text(yaml.safe_dump({"context": dict(changes)}), encoding="utf-8")
    restart_process(home, "context")
