"""What contexts read lately is kept opened, and never tells of a memory as it is no more."""

from dataclasses import replace

import pytest

from aico_memory.domain.gate.statement import Known
from aico_memory.domain.memory import View
from aico_memory.stores.semantic.recent import Recent
from aico_memory.stores.semantic.sql_queue import SqlIndexQueue
from aico_memory.stores.semantic.sql_retrieval import SqlRetrieval
from tests.stores.semantic.memories import ADA, NOW, a_memory, add, evidence_of, memory_id, view

CHANGES = {
    "replaced": lambda at, one: at.replace(replace(one, text="I like coffee", pinned=True), ["coffee"], 2),
    "put": lambda at, one: at.put_item(Known(replace(one, status="superseded"), "", "", "", False, ""), ["tea"], 2),
    "strengthened": lambda at, one: at.set_strength(replace(one, confidence=0.25, utility=0.75)),
    "rested": lambda at, one: at.put_outline(replace(one, tier="dormant", confidence=0.5), 2),
    "evidence": lambda at, one: at.add_evidence(evidence_of(1, 2, at_us=50, name="first")),
    "moved": lambda at, one: at.move_evidence(memory_id(1001), one.memory_id, memory_id(2)),
}
ANY = view(statuses=("active", "superseded"))


class Shown:
    """A store, and what a context reads of all its memories."""

    def __init__(self, store):
        self.store = store
        self.retrieval = SqlRetrieval(store)
        self.keys = [entry.key for entry in SqlIndexQueue(store).pending(99)]

    def __call__(self, asked: View = ANY):
        found = self.store.admitted(self.keys, asked, shown=True)
        return found, self.retrieval.sources_of({memory_id(number): "ada" for number in (1, 2)}, 8)

    def kept(self):
        return self.store.recent.status()["kept"]


@pytest.fixture
def shown(on_disk):
    for number in (1, 2):
        add(on_disk.store, a_memory(number, kind="fact"), evidence=[evidence_of(number)])
    read = Shown(on_disk.store)
    # An owner's key is known from the first look on; what the second one reads is kept.
    read(), read()
    return read


def test_what_was_read_is_at_hand_and_told_in_the_order_asked_for(shown):
    assert shown.kept() == 4
    before = shown()
    assert list(before[0]) == shown.keys
    again = shown()
    assert all(again[0][key] is before[0][key] for key in shown.keys)
    assert again[1] == before[1]
    assert list(shown.store.admitted(shown.keys[::-1], ANY, shown=True)) == shown.keys[::-1]


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen_by_the_next_read(shown, change):
    one = shown.store.get([memory_id(1)], [ADA])[0]
    before = shown()
    with shown.store.transaction() as transaction:
        CHANGES[change](transaction, one)
        # Nobody else sees it yet, and nothing is kept of what is about to be another.
        assert shown() == before
    after, twice = shown(), shown()
    assert after != before
    assert twice == after
    shown.store.recent = Recent(shown.store.sealers, 0)
    assert Shown(shown.store)() == after


def test_what_is_only_used_stays_at_hand(shown):
    before, one = shown(), shown.store.get([memory_id(1)], [ADA])[0]
    with shown.store.transaction() as transaction:
        transaction.set_retention([replace(one, stability=9.0, access_count=3, last_accessed_us=NOW)])
    after = shown()
    assert all(after[0][key] is before[0][key] for key in shown.keys)
    shown.store.recent = Recent(shown.store.sealers, 0)
    assert Shown(shown.store)() == after
    assert shown.store.get([memory_id(1)], [ADA])[0].access_count == 3


def test_what_is_taken_back_leaves_everything_as_it_was(shown):
    before, one = shown(), shown.store.get([memory_id(1)], [ADA])[0]
    with pytest.raises(RuntimeError, match="on purpose"), shown.store.transaction() as transaction:
        transaction.replace(replace(one, text="never said"), ["never"], 2)
        raise RuntimeError("on purpose")
    assert shown() == shown() == before


def test_a_read_that_began_before_a_change_keeps_nothing(shown):
    recent, found = shown.store.recent, shown()[0]
    since = recent.since()
    with shown.store.transaction() as transaction:
        transaction.set_strength(replace(shown.store.get([memory_id(1)], [ADA])[0], utility=0.75))
    recent.keep_memories(since, found)
    assert shown()[0][shown.keys[0]].utility == 0.75


