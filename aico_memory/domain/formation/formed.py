"""What the formation step hands on: facts with their validity, and what was noticed about the message."""

from __future__ import annotations

from dataclasses import dataclass

from aico_memory.domain.memory import OPEN

ACTS = ("assert", "correct", "end", "retract")
# The speaker of a message.
SPEAKER = "user"
# Stands for the value said last, where a change names only what is new ("I switched to tea").
NEWEST = "*"


@dataclass(frozen=True, slots=True)
class FormedFact:
    """One statement: who, what, which value, from when until when, and what is done to what was known."""

    # Standalone, at most 500 characters ("User prefers X").
    text: str
    kind: str
    # "user" for the speaker, else the normalised name of whom or what it is about.
    subject: str
    # Canonical name, "attribute:<noun>" or "<verb>_<preposition>"; empty where only what was said before tells.
    predicate: str
    # Shortest phrase of the object as it was said; empty where there is none.
    value: str
    # Normalised object, for comparison.
    object_key: str
    single_valued: bool
    # assert | correct ("not X but Y") | end ("no longer", a change) | retract ("that was never true")
    act: str = "assert"
    # The object that is corrected or ended; empty where unknown.
    corrected: str = ""
    # Where nothing is known of the beginning of what is over, 0.
    valid_from_us: int = 0
    valid_until_us: int = OPEN
    # persistent | time_bounded
    temporal_type: str = "persistent"
    entities: tuple[str, ...] = ()
    language: str = ""
    # "remember that …"
    explicit: bool = False
    confidence_base: float = 0.8
    # rule | llm_extract
    source: str = "rule"
    excerpt: str = ""


@dataclass(frozen=True, slots=True)
class Formed:
    """A message after observing and forming; filters are named here and never block the record."""

    facts: tuple[FormedFact, ...] = ()
    filtered: tuple[str, ...] = ()
    classes: tuple[tuple[str, float], ...] = ()
    density: int = 0
    valence: float = 0.0
    arousal: float = 0.0
    emotion: str = "none"
    foresight: tuple[FormedFact, ...] = ()
    resolved_text: str = ""
    language: str = ""
    # Goes the fast path at once.
    strong: bool = False
    # It tries to give orders, or speaks of the machine that is to follow them.
    orders: bool = False
    trace: tuple[str, ...] = ()
