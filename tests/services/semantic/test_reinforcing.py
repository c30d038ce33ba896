"""What answers use, and what helped, over a twin of the store: once an interaction, in view only, active only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import envelope_pb2, semantic_pb2, working_pb2, write_path_pb2
from aico_memory.domain.formation.formed import FormedFact
from aico_memory.domain.gate.statement import Known
from aico_memory.domain.memory import Scope
from aico_memory.domain.scopes import GLOBAL, shared
from aico_memory.errors import InvalidMessage, NotFound
from aico_memory.ids import new_id
from aico_memory.models.fact_tables import load_formation_tables
from aico_memory.paths import find_home
from aico_memory.settings.identity import IdentitySettings
from aico_memory.settings.memory_model import UtilitySettings
from aico_memory.settings.write_path import InteractionSettings
from aico_memory.stores.semantic.twin import MemorySemanticStore
from services.semantic.convert import id_text
from services.semantic.reinforcing import Reinforcing
from tests.services.semantic.statements import policy_of
from tests.support.memory_items import item

START = 1_772_000_000_000_000
TEXT = "User lives in Porto"
ANA = Scope("user", "ana")
TABLES = load_formation_tables(find_home())


class Memory:
    def __init__(self) -> None:
        self.store = MemorySemanticStore()
        identity = IdentitySettings(aliases={"ann": "ana"})
        self.reinforcing = Reinforcing(InteractionSettings(), UtilitySettings(), identity, TABLES, policy_of)
        self.number = 0

    def know(self, text: str = TEXT, scope: Scope = ANA, reading: tuple[str, str, str] = ("", "", ""), **fields: Any) -> bytes:
        self.number += 1
        memory = replace(
            item(self.number, text), scope=scope, fact_key=f"k{self.number}", **{"owner": "ana", "confidence": 0.7, **fields}
        )
        with self.store.transaction() as transaction:
            transaction.put_item(Known(memory, *reading), [], 1)
        return memory.memory_id

    def confidence(self, memory_id: bytes) -> float:
        (known,) = self.store.known([memory_id], [Scope("user", "ana"), Scope("group", "choir"), GLOBAL])
        return known.memory.confidence

    def event(self, message: Any, user: str = "ana") -> Event:
        return Event(new_id(START), "topic", user, message, global_sequence=9, occurred_us=START + 1000)

    def turn(self, response: str, **fields: Any) -> list[bytes]:
        turn = working_pb2.Turn(**{"user_id": "ana", "interaction_id": "i1", "response": response, "reinforce": True, **fields})
        with self.store.transaction() as transaction:
            return [one.memory.memory_id for one in self.reinforcing.capture(transaction, self.event(turn))]

    def again(self, interaction: str = "i1", user: str = "ana", **fields: Any) -> write_path_pb2.InteractionReinforced:
        message = write_path_pb2.ReinforceInteraction(user_id=user, interaction_id=interaction, **fields)
        with self.store.transaction() as transaction:
            return self.reinforcing.again(transaction, self.event(message, user))

    def news(self) -> list[semantic_pb2.Changed]:
        envelopes = [envelope_pb2.Envelope.FromString(record.envelope) for record in self.store.outgoing(100)]
        return [semantic_pb2.Changed.FromString(envelope.payload) for envelope in envelopes]

    def judge(self, *memory_ids: bytes, helpful: bool = True, user: str = "ana") -> semantic_pb2.MemoryPage:
        message = write_path_pb2.MemoriesJudged(user_id=user, memory_ids=map(id_text, memory_ids), helpful=helpful)
        with self.store.transaction() as transaction:
            return self.reinforcing.judge(transaction, self.event(message, user))


@pytest.fixture
def memory() -> Memory:
    return Memory()


def test_what_a_response_used_grows_once_an_interaction_and_a_repeated_turn_changes_nothing(memory: Memory) -> None:
    porto = memory.know()
    assert memory.turn("Well, user LIVES  in porto!") == [porto]
    assert memory.confidence(porto) == pytest.approx(0.72)
    assert memory.turn("Well, user lives in Porto!") == []
    assert list(memory.again().items) == []
    (news,) = memory.news()
    assert (news.action, news.act, list(news.memory_ids)) == ("reinforced", "use", [id_text(porto)])
    (change,) = memory.store.histories([porto])[porto]
    assert (change.what, change.old_value, change.new_value) == ("confidence", "0.700000", "0.720000")


def test_what_was_learned_since_is_raised_by_a_second_pass_and_the_summary_counts(memory: Memory) -> None:
    memory.turn("Yes.", response_summary=f"{TEXT}, as told")
    porto = memory.know()
    (raised,) = memory.again(delta=0.5).items
    assert (raised.memory_id, raised.old_confidence, raised.new_confidence) == (id_text(porto), 0.7, 1.0)


def test_what_a_response_says_to_the_person_is_used_and_a_question_or_a_denial_uses_nothing(memory: Memory) -> None:
    rome = memory.know("User lives in Rome", reading=("user", "home_city", "rome"))
    rival = memory.know("User lives in Oslo", reading=("user", "home_city", "oslo"))
    lena = memory.know("Lena lives in Rome", reading=("lena", "home_city", "rome"))
    assert memory.turn("Do you live in Rome?", interaction_id="i2") == []
    assert memory.turn("You don't live in Rome any more.", interaction_id="i3") == []
    assert memory.turn("You live in Rome.") == [rome]
    assert list(memory.again().items) == []
    assert [memory.confidence(one) for one in (rome, rival, lena)] == [pytest.approx(0.72), 0.7, 0.7]


def test_in_a_group_the_person_is_who_was_answered(memory: Memory) -> None:
    choir = Scope("group", "choir")
    fact = FormedFact("User lives in Rome", "profile", "user", "home_city", "Rome", "rome", True)
    reading = {owner: (shared(fact, owner, "").subject, "home_city", "rome") for owner in ("ana", "bo")}
    anas = memory.know("ana lives in Rome", choir, reading["ana"])
    bos = memory.know("bo lives in Rome", choir, reading["bo"], owner="bo")
    assert memory.turn("You live in Rome.", group_id="choir") == [anas]
    assert memory.confidence(bos) == 0.7


def test_candidates_others_and_what_is_out_of_view_never_move(memory: Memory) -> None:
    still = [
        memory.know(status="candidate"), memory.know(scope=Scope("user", "bo")), memory.know(scope=Scope("group", "choir")),
        memory.know("Porto"), memory.know(scope=GLOBAL, kind="fact"),
    ]  # fmt: skip
    identity = memory.know(scope=GLOBAL, kind="preference")
    assert memory.turn(TEXT) == [identity]
    assert memory.turn(TEXT, interaction_id="i2", group_id="choir") == [still[2], identity]


def test_a_turn_may_say_no_and_be_asked_for_later_where_it_was_said(memory: Memory) -> None:
    porto = memory.know(scope=Scope("group", "choir"))
    assert memory.turn(TEXT, reinforce=False, group_id="choir") == []
    with pytest.raises(NotFound):
        memory.again()
    with pytest.raises(InvalidMessage):
        memory.again(delta=-0.5, group_id="choir")
    assert [one.memory_id for one in memory.again(group_id="choir").items] == [id_text(porto)]
    with pytest.raises(NotFound):
        memory.again("i9")


def test_an_interaction_is_found_under_every_name_of_its_user_and_of_nobody_else(memory: Memory) -> None:
    memory.know()
    memory.turn(TEXT, reinforce=False)
    with pytest.raises(NotFound):
        memory.again(user="bo")
    assert len(memory.again(user="ann").items) == 1


def test_what_helped_gains_utility_and_only_where_it_is_active_and_ones_own(memory: Memory) -> None:
    porto, waiting, bos = memory.know(), memory.know(status="candidate"), memory.know(scope=Scope("user", "bo"))
    (judged,) = memory.judge(porto, waiting).records
    assert (judged.memory_id, judged.utility) == (id_text(porto), pytest.approx(0.55))
    assert [(news.action, news.act) for news in memory.news()] == [("updated", "use")]
    (judged,) = memory.judge(porto, helpful=False).records
    assert judged.utility == pytest.approx(0.495)
    for named in ((bos,), (porto, bos)):
        with pytest.raises(NotFound, match=id_text(bos)):
            memory.judge(*named)
    assert memory.judge(porto, helpful=False).records[0].utility == pytest.approx(0.4455), "what was refused moved nothing"
