"""What a response used grows more certain (specification 3, "Reinforce from interactions")."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Container, Iterable
from dataclasses import dataclass, replace
from typing import Final

from aico_memory.domain.formation.formed import FormedFact
from aico_memory.domain.gate.statement import Known
from aico_memory.domain.memory import Memory, Scope
from aico_memory.domain.scopes import subject_for
from aico_memory.errors import InvalidMessage
from aico_memory.settings.write_path import InteractionSettings

# Of the scope "global" only what says who somebody is and what they like.
GLOBAL_KINDS: Final = frozenset({"profile", "preference"})


@dataclass(frozen=True, slots=True)
class Reinforced:
    """An item after the pass, and its confidence before it."""

    memory: Memory
    old_confidence: float

    @property
    def new_confidence(self) -> float:
        return self.memory.confidence


def normalised(text: str) -> str:
    """Case folded, whitespace collapsed; compatible forms of letters are the same letter."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def told_in(said: Iterable[FormedFact], known: Iterable[Known], names: Container[str]) -> frozenset[bytes]:
    """Those of these items that say what `said` states: of the same subject, as whoever goes by `names` knows it."""
    stated = {(fact.subject, fact.predicate, fact.object_key) for fact in said if fact.predicate}
    return frozenset(
        one.memory.memory_id for one in known
        if (subject_for(one.subject, one.memory, names), one.predicate, one.object_key) in stated
    )  # fmt: skip


def require_delta(delta: float) -> float:
    """Reinforcement only adds. Raises InvalidMessage for a negative delta, or one above 1."""
    if not 0 <= delta <= 1:
        raise InvalidMessage(f"The delta is {delta}", "Give a number from 0 to 1; contradictions lower confidence, not this.")
    return delta


def reinforce(
    response: str, summary: str, items: Iterable[Memory], in_view: Collection[Scope], already: Collection[bytes], at_us: int,
    figures: InteractionSettings, delta: float | None = None, told: Collection[bytes] = (),
) -> tuple[Reinforced, ...]:  # fmt: skip
    """Active items whose leading window stands in response or summary, each once for this interaction.

    `already` are the items that this interaction reinforced before, so that a second
    pass raises only what the first did not. Items out of view never move. `told` are the
    items that the response says in words of its own. Raises InvalidMessage for a delta out of range.
    """
    step = require_delta(figures.delta if delta is None else delta)
    text = f"{normalised(response)}\n{normalised(summary)}"
    found: dict[bytes, Reinforced] = {}
    for item in items:
        if item.memory_id in already or item.memory_id in found or not _may_grow(item, in_view):
            continue
        window = normalised(item.text)
        said = len(window) >= figures.min_characters and window[: figures.window].rstrip(" .") in text
        if not said and item.memory_id not in told:
            continue
        raised = replace(
            item, confidence=min(item.confidence + step, 1.0), reference_count=item.reference_count + 1,
            last_referenced_us=max(item.last_referenced_us, at_us), updated_at_us=max(item.updated_at_us, at_us),
        )  # fmt: skip
        found[item.memory_id] = Reinforced(raised, item.confidence)
    return tuple(found.values())


def _may_grow(item: Memory, in_view: Collection[Scope]) -> bool:
    if item.status != "active" or item.kind == "record":
        return False
    return item.scope in in_view and (item.scope.kind != "global" or item.kind in GLOBAL_KINDS)
