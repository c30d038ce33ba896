"""What the kind of an item says about its time to live (specification 2, "Kinds and their policy")."""

from __future__ import annotations

from typing import Final

from aico_memory.domain.memory import KINDS, OPEN, RECORD
from aico_memory.errors import InvalidMessage
from aico_memory.settings.memory_model import KindSettings, KindsSettings

DAY_US: Final = 86_400_000_000
ITEM_KINDS: Final = tuple(kind for kind in KINDS if kind != RECORD)


def policy_of(kind: str, kinds: KindsSettings) -> KindSettings:
    """The figures of an item's kind; a record has none, since its retention is another rule. Raises InvalidMessage."""
    if kind not in ITEM_KINDS:
        raise InvalidMessage(f"{kind!r} is no kind of item", f"Use one of {', '.join(ITEM_KINDS)}.")
    figures: KindSettings = getattr(kinds, kind)
    return figures


def kept_for_good(kind: str, kinds: KindsSettings) -> bool:
    """Whether items of this kind rest dormant where others expire."""
    return policy_of(kind, kinds).retention_days is None


def lives_until_us(kind: str, confirmed_at_us: int, kinds: KindsSettings) -> int:
    """End of the time to live since the last confirmation; OPEN where the kind has none."""
    days = policy_of(kind, kinds).ttl_days
    return OPEN if days is None else confirmed_at_us + round(days * DAY_US)


def retained_until_us(kind: str, created_at_us: int, kinds: KindsSettings) -> int:
    """Before this no rule may let the item fade away; OPEN for kinds that are kept for good."""
    days = policy_of(kind, kinds).retention_days
    return OPEN if days is None else created_at_us + round(days * DAY_US)


def days_between(from_us: int, to_us: int) -> float:
    """Days from one moment to a later one; 0 where it is not later."""
    return max(0, to_us - from_us) / DAY_US
