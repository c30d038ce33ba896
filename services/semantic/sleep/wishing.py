"""Summaries that a language model is to tell in its own words: how many are wished for, and which text an answer is for."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass
from threading import Lock
from typing import Final

from aico_memory.domain.sleep.derived import SUMMARY
from aico_memory.stores.semantic.port import SemanticTransaction

# Wishes and cycles that are remembered at most; what is forgotten is asked for in another night.
_MOST = 1000
# How a text came about that a model told, and under which name its proof tells of which text by rule it was made.
METHOD: Final = "llm_extract"
BASIS: Final = "basis"


@dataclass(frozen=True, slots=True)
class Wish:
    """A summary or pattern that a model is to tell in its own words."""

    memory_id: bytes
    owner: str
    # Digest of the text by rule, for which the answer is meant.
    basis: bytes
    texts: tuple[str, ...]
    characters: int
    # summary | pattern
    kind: str = SUMMARY


class Wishes:
    """What steps of sleep wish for, so many a cycle; safe between the consumer and whoever asks the model."""

    def __init__(self, calls_a_cycle: int) -> None:
        self._calls = calls_a_cycle
        self._lock = Lock()
        self._waiting: deque[Wish] = deque(maxlen=_MOST)
        # (owner, moment of the cycle) -> what was wished for.
        self._asked: dict[tuple[str, int], set[bytes]] = {}
        self._refused: dict[tuple[bytes, bytes], None] = {}

    def add(self, wish: Wish, at_us: int) -> bool:
        """Ask for it, unless the cycle has asked often enough or the model has failed at this very text."""
        with self._lock:
            asked = self._asked.setdefault((wish.owner, at_us), set())
            known = wish.memory_id in asked or (wish.memory_id, wish.basis) in self._refused
            if known or len(asked) >= self._calls:
                return False
            asked.add(wish.memory_id)
            while len(self._asked) > _MOST:
                self._asked.pop(next(iter(self._asked)))
            self._waiting.append(wish)
            return True

    def next(self) -> Wish | None:
        """The oldest, which is handed out once."""
        with self._lock:
            return self._waiting.popleft() if self._waiting else None

    def refuse(self, wish: Wish) -> None:
        """Its answer was of no use, and another would be none either."""
        with self._lock:
            self._refused[wish.memory_id, wish.basis] = None
            while len(self._refused) > _MOST:
                self._refused.pop(next(iter(self._refused)))

    def __len__(self) -> int:
        return len(self._waiting)


def told_of(transaction: SemanticTransaction, memory_id: bytes) -> bytes:
    """Digest of the text by rule that a model told last in its own words; empty where none has."""
    proofs = [one for one in transaction.evidence(memory_id) if one.method == METHOD and one.metadata_json]
    last = max(proofs, key=lambda one: (one.at_us, one.event_id), default=None)
    return bytes.fromhex(json.loads(last.metadata_json).get(BASIS, "")) if last else b""
