"""What one request asks of which tier."""

from __future__ import annotations

from dataclasses import dataclass

from aico_memory.settings.context import ContextSettings, IntentSettings

MODEL, SEMANTIC, WORKING, VECTORS, BEHAVIORAL = "model", "semantic", "working", "vectors", "behavioral"
MISMATCH = "vectors: model_mismatch"


_ANY = IntentSettings()


@dataclass(frozen=True, slots=True)
class Plan:
    """What one request asks for."""

    # Turns of the conversation; 0: working memory is not asked.
    turns: int
    # Candidates of each question; 0: nothing is searched.
    candidates: int
    # One of the intents, or what the gate recognised (greeting, acknowledgement, command, empty).
    intent: str
    figures: IntentSettings = _ANY
    # Most items of the answer.
    limit: int = 0
    # What is no longer true takes part.
    historical: bool = False
    # The question, then its parts.
    questions: tuple[str, ...] = ()


def plan_search(top_k: int, overfetch: int, most: int) -> Plan:
    """A search asks long-term memory, always, for more than it answers."""
    return Plan(turns=0, candidates=min(max(top_k, top_k * overfetch), max(most, top_k)), intent="general", limit=top_k)


def plan_context(
    query: str, gate: str, intent: str, parts: tuple[str, ...], settings: ContextSettings, *, dated: bool = False
) -> Plan:
    """A context asks everything, or nothing but what is at hand where the gate sees small talk.

    `dated`: the request itself names the time that is meant, which then decides what was true.
    """
    if gate:
        return Plan(settings.working_turns, 0, gate, limit=settings.max_items)
    figures: IntentSettings = getattr(settings.intents, intent)
    limit = min(settings.max_items, figures.limit)
    return Plan(
        turns=settings.working_turns,
        candidates=limit * settings.overfetch,
        intent=intent,
        figures=figures,
        limit=limit,
        historical=figures.historical and not dated,
        questions=(query, *parts),
    )


def degraded_tiers(
    plan: Plan, *, embedded: bool, text: bool, vectors: bool, working: bool, mismatch: bool = False
) -> tuple[str, ...]:
    """Names of the tiers that were asked and did not answer; `vectors` where semantic memory answered by text alone.

    `mismatch`: its vectors are those of another embedding model, and no question can be compared with them.
    """
    missing = []
    if plan.candidates:
        if not embedded:
            missing.append(MODEL)
        if not text:
            missing.append(SEMANTIC)
        elif embedded and not vectors:
            missing.append(MISMATCH if mismatch else VECTORS)
    if plan.turns and not working:
        missing.append(WORKING)
    return tuple(missing)
