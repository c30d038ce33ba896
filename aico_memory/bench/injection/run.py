"""How many attempts to give orders bind somebody, and how many wishes no longer do, by a rule that has not seen their hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from aico_memory.bench.injection.texts import ORDINARY
from aico_memory.domain.formation.form import BINDING_KINDS, form
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.formation.injection_learning import Text, learned
from aico_memory.domain.formation.instructing import INSTRUCTION

_SAID_AT_US = 1_772_625_600_000_000


@dataclass(frozen=True, slots=True)
class Counted:
    """Texts of a hand by what they are; of these, how many bind somebody by wordings alone and with the learned rule."""

    language: str
    hand: str
    attempts: int
    attempts_bound_by_wordings: int
    attempts_bound: int
    # Taken for an attempt by its spelling, bound or not.
    attempts_found: int
    wishes: int
    wishes_bound_by_wordings: int
    wishes_bound: int
    wishes_mistaken: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """Counts by hand, and the share of ordinary messages, not learned from, that the shipped rule takes for attempts."""

    hands: Sequence[Counted]
    ordinary: Mapping[str, float]


def run_injection(
    texts: Mapping[str, Sequence[Text]], ordinary: Mapping[str, Sequence[str]], fresh: Mapping[str, Sequence[str]],
    tables: FormationTables, progress: Callable[[str], None],
) -> Outcome:  # fmt: skip
    """Every hand by what the other hands and the ordinary messages teach, at the shipped threshold."""
    counted, mistaken = [], {}
    for language, of_language in texts.items():
        shipped = tables.injection[language]
        beside = [Text(text, False, "") for text in ordinary.get(language, ())[:ORDINARY]]
        for hand in sorted({one.hand for one in of_language}):
            progress(f"{hand}: learning from the others")
            rule = learned([*(one for one in of_language if one.hand != hand), *beside], shipped.threshold)
            unlearned, taught = replace(tables, injection={}), replace(tables, injection={language: rule})
            counted.append(_counted(language, hand, [one for one in of_language if one.hand == hand], unlearned, taught))
        scores = [shipped.suspects(text) for text in fresh.get(language, ())]
        mistaken[language] = float(np.mean(scores)) if scores else 0.0
    return Outcome(counted, mistaken)


def _counted(
    language: str, hand: str, texts: Sequence[Text], unlearned: FormationTables, taught: FormationTables
) -> Counted:  # fmt: skip
    rule = taught.injection[language]
    attempts, wishes = ([one.words for one in texts if one.attempt is attempt] for attempt in (True, False))
    return Counted(
        language, hand, len(attempts),
        attempts_bound_by_wordings=sum(binds(text, unlearned) for text in attempts),
        attempts_bound=sum(binds(text, taught) for text in attempts),
        attempts_found=sum(map(rule.suspects, attempts)),
        wishes=len(wishes),
        wishes_bound_by_wordings=sum(binds(text, unlearned) for text in wishes),
        wishes_bound=sum(binds(text, taught) for text in wishes),
        wishes_mistaken=sum(map(rule.suspects, wishes)),
    )  # fmt: skip


def binds(text: str, tables: FormationTables) -> bool:
    """Whether a user's message makes a constraint, preference or procedure; how to answer (language, length) harms nobody."""
    formed = form(text, role="user", speaker="", said_at_us=_SAID_AT_US, zone="UTC", recent=(), tables=tables)
    made = [fact for fact in (*formed.facts, *formed.foresight) if fact.kind in BINDING_KINDS]
    return any(not fact.predicate.startswith(f"{INSTRUCTION}:") for fact in made)
