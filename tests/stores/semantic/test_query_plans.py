"""What is asked at every message or question reads what it returns, and not all of a scope to sort it."""

from unittest.mock import patch

import pytest

from aico_memory.stores.semantic import sql_items
from tests.stores.semantic.items import ADA


@pytest.mark.parametrize(
    "ask",
    [
        lambda store: store.by_predicate(ADA, "user", "likes", 20),
        lambda store: store.by_object(ADA, "tea", 20),
        lambda store: store.newest(ADA, 20),
    ],
    ids=["of a reading", "of an object", "of a scope"],
)
def test_the_newest_items_are_found_in_their_order(on_disk, ask):
    asked = []
    with patch.object(on_disk.store.__class__, "_opened", lambda self, clause, values: asked.append((clause, values)) or []):
        ask(on_disk.store)
    ((clause, values),) = asked
    with on_disk.store.database.read() as connection:
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql_items._KNOWN} {clause}", values)]
    assert any("USING INDEX item_by_" in step for step in plan), plan
    assert not any("TEMP B-TREE" in step for step in plan), plan
