"""Settings of the security section."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from aico_memory.settings.section import Section


class SecuritySettings(Section):
    """`security` in config/memory.yaml."""

    encryption: Literal["on", "off"] = Field(
        default="on", description="Seal everything at rest. `off` is a deliberate choice that `status` shows."
    )
    key_file: str | None = Field(
        default=None,
        description="Path of a file of at least 32 random bytes that unlocks the home, instead of a passphrase; "
        "AICO_MEMORY_KEY_FILE goes before it, AICO_MEMORY_PASSPHRASE before both.",
    )
    argon2_time: int = Field(default=3, ge=1, le=100, description="Argon2id passes over the memory, for a new passphrase.")
    argon2_memory_kib: int = Field(default=65_536, ge=64, le=4_194_304, description="Argon2id memory in KiB.")
    argon2_parallelism: int = Field(default=1, ge=1, le=64, description="Argon2id lanes.")
    user_key_cache: int = Field(default=4096, ge=1, le=1_000_000, description="Unwrapped user keys a process keeps.")
    user_key_recheck_seconds: float = Field(
        default=1.0, ge=0.0, le=60.0, description="How long a cached user key is used without asking whether it still exists."
    )

    @field_validator("encryption", mode="before")
    @classmethod
    def _yaml_word(cls, value: object) -> object:
        """YAML reads a bare on/off as a boolean."""
        if isinstance(value, bool):
            return "on" if value else "off"
        return value
