"""Settings of who is who."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from aico_memory.settings.section import Section


class IdentitySettings(Section):
    """`identity` in config/memory.yaml."""

    aliases: dict[str, str] = Field(
        default_factory=dict,
        description="Other names of users, such as ids on platforms: name to user id. Writes go to the user id, reads follow.",
    )

    @model_validator(mode="after")
    def _names_lead_to_users(self) -> Self:
        for name, user in self.aliases.items():
            if not name or not user:
                raise ValueError("identity.aliases has an empty name or user id")
            if user in self.aliases:
                raise ValueError(f"identity.aliases.{name} leads to {user}, which is an alias itself; name the user id")
        return self

    def user(self, name: str) -> str:
        """The user id that a name stands for; any other name is a user id."""
        return self.aliases.get(name, name)

    def names(self, user: str) -> tuple[str, ...]:
        """Every name of a user, the user id first."""
        canonical = self.user(user)
        return (canonical, *sorted(name for name, of in self.aliases.items() if of == canonical))
