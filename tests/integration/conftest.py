"""Identities of a running deployment."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import pytest

from aico_memory.errors import NotFound
from aico_memory.vault.curve_keys import revoke_identity
from tests.support.deployment import Deployment


@pytest.fixture
def admit(deployment: Deployment) -> Iterator[Callable[..., str]]:
    """Makes an identity of a role that nobody had before, and takes it away again."""
    made: list[str] = []

    def make(role: str = "client", *users: str) -> str:
        name = f"{role}-{uuid.uuid4().hex[:8]}"
        scopes = [option for user in users for option in ("--user", user)]
        deployment.ok("keys", "add", name, "--role", role, *scopes)
        made.append(name)
        return name

    yield make
    for name in made:
        try:
            revoke_identity(deployment.home, name)
        except NotFound:
            continue
