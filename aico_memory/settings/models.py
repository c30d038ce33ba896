"""Settings of the models section."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from aico_memory.settings.section import Section

Classifier = Literal["embedded", "transformer"]
_WHO = "transformer: the one below where its weights are at hand, else embedded all the same, and status says why."


class ModelSettings(Section):
    """`models` in config/memory.yaml."""

    embedding: str = Field(
        default="sentence-transformers/paraphrase-multilingual-mpnet-base-v2",
        min_length=1,
        description="Embedding model: a hub name whose weights are in the local cache, or a folder. "
        "Where it is not at hand, the embedded MiniLM package answers and status says so.",
    )
    embedding_required: bool = Field(
        default=False, description="True: no start without the configured model, instead of the embedded one."
    )
    device: Literal["auto", "cpu", "cuda"] = Field(default="auto", description="Where the model runs; CPU never needs a GPU.")
    serve_by: Literal["onnx", "reference"] = Field(
        default="onnx", description="onnx: exported once, checked and served by onnxruntime; reference: sentence-transformers."
    )
    export_folder: str = Field(
        default="",
        description="Where exports lie; empty: `model` in the home. May be shared by deployments.",
    )
    export_timeout_seconds: float = Field(default=600.0, ge=10, le=7200, description="Seconds the one-time export may take.")
    check_cosine: float = Field(
        default=0.9999, ge=0.9, le=1.0, description="Least cosine between export and reference on the check sentences."
    )
    precision: Literal["int8", "float32"] = Field(
        default="int8",
        description="Of an exported model on a CPU. int8: twice as fast and a quarter as large at equal recall (see "
        "docs/BENCHMARKS.md), each text for itself; where it disagrees with the reference, float32 serves.",
    )
    check_cosine_int8: float = Field(
        default=0.96,
        ge=0.9,
        le=1.0,
        description="Least cosine between an int8 export and the reference on the check sentences.",
    )
    threads: int = Field(default=1, ge=1, le=64, description="Threads of one inference; more are slower on busy cores.")
    batch_tokens: int = Field(
        default=1024, ge=64, le=1_000_000, description="Most padded tokens of one inference; ten times as many on CUDA."
    )
    question_threads: int = Field(
        default=2, ge=1, le=64, description="Threads among which the parts of one question are shared out on a CPU."
    )
    slice_texts: int = Field(
        default=2, ge=1, le=1024, description="Bulk texts between two looks for a question that waits; 32 times more on CUDA."
    )
    waiting_texts: int = Field(
        default=20_000, ge=100, le=1_000_000, description="Texts that may wait; beyond it bulk is refused."
    )
    query_cache_entries: int = Field(default=200, ge=0, le=100_000, description="Query embeddings kept, by last use.")
    query_cache_seconds: float = Field(default=1800.0, ge=0, le=86_400, description="Seconds a query embedding lives.")
    document_cache_entries: int = Field(default=0, ge=0, le=1_000_000, description="Document embeddings kept; 0: none.")
    document_cache_seconds: float = Field(default=300.0, ge=0, le=86_400, description="Seconds a document embedding lives.")
    intent_classifier: Classifier = Field(default="embedded", description=f"Who answers for intent. {_WHO}")
    sentiment_classifier: Classifier = Field(default="embedded", description=f"Who answers for sentiment. {_WHO}")
    intent_model: str = Field(default="xlm-roberta-base", description="Transformer for intent; its labels must be intents.")
    sentiment_model: str = Field(
        default="nlptown/bert-base-multilingual-uncased-sentiment", description="Transformer for sentiment."
    )
