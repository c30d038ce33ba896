"""Settings of the context section."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

from pydantic import Field, field_validator, model_validator

from aico_memory.settings.memory_model import KindsSettings
from aico_memory.settings.section import Section

Merge = Literal["best", "rrf"]
Expansion = Literal["off", "templates", "model"]
Understanding = Literal["rules", "model"]
RELATIONS: Final = frozenset({"supersedes", "contradicts", "causes", "related_to", "same_entity", "elaborates"})
SUB_TIERS: Final = frozenset({"personal", "observed", "vicarious", "schematic", "procedural", "factual"})


class IntentSettings(Section):
    """What a kind of question asks of the read path."""

    limit: int = Field(default=10, ge=1, le=200, description="Most items of a context.")
    utility: float = Field(default=0.0, ge=0, le=2, description="Weight of (utility − 0.5), added to the score of items.")
    hops: int = Field(default=0, ge=0, le=4, description="Hops over relations from the best matches; 0: none.")
    relations: tuple[str, ...] = Field(default=(), description="Types of relations that are followed; empty: all.")
    hub: bool = Field(default=False, description="True: items that mention the entities of the question take part.")
    kinds: tuple[str, ...] = Field(default=(), description="Kinds of items that are asked for beside everything else.")
    historical: bool = Field(default=False, description="True: what is no longer true takes part, with the time it was.")
    by_time: bool = Field(default=False, description="True: shown in the order of time.")

    @field_validator("kinds")
    @classmethod
    def _kinds_there_are(cls, kinds: tuple[str, ...]) -> tuple[str, ...]:
        _refuse_unknown(kinds, KindsSettings.model_fields.keys())
        return kinds

    @field_validator("relations")
    @classmethod
    def _relations_there_are(cls, relations: tuple[str, ...]) -> tuple[str, ...]:
        _refuse_unknown(relations, RELATIONS)
        return relations


def _refuse_unknown(names: Iterable[str], known: Iterable[str]) -> None:
    if unknown := sorted(set(names).difference(known)):
        raise ValueError(f"there is no {unknown[0]!r}; known are {', '.join(sorted(known))}")


class IntentsSettings(Section):
    """`context.intents`: one entry an intent."""

    factual: IntentSettings = Field(default_factory=lambda: IntentSettings(limit=15, utility=0.2))
    temporal: IntentSettings = Field(default_factory=lambda: IntentSettings(limit=15, historical=True, by_time=True))
    causal: IntentSettings = Field(default_factory=lambda: IntentSettings(limit=20, hops=2, relations=("causes", "elaborates")))
    entity_profile: IntentSettings = Field(default_factory=lambda: IntentSettings(limit=15, utility=0.3, hub=True))
    preference: IntentSettings = Field(
        default_factory=lambda: IntentSettings(limit=15, kinds=("preference", "correction", "constraint"))
    )
    general: IntentSettings = Field(default_factory=lambda: IntentSettings(limit=15))

    @model_validator(mode="before")
    @classmethod
    def _fill_from_the_intent(cls, given: Any) -> Any:
        """`temporal: {limit: 12}` changes that figure only."""
        if not isinstance(given, Mapping):
            return given
        filled = dict(given)
        for intent, figures in given.items():
            field = cls.model_fields.get(intent)
            if field is not None and isinstance(figures, Mapping):
                filled[intent] = {**field.get_default(call_default_factory=True).model_dump(), **figures}
        return filled


class BoostSettings(Section):
    """`context.boosts`: what stands around a match. What is added is a share of the best match's score."""

    entity: float = Field(default=0.1, ge=0, le=1, description="Added for each entity that the question mentions as well.")
    most_entities: int = Field(default=2, ge=1, le=20, description="Entities that count.")
    same_episode: float = Field(default=0.15, ge=0, le=1, description="Added where it belongs to the conversation at hand.")
    co_activation: float = Field(default=0.05, ge=0, le=1, description="Added where it was used with one of the leading ones.")
    graph: float = Field(default=0.1, ge=0, le=1, description="Added where relations lead to it, divided by 1 + hops.")
    kind: float = Field(
        default=0.3, ge=0, le=1,
        description="Added to the best items of the kinds that the intent asks for; none of these is too little of a match.",
    )  # fmt: skip
    most_of_kinds: int = Field(default=5, ge=1, le=50, description="Items to which that is added.")
    attention: float = Field(default=0.05, ge=0, le=1, description="Added where the conversation has it in mind already.")
    leading: int = Field(default=5, ge=1, le=50, description="Best matches with which co-activation counts.")
    mood: float = Field(default=1.1, ge=0.1, le=10, description="Factor where question and memory feel alike.")
    least_feeling: float = Field(default=0.3, ge=0, le=1, description="Valence from which a feeling counts as one.")
    least_source_confidence: float = Field(default=0.3, ge=0, le=1, description="Below it the source is weak.")
    weak_source: float = Field(default=0.5, ge=0, le=1, description="Factor of what has a weak source.")
    over: float = Field(
        default=0.5, ge=0, le=1,
        description="Factor of words of which nothing holds any more, unless what was is asked for.",
    )  # fmt: skip
    dormant: float = Field(default=0.8, ge=0, le=1, description="Factor of what is dormant: reachable, with a named penalty.")
    sub_tiers: dict[str, float] = Field(
        default_factory=lambda: {"personal": 1.1, "vicarious": 0.9, "schematic": 1.1, "procedural": 1.05},
        description="Factor of items by sub-tier; 1 where it is not named.",
    )

    @field_validator("sub_tiers")
    @classmethod
    def _sub_tiers_there_are(cls, factors: dict[str, float]) -> dict[str, float]:
        _refuse_unknown(factors, SUB_TIERS)
        if not all(0 <= factor <= 10 for factor in factors.values()):
            raise ValueError("a factor lies between 0 and 10")
        return factors


