"""Waiting until consumers have worked off what stands in the journal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aico_memory.runtime.probe import broker_says
from aico_memory.runtime.waiting import until

if TYPE_CHECKING:
    from aico_memory.bus.link import Link


def settled_through(link: Link, sequence: int, seconds: float, only: str = "") -> None:
    """Return when every consumer (or only that one) has settled everything up to this global sequence.

    What is settled may have led to new records, see `quiet`.
    """

    def reached() -> bool | None:
        answer = broker_says(link, "consumers")
        return True if _all_settled(answer, sequence, only) else None

    until(reached, seconds, f"{only or 'The consumers'} did not catch up to {sequence}")


def quiet(link: Link, seconds: float) -> int:
    """Return the head once every consumer has settled all of it and nothing new came of that."""

    def rests() -> int | None:
        answer = broker_says(link, "consumers")
        head = int(answer["head"])
        if not _all_settled(answer, head, ""):
            return None
        again = broker_says(link, "consumers")
        return head if int(again["head"]) == head and _all_settled(again, head, "") else None

    return until(rests, seconds, "The deployment did not come to rest")


def _all_settled(answer: dict[str, Any], sequence: int, only: str) -> bool:
    heads = answer["topics"]
    for consumer in answer["consumers"]:
        if only and consumer["name"] != only:
            continue
        # A consumer hears of its own topics only: the last record of those is what it can reach.
        last = max((int(heads[topic][0]) for topic in consumer["topics"] if topic in heads), default=0)
        if int(consumer["settled"]) < min(last, sequence) or int(consumer["outbox"]):
            return False
    return True
