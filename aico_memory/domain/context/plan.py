"""What one request asks of which tier."""

from __future__ import annotations

from dataclasses import dataclass

from aico_memory.settings.context import ContextSettings, IntentSettings

MODEL, SEMANTIC, WORKING, BEHAVIORAL = "model", "semantic", "working", "behavioral"


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
    # Made-up answers of a language model; who read the question where one was asked, and why it was the rules.
    passages: tuple[str, ...] = ()
    read_by: str = ""
    missed: str = ""


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
