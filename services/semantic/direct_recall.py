"""Facts that answer a question by its wording: read by subject and predicate, without looking through a scope."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

from aico_memory.contracts.v1 import context_pb2
from aico_memory.domain.context.matching import word_stems
from aico_memory.domain.formation.formed import SPEAKER
from aico_memory.domain.formation.grammar import FormationTables, Grammar, Surface
from aico_memory.domain.formation.language_choice import choose_grammar
from aico_memory.domain.gate.statement import Known
from aico_memory.domain.memory import OPEN, RECORD, Memory, Scope, record_of
from aico_memory.domain.recall.answer import RecallFigures, recall
from aico_memory.domain.recall.from_items import held_of
from aico_memory.domain.recall.one_person import Names, by_any_name, told_as_one
from aico_memory.domain.recall.question import Question, understand
from aico_memory.domain.recall.timeline import Held
from aico_memory.domain.retrieval.directness import to_tell, untold
from aico_memory.domain.retrieval.participants import people_named
from aico_memory.domain.scopes import subjects_in
from aico_memory.settings.recall import RecallSettings
from aico_memory.stores.semantic.port import SemanticStore
from services.semantic.convert import id_text
from services.semantic.graphing import merged_names

# Best matches among which an item may answer that the wording of the question alone does not lead to.
NEAR = 10
# Letters of a message that states something.
STATEMENT = 300
_ID = 16
# Items looked at of one predicate, and predicates that a question may mean.
_OF_PREDICATE, _PREDICATES = 20, 6


class _Told(NamedTuple):
    """A fact that answers, its memory, and the words of the question that it does not speak of."""

    held: Held
    memory: Memory
    left_over: frozenset[str]


class Recalled(NamedTuple):
    """What answers, and the memories that say it."""

    results: Sequence[context_pb2.RecalledFact]
    memories: Sequence[Memory]
    language: str
    # For each of them, words of the question that it does not speak of; only where they were asked for.
    left_over: Sequence[frozenset[str]] = ()
    # The questions, and the items that their wording led to.
    read: Sequence[tuple[Question, Sequence[Known]]] = ()
    # Those of the questions that nothing answers.
    unanswered: Sequence[str] = ()
    # By question what answers it, with the words that it leaves over; and by scope who is one person there.
    told: Sequence[Sequence[_Told]] = ()
    one_person: Mapping[Scope, Sequence[Names]] = MappingProxyType({})


NOTHING = Recalled((), (), "")


class DirectRecall:
    """The rules of recall over a few items; what only likeness would find is left to the ranking."""

    def __init__(self, store: SemanticStore, tables: FormationTables, settings: RecallSettings, default_language: str) -> None:
        self._store = store
        self._tables = tables
        self._figures = RecallFigures(least_similarity=1.0, least_score=settings.least_score)
        self._default_language = default_language

    def recall(
        self, request: context_pb2.CandidatesRequest, names: Collection[str], scopes: Sequence[Scope], now_us: int,
        ignored: Set[str] | None = None, among: Sequence[bytes] = (), before: Recalled = NOTHING,
    ) -> Recalled:  # fmt: skip
        """What answers the questions and was true then; nothing where their wording names no predicate.

        With `ignored`, folded function words, it is told what of a question each answer does not speak of. `among`: items
        that match, which answer a question to which its wording leads nowhere ("my favourite colour": no table knows it);
        `before` is what the same request told without them.
        """
        grammar = self._grammar(request.questions[0], scopes)
        if grammar is None:
            return NOTHING
        as_of_us, known_us = request.as_of_us or now_us, request.known_as_of_us or OPEN
        texts = request.questions[1:] or request.questions
        one_person = before.one_person if before.read else merged_names(self._store, scopes, known_us)
        read = before.read or [
            (question, list(self._items(question, names, scopes, one_person)) if question.predicates else [])
            for text in texts
            for question in (self._question(request, text, grammar, as_of_us),)
        ]
        matching = list(self._matching(among, scopes)) if among else []
        known = frozenset(name.casefold() for name in names)

        def answers(question: Question, items: Sequence[Known]) -> list[_Told]:
            held = self._told(question, items, names, as_of_us, known_us, one_person)
            return list(self._with_left_over(question, held, known, ignored))

        told = before.told or [answers(question, of_wording) for question, of_wording in read]
        if matching:
            # What its wording led to stands; only where that answers nothing the items that match are looked at as well.
            told = [
                found or answers(question, [*of_wording, *matching])
                for found, (question, of_wording) in zip(told, read, strict=True)
            ]
        first = _once(told)
        return Recalled(
            [_fact(one) for one in first], [one.memory for one in first], grammar.code,
            [one.left_over for one in first] if ignored is not None else [], read,
            [text for text, found in zip(texts, told, strict=True) if not found], told, one_person,
        )  # fmt: skip

    def _question(
        self, request: context_pb2.CandidatesRequest, text: str, grammar: Grammar, as_of_us: int
    ) -> Question:  # fmt: skip
        return understand(text, grammar, self._tables, as_of_us, request.zone or "UTC", ahead=not request.as_of_us)

    def _with_left_over(
        self, question: Question, told: Iterable[tuple[Held, Memory]], known: Set[str], ignored: Set[str] | None
    ) -> Iterator[_Told]:
        # Most answers to one question are of one predicate.
        words: dict[str, dict[str, frozenset[str]]] = {}
        for held, memory in told:
            left = frozenset[str]()
            if ignored is not None:
                if held.predicate not in words:
                    words[held.predicate] = to_tell(question, held.predicate, self._tables, known, ignored)
                left = untold(words[held.predicate], held, question.language)
            yield _Told(held, memory, left)

    def people_in(self, question: str, language: str, speakers: Iterable[str]) -> frozenset[str]:
        """Whom a question in one of the languages of the tables asks about, by folded names; see `people_named`."""
        return people_named(question, self._tables.grammars[language], speakers)

    def texts(self, event_ids: Collection[bytes], scopes: Sequence[Scope]) -> frozenset[bytes]:
        """Those of these messages that are too long for a statement: of a text rules misread more."""
        records = {record_of(one): one for one in event_ids if len(one) == _ID}
        found = (known.memory for known in self._store.known(list(records), scopes))
        return frozenset(records[memory.memory_id] for memory in found if len(memory.text) > STATEMENT)

    def _told(
        self, question: Question, items: Sequence[Known], names: Collection[str], as_of_us: int, known_us: int,
        one_person: Mapping[Scope, Sequence[Names]],
    ) -> list[tuple[Held, Memory]]:  # fmt: skip
        """What of these items answers the question."""
        if not items:
            return []
        by_id = {item.memory.memory_id: item.memory for item in items}
        histories = {} if known_us == OPEN else self._store.histories(list(by_id))
        held = held_of(by_id_order(items), histories, known_us, names)
        for scope, groups in one_person.items():
            told_as_one([one for one in held if by_id[one.statement.id].scope == scope], groups, question)
        found = recall(question, held, as_of_us, self._tables, _no_likeness, self._figures)
        return [(one, by_id[one.statement.id]) for one in found]

    def _items(
        self, question: Question, names: Collection[str], scopes: Sequence[Scope], one_person: Mapping[Scope, Sequence[Names]]
    ) -> Iterator[Known]:
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
            own = subjects_in(scope, SPEAKER, sorted(names))
            named = [known for subject in own for one in relatives for known in self._read(scope, subject, one)]
            yield from named
            asked = by_any_name(question, one_person.get(scope, ())).names
            subjects = (*own, *sorted(question.relations), *sorted(asked), *(one.value.casefold() for one in named))
            for subject in dict.fromkeys(subjects):
                for predicate in wanted:
                    yield from self._read(scope, subject, predicate)

    def _matching(self, among: Sequence[bytes], scopes: Sequence[Scope]) -> Iterator[Known]:
        """These items, and whatever else was said of the same."""
        readings = {(one.memory.scope, one.subject, one.predicate): one for one in self._store.known(among, scopes)}
        for scope, subject, predicate in readings:
            if predicate:
                yield from self._read(scope, subject, predicate)

    def _read(self, scope: Scope, subject: str, predicate: str) -> Sequence[Known]:
        return self._store.by_predicate(scope, subject, predicate, _OF_PREDICATE)

    def _grammar(self, text: str, scopes: Sequence[Scope]) -> Grammar | None:
        chosen = choose_grammar(text, (), self._tables, "")
        if chosen is not None:
            return chosen
        spoken = (*self._store.languages(scopes, 1), self._default_language)
        return next((self._tables.grammars[code] for code in spoken if code in self._tables.grammars), None)


def _once(told: Iterable[Iterable[_Told]]) -> list[_Told]:
    """What answers, each memory with the first question that it answers."""
    found: dict[bytes, _Told] = {}
    for one in chain.from_iterable(told):
        found.setdefault(one.memory.memory_id, one)
    return list(found.values())


def _fact(told: _Told) -> context_pb2.RecalledFact:
    held = told.held
    return context_pb2.RecalledFact(
        id=id_text(told.memory.memory_id), memory=held.fact.text, value=held.fact.value, valid_from_us=held.from_us,
        valid_until_us=0 if held.until_us >= OPEN else held.until_us, confidence=told.memory.confidence,
    )  # fmt: skip


def speaking_of(questions: Iterable[str], memories: Iterable[Memory], ignored: Set[str]) -> list[bytes]:
    """The items among these that have a word of a question, function words (`ignored`, folded) left out."""
    asked = frozenset[str]().union(*(word_stems(question, ignored) for question in questions))
    return [one.memory_id for one in memories if one.kind != RECORD and asked & word_stems(one.text, ignored)]


def by_id_order(items: Sequence[Known]) -> list[Known]:
    """Each item once, by id: the rules of recall break ties by that order."""
    once = {known.memory.memory_id: known for known in items}
    return [once[memory_id] for memory_id in sorted(once)]


def _nouns(surface: Surface | None) -> frozenset[str]:
    return surface.nouns if surface else frozenset()


def _no_likeness(texts: Sequence[str]) -> list[float]:
    return [0.0] * len(texts)
