"""Items for the phases of sleep that make knowledge of many, and how a test runs a phase over them."""

from __future__ import annotations

import uuid
from typing import Any

import numpy as np

from aico_memory.domain.gate.statement import Known
from aico_memory.domain.memory import Evidence, Memory, Scope
from aico_memory.domain.sleep import names
from aico_memory.ids import derive_id
from aico_memory.models.gazetteer import load_gazetteer
from aico_memory.models.language_tables import load_function_words
from aico_memory.models.sleep_tables import load_sleep_words
from aico_memory.paths import find_home
from aico_memory.settings.root import Settings
from services.semantic.graphing import Graphing
from services.semantic.sleep.knowledge_phases import knowledge_phases
from services.semantic.sleep.phase import Outcome, SleepPhase, Step
from services.semantic.tokens import FormationRules
from tests.support.memory_items import DAY, START

ADA = Scope("user", "ada")
NOW = START + 30 * DAY
HOME = find_home()
RULES = FormationRules(load_function_words(HOME), load_gazetteer(HOME), "en")
WORDS = load_sleep_words(HOME)
CHANGING = (names.THEMES, names.REDUNDANCY, names.ABSTRACTION, names.KINDS, names.VARIANTS, names.INDEX)
PARIS, ROME = "entity://place/paris", "entity://place/rome"


def identifier(number: int) -> bytes:
    return uuid.UUID(int=number).bytes


def an_item(number: int, text: str, *, reading: tuple[str, str] | None = None, day: float = 0, **fields: Any) -> Known:
    at_us = START + round(day * DAY)
    times = dict.fromkeys(
        ("said_at_us", "recorded_at_us", "valid_from_us", "created_at_us", "updated_at_us", "received_at_us"), at_us
    )
    given: dict[str, Any] = {
        "kind": "fact", "importance": 0.5, "confidence": 0.72, "language": "en", "session_id": f"s{int(day)}",
        "fact_key": f"key {number}", **times, **fields,
    }  # fmt: skip
    scope = given.pop("scope", ADA)
    memory = Memory(memory_id=identifier(number), scope=scope, owner=given.pop("owner", "ada"), text=text, **given)
    predicate, value = reading or ("", "")
    return Known(memory, "user" if reading else "", predicate, value.casefold(), False, value)


def put(store: Any, *items: Known, vectors: dict[int, Any] | None = None) -> None:
    with store.transaction() as transaction:
        for one in items:
            transaction.put_item(one, RULES.tokens(one.memory), 1)
            event_id = derive_id(uuid.UUID(bytes=one.memory.memory_id), "message").bytes
            proof = Evidence(
                one.memory.memory_id, event_id, "rule", one.memory.said_at_us, 0.9, said_at_us=one.memory.said_at_us
            )
            transaction.add_evidence(proof)
        for number, vector in (vectors or {}).items():
            unit = np.array(vector, dtype=np.float32)
            transaction.keep_vector(identifier(number), "model", unit / np.linalg.norm(unit))


def phase(name: str, **figures: Any) -> SleepPhase:
    every = Settings.model_validate({"memory_model": {"knowledge": figures}})
    graphing = Graphing(every.memory_model.graph)
    return next(one for one in knowledge_phases(every, graphing, RULES, WORDS) if one.name == name)


def run(store: Any, name: str, at_us: int = NOW, limit: int = 200, scope: Scope = ADA, **figures: Any) -> list[Outcome]:
    """All steps of a phase, each in a transaction of its own."""
    made, found, after = phase(name, **figures), list[Outcome](), ""
    while len(found) < 1000:
        cause = derive_id(uuid.UUID(int=at_us), name, len(found))
        with store.transaction() as transaction:
            found.append(made.step(transaction, Step(scope, "ada", after, limit, at_us, cause, 5)))
        after = found[-1].after
        if not after:
            return found
    raise AssertionError("the phase does not end")


def counted(found: list[Outcome], name: str) -> int:
    return sum(one.counts.get(name, 0) for one in found)


def items(store: Any, scope: Scope = ADA) -> dict[bytes, Known]:
    return {one.memory.memory_id: one for one in store.items([scope], (), b"", 9999)}


def summaries(store: Any, kind: str = "summary", status: str = "active") -> list[Memory]:
    return [one.memory for one in items(store).values() if (one.memory.kind, one.memory.status) == (kind, status)]


def state_of(store: Any) -> Any:
    """Everything that a phase may change."""
    known = items(store)
    ids = sorted(known)
    return (
        known, store.relations(ids), store.evidence(ids), store.histories(ids), store.merges(ADA), store.edges(ADA),
    )  # fmt: skip


def trip(number: int, what: str, day: float = 0, **fields: Any) -> Known:
    return an_item(number, what, entities=(PARIS,), kind="episode", day=day, **fields)


TRIP = (
    trip(1, "Walked along the Seine in Paris.", 0),
    trip(2, "The museum in Paris was closed.", 1),
    trip(3, "Found a good bakery in Paris near the museum.", 2),
)
