"""What is kept in memory of a person's skills is what the store holds, whatever happened since."""

import pytest

from aico_memory.contracts.v1 import behavioral_pb2
from aico_memory.domain.behavioral.shelf import Shelf
from aico_memory.domain.behavioral.situation import Situation
from aico_memory.domain.behavioral.trigger import TriggerWeights, rank_triggers
from aico_memory.paths import shipped_config
from aico_memory.stores.behavioral.skill_file import FILE, load_skills
from aico_memory.stores.behavioral.sql_store import SqlBehavioralStore
from aico_memory.stores.behavioral.twin import MemoryBehavioralStore
from services.behavioral.own_skills import ACCEPTED, current, opened
from services.behavioral.shelves import Shelves
from tests.unit.behavioral.worker import Worker

CATALOGUE = load_skills(shipped_config() / FILE)


@pytest.fixture(params=["twin", "sql"])
def worker(request, tmp_path):
    store = MemoryBehavioralStore() if request.param == "twin" else SqlBehavioralStore.open(tmp_path / "b", None)
    made = Worker(store, tmp_path)
    made.consent()
    yield made
    made.handlers.close()


def put(worker, name, skill_id="", user="ann"):
    message = behavioral_pb2.PutSkill(user_id=user, name=name, template="Do it.", intents=["creative"], skill_id=skill_id)
    return worker.publish(message, user=user).skill_id


def usable(rows, user, sealer):
    return [opened(one, sealer) for one in current(rows, user).values() if one.status == ACCEPTED]


def names(shelf):
    return [skill.name for skill in shelf.own]


def test_a_shelf_is_kept_until_a_skill_of_the_persons_own_changes(worker):
    sealers = worker.handlers._ports.vault.users
    shelves = Shelves(CATALOGUE, sealers.sealer, 8)

    def shelf(user="ann"):
        with worker.store.reading() as rows:
            found = shelves.of(rows, user)
            assert list(found.own) == usable(rows, user, sealers.sealer(user))
        return found

    assert shelf() is shelves.base
    first = put(worker, "One")
    kept = shelf()
    assert names(kept) == ["One"]
    put(worker, "Other", user="bob")
    worker.feedback("casual_chat", 1)
    assert shelf() is kept
    put(worker, "Uno", first)
    assert names(shelf()) == ["Uno"]
    worker.feedback(first, 1)
    assert shelf().own[0].dimensions == pytest.approx([0.5] * 16, abs=0.05)
    worker.publish(behavioral_pb2.ChangeSkill(user_id="ann", skill_id=first, action="archive"))
    assert names(shelf()) == []
    worker.publish(behavioral_pb2.ChangeSkill(user_id="ann", skill_id=first, action="restore"))
    assert names(shelf()) == ["Uno"]
    worker.publish(behavioral_pb2.ChangeSkill(user_id="ann", skill_id=first, action="delete"))
    assert names(shelf()) == []
    assert names(shelf("bob")) == ["Other"]


def test_what_was_seen_in_a_transaction_that_failed_is_not_kept(worker):
    shelves = Shelves(CATALOGUE, worker.handlers._ports.vault.users.sealer, 8)
    put(worker, "One")
    event = worker.event(behavioral_pb2.PutSkill(user_id="ann", name="Two", template="Do it.", intents=["creative"]))
    with pytest.raises(RuntimeError), worker.store.state.transaction() as transaction:
        worker.handlers.apply(transaction, event)
        assert len(names(shelves.of(worker.store.within(transaction), "ann"))) == 2
        raise RuntimeError
    with worker.store.reading() as rows:
        assert names(shelves.of(rows, "ann")) == ["One"]


def test_another_key_of_the_person_opens_the_skills_again(worker):
    put(worker, "One")
    asked = []

    class Reader:
        def open(self, sealed, context=b""):
            asked.append(context)
            return sealed

    shelves = Shelves(CATALOGUE, lambda user: Reader(), 8)
    with worker.store.reading() as rows:
        first, second = shelves.of(rows, "ann"), shelves.of(rows, "ann")
    assert first is not second
    assert len(asked) == 2


def test_no_more_people_are_kept_than_allowed(worker):
    shelves = Shelves(CATALOGUE, worker.handlers._ports.vault.users.sealer, 1)
    put(worker, "One")
    put(worker, "Other", user="bob")
    with worker.store.reading() as rows:
        ann = shelves.of(rows, "ann")
        assert shelves.of(rows, "ann") is ann
        shelves.of(rows, "bob")
        assert shelves.of(rows, "ann") is not ann


@pytest.mark.parametrize("intent", ["question", "emotional", "code_review", "nothing_known"])
def test_what_a_shelf_leaves_out_applies_nowhere(intent):
    shelf, weights = Shelf.of(tuple(CATALOGUE)), TriggerWeights()
    for sentiment in ("positive", "neutral", "negative"):
        for time in ("morning", "night"):
            situation = Situation(intent, sentiment, time)
            whole = rank_triggers(CATALOGUE, situation, weights, 0.5, 100)
            assert rank_triggers(shelf.likely(situation, weights, 0.5), situation, weights, 0.5, 100) == whole
