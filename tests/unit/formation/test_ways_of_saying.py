"""Many ways of saying the same thing, in every language with rules."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from aico_memory.domain.formation.fact_key import normalise_fact_key
from aico_memory.domain.formation.form import form
from aico_memory.domain.formation.formed import FormedFact
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.formation.weight import WEAK

SAID = int(datetime(2026, 3, 4, 12, tzinfo=UTC).timestamp() * 1_000_000)
WAYS = yaml.safe_load(Path(__file__).with_name("ways_of_saying.yaml").read_text(encoding="utf-8"))
# An end may leave open whether a home, a job or a thing is left: what is known tells.
LEFT = frozenset({"employer", "home_city", "owns", "uses", "partner", "location", ""})


def fits(fact: FormedFact, predicate: str, value: str) -> bool:
    ends = predicate.startswith("end:")
    wanted = {predicate.removeprefix("end:")} | (LEFT if ends else frozenset())
    named = normalise_fact_key(fact.value) == normalise_fact_key(value) or (ends and not fact.value)
    return fact.predicate in wanted and named and (fact.act in ("end", "retract")) == ends


@pytest.mark.parametrize(("language", "said", "predicate", "value"), WAYS, ids=str)
def test_it_is_read_however_it_is_said(tables: FormationTables, language: str, said: str, predicate: str, value: str) -> None:
    formed = form(said, role="user", speaker="", said_at_us=SAID, zone="UTC", recent=(), tables=tables, language=language)
    kept = [fact for fact in formed.facts if fact.confidence_base > WEAK]
    assert any(fits(fact, predicate, value) for fact in kept), [(fact.act, fact.predicate, fact.value) for fact in kept]
