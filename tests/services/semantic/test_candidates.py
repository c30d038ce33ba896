"""All that a context needs of long-term memory in one answer, over a twin of the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from aico_memory.clock import FixedClock, from_us
from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import context_pb2, envelope_pb2
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.gate.statement import Known
from aico_memory.domain.gate.tagging import Pair
from aico_memory.domain.graph.relations import relate
from aico_memory.domain.memory import Evidence, View, admits, conditions, facets_of
from aico_memory.errors import AccessDenied
from aico_memory.ids import new_id
from aico_memory.models.fact_tables import load_formation_tables
from aico_memory.models.gazetteer import load_gazetteer
from aico_memory.models.language_tables import load_function_words
from aico_memory.paths import find_home
from aico_memory.settings.identity import IdentitySettings
from aico_memory.settings.recall import RecallSettings
from aico_memory.stores.semantic.twin import MemorySemanticStore
from aico_memory.stores.semantic.twin_retrieval import TwinRetrieval
from services.semantic.candidates import CandidateAnswers, Ranked
from services.semantic.convert import id_text
from services.semantic.direct_recall import DirectRecall
from services.semantic.fused import says_nothing
from tests.services.semantic.test_recalling import DAY, START, Memory
from tests.stores.semantic.memories import ADA, a_memory

NOW = START + 1000 * DAY


class ByWords:
    """Ranks by common words; keeps what it was asked."""

    def __init__(self, store: MemorySemanticStore) -> None:
        self.store = store
        self.asked: list[tuple[Sequence[str], View]] = []
        # No feature gives anything to a score.
        self.silent = False

    def ranked(
        self, questions: Sequence[str], view: View, limit: int, *, hypotheses: Sequence[str], embed_ms: float,
        profile: str = "", kinds: Sequence[str] = (), shares: bool = False, meanwhile: Callable[[], None] | None = None,
        shown: bool = False, zone: str = "", by_parts: bool = False,
    ) -> Ranked:  # fmt: skip
        answer = Ranked([], {}, fingerprint="twin", model="twin")
        if meanwhile is not None:
            meanwhile()
        asked = [(question, view) for question in questions]
        for question, seen in [*asked, *((questions[0], replace(view, kinds=tuple(kinds))) for _ in kinds[:1])]:
            self.asked.append((questions, seen))
            words = set(question.casefold().split())
            found = [
                (
                    key,
                    len(words & set(memory.text.casefold().split())) / 10,
                    {} if self.silent or not shares else {"words": 1.0},
                )
                for key, memory in self.store.tables.memories.items()
                if memory.scope in seen.scopes and admits(conditions(seen), facets_of(memory))
            ]
            kept = sorted((one for one in found if one[1] > 0), key=lambda one: -one[1])[:limit]
            answer.lists.append(kept)
            answer.memories.update((key, self.store.tables.memories[key]) for key, _, _ in kept)
        return answer


@pytest.fixture(scope="module")
def tables() -> FormationTables:
    return load_formation_tables(find_home())


@pytest.fixture
def said(tables: FormationTables) -> Memory:
    return Memory(tables)


@pytest.fixture
def ranker(said: Memory) -> ByWords:
    return ByWords(said.store)


@pytest.fixture
def answers(said: Memory, ranker: ByWords, tables: FormationTables) -> CandidateAnswers:
    recall = DirectRecall(said.store, tables, RecallSettings(), "en")
    return CandidateAnswers(
        said.store, TwinRetrieval(said.store), ranker, recall, load_gazetteer(find_home()), IdentitySettings(),
        FixedClock(from_us(NOW)), lambda: 7, says_nothing(load_function_words(find_home())), 3,
    )  # fmt: skip


def ask(answers: CandidateAnswers, *questions: str, user: str = "ana", **fields: Any) -> context_pb2.Candidates:
    request = context_pb2.CandidatesRequest(user_id=user, questions=questions, limit=10, facts=True, **fields)
    return answers.candidates(Event(new_id(START), "memory/semantic/candidates/v1/", user, request))


def texts(answer: context_pb2.Candidates) -> dict[str, str]:
    return {record.memory_id: record.text for record in answer.records}


def test_what_leaves_words_of_the_question_open_answers_only_where_its_message_is_among_the_first(
    said: Memory, answers: CandidateAnswers
) -> None:
    said.say("I live in Leeds.", 0)
    assert [fact.value for fact in ask(answers, "Where do I live?").facts] == ["Leeds"]
    assert not ask(answers, "Where is the key of the boathouse?").facts
    # A word that it does not speak of, and yet the best match.
    assert [fact.value for fact in ask(answers, "Where do I live in the meantime?").facts] == ["Leeds"]


@pytest.mark.parametrize(
    ("told", "question", "value"),
    [
        ("My manager is Jonas.", "Who is my manager?", "Jonas"),
        ("My favourite tea is Darjeeling.", "What is my favourite tea?", "Darjeeling"),
        ("My dog is called Rex.", "What is the name of my dog?", "Rex"),
    ],
)
def test_what_is_asked_for_by_a_name_that_no_table_knows_is_found_among_the_first_matches(
    said: Memory, answers: CandidateAnswers, told: str, question: str, value: str
) -> None:
    said.say(told, 0)
    said.say("My sister Lena works as a nurse.", 1)
    answer = ask(answers, question)
    assert [fact.value for fact in answer.facts] == [value]
    assert answer.facts[0].id in texts(answer)
    assert not ask(answers, question, as_of_us=START - DAY).facts


def put(store: MemorySemanticStore, number: int, text: str, scope: Any = ADA, **fields: Any) -> str:
    memory = a_memory(number, text, scope, **{"kind": "fact", "session_id": "s", **fields})
    with store.transaction() as transaction:
        transaction.put_item(Known(memory, "", "", "", False, ""), [], 1)
        transaction.add_evidence(Evidence(memory.memory_id, number.to_bytes(16, "big"), "rule", 1))
    return id_text(memory.memory_id)


def test_the_fact_that_answers_is_named_with_its_record(said: Memory, answers: CandidateAnswers) -> None:
    said.say("I live in Leeds.", 0)
    said.say("I moved to Bath.", 10)
    said.say("My sister Lena works as a nurse.", 11)
    answer = ask(answers, "Where do I live?")
    assert [fact.value for fact in answer.facts] == ["Bath"]
    assert texts(answer)[answer.facts[0].id] == "User moved to Bath"
    assert answer.settled == 7
    then = ask(answers, "Where do I live?", as_of_us=START + DAY)
    assert [fact.value for fact in then.facts] == ["Leeds"]
    known = ask(answers, "Where do I live?", as_of_us=NOW, known_as_of_us=START + DAY)
    assert [fact.value for fact in known.facts] == ["Leeds"]


def test_shares_are_told_of_each_match_of_one_that_no_feature_speaks_for_as_well(
    said: Memory, ranker: ByWords, answers: CandidateAnswers
) -> None:
    ranker.silent = True
    said.say("I live in Leeds.", 0)
    said.say("My sister Lena works as a nurse.", 11)
    (listed,) = ask(answers, "User lives Lena works", shares=True).lists
    assert len(listed.memory_ids) > 1
    assert len(listed.shares) == len(listed.memory_ids)
    assert not ask(answers, "User lives Lena works").lists[0].shares


def test_each_part_of_a_question_has_its_list_and_its_fact(said: Memory, answers: CandidateAnswers) -> None:
    said.say("I live in Leeds.", 0)
    said.say("My name is Ana.", 1)
    answer = ask(answers, "Where do I live and what is my name?", "Where do I live", "what is my name")
    assert len(answer.lists) == 3
    assert [fact.value for fact in answer.facts] == ["Leeds", "Ana"]
    assert said.questions == 0, "the wording decides; nobody has to ask the model"


def test_nothing_of_another_scope_comes_by_any_way(said: Memory, answers: CandidateAnswers) -> None:
    said.say("I live in Leeds.", 0, user="bo")
    one = put(said.store, 1, "Where Bo lives", scope=ADA._replace(id="bo"), pinned=True, kind="constraint")
    answer = ask(answers, "Where do I live?", hot=True, hot_items=5, hops=2, hub=True)
    assert not answer.records and not answer.facts and not answer.hot
    around = answers.around(
        Event(new_id(START), "memory/semantic/around/v1/", "ana", context_pb2.AroundRequest(user_id="ana", memory_ids=[one]))
    )
    assert not around.found and list(around.unknown) == [one]
    other = envelope_pb2.Scope(kind=envelope_pb2.SCOPE_KIND_USER, id="bo")
    with pytest.raises(AccessDenied):
        ask(answers, "Where do I live?", scopes=[other])


def test_relations_lead_from_the_best_matches_within_the_hops(said: Memory, answers: CandidateAnswers) -> None:
    scope = ADA._replace(id="ana")
    ids = [put(said.store, n, text, scope) for n, text in ((1, "why tea"), (2, "a cold"), (3, "the rain"), (4, "a storm"))]
    links = [("causes", 1, 2), ("causes", 2, 3), ("causes", 3, 4)]
    with said.store.transaction() as transaction:
        transaction.add_relations(
            [relate(a_memory(one).memory_id, kind, a_memory(two).memory_id, 0.9, START) for kind, one, two in links]
        )
    answer = ask(answers, "why tea", hops=2, relations=["causes"])
    assert {(one.memory_id, one.hops, one.relation) for one in answer.reached} == {(ids[1], 1, "causes"), (ids[2], 2, "causes")}
    assert not ask(answers, "why tea", hops=2, relations=["supersedes"]).reached


def test_what_relations_lead_to_is_seen_as_it_was_believed_then(said: Memory, answers: CandidateAnswers) -> None:
    scope = ADA._replace(id="ana")
    put(said.store, 1, "why tea", scope)
    withdrawn = put(said.store, 2, "a cold", scope, status="invalid", recorded_at_us=START, invalidated_at_us=START + 5 * DAY)
    with said.store.transaction() as transaction:
        transaction.add_relations([relate(a_memory(1).memory_id, "causes", a_memory(2).memory_id, 0.9, START)])

    def reached(**moment: int) -> list[str]:
        return [one.memory_id for one in ask(answers, "why tea", hops=1, **moment).reached]

    assert reached(as_of_us=NOW) == []
    assert reached(as_of_us=NOW, known_as_of_us=START + 9 * DAY) == []
    assert reached(as_of_us=NOW, known_as_of_us=START + 4 * DAY) == [withdrawn]


def test_pinned_constraints_come_where_nothing_hot_does(said: Memory, answers: CandidateAnswers) -> None:
    scope = ADA._replace(id="ana")
    times = {"valid_from_us": START, "recorded_at_us": START, "utility": 0.9, "access_count": 20}
    rule = put(said.store, 1, "Never use sudo", scope, kind="constraint", pinned=True, **times)
    warm = put(said.store, 2, "likes tea", scope, **times)
    every: dict[str, Any] = {"hot": True, "hot_utility": 0.8, "hot_uses": 10}
    assert list(ask(answers, "anything", hot_items=5, **every).hot) == [rule, warm]
    assert list(ask(answers, "anything", hot_items=0, **every).hot) == [rule]
    assert list(ask(answers, "anything", hot_items=5, as_of_us=START + DAY, **every).hot) == [rule]
    assert list(ask(answers, "anything", hot_items=5, as_of_us=START - DAY, **every).hot) == []
    assert list(ask(answers, "anything", hot_items=5, known_as_of_us=START - DAY, **every).hot) == []


def test_items_that_mention_the_question_s_entities_are_reached(said: Memory, answers: CandidateAnswers) -> None:
    scope = ADA._replace(id="ana")
    one = put(said.store, 1, "Python is what I use", scope, entities=("entity://tech/python",))
    answer = ask(answers, "Tell me about Python", hub=True)
    assert "entity://tech/python" in answer.entities
    assert [(reached.memory_id, reached.hops) for reached in answer.reached] == [(one, 0)]


def test_kinds_are_ranked_by_themselves(said: Memory, answers: CandidateAnswers, ranker: ByWords) -> None:
    scope = ADA._replace(id="ana")
    put(said.store, 1, "tea in the morning", scope)
    liked = put(said.store, 2, "prefers tea", scope, kind="preference")
    answer = ask(answers, "tea", kinds=["preference"])
    assert list(answer.lists[-1].memory_ids) == [liked]
    assert [view.kinds for _, view in ranker.asked] == [(), ("preference",)]


def test_what_was_used_together_and_how_alike_records_are_is_told(said: Memory, answers: CandidateAnswers) -> None:
    scope = ADA._replace(id="ana")
    ids = [put(said.store, n, f"tea {n}", scope) for n in (1, 2)]
    pair = Pair(a_memory(1).memory_id, a_memory(2).memory_id)
    for _ in range(2):
        with said.store.transaction() as transaction:
            transaction.count_pairs([pair])
    # Once or twice is chance.
    assert not ask(answers, "tea").together
    with said.store.transaction() as transaction:
        transaction.count_pairs([pair])
        transaction.keep_vector(pair.first, "twin", np.array([1, 0], dtype=np.float32))
        transaction.keep_vector(pair.second, "twin", np.array([0.6, 0.8], dtype=np.float32))
    answer = ask(answers, "tea")
    assert [(one.first, one.second, one.times) for one in answer.together] == [(ids[0], ids[1], 3)]
    near = np.frombuffer(answer.similarities, dtype=np.int8).reshape(2, 2)
    assert near.tolist() == [[100, 60], [60, 100]]


def test_what_stands_around_a_memory_begins_with_its_creation(said: Memory, answers: CandidateAnswers) -> None:
    one = put(said.store, 1, "Tea is at four", ADA._replace(id="ana"))
    request = context_pb2.AroundRequest(user_id="ana", memory_ids=[one])
    (around,) = answers.around(Event(new_id(START), "memory/semantic/around/v1/", "ana", request)).found
    (created,) = around.changes
    assert (created.what, created.new_value) == ("created", "Tea is at four")
    assert created.at_us == around.record.created_at_us


def test_an_answer_is_no_larger_than_the_bus_carries(said: Memory, answers: CandidateAnswers) -> None:
    scope = ADA._replace(id="ana")
    ids = [put(said.store, n, f"tea {n} " + "ö" * 30_000, scope) for n in range(1, 10)]
    answer = ask(answers, "tea")
    assert {len(record.text) for record in answer.records} == {20_000}
    assert len(answer.records) == len(ids)
    request = context_pb2.AroundRequest(user_id="ana", memory_ids=ids)
    event = Event(new_id(START), "memory/semantic/around/v1/", "ana", request)
    assert len(answers.around(event).found) == len(ids)
    with said.store.transaction() as transaction:
        for known in said.store.known([a_memory(n).memory_id for n in range(1, 10)], [scope]):
            transaction.put_item(replace(known, memory=replace(known.memory, text="tea " + "x" * 1_000_000)), [], 2)
    around = answers.around(event)
    assert around.ByteSize() < 3_200_000
    assert [one.record.memory_id for one in around.found] + list(around.cut) == ids
    assert around.cut and not around.unknown
    assert ask(answers, "tea").ByteSize() < 3_200_000


def test_what_answers_and_what_is_pinned_is_told_first_where_not_everything_fits(
    said: Memory, answers: CandidateAnswers, monkeypatch: pytest.MonkeyPatch
) -> None:
    said.say("I live in Leeds.", 0)
    scope = ADA._replace(id="ana")
    for number in range(1, 6):
        put(said.store, number, f"Where do I live {number} " + "x" * 3000, scope)
    rule = put(said.store, 7, "Never use sudo", scope, kind="constraint", pinned=True, valid_from_us=START)
    monkeypatch.setattr("services.semantic.candidates._ANSWER_BYTES", 6000)
    answer = ask(answers, "Where do I live?", hot=True)
    assert list(answer.degraded) == ["candidates: too_large"]
    assert [one.memory_id for one in answer.records][:2] == [answer.facts[0].id, rule]
    assert len(answer.records) == len(answer.traits) == 3


def test_a_record_of_which_the_statement_was_replaced_is_told_to_be_over(said: Memory, answers: CandidateAnswers) -> None:
    said.say("I live in Porto.", 0)
    said.say("My cat is called Mia.", 0.5)
    said.say("I moved to Lisbon.", 100)

    def over(answer: context_pb2.Candidates) -> dict[str, int]:
        told = zip(answer.records, answer.traits, strict=True)
        return {record.text: traits.over_us for record, traits in told if record.kind == "record"}

    question = "I moved to live in Porto or Lisbon with my cat called Mia."
    assert over(ask(answers, question)) == {
        "I live in Porto.": START + 100 * DAY, "My cat is called Mia.": 0, "I moved to Lisbon.": 0,
    }  # fmt: skip
    # As of a time when it held, and as it was known then.
    assert set(over(ask(answers, question, as_of_us=START + 50 * DAY)).values()) == {0}
    assert set(over(ask(answers, question, known_as_of_us=START + 50 * DAY)).values()) == {0}


def test_a_part_to_which_its_wording_leads_nowhere_is_answered_beside_one_that_is(
    said: Memory, answers: CandidateAnswers
) -> None:
    said.say("My manager is Jonas.", 0)
    said.say("I work at Siemens.", 1)
    answer = ask(answers, "Who is my manager and where do I work?", "Who is my manager", "where do I work")
    assert {fact.value for fact in answer.facts} == {"Jonas", "Siemens"}
