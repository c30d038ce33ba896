"""The benchmark through a real deployment: streams are told with `add`, asked with `recall`, each by a user of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aico_memory.bench.facts.run import Vectoriser
from aico_memory.bench.facts.streams import ZONE, Asked, Stream
from aico_memory.bench.facts.tally import Tally, same, tense_of
from aico_memory.bench.system.run import deployment
from aico_memory.client import MemoryClient
from aico_memory.client.time_results import HeldFact
from aico_memory.domain.formation.fact_key import normalise_fact_key
from aico_memory.domain.formation.when import from_us
from aico_memory.models.embedder import Embedder

Progress = Callable[[str], None]
FLUSH_SECONDS = 600.0
ITEMS = 1_000
# Statuses of what was once believed.
BELIEVED = ("active", "superseded", "expired", "disabled")
# An answer's value holds in a message where the beginnings of its words do.
STEM = 4


@dataclass(frozen=True, slots=True)
class _Item:
    value: str
    status: str
    from_text: str | None
    until_text: str | None
    known_text: str | None
    evidence: tuple[str, ...]

    @property
    def closed(self) -> bool:
        """Whether something else ended it; what its own message tells as over was not invalidated by anything."""
        if self.status == "expired":
            return (self.until_text or "") > (self.known_text or "")
        return self.status == "superseded"

    def holds_at(self, at_text: str) -> bool:
        """Whether it held at that moment, both as UTC text of equal form."""
        return (self.from_text or "") <= at_text and (self.until_text is None or at_text < self.until_text)


def run_over_the_bus(streams: Sequence[Stream], embedder: Embedder, say: Progress) -> dict[tuple[str, str], Tally]:
    """Tallies by (language, half), from one fresh deployment; late arrivals arrive late."""
    tallies: dict[tuple[str, str], Tally] = {}
    vectoriser = Vectoriser(embedder)
    with deployment() as home, MemoryClient.connect(home=home) as client:
        texts: dict[str, str] = {}
        for number, stream in enumerate(streams):
            ids = client.add([_message(said.text, said.at_us) for said in stream.said], user_id=stream.id)
            texts.update(zip(ids, (said.text for said in stream.said), strict=True))
            if number % 25 == 0:
                say(f"{number} of {len(streams)} streams told")
        say("waiting until everything is searchable")
        client.flush(FLUSH_SECONDS)
        for number, stream in enumerate(streams):
            tally = tallies.setdefault((stream.language, stream.half), Tally())
            records = client.get_all(stream.id, {"status": list(BELIEVED)}, ITEMS)["results"]
            items = _items(client.timeline(stream.id)["results"], {one["id"]: one["evidence"] for one in records})
            _count_merges(items, texts, tally)
            for asked in stream.asked:
                _ask(client, stream, asked, items, vectoriser, tally)
            if number % 25 == 0:
                say(f"{number} of {len(streams)} streams asked")
    return tallies


def _message(text: str, at_us: int) -> dict[str, Any]:
    return {"role": "user", "content": text, "timestamp": from_us(at_us, ZONE), "zone": ZONE}


def _ask(
    client: MemoryClient, stream: Stream, asked: Asked, items: Sequence[_Item], vectoriser: Vectoriser, tally: Tally
) -> None:
    tense, as_of = tense_of(stream, asked)
    moment = from_us(as_of, ZONE)
    results = client.recall(asked.question, stream.id, as_of=moment)["results"]
    values = [str(fact["value"] or fact["memory"]) for fact in results]
    tally.answered(stream.id, tense, asked, values)
    tally.baselines(stream, tense, asked, as_of, vectoriser.to(asked.question))
    at_text = from_us(as_of, "UTC").strftime("%Y-%m-%dT%H:%M:%S")
    for expected in asked.expected:
        mine = [item for item in items if same(item.value, expected)]
        if not mine:
            continue
        tally.values += 1
        begun = [item for item in mine if (item.from_text or "") <= at_text]
        closed = [item for item in begun if item.closed]
        if any(same(value, expected) for value in values):
            # Rightly over, where the question asks for what was before.
            continue
        if closed and not any(item.holds_at(at_text) for item in begun):
            tally.invalidated += 1
            tally.misses.append(f"{stream.id} [{tense}] ended: {expected}, {closed[-1].from_text} to {closed[-1].until_text}")


def _items(held: Sequence[HeldFact], evidence: Mapping[str, Sequence[str]]) -> list[_Item]:
    return [
        _Item(
            one["value"],
            one["status"],
            _cut(one["valid_from"]),
            _cut(one["valid_until"]),
            _cut(one["known_from"]),
            tuple(evidence.get(one["id"], ())),
        )
        for one in held
        if one["value"]
    ]


def _cut(moment: str | None) -> str | None:
    return moment[:19] if moment else None


def _count_merges(items: Sequence[_Item], texts: Mapping[str, str], tally: Tally) -> None:
    """Statements taken for evidence of an item although their message names another value."""
    for item in items:
        words = normalise_fact_key(item.value).split()
        for event in item.evidence:
            tally.stated += 1
            said = normalise_fact_key(texts.get(event, ""))
            if said and not all(word[:STEM] in said for word in words):
                tally.merged += 1
                tally.misses.append(f"merged: {said[:80]!r} into {item.value!r}")
