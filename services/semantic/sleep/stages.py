"""Phases that look for several things one after the other: each a stage with its own place in the scope."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from aico_memory.domain.memory import Memory
from aico_memory.errors import InvalidMessage
from aico_memory.stores.semantic.port import SemanticTransaction
from services.semantic.sleep.phase import Outcome, Sample, Step


@dataclass(frozen=True, slots=True)
class Part:
    """What one stage did with a part of the scope; `after` empty: it is through."""

    seen: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    samples: Sequence[Sample] = ()
    changed: Mapping[str, Sequence[bytes]] = field(default_factory=dict)
    after: str = ""


# A part of a stage: at most `step.limit` items, beyond `step.after`.
Stage = Callable[[SemanticTransaction, Step], Part]


def shorter(stage: Stage, share: int) -> Stage:
    """A stage whose items cost so many times as much, so that a step takes no longer for them."""
    return lambda transaction, step: stage(transaction, replace(step, limit=max(1, step.limit // share)))


def in_stages(transaction: SemanticTransaction, step: Step, stages: Mapping[str, Stage]) -> Outcome:
    """As many stages as the limit of the step lets through. Raises InvalidMessage for a place that there is not."""
    name, after = _place(step.after, stages)
    names = list(stages)
    counts: Counter[str] = Counter()
    samples: list[Sample] = []
    changed: dict[str, list[bytes]] = {}
    room = step.limit
    for place in range(names.index(name), len(names)):
        part = stages[names[place]](transaction, replace(step, after=after if names[place] == name else "", limit=room))
        room -= part.seen
        counts.update({"seen": part.seen, **part.counts} if part.seen else part.counts)
        samples += part.samples
        for action, memory_ids in part.changed.items():
            changed.setdefault(action, []).extend(memory_ids)
        if part.after:
            return Outcome(counts, tuple(samples), changed, json.dumps([names[place], part.after]))
        if room <= 0 and place + 1 < len(names):
            return Outcome(counts, tuple(samples), changed, json.dumps([names[place + 1], ""]))
    return Outcome(counts, tuple(samples), changed)


def following(found: Sequence[Memory], step: Step) -> str:
    """Where a page by id goes on; a full page has another behind it."""
    return found[-1].memory_id.hex() if found and len(found) >= step.limit else ""


def _place(after: str, stages: Mapping[str, Stage]) -> tuple[str, str]:
    if not after:
        return next(iter(stages)), ""
    try:
        name, rest = json.loads(after)
    except (ValueError, TypeError):
        raise InvalidMessage(f"{after[:64]!r} is no place in a scope") from None
    if name not in stages or not isinstance(rest, str):
        raise InvalidMessage(f"{after[:64]!r} is no place in a scope")
    return name, rest
