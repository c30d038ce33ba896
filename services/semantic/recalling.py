"""Answers to questions: what is or was true, by the items and what was believed of them."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import wait
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from google.protobuf.message import Message

from aico_memory.clock import Clock
from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import context_pb2, model_pb2
from aico_memory.domain.formation.formed import SPEAKER
from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.formation.language_choice import choose_grammar
from aico_memory.domain.gate.statement import Known
from aico_memory.domain.memory import OPEN, Evidence, Evolution, Scope
from aico_memory.domain.recall.answer import RecallFigures, recalled
from aico_memory.domain.recall.deciding import Answer, Reader, answer_of
from aico_memory.domain.recall.excerpt import excerpt_around
from aico_memory.domain.recall.from_items import corrected_of, held_of, taken_back_of
from aico_memory.domain.recall.groups import Recalled
from aico_memory.domain.recall.mirrored import Utterance
from aico_memory.domain.recall.one_person import by_any_name, told_as_one
from aico_memory.domain.recall.question import Question, understand
from aico_memory.domain.recall.reading.passage import Passage
from aico_memory.domain.recall.reading.picking import Reading, Run
from aico_memory.domain.recall.reading.trust import Trust
from aico_memory.domain.recall.timeline import Held
from aico_memory.domain.recall.withheld import events_of, taken_back, withheld
from aico_memory.domain.scopes import readable, subjects_in
from aico_memory.errors import AicoMemoryError, DeadlineExceeded, InvalidMessage
from aico_memory.runtime.ports import LinkPort
from aico_memory.settings.identity import IdentitySettings
from aico_memory.settings.recall import RecallSettings
from aico_memory.stores.semantic.port import SemanticStore
from services.semantic.convert import present_us
from services.semantic.graphing import merged_names
from services.semantic.said_alike import SaidAlike

DEFAULT_ZONE = "UTC"
_PAGE = 500


class Recalling:
    """Understands a question and chooses among the items of the scopes it may read; safe from many threads."""

    def __init__(
        self, store: SemanticStore, tables: FormationTables, trust: Trust, link: LinkPort, clock: Clock,
        settings: RecallSettings, identity: IdentitySettings, default_language: str, said: SaidAlike,
        parts: Callable[[str], Sequence[str]] = lambda question: (),
    ) -> None:  # fmt: skip
        self._store = store
        self._tables = tables
        self._link = link
        self._clock = clock
        self._settings = settings
        self._identity = identity
        self._default_language = default_language
        self._said = said
        # The questions that a compound one asks; none where it asks one.
        self._parts = parts
        self._figures = RecallFigures(settings.least_similarity, settings.least_score)
        self._reader = Reader(self._read, trust, settings.reader_margin) if settings.reader else None

    def recall(self, event: Event) -> context_pb2.RecallResult:
        """What answers the question and was true then; nothing where nothing was. Raises InvalidMessage for an unknown zone.

        Each part of a compound question is asked by itself, and the whole where one of them is answered by nothing: what that
        asks may be said in another ("what time and where did we meet").
        """
        request: context_pb2.RecallRequest = event.message
        found = [self._recalled(event, part) for part in self._parts(request.question)]
        if all(one.results for one in found) and found:
            return _joined(found)
        return _joined([self._recalled(event, request.question), *found])

    def _recalled(self, event: Event, asked: str) -> context_pb2.RecallResult:
        request: context_pb2.RecallRequest = event.message
        names = frozenset(self._identity.names(event.user))
        scopes = readable(sorted(names), request.group_id, request.project_id)
        as_of_us = request.as_of_us or present_us(self._clock)
        known_us = request.known_as_of_us or OPEN
        grammar = self._grammar(asked, request.language, scopes)
        if grammar is None:
            return context_pb2.RecallResult()
        zone = _zone(request.zone)
        question = understand(asked, grammar, self._tables, as_of_us, zone, ahead=not request.as_of_us)
        likeness = _Likeness(self._link, self._store, asked, self._settings)
        one_person = merged_names(self._store, scopes, known_us)
        by_names = {scope: by_any_name(question, one_person.get(scope, ())) for scope in scopes}
        items = [known for scope in scopes for known in self._items(scope, names, by_names[scope], likeness)]
        histories = self._histories(items, known_us)
        held = held_of(items, histories, known_us, names)
        places = {known.memory.memory_id: known.memory.scope for known in items} if one_person else {}
        for scope, groups in one_person.items():
            told_as_one([one for one in held if places[one.statement.id] == scope], groups, question)
        likeness.ids = {one.fact.text: one.statement.id for one in held}
        facts = recalled(question, held, as_of_us, self._tables, likeness, self._figures)
        found = self._said(question, grammar, scopes, names, present_us(self._clock), zone, known_us)
        said = self._readable([one for one in found if one.said_at_us <= known_us], items, known_us)
        # The reader knows nobody by two names: of them the rules tell.
        reader = self._reader if all(one is question for one in by_names.values()) else None
        never = corrected_of(items, histories, known_us, names) + taken_back_of(items, known_us, names)
        ever = [*held, *never]
        answer, missing = self._answer(facts, said, ever, question, grammar, as_of_us, reader)
        result = context_pb2.RecallResult(language=grammar.code, degraded=dict.fromkeys([*likeness.degraded, *missing]))
        self._tell(result, _once(answer.facts), {known.memory.memory_id: known for known in items}, known_us)
        self._tell_words(result, answer, known_us)
        return result

    def _readable(self, said: Sequence[Utterance], items: Sequence[Known], known_us: int) -> list[Utterance]:
        """Those of the messages about whose statements nobody has decided otherwise."""
        over = taken_back(items, known_us)
        left = [one for one in said if one.said_at_us not in over]
        bounds = withheld(items, known_us) if left else {}
        if not bounds:
            return left
        events = events_of(bounds, self._store.evidence(list(bounds)))
        # An edited message proves by the event of its edit, too.
        rest = self._store.evidence([one.id for one in left])
        return [one for one in left if events.isdisjoint(proof.event_id for proof in rest[one.id])]

    def _answer(
        self, facts: Recalled, said: Sequence[Utterance], held: Sequence[Held], question: Question, grammar: Grammar,
        as_of_us: int, reader: Reader | None,
    ) -> tuple[Answer, list[str]]:  # fmt: skip
        """The answer, and who should have been asked for it and was away: then it is that of the rules."""
        try:
            return answer_of(facts, said, held, question, grammar, as_of_us, reader), []
        except AicoMemoryError as error:
            return answer_of(facts, said, held, question, grammar, as_of_us, None), [f"model: {error.code}"]

    def _read(self, passage: Passage) -> Reading:
        """The model service reads. Raises AicoMemoryError where it does not answer."""
        request = model_pb2.ReadRequest(
            words=passage.words, message=(passage.message + 1).tolist(), marks=passage.marks.tobytes()
        )
        answer = _asked(self._link, request, self._settings.model_seconds)
        return Reading([_run(one) for one in answer.runs], [_run(one) for one in answer.others], answer.answers, answer.several)

    def _tell_words(self, result: context_pb2.RecallResult, answer: Answer, known_us: int) -> None:
        evidence = self._store.evidence([one.utterance.id for one in answer.words])
        chance = self._settings.wording_confidence if answer.chance is None else answer.chance
        for one in answer.words:
            said = one.utterance
            rests_on = [entry for entry in evidence[said.id] if entry.said_at_us <= known_us]
            result.results.append(self._told(said.id, said.text, one.value, one.from_us, one.until_us, chance, rests_on))

    def _grammar(self, asked: str, language: str, scopes: Sequence[Scope]) -> Grammar | None:
        chosen = choose_grammar(asked, (), self._tables, language)
        if chosen is not None:
            return chosen
        # Nothing in its wording tells: then it is in the language that is spoken here.
        spoken = (*self._store.languages(scopes, 1), self._default_language)
        return next((self._tables.grammars[code] for code in spoken if code in self._tables.grammars), None)

    def _items(self, scope: Scope, names: Collection[str], question: Question, likeness: _Likeness) -> Sequence[Known]:
        """All items of a scope, or of a large one those that may answer."""
        found: list[Known] = []
        after = b""
        while len(found) <= self._settings.items:
            page = self._store.items([scope], (), after, _PAGE)
            found += page
            if len(page) < _PAGE:
                return found
            after = page[-1].memory.memory_id
        return list({known.memory.memory_id: known for known in self._candidates(scope, names, question, likeness)}.values())

    def _candidates(self, scope: Scope, names: Collection[str], question: Question, likeness: _Likeness) -> Iterator[Known]:
        wanted = set(question.predicates)
        for name in question.predicates:
            wanted.update(self._tables.predicates[name].falls_back)
        closest = self._settings.closest
        own = subjects_in(scope, SPEAKER, sorted(names))
        # In a shared scope relatives are kept with whose they are. Its last subject, of what belongs to all, has none.
        relatives = [f"{one} {noun}" for one in own[:-1] for noun in sorted(question.relations)]
        for subject in dict.fromkeys((*own, *relatives, *sorted(question.relations), *sorted(question.names))):
            for predicate in sorted(wanted):
                yield from self._store.by_predicate(scope, subject, predicate, closest)
        yield from self._store.newest(scope, closest)
        embedded = likeness.question()
        if embedded is not None:
            yield from (one.known for one in self._store.nearest(scope, *embedded, closest))

    def _histories(self, items: Sequence[Known], known_us: int) -> Mapping[bytes, Sequence[Evolution]]:
        # What is believed now stands in the items themselves.
        return {} if known_us == OPEN else self._store.histories([known.memory.memory_id for known in items])

    def _tell(
        self, result: context_pb2.RecallResult, answer: Sequence[Held], items: Mapping[bytes, Known], known_us: int
    ) -> None:
        evidence = self._store.evidence([one.statement.id for one in answer])
        for one in answer:
            rests_on = [entry for entry in evidence[one.statement.id] if entry.said_at_us <= known_us]
            memory = items[one.statement.id].memory
            result.results.append(
                self._told(
                    memory.memory_id, one.fact.text, one.fact.value, one.from_us, one.until_us, memory.confidence, rests_on
                )
            )  # fmt: skip

    def _told(
        self, memory_id: bytes, text: str, value: str, from_us: int, until_us: int, confidence: float,
        rests_on: Sequence[Evidence],
    ) -> context_pb2.RecalledFact:  # fmt: skip
        return context_pb2.RecalledFact(
            id=str(uuid.UUID(bytes=memory_id)), memory=excerpt_around(text, value, self._settings.memory_characters),
            value=value, valid_from_us=from_us, valid_until_us=0 if until_us >= OPEN else until_us, confidence=confidence,
            evidence=list(dict.fromkeys(entry.event_id for entry in rests_on)),
        )  # fmt: skip


def _run(told: model_pb2.WordRun) -> Run:
    return Run(told.first, told.last, told.chance, told.cut)


class _Likeness:
    """Similarity of a question to texts of items, by their stored vectors; asked of the model only where it is needed."""

    def __init__(self, link: LinkPort, store: SemanticStore, text: str, settings: RecallSettings) -> None:
        self.degraded: list[str] = []
        # Item whose text it is.
        self.ids: dict[str, bytes] = {}
        self._link = link
        self._store = store
        self._text = text
        self._seconds = settings.model_seconds
        self._asked: tuple[str, np.ndarray] | None = None
        self._tried = False

    def question(self) -> tuple[str, np.ndarray] | None:
        """The model's fingerprint and the question's vector; None where the model is away."""
        if not self._tried:
            self._tried = True
            try:
                self._asked = self._embed()
            except AicoMemoryError as error:
                self.degraded.append(f"model: {error.code}")
        return self._asked

    def __call__(self, texts: Sequence[str]) -> list[float]:
        embedded = self.question()
        if embedded is None:
            return [0.0] * len(texts)
        found = self._store.similarities([self.ids[text] for text in texts], *embedded)
        return [found.get(self.ids[text], 0.0) for text in texts]

    def _embed(self) -> tuple[str, np.ndarray]:
        answer = _asked(self._link, model_pb2.EmbedRequest(texts=[self._text], interactive=True), self._seconds)
        return answer.fingerprint, np.frombuffer(answer.vectors, dtype="<f4")


def _asked(link: LinkPort, request: Message, seconds: float) -> Any:
    """The model's answer. Raises AicoMemoryError."""
    future = link.request(request, timeout=seconds)
    if not wait([future], seconds).done:
        future.cancel()
        raise DeadlineExceeded("The model does not answer")
    return future.result()


def _zone(name: str) -> str:
    try:
        return ZoneInfo(name or DEFAULT_ZONE).key
    except (KeyError, ValueError, OSError):
        raise InvalidMessage(f"{name[:64]!r} is no IANA zone", "Give a zone such as Europe/Lisbon.") from None


def _joined(found: Sequence[context_pb2.RecallResult]) -> context_pb2.RecallResult:
    """What several questions were answered, each memory's value once, in the order of the questions."""
    if len(found) == 1:
        return found[0]
    results = {(one.id, one.value): one for answer in reversed(found) for one in reversed(answer.results)}
    return context_pb2.RecallResult(
        results=reversed(results.values()), language=next((one.language for one in found if one.language), ""),
        degraded=dict.fromkeys(why for one in found for why in one.degraded),
    )  # fmt: skip


def _once(answer: Sequence[Held]) -> list[Held]:
    """Each value once: it may stand in a shared scope as well, the first of them is the user's own."""
    return list({(one.subject, one.predicate, one.fact.object_key): one for one in reversed(answer)}.values())[::-1]
