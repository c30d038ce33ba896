"""Settings of answering questions by facts."""

from __future__ import annotations

from pydantic import Field

from aico_memory.settings.section import Section


class RecallSettings(Section):
    """`recall` in config/memory.yaml."""

    least_score: float = Field(1.0, ge=0, le=10, description="Support by the wording from which a predicate is meant.")
    least_similarity: float = Field(
        0.45, ge=-1, le=1, description="Similarity from which a fact answers a question whose wording names no predicate."
    )
    items: int = Field(
        2000, ge=1, le=1_000_000,
        description="Facts of a scope that are all looked at; of larger ones those of the predicates, and the closest.",
    )  # fmt: skip
    closest: int = Field(200, ge=1, le=10_000, description="Closest and newest facts looked at in a larger scope.")
    messages: int = Field(
        100, ge=0, le=10_000,
        description="Messages of a scope whose wording is compared with a question; of more those that share words. 0: none.",
    )  # fmt: skip
    wording_confidence: float = Field(
        0.6, ge=0, le=1, description="Confidence of an answer that only a message's wording gives."
    )
    reader: bool = Field(
        True,
        description="A learned reader says which words of messages answer, beside what the rules answer; false: rules alone.",
    )
    reader_margin: float = Field(
        0.0, ge=-1, le=1,
        description="How much likelier right than the rules the reader must be for its answer to stand. 1: rules alone.",
    )  # fmt: skip
    memory_characters: int = Field(
        500, ge=50, le=1_000_000, description="Longest text of an answer; of a longer one what stands around the value."
    )
    model_seconds: float = Field(2.0, gt=0, le=60, description="Wait for the model, where the wording does not decide, in s.")
    reports: int = Field(1000, ge=1, le=100_000, description="Reports of use that may wait; the rest is dropped.")
