"""Settings of the language model that may read messages; off unless it is named here."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from aico_memory.settings.section import Section


class BudgetSettings(Section):
    """What may be spent; counted from the operations log, so a restart forgets nothing."""

    calls_per_hour: int = Field(120, ge=0, le=1_000_000, description="Calls in any 60 minutes. 0: no limit.")
    calls_per_day: int = Field(1_000, ge=0, le=10_000_000, description="Calls in any 24 hours. 0: no limit.")
    tokens_per_hour: int = Field(200_000, ge=0, le=10**9, description="Tokens, asked and answered, in 60 minutes. 0: no limit.")
    tokens_per_day: int = Field(1_000_000, ge=0, le=10**10, description="Tokens, asked and answered, in 24 hours. 0: no limit.")


class LanguageModelSettings(Section):
    """`language_model` in config/memory.yaml. Local first: off by default; where it is on, messages go to the endpoint."""

    enabled: bool = Field(
        default=False,
        description="True: what people say is sent to `endpoint`, which reads facts from it beside the rules. Off by default: "
        "without it no word leaves this machine.",
    )
    endpoint: str = Field(
        default="http://127.0.0.1:11434/v1",
        pattern="^https?://",
        description="Base address of any OpenAI-compatible endpoint; `/chat/completions` is added. Default: a local Ollama.",
    )
    model: str = Field(default="", max_length=200, description="Name of the model at the endpoint, e.g. qwen2.5:7b.")
    allowed_hosts: tuple[str, ...] = Field(
        default=("127.0.0.1", "::1", "localhost"),
        description="Hosts that may be spoken to, exactly as in `endpoint`. Others are refused at start and on a redirect; "
        "a host that is not this machine must be named here on purpose.",
    )
    api_key_variable: str = Field(
        default="AICO_MEMORY_LLM_API_KEY",
        max_length=200,
        description="Environment variable that holds the key, where one is set.",
    )
    api_key_file: str = Field(default="", description="File with the key, readable by its owner alone; wins over the variable.")
    answers: Literal["json_schema", "json_object", "text"] = Field(
        default="json_schema",
        description="How a JSON answer is asked for: by schema, as any object, or in words only. It is checked in every case.",
    )
    timeout_seconds: float = Field(default=30.0, gt=0, le=600, description="A whole call, connecting included, in s.")
    connect_seconds: float = Field(default=3.0, gt=0, le=60, description="Wait for a connection, in s.")
    attempts: int = Field(
        default=2, ge=1, le=10,
        description="Tries of one call. Only what the endpoint did not begin to answer is tried again: refused connections, "
        "429, 502, 503 and 504.",
    )  # fmt: skip
    retry_seconds: float = Field(
        default=1.0, ge=0, le=60, description="Wait before the next try; doubles; `Retry-After` wins, in s."
    )
    retry_limit_seconds: float = Field(
        default=5.0, ge=0, le=600, description="Longest wait between two tries; where more is asked for, the call ends, in s."
    )
    answer_bytes: int = Field(default=262_144, ge=1024, le=16_777_216, description="Longest answer that is read, in bytes.")
    answer_tokens: int = Field(default=1024, ge=64, le=100_000, description="`max_tokens` of a call.")
    temperature: float = Field(default=0.0, ge=0, le=2, description="`temperature` of a call.")
    message_characters: int = Field(
        default=4000,
        ge=100,
        le=100_000,
        description="Characters of a message that are sent; longer ones are left to the rules.",
    )
    recent_messages: int = Field(default=3, ge=0, le=20, description="Messages before it that are sent along, for pronouns.")
    facts_per_message: int = Field(default=12, ge=1, le=100, description="Facts taken from one answer; more are refused.")
    failures_before_pause: int = Field(default=5, ge=1, le=1000, description="Failed calls in a row that bring a pause.")
    pause_seconds: float = Field(default=60.0, ge=0, le=86_400, description="Length of that pause, in s.")
    queue_hours: float = Field(
        default=24.0, gt=0, le=8760, description="A message that could not be read in this time stays with the rules, in h."
    )
    queue_first_seconds: float = Field(
        default=5.0, gt=0, le=3600, description="Wait before a message is asked for again; doubles, in s."
    )
    queue_limit_seconds: float = Field(
        default=900.0, gt=0, le=86_400, description="Longest such wait, whatever an endpoint asks for, in s."
    )
    log_bytes: int = Field(default=10_000_000, ge=10_000, le=10**9, description="Size at which the operations log is rotated.")
    log_files: int = Field(default=5, ge=1, le=100, description="Rotated operations logs that are kept.")
    budget: BudgetSettings = Field(default_factory=BudgetSettings)

    @model_validator(mode="after")
    def _a_model_is_named(self) -> Self:
        if self.enabled and not self.model:
            raise ValueError("language_model.enabled needs language_model.model, the name of the model at the endpoint")
        return self
