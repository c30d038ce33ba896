"""The names of the phases of sleep, in the order in which they follow each other.

`replay` hands experiences to the write path; the fifteen phases behind it work
on what long-term memory holds by then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from aico_memory.errors import InvalidMessage

REPLAY = "replay"
DECAY = "decay"
EMOTION = "emotion"
SYNAPSES = "synapses"
PLACES = "places"
UTILITY = "utility"
REHEARSAL = "rehearsal"
EXPIRY = "expiry"
FORGETTING = "forgetting"
CLUSTERS = "clusters"
THEMES = "themes"
REDUNDANCY = "redundancy"
ABSTRACTION = "abstraction"
KINDS = "kinds"
VARIANTS = "variants"
INDEX = "index"


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase of sleep; a heavy one runs for a user once a cycle of seven days, and oftener where much happens."""

    name: str
    heavy: bool = False


# The phases that the semantic worker takes step by step.
STEPPED = (
    DECAY, EMOTION, SYNAPSES, PLACES, UTILITY, REHEARSAL, EXPIRY, FORGETTING,
    CLUSTERS, THEMES, REDUNDANCY, ABSTRACTION, KINDS, VARIANTS, INDEX,
)  # fmt: skip

PHASES = (Phase(REPLAY), *(Phase(name, heavy=True) for name in STEPPED))

NAMES = tuple(phase.name for phase in PHASES)

# Counts that say how much was looked at or found, and not that something is another than before.
_LOOKED_AT = frozenset(
    ("users", "users_failed", "batches", "batches_done", "experiences", "replayed", "memories", "unknown", "seen", "compared",
     "close", "links", "edges", "dangling", "clusters", "clustered", "alone", "themes", "no_habit", "asked_model",
     "change_points")
)  # fmt: skip
_FOUND = ("by_", "without_")


def changes(phases: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """What was changed, by the name of the decision, summed over the counts of phases; the most first.

    One rule decides for the history of jobs and for the command line what is told of a night in a line.
    """
    found: Counter[str] = Counter()
    for counts in phases:
        found.update({name: count for name, count in counts.items() if name not in _LOOKED_AT and not name.startswith(_FOUND)})
    return {name: count for name, count in sorted(found.items(), key=lambda one: (-one[1], one[0])) if count}


def changes_told(phases: Iterable[Mapping[str, int]]) -> str:
    """`changes` in a line: "promoted 9, created 1"; "nothing changed" where there are none."""
    return ", ".join(f"{name} {count}" for name, count in changes(phases).items()) or "nothing changed"


def night_told(users: int, experiences: int, phases: Iterable[Mapping[str, int]]) -> str:
    """What a night did, in a line for the history of jobs."""
    return f"{users} users; {experiences} experiences replayed; {changes_told(phases)}"


def require_phases(names: Iterable[str]) -> None:
    """InvalidMessage, with all that there are, where one of these is no phase."""
    for name in names:
        if name not in NAMES:
            raise InvalidMessage(f"There is no phase {name!r}", f"Phases are: {', '.join(NAMES)}.")
