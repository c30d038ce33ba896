"""Facts that answer a question by its wording: read by subject and predicate, without looking through a scope."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from aico_memory.contracts.v1 import context_pb2
from aico_memory.domain.formation.formed import SPEAKER
from aico_memory.domain.formation.grammar import FormationTables, Grammar, Surface
from aico_memory.domain.formation.language_choice import choose_grammar
from aico_memory.domain.gate.statement import Known
from aico_memory.domain.memory import OPEN, Memory, Scope
from aico_memory.domain.recall.answer import RecallFigures, recall
from aico_memory.domain.recall.from_items import held_of
from aico_memory.domain.recall.question import Question, understand
from aico_memory.domain.scopes import subject_in
from aico_memory.settings.recall import RecallSettings
from aico_memory.stores.semantic.port import SemanticStore
from services.semantic.convert import id_text

# Items looked at of one predicate, and predicates that a question may mean.
_OF_PREDICATE, _PREDICATES = 20, 6


class Recalled(NamedTuple):
    """What answers, and the memories that say it."""

    results: Sequence[context_pb2.RecalledFact]
    memories: Sequence[Memory]
    language: str


NOTHING = Recalled((), (), "")


class DirectRecall:
    """The rules of recall over a few items; what only likeness would find is left to the ranking."""

    def __init__(self, store: SemanticStore, tables: FormationTables, settings: RecallSettings, default_language: str) -> None:
        self._store = store
        self._tables = tables
        self._figures = RecallFigures(least_similarity=1.0, least_score=settings.least_score)
        self._default_language = default_language

    def recall(
        self, request: context_pb2.CandidatesRequest, names: Collection[str], scopes: Sequence[Scope], now_us: int
    ) -> Recalled:
        """What answers the questions and was true then; nothing where their wording names no predicate."""
        grammar = self._grammar(request.questions[0], scopes)
        if grammar is None:
            return NOTHING
        as_of_us, known_us = request.as_of_us or now_us, request.known_as_of_us or OPEN
        results: list[context_pb2.RecalledFact] = []
        memories: dict[bytes, Memory] = {}
        for text in request.questions[1:] or request.questions:
            question = understand(text, grammar, self._tables, as_of_us, request.zone or "UTC")
            items = list(self._items(question, names, scopes)) if question.predicates else []
            if not items:
                continue
            by_id = {known.memory.memory_id: known.memory for known in items}
            histories = {} if known_us == OPEN else self._store.histories(list(by_id))
            held = held_of(by_id_order(items), histories, known_us, names)
            for one in recall(question, held, as_of_us, self._tables, _no_likeness, self._figures):
                memory = by_id[one.statement.id]
                if memory.memory_id in memories:
                    continue
                memories[memory.memory_id] = memory
                results.append(
                    context_pb2.RecalledFact(
                        id=id_text(memory.memory_id), memory=one.fact.text, value=one.fact.value,
                        valid_from_us=one.from_us, valid_until_us=0 if one.until_us >= OPEN else one.until_us,
                        confidence=memory.confidence,
                    )
                )  # fmt: skip
        return Recalled(results, list(memories.values()), grammar.code)

    def _items(self, question: Question, names: Collection[str], scopes: Sequence[Scope]) -> Iterator[Known]:
        likely = sorted(question.predicates, key=lambda name: -question.predicates[name])[:_PREDICATES]
        wanted = dict.fromkeys(likely)
        for name in likely:
            wanted.update(dict.fromkeys(self._tables.predicates[name].falls_back))
        # "My sister" is whom the speaker has named so; the rules know both as one.
        relatives = [
            name
            for name, predicate in self._tables.predicates.items()
            if predicate.relation and question.relations & _nouns(predicate.surfaces.get(question.language))
        ]
        for scope in scopes:
            own = [subject_in(scope, SPEAKER, name) for name in names]
            named = [known for subject in own for one in relatives for known in self._read(scope, subject, one)]
            yield from named
            subjects = (*own, *sorted(question.relations), *sorted(question.names), *(one.value.casefold() for one in named))
            for subject in dict.fromkeys(subjects):
                for predicate in wanted:
                    yield from self._read(scope, subject, predicate)

    def _read(self, scope: Scope, subject: str, predicate: str) -> Sequence[Known]:
        return self._store.by_predicate(scope, subject, predicate, _OF_PREDICATE)

    def _grammar(self, text: str, scopes: Sequence[Scope]) -> Grammar | None:
        chosen = choose_grammar(text, (), self._tables, "")
        if chosen is not None:
            return chosen
        spoken = (*self._store.languages(scopes, 1), self._default_language)
        return next((self._tables.grammars[code] for code in spoken if code in self._tables.grammars), None)


def by_id_order(items: Sequence[Known]) -> list[Known]:
    """Each item once, by id: the rules of recall break ties by that order."""
    once = {known.memory.memory_id: known for known in items}
    return [once[memory_id] for memory_id in sorted(once)]


def _nouns(surface: Surface | None) -> frozenset[str]:
    return surface.nouns if surface else frozenset()


def _no_likeness(texts: Sequence[str]) -> list[float]:
    return [0.0] * len(texts)
