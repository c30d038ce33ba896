"""Waiting until other workers have caught up with the bus, as the broker knows them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from aico_memory.runtime.ports import LinkPort
from services.consolidation.questions import Questions

WORKING = "working"
SEMANTIC = "semantic"
# How often it is looked whether they have caught up.
LOOK_SECONDS = 0.2


class Gates:
    """Each gate by its key: where the workers have to get to is fixed when it is first asked."""

    def __init__(self, link: LinkPort, questions: Questions, monotonic: Callable[[], float], patience: float) -> None:
        self._link = link
        self._questions = questions
        self._monotonic = monotonic
        self._patience = patience
        self._targets: dict[Hashable, dict[str, int]] = {}
        self._since: dict[Hashable, float] = {}
        self._impatient = False

    def working_knows(self, key: Hashable) -> bool:
        """Working memory has applied all that was published before; without it a run would not know what there is."""
        return self._passed(key, WORKING, "applied")

    def semantic_is_settled(self, key: Hashable) -> bool:
        """Long-term memory is done with all that was published before, vectors included; or patience is at its end."""
        if self._impatient:
            return True
        since = self._since.setdefault(key, self._monotonic())
        if self._passed(key, SEMANTIC, "settled"):
            return True
        # Whoever was too slow once in a run is not waited for again with every user.
        self._impatient = self._monotonic() - since >= self._patience
        return self._impatient

    def forget(self) -> None:
        """Nobody waits any more."""
        self._targets.clear()
        self._since.clear()
        self._impatient = False

    def _passed(self, key: Hashable, name: str, position: str) -> bool:
        question = ("gate", name, key)
        answer = self._questions.poll(question, lambda: self._link.control("consumers", {}))
        if answer is None:
            return False
        consumer = next((one for one in answer.get("consumers", []) if one["name"] == name), None)
        target = self._targets.setdefault(key, {}).setdefault(name, _head(answer, consumer))
        # Long-term memory that has never been there has nothing that could be waited for.
        passed = name == SEMANTIC if consumer is None else int(consumer[position]) >= target
        if not passed:
            self._questions.later(question, LOOK_SECONDS)
        return passed


def _head(answer: dict[str, Any], consumer: dict[str, Any] | None) -> int:
    heads = answer.get("topics", {})
    topics = consumer["topics"] if consumer is not None else ()
    return max((int(heads[topic][0]) for topic in topics if topic in heads), default=0)