def test_what_is_at_hand_is_held_against_the_view(shown):
    assert shown.store.admitted(shown.keys, view(kinds=("record",)), shown=True) == {}
    assert shown.store.admitted(shown.keys, View((), NOW), shown=True) == {}
    assert shown.store.admitted(shown.keys, view(as_of_us=99), shown=True) == {}
    assert len(shown.store.admitted(shown.keys, view(as_of_us=100), shown=True)) == 2


def test_with_the_key_goes_what_it_opened(shown, on_disk):
    assert on_disk.vault.users.destroy("ada")
    assert shown() == ({}, {memory_id(1): (None, ()), memory_id(2): (None, ())})
    assert shown.kept() == 0
    # A key that is made anew opens nothing that was sealed before.
    on_disk.vault.users.sealer("ada")
    assert shown()[0] == {}


def test_with_the_key_goes_what_it_opened_though_nobody_asks(shown, on_disk):
    on_disk.vault.users.destroy("ada")
    shown.store.recent.forget_destroyed()
    assert shown.store.recent.status() == {"kept": 0, "bytes": 0}


def test_no_more_is_kept_than_there_is_room_for(shown):
    small = shown.store.recent = Recent(shown.store.sealers, 3000)
    read = Shown(shown.store)
    for _ in range(3):
        read()
    assert 0 < small.status()["kept"] < 4
    assert small.status()["bytes"] <= 3000


def tell(memory, sources):
    return f"{memory.text} {memory.utility} {[event.hex() for event in sources.event_ids]}".encode()


class Telling(Shown):
    """The same as messages; counts how many were made."""

    def __init__(self, store):
        super().__init__(store)
        self.made = 0

    def __call__(self, asked: View = ANY):
        found, sources = super().__call__(asked)
        return self.retrieval.told(list(found.values()), sources, self._tell)

    def _tell(self, memory, sources):
        self.made += 1
        return tell(memory, sources)


def test_a_message_is_made_once_as_long_as_nothing_changes(shown):
    telling = Telling(shown.store)
    first = telling()
    assert telling() == first
    assert telling.made == 2
    assert shown.kept() == 6


@pytest.mark.parametrize("change", ["replaced", "put", "strengthened", "evidence", "moved"])
def test_a_change_is_told_by_the_next_message(shown, change):
    telling = Telling(shown.store)
    before, one = telling(), shown.store.get([memory_id(1)], [ADA])[0]
    with shown.store.transaction() as transaction:
        CHANGES[change](transaction, one)
    after = telling()
    found, sources = shown()
    assert after == [tell(memory, sources[memory.memory_id]) for memory in found.values()]
    assert (after != before) is (change != "put")


def test_what_a_use_leaves_as_it_was_stays_at_hand(shown):
    sources = shown()[1]
    with shown.store.transaction() as transaction:
        transaction.set_strength(replace(shown.store.get([memory_id(1)], [ADA])[0], utility=0.75))
    # What the memory rests on has not changed, and neither has the other one.
    assert shown.kept() == 3
    assert shown()[1][memory_id(1)] is sources[memory_id(1)]


def test_what_another_transaction_changed_meanwhile_is_all_that_is_not_kept(shown):
    recent, found = shown.store.recent, shown()[0]
    since = recent.since()
    with shown.store.transaction() as transaction:
        transaction.set_strength(replace(shown.store.get([memory_id(1)], [ADA])[0], utility=0.75))
    recent.keep_memories(since, found)
    assert list(recent.memories(shown.keys)) == shown.keys[1:]


def test_a_message_goes_with_the_key(shown, on_disk):
    Telling(shown.store)()
    on_disk.vault.users.destroy("ada")
    shown.store.recent.forget_destroyed()
    assert shown.store.recent.status() == {"kept": 0, "bytes": 0}


def test_what_is_held_ahead_is_not_read_by_the_question(shown):
    recent = shown.store.recent = Recent(shown.store.sealers, 1 << 20)
    read = Shown(shown.store)
    # The first look only learns the owner's key.
    read.retrieval.hold(read.keys)
    read.retrieval.hold(read.keys)
    assert recent.status()["kept"] == 4
    held = recent.memories(read.keys)
    found, sources = read()
    assert all(found[key] is held[key] for key in read.keys)
    assert sources == shown()[1]
    # Who may see it is asked whenever it is.
    assert read.store.admitted(read.keys, View((), NOW), shown=True) == {}
