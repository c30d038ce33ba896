"""The whole benchmark: what is read, learned, asked and compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from aico_memory.bench.retrieval.by_intent import learned_by_intent, scored_by_intent, specified_by_intent
from aico_memory.bench.retrieval.data import (
    LANGUAGES,
    Collection,
    load_conversations,
    load_passages,
    load_preferences,
)
from aico_memory.bench.retrieval.learned import FAMILIES, LEARNED, leave_one_out, samples_of
from aico_memory.bench.retrieval.local import Tabulated, Workshop, ranked, tabulated
from aico_memory.bench.retrieval.scoring import DEPTH, Scores, by_category, mean, score
from aico_memory.bench.retrieval.through_bus import Deployment, deployed
from aico_memory.domain.context.routing import Routing
from aico_memory.domain.retrieval.ranking import Profile

Progress = Callable[[str], None]
SEED = 1
SCORED = ("1", "2", "3", "4")
ADVERSARIAL = "5"
# Shipped profiles that stand for older designs, and plain retrievers.
BASELINES = {"cognitive": "older designs' composite", "rrf": "reciprocal rank fusion", "bm25": "BM25 alone"}
LEARNED_NAME = "learned, conversation not seen"
LEXICAL = "lexical"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be measured."""

    data: Path
    in_process: bool = False
    conversations: bool = True
    languages: tuple[str, ...] = LANGUAGES
    preferences: bool = True
    ablation: bool = True


@dataclass(slots=True)
class Outcome:
    """Scores by part; `conversations` and `ablation` by configuration, then category."""

    conversations: dict[str, dict[str, Scores]] = field(default_factory=dict)
    ablation: dict[str, dict[str, Scores]] = field(default_factory=dict)
    # By language: hybrid and lexical.
    languages: dict[str, dict[str, Scores]] = field(default_factory=dict)
    preferences: dict[str, Scores] = field(default_factory=dict)
    questions: int = 0
    degraded: int = 0


def run_retrieval(
    plan: Plan, workshop: Workshop, profiles: Mapping[str, Profile], routing: Routing, progress: Progress
) -> Outcome:
    """Measure what is asked for; `profiles` are the shipped ones."""
    outcome = Outcome()
    sets = [load_passages(plan.data, language) for language in plan.languages]
    wishes = [load_preferences(plan.data)] if plan.preferences else []
    conversations = load_conversations(plan.data) if plan.conversations else []
    outcome.questions = sum(len(one.questions) for one in conversations)
    entries: dict[str, list[Tabulated]] = {}
    shelves = {}
    for collection in conversations:
        progress(f"{collection.name}: reading and embedding")
        shelves[collection.name] = workshop.shelf(collection)
        entries[collection.name] = tabulated(collection, shelves[collection.name], workshop.figures)
    samples = {name: samples_of(own, SEED) for name, own in entries.items()}
    unseen = leave_one_out(samples, progress) if samples else {}
    if plan.ablation and samples:
        for family, gone in FAMILIES.items():
            progress(f"learning without {family}")
            left = [name for name in LEARNED if name not in gone]
            without = leave_one_out(samples, lambda _: None, left)
            outcome.ablation[f"without {family}"] = _scored_here(conversations, entries, without)
        progress("learning with recency")
        recent = leave_one_out(samples, lambda _: None, [*LEARNED, "recency"])
        outcome.ablation["with recency"] = _scored_here(conversations, entries, recent)
        progress("learning by the kind of question")
        intents = {one.name: [routing.intent(question.text) for question in one.questions] for one in conversations}
        for title, choice in (
            ("learned by intent", learned_by_intent(samples, intents, unseen)),
            ("the specification's weights by intent", specified_by_intent(unseen)),
        ):
            outcome.ablation[title] = scored_by_intent(conversations, entries, routing, choice, SCORED)
    if plan.in_process:
        _in_process(outcome, workshop, profiles, conversations, entries, unseen, [*sets, *wishes], progress)
    else:
        named = {profile.name: profile for profile in unseen.values()}
        with deployed(named) as deployment:
            _over_the_bus(outcome, deployment, conversations, unseen, [*sets, *wishes], progress)
            outcome.degraded = deployment.asking.degraded
    return outcome


def _over_the_bus(
    outcome: Outcome, deployment: Deployment, conversations: Sequence[Collection], unseen: Mapping[str, Profile],
    others: Sequence[Collection], progress: Progress,
) -> None:  # fmt: skip
    for collection in [*conversations, *others]:
        deployment.remember(collection, progress)
    asked = {LEARNED_NAME: "", **{text: name for name, text in BASELINES.items()}}
    for title, profile in asked.items():
        found: dict[str, list[Scores]] = {}
        for collection in conversations:
            progress(f"{collection.name}: {title}")
            name = profile or unseen[collection.name].name
            for question, ids in zip(
                collection.questions, deployment.ranked(collection, collection.questions, name), strict=True
            ):
                found.setdefault(question.category, []).append(score(ids, question.gold))
        if found:
            outcome.conversations[title] = by_category(found, SCORED)
    for collection in others:
        progress(f"{collection.name}: asking")
        by_title = {}
        for title, name in (("hybrid", ""), ("lexical", LEXICAL)):
            rankings = deployment.ranked(collection, collection.questions, name)
            by_title[title] = mean(
                score(ids, question.gold) for question, ids in zip(collection.questions, rankings, strict=True)
            )
        _note(outcome, collection, by_title)


def _in_process(
    outcome: Outcome, workshop: Workshop, profiles: Mapping[str, Profile], conversations: Sequence[Collection],
    entries: Mapping[str, Sequence[Tabulated]], unseen: Mapping[str, Profile], others: Sequence[Collection],
    progress: Progress,
) -> None:  # fmt: skip
    if conversations:
        outcome.conversations[LEARNED_NAME] = _scored_here(conversations, entries, unseen)
        for name, title in BASELINES.items():
            same = dict.fromkeys(entries, profiles[name])
            outcome.conversations[title] = _scored_here(conversations, entries, same)
    for collection in others:
        progress(f"{collection.name}: reading and asking")
        shelf = workshop.shelf(collection)
        found: dict[str, list[Scores]] = {"hybrid": [], "lexical": []}
        for question, entry in zip(collection.questions, tabulated(collection, shelf, workshop.figures, True), strict=True):
            hybrid = profiles[LEXICAL if entry.question.foreign else "default"]
            for title, profile in (("hybrid", hybrid), ("lexical", profiles[LEXICAL])):
                found[title].append(score(ranked(entry, profile, shelf.ids, DEPTH), question.gold))
        _note(outcome, collection, {title: mean(scores) for title, scores in found.items()})


def _note(outcome: Outcome, collection: Collection, by_title: dict[str, Scores]) -> None:
    if collection.name.startswith("xquad-"):
        outcome.languages[collection.name.removeprefix("xquad-")] = by_title
    else:
        outcome.preferences = by_title


def _scored_here(
    conversations: Sequence[Collection], entries: Mapping[str, Sequence[Tabulated]], profiles: Mapping[str, Profile]
) -> dict[str, Scores]:
    found: dict[str, list[Scores]] = {}
    for collection in conversations:
        ids = [message.id for message in collection.messages]
        for question, entry in zip(collection.questions, entries[collection.name], strict=True):
            ranking = ranked(entry, profiles[collection.name], ids, DEPTH)
            found.setdefault(question.category, []).append(score(ranking, question.gold))
    return by_category(found, SCORED)
