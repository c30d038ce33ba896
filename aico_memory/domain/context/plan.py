"""Which tiers a question is asked of, and how many candidates each may name."""

from __future__ import annotations

from dataclasses import dataclass

MODEL, SEMANTIC, WORKING, VECTORS = "model", "semantic", "working", "vectors"
MISMATCH = "vectors: model_mismatch"


@dataclass(frozen=True, slots=True)
class Plan:
    """What one request asks for."""

    # Turns of the conversation; 0: working memory is not asked.
    turns: int
    # Candidates of each long-term retriever; 0: long-term memory is not asked.
    candidates: int
    # general, or what the gate recognised (greeting, acknowledgement, command, empty).
    intent: str


def plan_search(top_k: int, overfetch: int, most: int) -> Plan:
    """A search asks long-term memory, always, for more than it answers."""
    return Plan(turns=0, candidates=min(max(top_k, top_k * overfetch), max(most, top_k)), intent="general")


def plan_context(gate: str, turns: int, max_items: int, overfetch: int) -> Plan:
    """A context asks everything, or working memory alone where the gate sees small talk."""
    if gate:
        return Plan(turns=turns, candidates=0, intent=gate)
    return Plan(turns=turns, candidates=max_items * overfetch, intent="general")


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
