"""What the write path's store gives away: no readable word in its files, nothing of one scope to another."""

from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aico_memory.domain.gate.explain import Explanation
from aico_memory.domain.graph.edges import Edge
from aico_memory.domain.graph.entities import Entity
from aico_memory.domain.memory import OPEN
from aico_memory.domain.temporal.versions import Belief
from aico_memory.stores.semantic.item_port import Interaction
from tests.stores.semantic.items import an_item, unit
from tests.stores.semantic.memories import ADA, BEN, TEAM, OnDisk, memory_id, view
from tests.support.statements import said

HOUR = 3_600_000_000


def test_no_word_of_the_write_path_stands_readable_in_the_files(on_disk, tmp_path):
    secret = "zanzibarwort"
    item = replace(an_item(1, secret, predicate=secret), subject=secret)
    told = said(1, secret, 1, scope=ADA, owner="ada")
    with on_disk.store.transaction() as transaction:
        transaction.put_item(item, [secret], 1)
        transaction.keep_statement(told, "kept")
        transaction.put_entity(Entity(memory_id(1), ADA, secret, "person", 5), "ada")
        transaction.put_edge(Edge(memory_id(3), ADA, memory_id(1), secret, None, secret, True, 0.8, memory_id(3),
                                  (Belief(5, 5, OPEN),)), "ada")  # fmt: skip
        transaction.keep_interaction(Interaction(ADA, "ada", "i-1", memory_id(50), 10, secret, secret))
        transaction.explain(Explanation(memory_id(5), (), (), 0, "", 0, 0, "", True, (secret,), ()), ADA, "ada", 1)
    plain = on_disk.store.database
    with plain.read() as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        # Beneath the database's own encryption: whoever has its key alone reads no word of a person.
        own = [name for name in names if not name.startswith(("memory_text", "sqlite"))]
        everything = [str(row).encode() for name in own for row in connection.execute(f"SELECT * FROM {name}")]
    assert everything
    assert not [row for row in everything if secret.encode() in row]
    assert on_disk.vault.users.destroy("ada")
    assert on_disk.store.items([ADA], (), b"", 9) == [] == on_disk.store.statements(ADA, told.key, 9)
    assert on_disk.store.entities(ADA) == [] == on_disk.store.edges(ADA)
    assert on_disk.store.explanation(memory_id(5), [ADA]) is None


scoped = st.sampled_from([ADA, BEN, TEAM])
written = st.lists(st.tuples(scoped, st.sampled_from(["Rome", "Oslo"]), st.sampled_from(["active", "superseded"])), max_size=8)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(written=written, asked=scoped)
def test_no_read_of_a_scope_tells_of_another(tmp_path_factory, written, asked):
    place = OnDisk(tmp_path_factory.mktemp("home"))
    try:
        with place.store.transaction() as transaction:
            for number, (scope, value, status) in enumerate(written, 1):
                item = an_item(number, value, scope, valid_until_us=9, status=status, entities=("entity://name/x",))
                transaction.put_item(item, ["lives"], 1)
                transaction.keep_vector(memory_id(number), "m", unit(1, number))
                transaction.keep_statement(said(number, value, number, scope=scope, owner=item.memory.owner), "kept")
                transaction.put_entity(Entity(memory_id(number), scope, value, "place", 5), item.memory.owner)
                transaction.count_write(scope, "s1", HOUR)
        store = place.store
        mine = [number for number, (scope, _, _) in enumerate(written, 1) if scope == asked]
        found = [
            *store.items([asked], (), b"", 99), *store.by_key(asked, "user|home_city"), *store.newest(asked, 99),
            *store.by_predicate(asked, "user", "home_city", 99), *store.by_object(asked, "rome", 99),
            *(one.known for one in store.nearest(asked, "m", unit(1, 1), 99)),
            *store.known([memory_id(number) for number in range(1, 9)], [asked]),
            *store.mentioning(asked, ["entity://name/x"], 99),
        ]  # fmt: skip
        assert {one.memory.scope for one in found} <= {asked}
        assert {one.memory.memory_id for one in store.items([asked], (), b"", 99)} == {memory_id(number) for number in mine}
        assert {one.scope for one in store.statements(asked, said(1, "Rome", 1).key, 99)} <= {asked}
        assert len(store.entities(asked)) == len(store.entities_named(asked, ["rome", "oslo"])) == len(mine)
        assert store.usage(asked, "s1", HOUR).hour_writes == len(mine)
        assert {one.memory_id for one in store.page(view(asked, statuses=("active", "superseded")), b"", 99)} == {
            memory_id(number) for number in mine
        }
    finally:
        place.store.close()
