"""Which module holds which command, so that a call reads no other: of a whole start they are half."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from aico_memory.cli.face import SHARED, SHARED_FLAGS

# Words in the order of their modules; `tests/unit/cli/test_modules.py` holds it against what the modules register.
WORDS = {
    "behavior": "skills select-skill apply-skill consent feedback",
    "bench": "bench",
    "bench_context": "bench",
    "bench_deployment": "bench",
    "bench_index": "bench",
    "bench_skills": "bench",
    "clock": "clock",
    "disclosure": "unified verify-links update-index disclose",
    "doctor": "doctor",
    "facts": "recall explain add-turn reinforce judge",
    "graph": "graph",
    "guardrails": "guardrails",
    "keys": "keys",
    "learning": (
        "preferences preference-set preference-reset behavior-metrics style learn-now undo-learning feedback-list "
        "feedback-delete feedback-edit behavior-export skill-put skill-change behavior-figures"
    ),
    "lifecycle": "up down restart",
    "memory": "add search context messages get list history update pin delete flush",
    "outcomes": "should-suggest profile agent-tools outcomes suggestion",
    "policies": "policies evaluate-policy",
    "read_only": "read-only",
    "review": "review policy",
    "selections": "explain-selection selection-list selection-delete record-response",
    "sleep": "jobs reindex sleep",
    "status": "status",
    "streams": "record replay export diff-exports verify-replay",
    "time_verbs": "state timeline evolution trend predict",
    "topics": "topics publish tail dead-letters",
}


def load_commands(arguments: Sequence[str]) -> None:
    """Let the modules of the command that is called register it; those of all where it is none that is known.

    `arguments` have the options that every command takes in front.
    """
    called = _called(arguments)
    holding = [module for module, words in WORDS.items() if called in words.split()]
    for module in holding or WORDS:
        import_module(f"aico_memory.cli.{module}")


def _called(arguments: Sequence[str]) -> str:
    """The word of the command; "" where there is none, or where an option of the whole stands before it ("--help add")."""
    waiting = iter(arguments)
    for argument in waiting:
        if argument in SHARED:
            next(waiting, None)
        elif not argument.startswith((*SHARED_FLAGS, *(f"{name}=" for name in SHARED))):
            return "" if argument.startswith("-") else argument
    return ""
