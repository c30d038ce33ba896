"""Twins of the tiers that the context worker asks, and how a test asks the worker."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from aico_memory.clock import FixedClock
from aico_memory.contracts.envelope import Event
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import behavioral_pb2, context_pb2, envelope_pb2, model_pb2, semantic_pb2, working_pb2
from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.errors import NotFound
from aico_memory.ids import derive_id, new_id
from aico_memory.models.twin import HashedEmbedder
from aico_memory.paths import Home
from aico_memory.runtime.courtesy import Courtesy
from aico_memory.settings.root import Settings
from services.context.handlers import ContextHandlers
from tests.support.twin_link import TwinLink

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
USER = "alice"
EMBEDDER = HashedEmbedder()
PATIENT_MS = 4000


@dataclass
class Tiers:
    """What the tiers hold: said texts, each as an event; those `recorded` are in semantic memory."""

    texts: dict[uuid.UUID, str] = field(default_factory=dict)
    turns: list[uuid.UUID] = field(default_factory=list)
    recorded: list[uuid.UUID] = field(default_factory=list)
    # Whose records were deleted.
    deleted: list[uuid.UUID] = field(default_factory=list)
    # What the records of some say since they were edited.
    edited: dict[uuid.UUID, str] = field(default_factory=dict)
    # Items beside the records, how well they match, the hot ones, and what answers.
    items: list[semantic_pb2.MemoryRecord] = field(default_factory=list)
    item_score: float = 0.9
    hot: list[semantic_pb2.MemoryRecord] = field(default_factory=list)
    facts: list[context_pb2.RecalledFact] = field(default_factory=list)
    in_mind: tuple[str, ...] = ()
    # When what was recorded ends; 0: never.
    valid_until_us: int = 0
    # What preferences say of how to answer.
    style: tuple[str, ...] = ()
    # How texts feel.
    valences: dict[str, float] = field(default_factory=dict)
    # Since when what these texts state is over.
    over: dict[str, int] = field(default_factory=dict)
    # When turns were said, in Unix microseconds.
    said_at_us: int = 5
    settled: int = 0
    # When long-term memory says that another answer may be right.
    turns_us: int = 0
    model_away: bool = False
    asked: list[Any] = field(default_factory=list)

    def say(self, text: str, *, turn: bool = False, recorded: bool = True) -> uuid.UUID:
        event_id = new_id(1_760_000_000_000_000 + len(self.texts) * 1000)
        self.texts[event_id] = text
        if turn:
            self.turns.append(event_id)
        if recorded:
            self.recorded.append(event_id)
        return event_id

    def embed(self, message: Any, user: str) -> model_pb2.Embeddings:
        rows = EMBEDDER.embed(list(message.texts))
        return model_pb2.Embeddings(vectors=rows.tobytes(), dimension=256, fingerprint="f", model="twin")

    def read(self, message: Any, user: str) -> working_pb2.MessagePage:
        stored = [
            working_pb2.StoredMessage(
                event_id=event_id.bytes,
                role="user",
                content=self.texts[event_id],
                said_at_us=self.said_at_us,
            )
            for event_id in self.turns[-message.limit :]
        ]
        held = self.in_mind if message.in_mind and message.session_id else ()
        return working_pb2.MessagePage(messages=stored, settled=self.settled, in_mind=held)

    def buffer(self, message: Any, user: str) -> working_pb2.BufferPage:
        return working_pb2.BufferPage(items=[working_pb2.BufferItem(id=one) for one in self.in_mind])

    def selection(self, message: Any, user: str) -> behavioral_pb2.SkillSelectionResponse:
        if message.request_id != "chosen":
            raise NotFound("No selection of that id")
        return behavioral_pb2.SkillSelectionResponse(skill_id="brief", procedure_template="Answer in one sentence", score=0.4)

    def guidance(self, message: Any, user: str) -> behavioral_pb2.StyleGuidance:
        return behavioral_pb2.StyleGuidance(sentences=self.style)

    def query(self, message: Any, user: str) -> semantic_pb2.SemanticMatches:
        """One fused list, by the likeness of embeddings; without the model by common words."""
        assert list(message.retrievers) == ["fused"]
        assert message.embed_ms > 0
        self.asked.append(message)
        words = set(message.text.casefold().split())
        query = EMBEDDER.embed([message.text])[0]
        scored = [
            (float(len(words & set(self.texts[one].casefold().split()))) if self.model_away
             else max(0.0, float(EMBEDDER.embed([self.texts[one]])[0] @ query)), one)
            for one in self.recorded
        ]  # fmt: skip
        scored = sorted(scored, key=lambda pair: -pair[0])
        left_out, scored = scored[message.limit :], scored[: message.limit]
        answer = semantic_pb2.SemanticMatches(
            records=[self.record(one) for _, one in scored], settled=self.settled, model="" if self.model_away else "twin",
            turns_us=self.turns_us, degraded=["model"] if self.model_away else [],
            timings=[semantic_pb2.StageTiming(stage=stage, milliseconds=1.0) for stage in ("read", "embed", "rank")],
        )  # fmt: skip
        if message.shares:
            answer.dropped.extend(semantic_pb2.DroppedItem(id=memory_id(one), rule="top_k") for _, one in left_out)
        listed = answer.lists.add(retriever="fused")
        for score, one in scored:
            listed.memory_ids.append(memory_id(one))
            listed.scores.append(score)
            listed.shares.add(shares=[semantic_pb2.RankedShare(feature="similarity", value=score)])
        return answer

    def candidates(self, message: Any, user: str) -> context_pb2.Candidates:
        """Ranked by the likeness of their embeddings; without the model by common words."""
        self.asked.append(message)
        answer = context_pb2.Candidates(
            settled=self.settled, model="" if self.model_away else "twin", turns_us=self.turns_us
        )  # fmt: skip
        if self.model_away:
            answer.degraded.append("model")
        found: dict[uuid.UUID, None] = {}
        for question in message.questions:
            query = EMBEDDER.embed([question])[0]
            scored = [(max(0.0, float(EMBEDDER.embed([self.texts[one]])[0] @ query)), one) for one in self.recorded]
            scored.sort(key=lambda pair: -pair[0])
            ranked = answer.lists.add()
            for score, one in scored[: message.limit]:
                found[one] = None
                ranked.memory_ids.append(memory_id(one))
                ranked.scores.append(score)
                ranked.shares.add(shares=[semantic_pb2.RankedShare(feature="similarity", value=score)])
        answer.records.extend(self.record(one) for one in found)
        for record in [*self.items, *self.hot]:
            answer.records.append(record)
        answer.hot.extend(record.memory_id for record in self.hot if message.hot)
        answer.withdrawn.extend(uuid.UUID(memory_id(one)).bytes for one in self.deleted if message.hot)
        for one, text in self.edited.items() if message.hot else ():
            answer.edited.add(record_id=uuid.UUID(memory_id(one)).bytes, text=text)
        answer.facts.extend(self.facts)
        if self.items:
            answer.lists.add(
                memory_ids=[record.memory_id for record in self.items], scores=[self.item_score] * len(self.items),
                shares=[context_pb2.FeatureShares()] * len(self.items),
            )  # fmt: skip
        answer.traits.extend(
            context_pb2.Traits(
                source_confidence=1.0, valence=self.valences.get(one.text, 0.0), over_us=self.over.get(one.text, 0)
            )
            for one in answer.records
        )
        return answer

    def record(self, event_id: uuid.UUID) -> semantic_pb2.MemoryRecord:
        source = semantic_pb2.EvidenceSource(event_id=event_id.bytes, role="user", said_at_us=1_760_000_000_000_000)
        return semantic_pb2.MemoryRecord(
            memory_id=memory_id(event_id), kind="record", text=self.edited.get(event_id, self.texts[event_id]), tier="episodic",
            sources=[source], status="active", valid_until_us=self.valid_until_us, confidence=1.0,
            version=1 + (event_id in self.edited),
        )  # fmt: skip


def memory_id(event_id: uuid.UUID) -> str:
    return str(derive_id(event_id, "record"))


def ports(link: TwinLink, *, deadline_ms: int) -> Any:
    settings = Settings.model_validate({"context": {"deadline_ms": deadline_ms, "probe_ms": 30, "short_score": 0.0}})
    return SimpleNamespace(
        link=link, settings=settings, home=Home(Path("/nowhere")), clock=FixedClock(NOW), courtesy=Courtesy()
    )


def ask(handlers: ContextHandlers, message: Any, allowed_ms: int = 0) -> Any:
    topic = topic_of(message).name
    event = Event(
        event_id=new_id(1_760_000_000_000_000), topic=topic, user=message.user_id, message=message, occurred_us=1,
        deadline_us=1 + allowed_ms * 1000 if allowed_ms else 0,
    )  # fmt: skip
    return handlers.requests[topic](event, None)  # type: ignore[arg-type]


def context(handlers: ContextHandlers, query: str, **more: Any) -> context_pb2.ContextAnswer:
    answer: context_pb2.ContextAnswer = ask(handlers, context_pb2.ContextRequest(user_id=USER, query=query, **more))
    return answer


def search(handlers: ContextHandlers, query: str, **more: Any) -> context_pb2.SearchResult:
    answer: context_pb2.SearchResult = ask(handlers, context_pb2.SearchRequest(user_id=USER, query=query, **more))
    return answer


def stages(answer: Any) -> dict[str, float]:
    return {timing.stage: timing.milliseconds for timing in answer.timings}


def open_all(records: Sequence[OutgoingRecord], kind: Any) -> list[Any]:
    """The messages of these records."""
    envelopes = [envelope_pb2.Envelope.FromString(record.envelope) for record in records]
    return [kind.FromString(envelope.payload) for envelope in envelopes]
