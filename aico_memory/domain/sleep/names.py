"""The names of the phases of sleep, in the order in which they follow each other.

`replay` hands experiences to the write path; the fifteen phases behind it work
on what long-term memory holds by then.
"""

from __future__ import annotations

from collections.abc import Iterable
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


def require_phases(names: Iterable[str]) -> None:
    """InvalidMessage, with all that there are, where one of these is no phase."""
    for name in names:
        if name not in NAMES:
            raise InvalidMessage(f"There is no phase {name!r}", f"Phases are: {', '.join(NAMES)}.")
