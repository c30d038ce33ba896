"""Shapes of what the verbs on time and the graph return. Times are ISO 8601 with zone, None where open or unknown."""

from __future__ import annotations

from typing import TypedDict

from aico_memory.client.results import Memory


class HeldFact(TypedDict):
    """A fact for a piece of time in which it held."""

    id: str
    scope: str | None
    kind: str
    memory: str
    # About whom ("user" is whoever asks), what is said of it, the object as it was said.
    subject: str | None
    predicate: str | None
    value: str | None
    valid_from: str | None
    valid_until: str | None
    # When it was first known.
    known_from: str | None
    confidence: float
    status: str


class HeldFacts(TypedDict):
    """What held, and the moments that the answer is about; `known_as_of` None: all that is known today."""

    results: list[HeldFact]
    at: str | None
    known_as_of: str | None
    # There is more than was asked for.
    cut: bool


class Step(TypedDict):
    """One step in the history of a fact."""

    # stated | changed | corrected | confirmed | ended | retracted | deleted | reopened
    what: str
    id: str
    old: str | None
    new: str | None
    # When it took effect in the world, and when that was learned.
    from_time: str | None
    known_at: str | None
    # The event that taught it.
    cause: str | None
    subject: str | None
    predicate: str | None


class Evolution(TypedDict):
    """How a fact came to be what it is, in the order in which it was learned."""

    steps: list[Step]
    # There are more; the newest are given.
    cut: bool


class TrendPoint(TypedDict):
    """A number at a moment."""

    at: str | None
    value: float


class ChangePoint(TypedDict):
    """From `at` on the numbers are others; by Pettitt's test."""

    at: str | None
    before: float
    after: float
    p_value: float


class Prediction(TypedDict):
    """What is expected at a moment; `unknown` says why nothing is, then the numbers are None."""

    at: str | None
    value: float | None
    low: float | None
    high: float | None
    # Share of futures that the interval is to contain.
    coverage: float | None
    unknown: str | None


class Trend(TypedDict):
    """How a number moves; `unknown` says why there is no trend, then slope and volatility are None."""

    points: list[TrendPoint]
    # A day.
    slope: float | None
    volatility: float | None
    changes: list[ChangePoint]
    unknown: str | None
    # None where none was asked for.
    prediction: Prediction | None
    # What a skill or a style was at the moment that was asked for.
    then: float | None


class Entity(TypedDict):
    """Who or what facts speak of."""

    id: str
    scope: str | None
    name: str
    type: str | None
    aliases: list[str]
    # Entities that were found to be this one, and the merges that say so.
    merged: list[str]
    merge_ids: list[str]


class Edge(TypedDict):
    """`subject predicate object`, and for how long; `object_id` is None where the object is a value."""

    # The memory that states it.
    id: str
    subject_id: str
    subject: str
    predicate: str
    object_id: str | None
    object: str
    valid_from: str | None
    valid_until: str | None
    known_from: str | None
    confidence: float
    scope: str | None


class Surroundings(TypedDict):
    """Entities that bear a name, and what stands around them."""

    entities: list[Entity]
    edges: list[Edge]
    # There are more edges than were asked for.
    cut: bool


class GraphChanges(TypedDict):
    """Edges that came and went, at most 1000 each; `cut`: there are more."""

    came: list[Edge]
    went: list[Edge]
    cut: bool


class Related(TypedDict):
    """A memory that is related to another, and the relation by which it was reached first."""

    memory: Memory
    hops: int
    subject: str
    relation: str
    object: str
    confidence: float


class EntityMerge(TypedDict):
    """Two entities that are one, until that is undone."""

    merge_id: str
    kept: str
    absorbed: str
    at: str | None
    how: str
    undone_at: str | None
