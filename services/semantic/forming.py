"""Forming statements before a transaction: what was said before, what a message states, and the vectors of that."""

from __future__ import annotations

import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import extraction_pb2, semantic_pb2
from aico_memory.domain.formation.entities import Gazetteer
from aico_memory.domain.formation.form import form
from aico_memory.domain.formation.formed import Formed, FormedFact
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.gate.score import asked_in
from aico_memory.domain.memory import OPEN, Scope
from aico_memory.domain.scopes import scope_of
from aico_memory.errors import AicoMemoryError, BusUnavailable, InvalidMessage, TooLarge
from aico_memory.settings.write_path import ScoreSettings, WorkSettings
from aico_memory.stores.semantic.item_port import ItemReads, Vector
from services.semantic.embedding import Embedder
from services.semantic.saying import Said, said_by
from services.semantic.sharing import Sharing

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

# Voices whose messages are observed; what a tool returns is kept as it is.
_OBSERVED = frozenset({"user", "assistant"})
# Texts of one request to the model.
_MOST_TEXTS = 256
_ASK_AGAIN_SECONDS = 0.2
# Trouble with the texts themselves: asking again would give the same.
_UNFIT = (InvalidMessage, TooLarge)
_Session = tuple[Scope, str]
# When it was said, the order of arrival, the text.
_Line = tuple[int, int, str]


