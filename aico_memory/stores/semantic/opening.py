"""Sealed values that are read again and again are opened and parsed once.

A sealed value never changes: another text is another value, with another nonce. So the value itself names what it holds,
and nothing has to be invalidated. Whoever asks has the owner's sealer: once a key is destroyed nobody gets this far.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any, TypeVar, cast

from aico_memory.vault.sealer import Sealer

_Parsed = TypeVar("_Parsed")
# Values of a few hundred bytes.
_KEPT = 4096


def opened_once(parse: Callable[[bytes], _Parsed], sealer: Sealer, sealed: bytes, context: bytes) -> _Parsed:
    """What `parse` makes of the opened value, which nobody may change. Raises WrongKey."""
    # Sealers are told apart by identity: each user has one.
    return cast(_Parsed, _opened(parse, cast(Hashable, sealer), sealed, context))


@lru_cache(_KEPT)
def _opened(parse: Callable[[bytes], Any], sealer: Hashable, sealed: bytes, context: bytes) -> Any:
    return parse(cast(Sealer, sealer).open(sealed, context))
