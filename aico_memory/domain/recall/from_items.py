"""From stored items to what held when: each item with the validity that was believed of it at a moment."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Final

from aico_memory.domain.formation.formed import FormedFact
from aico_memory.domain.gate.statement import Known
from aico_memory.domain.memory import OPEN, RECORD, Evolution, Memory
from aico_memory.domain.recall.declared_names import aliases
from aico_memory.domain.recall.segments import RETRACT
from aico_memory.domain.recall.timeline import Held, Statement
from aico_memory.domain.scopes import subject_for
from aico_memory.domain.sleep.derived import is_derived
from aico_memory.domain.temporal.versions import Belief, version_of_memory

# Candidates and shadows were never believed.
UNSEEN: Final = frozenset({"candidate", "shadow"})
TAKEN_BACK: Final = "disabled"
# Stands for a predicate where an item has no reading, so that each is a group of its own.
_UNREAD: Final = "said:"


def held_of(
    items: Iterable[Known], histories: Mapping[bytes, Sequence[Evolution]], known_as_of_us: int, names: Container[str]
) -> list[Held]:
    """What held by what was known at `known_as_of`: nothing is folded again, the items say it.

    `histories` are the evolution records of the items; they may be left out for
    `known_as_of` OPEN. `names` are those of the one who asks: in a shared scope others
    go by their names. Variants, former texts, what waits for review and what sleep wrote
    of other items are no answer.
    """
    return _by_name([one for one in _told(items, histories, known_as_of_us, names) if not one.invalid])


def corrected_of(
    items: Iterable[Known], histories: Mapping[bytes, Sequence[Evolution]], known_as_of_us: int, names: Container[str]
) -> list[Held]:
    """What had been corrected by `known_as_of`, so that it was never true; arguments as those of `held_of`."""
    return [one for one in _told(items, histories, known_as_of_us, names) if one.invalid]


def taken_back_of(items: Iterable[Known], known_as_of_us: int, names: Container[str]) -> list[Held]:
    """What had been taken back by `known_as_of`: it was never true, and no message of it is an answer."""
    found = []
    for known in items:
        memory = known.memory
        if memory.status != TAKEN_BACK or memory.invalidated_at_us > known_as_of_us:
            continue
        if not known.predicate or memory.variant_of is not None or memory.version_of is not None or is_derived(memory):
            continue
        fact = _fact(known, names, known.predicate, memory.said_at_us, memory.said_at_us)
        statement = Statement(memory.memory_id, fact, memory.said_at_us, memory.heard)
        found.append(
            Held(statement, fact.subject, fact.predicate, fact.valid_from_us, fact.valid_until_us, invalid=True, cause=RETRACT)
        )
    return found


def _told(
    items: Iterable[Known], histories: Mapping[bytes, Sequence[Evolution]], known_as_of_us: int, names: Container[str]
) -> Iterator[Held]:
    for known in items:
        memory = known.memory
        if memory.kind == RECORD or memory.status in UNSEEN or memory.variant_of is not None or memory.version_of is not None:
            continue
        if is_derived(memory):
            continue
        belief = version_of_memory(memory, histories.get(memory.memory_id, ())).belief(known_as_of_us)
        if belief is None or not (belief.holds or _is_corrected(memory, belief)):
            continue
        predicate = known.predicate or f"{_UNREAD}{memory.memory_id.hex()}"
        fact = _fact(known, names, predicate, belief.valid_from_us, belief.valid_until_us)
        statement = Statement(memory.memory_id, fact, memory.said_at_us, memory.heard)
        yield Held(
            statement, fact.subject, fact.predicate, belief.valid_from_us, belief.valid_until_us, not belief.holds,
            speaker=memory.speaker,
        )  # fmt: skip


def _fact(known: Known, names: Container[str], predicate: str, from_us: int, until_us: int) -> FormedFact:
    memory = known.memory
    return FormedFact(
        text=memory.text, kind=memory.kind, subject=subject_for(known.subject, memory, names), predicate=predicate,
        value=known.value, object_key=known.object_key, single_valued=known.single_valued, valid_from_us=from_us,
        valid_until_us=until_us, temporal_type=memory.temporal_type, entities=memory.entities, language=memory.language,
    )  # fmt: skip


def _is_corrected(memory: Memory, belief: Belief) -> bool:
    """Whether a belief in no time comes of a correction.

    What was taken back or deleted has no beginning; what was absorbed by another item of its value was gone at once.
    """
    return belief.valid_from_us < OPEN and memory.invalidated_at_us > memory.recorded_at_us


def _by_name(found: list[Held]) -> list[Held]:
    """ "Sister" and "Lena" are one, where the speaker has named exactly one sister."""
    named = aliases([one.fact for one in found])
    for one in found:
        one.subject = named.get(one.subject, one.subject)
    return found
