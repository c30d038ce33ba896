"""Settings of the context section."""

from __future__ import annotations

from pydantic import Field

from aico_memory.settings.section import Section


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
    rrf_k: int = Field(default=60, ge=1, le=1000, description="K of reciprocal rank fusion.")
    vector_weight: float = Field(default=1.0, ge=0, le=10, description="Weight of the vector list in the fusion.")
    text_weight: float = Field(default=1.0, ge=0, le=10, description="Weight of the text list (BM25) in the fusion.")
    working_weight: float = Field(default=1.0, ge=0, le=10, description="Weight of the last turns in the fusion.")
    foreign_vector_weight: float = Field(
        default=0.1, ge=0, le=10, description="Weight of the vector list where the model does not speak the query's language."
    )
    overfetch: int = Field(default=3, ge=1, le=20, description="Candidates asked of each retriever per result wanted.")
    search_default: int = Field(default=10, ge=1, le=1000, description="Results of a search that names no top_k.")
    search_limit: int = Field(default=1000, ge=1, le=10_000, description="Most results of one search.")
    answer_bytes: int = Field(
        default=3_000_000, ge=10_000, le=14_000_000, description="Most bytes of a search's records; the bus bounds answers too."
    )
    item_characters: int = Field(
        default=20_000, ge=100, le=1_000_000, description="Longest text of one item of a context; `get` has the whole."
    )
    max_items: int = Field(default=15, ge=1, le=200, description="Most items of one context.")
    max_tokens: int = Field(default=800, ge=16, le=100_000, description="Tokens of a context that names no bound.")
    item_share: float = Field(
        default=0.5, gt=0, le=1, description="Largest share of the token budget for one item; a longer text is shortened."
    )
    working_turns: int = Field(default=6, ge=0, le=200, description="Last turns that compete for a place.")
    feedback_queue: int = Field(
        default=1000, ge=1, le=100_000, description="Reports of use that may wait; the rest is dropped."
    )