class CacheSettings(Section):
    """`context.cache`: answers that are kept until something changes in what they rest on."""

    entries: int = Field(default=2000, ge=0, le=1_000_000, description="Answers kept, by last use; 0: none.")
    bytes: int = Field(default=32_000_000, ge=0, le=10_000_000_000, description="Bytes of all answers kept.")
    seconds: float = Field(default=300.0, ge=0, le=86_400, description="Seconds an answer lives at most.")
    searches: bool = Field(default=True, description="True: answers of `search` and `disclose` are kept as contexts are.")


class MoodSettings(Section):
    """`context.mood`: how whoever asks feels, where the request does not say it."""

    messages: int = Field(
        default=3, ge=0, le=20, description="Last messages by which it is told, the question among them; 0: never."
    )
    minutes: float = Field(default=60.0, gt=0, le=100_000, description="Age from which a message says nothing of now.")


class HotSettings(Section):
    """`context.hot`: what is at hand whatever is asked."""

    utility: float = Field(default=0.8, ge=0, le=1, description="Least utility.")
    uses: int = Field(default=10, ge=0, le=1_000_000, description="Least number of uses.")
    days: float = Field(default=30.0, gt=0, le=3650, description="Days since the last confirmation at most.")
    items: int = Field(default=15, ge=0, le=200, description="Most items; 0: pinned constraints alone.")
    seconds: float = Field(default=300.0, ge=0, le=86_400, description="Seconds for which the list is kept.")
    share: float = Field(
        default=0.25, ge=0, le=1, description="Share of a context's tokens that they have at most, and of its places."
    )