@dataclass(frozen=True, slots=True)
class Vectors:
    """Vectors of texts under one model; empty where it was away."""

    fingerprint: str = ""
    by_text: Mapping[str, Vector] = field(default_factory=dict)

    def of(self, text: str) -> Vector | None:
        """The vector of a text, if it is known."""
        return self.by_text.get(text)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A message with what it states."""

    said: Said
    formed: Formed
    vectors: Vectors
    # What the person asks with it; empty where nothing, or nothing but small talk.
    asked: str = ""


class RecentTexts:
    """The last texts of each session in the order of saying, for a bounded number of sessions.

    Which texts were said before a message depends on times of saying and order of
    arrival alone, not on what happens to be held or stored yet.
    """

    def __init__(self, reads: ItemReads, figures: WorkSettings) -> None:
        self._reads = reads
        self._figures = figures
        self._held: OrderedDict[_Session, list[_Line]] = OrderedDict()
        # Of this batch, not stored yet.
        self._batch: dict[_Session, list[_Line]] = {}

    def before(self, said: Said) -> tuple[str, ...]:
        """What was said before in the session, the newest last; remembers this text for those that follow."""
        most, place = self._figures.recent_messages, (said.scope, said.session_id)
        if not most:
            return ()
        held = self._held.get(place)
        if held is None:
            held = self._stored(place, OPEN)
        earlier = [line for line in held if line[0] <= said.said_at_us]
        if len(held) >= most and len(earlier) < most:
            # Said before some of what is held: more of what came before it is in the store.
            mine = [line for line in self._batch.get(place, ()) if line[0] <= said.said_at_us]
            earlier = sorted([*self._stored(place, said.said_at_us), *mine])
        line = (said.said_at_us, said.sequence, said.text)
        self._batch.setdefault(place, []).append(line)
        self._held[place] = sorted([*held, line])[-most:]
        self._held.move_to_end(place)
        while len(self._held) > self._figures.recent_sessions:
            self._held.popitem(last=False)
        return tuple(text for _, _, text in earlier[-most:])

    def stored(self) -> None:
        """The batch is in the store."""
        self._batch.clear()

    def forget(self) -> None:
        """What was held may not be stored: read it anew."""
        self._batch.clear()
        self._held.clear()

    def _stored(self, place: _Session, until_us: int) -> list[_Line]:
        found = self._reads.said_before(*place, until_us, self._figures.recent_messages)
        # What is stored arrived before whatever comes now.
        return [(at_us, number - len(found), text) for number, (at_us, text) in enumerate(found)]


class Forming:
    """Reads what messages state, a batch at a time; what it finds waits for the transaction."""

    def __init__(
        self,
        reads: ItemReads,
        tables: FormationTables,
        gazetteer: Gazetteer,
        embedder: Embedder,
        figures: WorkSettings,
        score: ScoreSettings,
        log: FilteringBoundLogger,
        give_way: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reads = reads
        self._tables = tables
        self._sharing = Sharing(tables)
        self._gazetteer = gazetteer
        self._embedder = embedder
        self._figures = figures
        self._score = score
        self._log = log
        self._give_way = give_way
        self._clock = clock
        self._recent = RecentTexts(reads, figures)
        self._ready: dict[uuid.UUID, Prepared] = {}
        self._vectors = Vectors()
        self._waits_until = 0.0
        self._was_there = True
        self._committed = True
        # Statements that were compared by their keys alone, since the model was away.
        self.without_vectors = 0

    def prepare(self, events: Sequence[Event]) -> None:
        """Form and embed what these events say. BusUnavailable where the worker is told to stop meanwhile."""
        if not self._committed:
            self._recent.forget()
        self._committed = False
        sides = [said for event in events for said in said_by(event)]
        formed = []
        for said in sides:
            self._give_way()
            one = self._form(said, self._recent.before(said))
            formed.append((said, one, self._asked(said, one)))
        texts = [fact.text for _, one, _ in formed for fact in facts_of(one)]
        texts += [asked for _, _, asked in formed if asked]
        texts += [text for event in events for text in self._beside(event)]
        self._vectors = self.embed(texts)
        self._ready = {said.event_id: Prepared(said, one, self._vectors, asked) for said, one, asked in formed}

    def committed(self) -> None:
        """What was prepared is stored."""
        self._committed = True
        self._recent.stored()
        self._ready.clear()

    def of(self, said: Said) -> Prepared:
        """What was prepared of it; formed without its context where nothing was."""
        return self._ready.get(said.event_id) or Prepared(said, self._form(said, ()), Vectors())

    def form(self, said: Said) -> Formed:
        """What a text states by itself."""
        return self._form(said, ())

    @property
    def vectors(self) -> Vectors:
        """Of everything that the last batch prepared."""
        return self._vectors

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of these texts, or none where the model stays away.

        A model that was there is asked again for a while: what is remembered shall not depend on whether it was just
        being restarted. One that stays away is asked once in a while.
        """
        wanted = list(dict.fromkeys(texts))
        if not wanted:
            return Vectors()
        if self._clock() < self._waits_until:
            self.without_vectors += len(wanted)
            return Vectors()
        patience = self._figures.embed_patience_seconds if self._was_there else 0.0
        until = self._clock() + patience
        while True:
            try:
                vectors = self._embedded(wanted)
            except AicoMemoryError as error:
                if self._embedder.pause(_ASK_AGAIN_SECONDS if self._clock() < until else 0.0):
                    raise BusUnavailable("The worker stops") from error
                if self._clock() < until and not isinstance(error, _UNFIT):
                    continue
                self._was_there = isinstance(error, _UNFIT)
                self._waits_until = self._clock() + (0.0 if self._was_there else self._figures.embed_pause_seconds)
                self.without_vectors += len(wanted)
                self._log.info("formed_without_vectors", code=error.code, statements=len(wanted))
                return Vectors()
            self._was_there = True
            return vectors

    def _embedded(self, wanted: Sequence[str]) -> Vectors:
        found: dict[str, Vector] = {}
        fingerprint = ""
        for start in range(0, len(wanted), _MOST_TEXTS):
            part = wanted[start : start + _MOST_TEXTS]
            answer = self._embedder.embed(part)
            if fingerprint not in ("", answer.fingerprint):
                found.clear()
            fingerprint = answer.fingerprint
            found.update((text, np.asarray(row, np.float32)) for text, row in zip(part, answer.vectors, strict=True))
        return Vectors(fingerprint, found)

    def _asked(self, said: Said, formed: Formed) -> str:
        return asked_in(said.text, self._score) if said.role == "user" and not formed.filtered else ""

    def _beside(self, event: Event) -> list[str]:
        """Texts of an event that says nothing itself: of an edit, of what waited for sleep, of what a model read."""
        message, work = event.message, self._figures
        if isinstance(message, semantic_pb2.UpdateMemory):
            said = Said(
                event.event_id, message.text, "user", "", event.user, scope_of(event.user), event.occurred_us,
                event.occurred_us, event.received_us, "", event.global_sequence,
            )  # fmt: skip
            return [message.text, *(fact.text for fact in facts_of(self._form(said, ())))]
        if isinstance(message, semantic_pb2.ReplayExperiences):
            of_these = self._reads.waiting(event.user, message.event_ids, work.waiting) if message.event_ids else []
            return [one.fact.text for one in (*of_these, *self._reads.waiting(event.user, (), work.waiting))]
        if isinstance(message, extraction_pb2.FactsExtracted):
            return [fact.text for fact in message.extraction.facts]
        return []

    def _form(self, said: Said, recent: tuple[str, ...]) -> Formed:
        if said.role not in _OBSERVED:
            return Formed()
        try:
            formed = form(
                said.text, role=said.role, speaker=said.name, said_at_us=said.said_at_us, zone=said.zone or "UTC",
                recent=recent, tables=self._tables, gazetteer=self._gazetteer,
            )  # fmt: skip
        except Exception as error:
            # Whatever a text does to the rules, its record stands; the explanation says why nothing was formed.
            self._log.error("forming_failed", error=type(error).__name__, exc_info=True)
            return Formed(trace=(f"forming failed: {type(error).__name__}",))
        if said.scope.kind == "user":
            return formed
        return replace(formed, facts=self._shared(said, formed.facts), foresight=self._shared(said, formed.foresight))

    def _shared(self, said: Said, facts: Sequence[FormedFact]) -> tuple[FormedFact, ...]:
        return tuple(self._sharing.told(fact, said.text, said.owner, said.name) for fact in facts)


def facts_of(formed: Formed) -> tuple[FormedFact, ...]:
    """All that a message states, plans among them."""
    return (*formed.facts, *formed.foresight)
