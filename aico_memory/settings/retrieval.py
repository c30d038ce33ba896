"""Settings of the retrieval section."""

from __future__ import annotations

from pydantic import Field

from aico_memory.settings.section import Section


class RetrievalSettings(Section):
    """`retrieval` in config/memory.yaml."""

    profile: str = Field(default="default", description="Ranking profile (config/ranking/<name>.yaml) of words and vectors.")
    lexical_profile: str = Field(
        default="lexical",
        description="Ranking profile where the embedding model does not speak the language or does not answer.",
    )
    model_languages: list[str] = Field(
        default_factory=list,
        description="ISO 639-1 codes of what the embedding model speaks. Empty: as the model says of itself.",
    )
    query_languages: int = Field(
        default=3, ge=1, le=20, description="Languages of a scope, most frequent first, under which a question is stemmed."
    )
    terse_words: float = Field(
        default=80.0, ge=1, le=10_000,
        description="Words up to which a text is understood by what was said around it; beyond, its surroundings count less.",
    )  # fmt: skip
    trusted_coverage: float = Field(
        default=0.3, gt=0, le=1,
        description="Share of a question's information (rare words weigh more) that a text must hold for words to count fully.",
    )  # fmt: skip
    session_gap_minutes: int = Field(
        default=60,
        ge=1,
        le=10_000,
        description="Silence that parts the turns of a conversation without session_id, in minutes.",
    )
    text_cache_bytes: int = Field(
        default=256 * 1024 * 1024, ge=1 << 20, le=1 << 38,
        description="Bytes of inverted indexes kept in memory; the scope that was asked longest ago is dropped first.",
    )  # fmt: skip
    prepared_memories: int = Field(
        default=20_000, ge=0, le=10_000_000,
        description="Memories that are read at a start before anybody asks, the scopes of the newest ones; 0: none.",
    )  # fmt: skip
    vector_candidates: int = Field(
        default=500,
        ge=10,
        le=100_000,
        description="Neighbours asked of a large vector index; the exact one compares all.",
    )
    rrf_k: int = Field(default=60, ge=1, le=1000, description="K of the feature rrf (reciprocal rank fusion).")