class ContextSettings(Section):
    """`context` in config/memory.yaml."""

    deadline_ms: int = Field(default=1000, ge=20, le=60_000, description="Milliseconds for a whole answer.")
    reserve_ms: int = Field(default=20, ge=1, le=5_000, description="Milliseconds kept for fusing and formatting.")
    embed_share: float = Field(
        default=0.6, gt=0, lt=1, description="Share of the deadline the query's embedding may take; the rest is the vectors'."
    )
    probe_ms: int = Field(
        default=60,
        ge=5,
        le=10_000,
        description="Milliseconds for a tier that did not answer last time.",
    )
    search_deadline_ms: int = Field(
        default=5000, ge=20, le=60_000, description="Milliseconds for a search, whose caller waits for hits and nothing else."
    )
    search_probe_ms: int = Field(
        default=1000, ge=5, le=60_000, description="Milliseconds for a tier that did not answer the last search or context."
    )
    overfetch: int = Field(default=3, ge=1, le=20, description="Candidates asked of each retriever per result wanted.")
    search_default: int = Field(default=10, ge=1, le=1000, description="Results of a search that names no top_k.")
    search_limit: int = Field(default=1000, ge=1, le=1000, description="Most results of one search.")
    answer_bytes: int = Field(
        default=3_000_000, ge=10_000, le=14_000_000, description="Most bytes of a search's records; the bus bounds answers too."
    )
    item_characters: int = Field(
        default=20_000, ge=100, le=1_000_000, description="Longest text of one item of a context; `get` has the whole."
    )
    max_items: int = Field(default=15, ge=1, le=200, description="Most items of one context; its intent may allow fewer.")
    max_tokens: int = Field(default=800, ge=16, le=100_000, description="Tokens of a context that names no bound.")
    item_share: float = Field(
        default=0.5, gt=0, le=1, description="Largest share of the token budget for one item; a longer text is shortened."
    )
    working_turns: int = Field(default=6, ge=0, le=200, description="Last turns that compete for a place.")
    working_score: float = Field(
        default=0.6,
        ge=0,
        le=1,
        description="Score of the conversation's last turn as a share of the best match's; the one before has half of it, …",
    )
    feedback_queue: int = Field(
        default=1000, ge=1, le=100_000, description="Reports of use that may wait; the rest is dropped."
    )
    feedback_ms: float = Field(
        default=250.0, ge=0, le=60_000, description="Milliseconds in which reports of use are gathered, to be applied together."
    )
    parts: int = Field(default=4, ge=1, le=8, description="Most questions that a compound one is taken apart into; 1: never.")
    merge: Merge = Field(
        default="best", description="What a question and its parts found: by the best score that any gives, or by ranks (rrf)."
    )
    expansion: Expansion = Field(
        default="off",
        description="Made-up answers (HyDE) that are searched with a question: by templates, a language model, or none (off).",
    )
    understanding: Understanding = Field(
        default="rules",
        description="Who tells the kind of a question. model: the language model, where one is configured and answers in time.",
    )
    understanding_ms: int = Field(
        default=400,
        ge=10,
        le=60_000,
        description="Milliseconds for a language model, of which at most half of the deadline; then the rules answer.",
    )
    hypotheses: int = Field(default=2, ge=1, le=5, description="Made-up answers of one question.")
    least_confidence: float = Field(default=0.5, ge=0, le=1, description="Items that are less certain are left out.")
    most_of_kind: int = Field(default=5, ge=1, le=200, description="Most items of a kind; raw words do not count.")
    covered: float = Field(
        default=0.7, ge=0, le=1, description="Share of a record's words that an item made of it repeats: one of both is enough."
    )
    diversity: float = Field(default=0.9, ge=0, le=1, description="λ of maximal marginal relevance; 1: by score alone.")
    full_score: float = Field(
        default=0.1, ge=0, le=1,
        description="Score (the chance of being right) from which an item is shown in full, with how certain it is.",
    )  # fmt: skip
    short_score: float = Field(default=0.0005, ge=0, le=1, description="Score below which an item is left out.")
    short_tokens: int = Field(default=60, ge=8, le=10_000, description="Tokens of an item that is shown in short.")
    snippet_characters: int = Field(default=120, ge=20, le=2000, description="Letters of a result of `disclose search`.")
    neighbours: int = Field(default=1, ge=0, le=20, description="Neighbours in time, before and after, of `disclose timeline`.")
    intents: IntentsSettings = Field(default_factory=IntentsSettings)
    boosts: BoostSettings = Field(default_factory=BoostSettings)
    mood: MoodSettings = Field(default_factory=MoodSettings)
    hot: HotSettings = Field(default_factory=HotSettings)
    cache: CacheSettings = Field(default_factory=CacheSettings)
