"""Settings of the semantic section."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from aico_memory.settings.section import Section


class SemanticSettings(Section):
    """`semantic` in config/memory.yaml."""

    index: Literal["auto", "exact", "chroma"] = Field(
        default="auto",
        description="Vector index. exact: matrices in memory, one a scope; chroma: one collection; "
        "auto: exact up to exact_limit vectors in the scopes that a question names, Chroma beyond.",
    )
    exact_limit: int = Field(
        default=1_000_000,
        ge=100,
        le=10_000_000,
        description="Vectors in the scopes of a question up to which auto stays exact; see `bench index`.",
    )
    exact_cache_bytes: int = Field(
        default=256 * 1024 * 1024, ge=1 << 20, le=1 << 38,
        description="Bytes of matrices kept in memory; the scope that was asked longest ago is dropped first.",
    )  # fmt: skip
    recent_bytes: int = Field(
        default=32 * 1024 * 1024, ge=0, le=1 << 34,
        description="Bytes of memories that contexts read lately, kept opened for the next ones; about 3 KB a memory.",
    )  # fmt: skip
    chroma_folder: str = Field(
        default="",
        description="A folder makes Chroma persistent and leaves vectors readable there. Empty: in memory, rebuilt at start.",
    )
    load_batch: int = Field(default=2000, ge=1, le=100_000, description="Vectors read at a time when an index is built.")
    max_limit: int = Field(default=1000, ge=1, le=100_000, description="Most memories that one question may ask for.")
    page_limit: int = Field(default=500, ge=1, le=5000, description="Most memories in one page of a list.")
    embed_batch: int = Field(default=64, ge=1, le=256, description="Texts that the indexer sends to the model at a time.")
    embed_text_characters: int = Field(
        default=8000, ge=100, le=200_000, description="Characters of one text that the model is given; it reads no more anyway."
    )
    embed_characters: int = Field(
        default=100_000, ge=1000, le=200_000, description="Characters that the indexer sends to the model at a time."
    )
    embed_timeout_seconds: float = Field(default=60.0, gt=0, le=3600, description="Wait for a batch of embeddings, in s.")
    retry_first_ms: int = Field(default=200, ge=1, le=60_000, description="Wait after a failed embedding; doubles, in ms.")
    retry_limit_ms: int = Field(default=10_000, ge=1, le=600_000, description="Longest wait between two tries, in ms.")
    dormant_factor: float = Field(
        default=0.8,
        ge=0,
        le=1,
        description="Factor on the score of what is dormant in a search: reachable, with a named penalty.",
    )
    query_languages: int = Field(
        default=3, ge=1, le=20, description="Languages of a scope, most frequent first, under which a question is stemmed."
    )
    sleep_step_items: int = Field(
        default=200, ge=1, le=10_000,
        description="Most items that one step of sleep touches: everything behind it in the worker waits for the step.",
    )  # fmt: skip
    sleep_samples: int = Field(
        default=5, ge=0, le=100, description="Decisions that one step of sleep reports with their reasons."
    )
    due_lead_hours: float = Field(
        default=24.0, ge=0, le=24 * 366,
        description="A plan is announced so long before it ends, where nothing says when it begins, in hours.",
    )  # fmt: skip
    due_at_once: int = Field(default=200, ge=1, le=10_000, description="Most plans that one look announces.")
    default_language: str = Field(
        default="en", pattern="^[a-z]{2}$", description="Language of a text that gives no sign of its own."
    )
