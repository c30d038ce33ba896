"""Links of tools and tests: as an identity of a home, started or refused at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from aico_memory.bus.link import Link, read_address
from aico_memory.paths import Home
from aico_memory.runtime.clocks import clock_for
from aico_memory.settings.load import load_settings
from aico_memory.vault.curve_keys import IdentityKeys, load_identity

OPERATOR = "operator"


def make_link(home: Home, keys: IdentityKeys) -> Link:
    """A link of these keys, not started yet."""
    return Link(lambda: read_address(home), keys, settings=load_settings(home).link, clock=clock_for(home))


@contextmanager
def open_link(home: Home, identity: str = OPERATOR, wait_seconds: float | None = None) -> Iterator[Link]:
    """A started link; typed errors where it does not come up in time (default: link.connect_seconds)."""
    read_address(home)
    link = make_link(home, load_identity(home, identity))
    try:
        link.start(wait_seconds)
        yield link
    finally:
        link.close()
