"""One ranked list of a question: what answers and holds stands first, whatever a ranking makes of it."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from aico_memory.contracts.v1 import semantic_pb2
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.gate.statement import Known
from aico_memory.domain.memory import RECORD, Evidence, Scope, View
from aico_memory.ids import derive_id
from aico_memory.models.fact_tables import load_formation_tables
from aico_memory.models.language_tables import load_function_words
from aico_memory.paths import find_home
from aico_memory.settings.recall import RecallSettings
from aico_memory.settings.semantic import SemanticSettings
from aico_memory.stores.semantic.twin_retrieval import TwinRetrieval
from services.semantic import direct_recall
from services.semantic.convert import record_message
from services.semantic.direct_recall import DirectRecall
from services.semantic.fused import FusedSearch
from tests.services.semantic.test_candidates import NOW, ByWords
from tests.services.semantic.test_recalling import DAY, START, Memory
from tests.stores.semantic.memories import a_memory

ANA = Scope("user", "ana")


@pytest.fixture(scope="module")
def tables() -> FormationTables:
    return load_formation_tables(find_home())


class Shelf:
    """Messages of one user with what was made of them, and searches among them."""

    def __init__(self, tables: FormationTables) -> None:
        self.said = Memory(tables)
        self.store = self.said.store
        recall = DirectRecall(self.store, tables, RecallSettings(), "en")
        self.fused = FusedSearch(
            ByWords(self.store), recall, load_function_words(find_home()), SemanticSettings(), self.records,
            TwinRetrieval(self.store),
        )  # fmt: skip

    def say(self, text: str, day: float, name: str = "") -> None:
        before = set(self.store.tables.memories)
        self.said.say(text, day, name=name)
        made = [self.store.tables.memories[key].memory_id for key in set(self.store.tables.memories) - before]
        events = [one.event_id for found in self.store.evidence(made).values() for one in found]
        number = len(self.store.tables.memories) + 1000
        event = events[0] if events else number.to_bytes(16, "big")
        said = a_memory(number, text, ANA, kind=RECORD, said_at_us=START + round(day * DAY))
        record = replace(said, memory_id=derive_id(uuid.UUID(bytes=event), RECORD).bytes)
        with self.store.transaction() as transaction:
            transaction.put_item(Known(record, "", "", "", False, ""), [], 1)
            transaction.add_evidence(Evidence(record.memory_id, event, "rule", 1, name=name))
            for memory_id in made:
                transaction.add_evidence(Evidence(memory_id, event, "rule", 1, name=name))

    def records(self, memories: Sequence[Any]) -> list[semantic_pb2.MemoryRecord]:
        evidence = self.store.evidence([memory.memory_id for memory in memories])
        return [record_message(memory, evidence[memory.memory_id]) for memory in memories]

    def search(self, text: str, profile: str = "", parts: Sequence[str] = (), **seen: Any) -> semantic_pb2.SemanticMatches:
        message = semantic_pb2.SemanticQuery(text=text, profile=profile, shares=True, retrievers=["fused"], parts=parts)
        return self.fused.search(message, View((ANA,), NOW, **seen), 10, ("ana",), self.records)

    def shown(self, text: str, limit: int, told: bool) -> tuple[list[str], dict[str, str]]:
        """Ids of the list, and what was left out by which rule."""
        message = semantic_pb2.SemanticQuery(text=text, shares=told, retrievers=["fused"])
        answer = self.fused.search(message, View((ANA,), NOW), limit, ("ana",), self.records)
        return list(answer.lists[0].memory_ids), {one.id: one.rule for one in answer.dropped}

    def found(self, text: str, **seen: Any) -> tuple[list[str], list[str]]:
        """Texts of what answers, and of the rest, best first."""
        answer = self.search(text, **seen)
        by_id = {record.memory_id: record.text for record in answer.records}
        texts = [by_id[one] for one in answer.lists[0].memory_ids]
        return texts[: answer.lists[0].answers], texts[answer.lists[0].answers :]


@pytest.fixture
def shelf(tables: FormationTables) -> Shelf:
    return Shelf(tables)


def test_what_holds_and_answers_stands_before_the_older_message_that_is_more_alike(shelf: Shelf) -> None:
    shelf.say("I live in Leeds.", 0)
    shelf.say("I moved to Bath.", 10)
    answers, rest = shelf.found("Where do I live?")
    assert answers == ["User moved to Bath"]
    assert rest[0] == "I live in Leeds."
    answer = shelf.search("Where do I live?")
    scores = list(answer.lists[0].scores)
    assert scores == sorted(scores, reverse=True)
    told = {share.feature: share.value for share in answer.lists[0].shares[0].shares}
    assert told["answers"] > 0


def test_the_message_of_an_answer_stays_in_the_list_verbatim(shelf: Shelf) -> None:
    for text in ("I live in Leeds.", "I live in Leeds. Before sunrise the ducks on the canal wake everybody up."):
        shelf.say(text, 0)
        answers, rest = shelf.found("Where do I live?")
        assert len(answers) == 1
        assert text in rest


def test_what_was_read_in_a_long_text_leads_only_where_the_text_is_the_best_match(shelf: Shelf) -> None:
    text = "I live in Leeds. " + "Before sunrise the ducks on the canal wake everybody up. " * 6
    shelf.say(text, 0)
    assert len(shelf.found("Where do I live?")[0]) == 1
    shelf.say("Where do I live, sang the ducks.", 1)
    assert shelf.found("Where do I live?") == ([], ["Where do I live, sang the ducks.", text])


@pytest.mark.parametrize(("times", "first"), [(0, "statement"), (6, "other")])
def test_an_item_lifts_the_statement_it_was_read_in_and_no_long_text(shelf: Shelf, times: int, first: str) -> None:
    statement = "I live in Leeds." + " Before sunrise the ducks on the canal wake everybody up." * times
    shelf.say(statement, 0)
    shelf.say("Leeds lives, sang the user of the harbour.", 1)
    answers, rest = shelf.found("in Leeds lives user")
    assert answers == []
    assert rest.index(statement) == (0 if first == "statement" else 1)


def test_what_was_superseded_answers_only_where_that_time_is_asked_about(shelf: Shelf) -> None:
    shelf.say("I live in Leeds.", 0)
    shelf.say("I moved to Bath.", 10)
    assert shelf.found("Where do I live?", as_of_us=START + DAY)[0] == ["User lives in Leeds"]
    assert shelf.found("Where do I live?", known_as_of_us=START + DAY)[0] == ["User lives in Leeds"]
    assert shelf.found("Where did I live before?")[0] == ["User lives in Leeds"]
    assert shelf.found("Where do I live?", statuses=("superseded",))[0] == []


def test_of_a_message_it_is_told_since_when_it_is_replaced(shelf: Shelf) -> None:
    shelf.say("I live in Rome.", 0)
    shelf.say("I live in Oslo.", 10)
    shelf.say("I like Rome and Oslo.", 11)
    answer = shelf.search("I live in Rome or Oslo?")
    over = dict(zip([record.text for record in answer.records], answer.lists[0].over_us, strict=True))
    assert over["I live in Rome."] == START + 10 * DAY
    assert not [text for text, since in over.items() if since and text != "I live in Rome."]
    then = shelf.search("I live in Rome or Oslo?", as_of_us=START + 5 * DAY)
    assert not any(then.lists[0].over_us) and not then.turns_us
    assert not any(shelf.search("I live in Rome or Oslo?", known_as_of_us=START + 20 * DAY).lists[0].over_us)


def test_what_will_be_replaced_turns_the_search_on_its_day(shelf: Shelf) -> None:
    shelf.say("I live in Rome.", 0)
    shelf.say("I live in Oslo.", 1400)
    answer = shelf.search("I live in Rome or Oslo?")
    assert not any(answer.lists[0].over_us)
    assert answer.turns_us == START + 1400 * DAY > NOW


def test_what_was_true_then_is_ranked_although_it_was_changed_since(shelf: Shelf) -> None:
    shelf.say("I live in Leeds.", 0)
    shelf.say("I moved to Bath.", 10)

    def items(**seen: Any) -> set[str]:
        # As it ranks, without what the rules of recall answer.
        found = shelf.search("where user lives or moved to", profile="hybrid", kinds=("fact", "profile"), **seen)
        return {record.text for record in found.records}

    assert items() == {"User moved to Bath"}
    assert items(as_of_us=START + DAY) == {"User lives in Leeds"}
    assert items(as_of_us=START + 11 * DAY) == {"User moved to Bath"}
    # Before the move was told, Leeds was to stay.
    assert items(known_as_of_us=START + DAY) == {"User lives in Leeds"}
    assert items(as_of_us=START + 11 * DAY, known_as_of_us=START + DAY) == {"User lives in Leeds"}


def test_filters_apply_to_answers_as_well(shelf: Shelf) -> None:
    shelf.say("I live in Leeds.", 0)
    assert shelf.found("Where do I live?", kinds=(RECORD,))[0] == []
    assert shelf.found("Where do I live?", kinds=("profile",))[0] == ["User lives in Leeds"]
    assert shelf.found("Where do I live?", session_id="another")[0] == []


def test_a_profile_that_is_named_is_shown_as_it_ranks(shelf: Shelf) -> None:
    shelf.say("I live in Leeds.", 0)
    shelf.say("I moved to Bath.", 10)
    assert shelf.search("Where do I live?", profile="bm25").lists[0].answers == 0


def test_what_answers_only_a_part_of_the_question_is_not_put_first(shelf: Shelf) -> None:
    shelf.say("I live in Leeds.", 0)
    shelf.say("The dentist who scrapes nightly has a practice by the harbour.", 1)
    shelf.say("The harbour opens when the dentist says so.", 2)
    shelf.say("Every dentist lives by the harbour that she scrapes.", 3)
    answers, _ = shelf.found("Where does the dentist who scrapes by the harbour live?")
    assert answers == []


def test_in_a_talk_of_several_a_fact_of_one_answers_no_question_about_the_other(shelf: Shelf) -> None:
    shelf.say("I live in Leeds.", 0, name="Bea")
    assert shelf.found("Where does Carl live?")[0] == []
    assert shelf.found("Where does Bea live?")[0] == ["User lives in Leeds"]


@pytest.mark.parametrize(
    ("said", "question", "value"),
    [
        ("Ich arbeite bei Siemens.", "Bei welcher Firma arbeite ich?", "Siemens"),
        ("Ich wohne in Ulm.", "In welcher Stadt wohne ich?", "Ulm"),
        ("Ich bin allergisch gegen Soja.", "Welche Allergien habe ich?", "Soja"),
        ("Ich bin allergisch gegen Soja.", "Welche Allergien hat Bea?", "Soja"),
        ("I live in Leeds.", "Hey Max, where do I live?", "Leeds"),
        ("I live in Leeds.", "Where do I live in Great Britain?", "Leeds"),
    ],
)
def test_a_capital_is_nobody_where_nouns_have_it_or_the_question_is_of_whoever_asks(
    shelf: Shelf, said: str, question: str, value: str
) -> None:
    shelf.say(said, 0, name="Bea")
    answers, _ = shelf.found(question)
    assert len(answers) == 1
    assert value in answers[0]


def test_what_answers_any_part_of_a_compound_question_comes_first(shelf: Shelf) -> None:
    shelf.say("I live in Leeds.", 0)
    shelf.say("I work at Acme.", 1)
    shelf.say("My dog is called Rex.", 2)
    answers, _ = shelf.found("Where do I live and where do I work?", parts=("Where do I live", "where do I work"))
    assert set(answers) == {"User lives in Leeds", "User works at Acme"}


def test_a_name_that_no_table_knows_is_found_by_the_match(shelf: Shelf) -> None:
    shelf.say("My locker code is 4711.", 0)
    shelf.say("Actually, my locker code is 4712.", 5)
    answers, _ = shelf.found("What is my locker code?")
    assert len(answers) == 1
    assert "4712" in answers[0]


def test_what_is_told_of_a_search_changes_nothing_of_it(shelf: Shelf) -> None:
    for at in range(7):
        shelf.say(f"The tea number {at} is green.", at)
    (plain, silent), (told, dropped) = (shelf.shown("which tea is green", 3, explained) for explained in (False, True))
    assert plain == told and len(told) == 3
    assert not silent
    assert len(dropped) == 3 and set(dropped.values()) == {"top_k"}
    assert set(dropped).isdisjoint(told)


def test_what_is_among_the_first_of_a_part_answers_that_part(shelf: Shelf) -> None:
    shelf.say("I live in Leeds.", 0)
    for place in range(4):
        shelf.say(f"What they do and work as, number {place}", 1 + place)
    parts = ("Where do I live in the meantime", "what do they work as")
    alone = shelf.search(parts[0])
    assert alone.lists[0].answers == 1, "a word of it is left open, and yet it is the best match"
    both = shelf.search(" and ".join(parts), parts=parts)
    texts = {record.memory_id: record.text for record in both.records}
    assert [texts[one] for one in both.lists[0].memory_ids[: both.lists[0].answers]] == ["User lives in Leeds"]


def test_a_part_to_which_its_wording_leads_nowhere_is_answered_beside_one_that_is(shelf: Shelf) -> None:
    shelf.say("My manager is Jonas.", 0)
    shelf.say("I work at Siemens.", 1)
    both = shelf.search("Who is my manager and where do I work?", parts=("Who is my manager", "where do I work"))
    texts = {record.memory_id: record.text for record in both.records}
    first = [texts[one] for one in both.lists[0].memory_ids[: both.lists[0].answers]]
    assert len(first) == 2
    assert any("Jonas" in text for text in first)
    assert any("Siemens" in text for text in first)


def test_the_look_at_what_matches_knows_who_is_one_person(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct_recall, "merged_names", lambda *_: {ANA: [("robert", "bobby")]})
    shelf.say("Bobby's locker code is 4711.", 0)
    shelf.say("The weather is fine.", 1)
    answers, _ = shelf.found("What is Robert's locker code?")
    assert len(answers) == 1
    assert "4711" in answers[0]
