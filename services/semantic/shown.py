"""What stood first in the latest answers, by features: so that a person's word on it can become a label. No text is kept."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

from aico_memory.domain.guardrails.labels import RankingLabel
from aico_memory.domain.memory import Memory
from aico_memory.domain.retrieval.evidence import Floats
from aico_memory.domain.retrieval.features import NAMES

# So many answers, of each so many rows.
ANSWERS = 200
ROWS = 30


class Shown(NamedTuple):
    """One answer: its question's name, and its rows."""

    label_id: str
    memory_ids: tuple[bytes, ...]
    rows: tuple[tuple[float, ...], ...]
    kinds: tuple[str, ...]
    tiers: tuple[str, ...]


class ShownRows:
    """The latest answers in memory; safe from many threads. A restart forgets them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: deque[Shown] = deque(maxlen=ANSWERS)

    def note(self, question: str, scopes: Sequence[str], memories: Sequence[Memory], features: Floats) -> None:
        """An answer, best first; `features` has a row for each memory, shape (n, features)."""
        if not memories:
            return
        name = "\0".join((question, *scopes)).encode()
        shown = Shown(
            blake2b(name, digest_size=16).hexdigest(), tuple(one.memory_id for one in memories[:ROWS]),
            tuple(map(tuple, features[:ROWS].tolist())), tuple(one.kind for one in memories[:ROWS]),
            tuple(one.tier for one in memories[:ROWS]),
        )  # fmt: skip
        with self._lock:
            self._answers.append(shown)

    def label(self, memory_ids: Sequence[bytes], helpful: bool, owner: str, at_us: int) -> RankingLabel | None:
        """What a word on these memories says of the latest answer that showed one of them; None where none did."""
        judged = set(memory_ids)
        with self._lock:
            found = next((one for one in reversed(self._answers) if judged & set(one.memory_ids)), None)
        if found is None:
            return None
        places = tuple(place for place, memory_id in enumerate(found.memory_ids) if memory_id in judged)
        helped, refused = (places, ()) if helpful else ((), places)
        return RankingLabel(found.label_id, owner, at_us, NAMES, found.rows, helped, refused, found.kinds, found.tiers)
