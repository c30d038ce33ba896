"""Where two canonical exports differ, and which event that goes back to."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from aico_memory.errors import InvalidMessage

EXPORT_MEND = "Give files that `aico-memory export` wrote."
_UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?7[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first difference."""

    section: str
    key: str
    # None where one side lacks the object.
    left: str | None
    right: str | None
    # Paths of the fields that differ, where both sides have the object.
    fields: tuple[str, ...]
    # The earliest event of the stream that a differing object names; "" where none is named.
    event_id: str
    differing: int


def first_divergence(left: Iterable[str], right: Iterable[str], order: Sequence[str] = ()) -> Divergence | None:
    """The first difference of two exports, None where they are equal.

    Of all objects that differ the one that goes back to the earliest event counts; `order` names the
    stream's events from first to last, without it the ids' own time decides. InvalidMessage for what is no export.
    """
    ours, theirs = _by_key(left), _by_key(right)
    changed = [key for key in sorted(ours.keys() | theirs.keys()) if ours.get(key) != theirs.get(key)]
    if not changed:
        return None
    rank = {uuid.UUID(event).hex: number for number, event in enumerate(order)}
    ranked = []
    for key in changed:
        events = _events(ours.get(key)) | _events(theirs.get(key))
        known = {event for event in events if event in rank} if rank else events
        ranked.append((min(((rank.get(event, 0), event) for event in known), default=(2**62, "")), key))
    (_, event), key = min(ranked)
    mine, other = ours.get(key), theirs.get(key)
    fields = tuple(_paths(json.loads(mine), json.loads(other))) if mine and other else ()
    return Divergence(key[0], key[1], mine, other, fields, str(uuid.UUID(event)) if event else "", len(changed))


def _by_key(lines: Iterable[str]) -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], str] = {}
    for raw in lines:
        line = raw.rstrip("\n")
        if not line:
            continue
        entry = _entry(line)
        key = (str(entry.get("section", "")), str(entry.get("key", "header")))
        # Two objects under one key are told apart by their number.
        number = 2
        while key in found:
            key = (key[0], f"{entry.get('key')} ({number})")
            number += 1
        found[key] = line
    return found


def _entry(line: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidMessage(f"A line is none of an export: {error}", EXPORT_MEND) from None
    if not isinstance(entry, dict):
        raise InvalidMessage("A line is none of an export: it is no JSON object", EXPORT_MEND)
    return entry


def _events(line: str | None) -> set[str]:
    return {match.replace("-", "") for match in _UUID.findall(line)} if line else set()


def _paths(left: Any, right: Any, path: str = "") -> Iterable[str]:
    if isinstance(left, dict) and isinstance(right, dict):
        for key in sorted(left.keys() | right.keys()):
            yield from _paths(left.get(key), right.get(key), f"{path}.{key}" if path else str(key))
    elif left != right:
        yield path
