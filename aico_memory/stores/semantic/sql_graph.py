"""The property graph in SQLCipher: entities by their names, merges, edges with their beliefs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from aico_memory.domain.formation.fact_key import normalise_fact_key
from aico_memory.domain.graph.edges import Edge
from aico_memory.domain.graph.entities import Entity, Merge
from aico_memory.domain.memory import Scope
from aico_memory.errors import KeyDestroyed, WrongKey
from aico_memory.stores.semantic import rows
from aico_memory.stores.semantic.sql_items import IN_LISTED, listed
from aico_memory.stores.semantic.values import dumped, edge_body, edge_parts
from aico_memory.stores.sql import Connection

_SCOPED = "scope_no = (SELECT scope_no FROM scope WHERE kind = ? AND id = ?)"
_ENTITY = "SELECT owner, entity_id, type, created_at_us, body FROM entity"
_MERGE = "SELECT merge_id, kept, absorbed, at_us, how, similarity, undone_at_us FROM entity_merge"
_EDGE = """
SELECT s.kind, s.id, e.owner, e.edge_id, e.subject, e.object, e.single_valued, e.confidence, e.source, e.body
FROM edge e JOIN scope s USING (scope_no)
"""
_PUT_ENTITY = """
INSERT INTO entity (entity_id, scope_no, owner, type, created_at_us, body) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (entity_id) DO UPDATE SET type = excluded.type, body = excluded.body
"""
_PUT_EDGE = """
INSERT INTO edge (edge_id, scope_no, owner, subject, object, single_valued, confidence, source, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (edge_id) DO UPDATE SET subject = excluded.subject, object = excluded.object,
single_valued = excluded.single_valued, confidence = excluded.confidence, body = excluded.body
"""


class SqlGraphReads:
    """The part of the port `ItemReads` that speaks of the graph; whoever mixes it in says where to read."""

    __slots__ = ()

    def _reading(self) -> AbstractContextManager[Connection]:
        raise NotImplementedError

    def _digested(self, text: str) -> bytes:
        raise NotImplementedError

    def _unsealing(self) -> rows.Sealers:
        raise NotImplementedError

    def entities(self, scope: Scope) -> list[Entity]:
        return self._entities(scope, f"{_ENTITY} WHERE {_SCOPED} ORDER BY entity_id", scope)

    def entities_named(self, scope: Scope, names: Sequence[str]) -> list[Entity]:
        digests = [self._digested(f"name\0{normalise_fact_key(name)}") for name in names]
        named = f"SELECT entity_id FROM entity_name WHERE {_SCOPED} AND name IN {IN_LISTED}"
        sql = f"{_ENTITY} WHERE entity_id IN ({named}) ORDER BY entity_id"
        return self._entities(scope, sql, (*scope, listed(digests))) if digests else []

    def merges(self, scope: Scope) -> list[Merge]:
        with self._reading() as connection:
            return [Merge(*row) for row in connection.execute(f"{_MERGE} WHERE {_SCOPED} ORDER BY merge_id", scope)]

    def edges(self, scope: Scope, touching: Sequence[bytes] | None = None) -> list[Edge]:
        clause, values = "WHERE s.kind = ? AND s.id = ?", list[Any](scope)
        if touching is not None:
            clause += f" AND (e.subject IN {IN_LISTED} OR e.object IN {IN_LISTED})"
            values += [listed(touching)] * 2
        return self._edges(f"{clause} ORDER BY e.edge_id", values)

    def edge_of(self, memory_id: bytes) -> Edge | None:
        return next(iter(self._edges("WHERE e.edge_id = ?", [memory_id])), None)

    def _entities(self, scope: Scope, sql: str, values: Sequence[Any]) -> list[Entity]:
        with self._reading() as connection:
            lines = connection.execute(sql, values).fetchall()
        found = []
        for owner, entity_id, type_, created_at_us, body in lines:
            try:
                content = self._unsealing().sealer(owner, create=False).open(body, b"entity\0" + entity_id)
            except (KeyDestroyed, WrongKey):
                continue
            name, aliases = json.loads(content)
            found.append(Entity(entity_id, scope, name, type_, created_at_us, tuple(aliases)))
        return found

    def _edges(self, clause: str, values: Sequence[Any]) -> list[Edge]:
        with self._reading() as connection:
            lines = connection.execute(f"{_EDGE} {clause}", values).fetchall()
        found = []
        for kind, id_, owner, edge_id, subject, object_, single_valued, confidence, source, body in lines:
            try:
                content = self._unsealing().sealer(owner, create=False).open(body, b"edge\0" + edge_id)
            except (KeyDestroyed, WrongKey):
                continue
            predicate, literal, beliefs = edge_parts(content)
            found.append(Edge(edge_id, Scope(kind, id_), subject, predicate, object_, literal, bool(single_valued),
                              confidence, source, beliefs))  # fmt: skip
        return found


class SqlGraphWrites(SqlGraphReads):
    """The part of the port `ItemWrites` that speaks of the graph."""

    __slots__ = ()
    connection: Connection

    def _scope_no(self, scope: Scope) -> int:
        raise NotImplementedError

    def put_entity(self, entity: Entity, owner: str) -> None:
        scope_no = self._scope_no(entity.scope)
        body = self._unsealing().sealer(owner).seal(dumped([entity.name, entity.aliases]), b"entity\0" + entity.entity_id)
        values = (entity.entity_id, scope_no, owner, entity.type, entity.created_at_us, body)
        self.connection.execute(_PUT_ENTITY, values)
        self.connection.executemany(
            "INSERT OR IGNORE INTO entity_name (scope_no, name, entity_id) VALUES (?, ?, ?)",
            [(scope_no, self._digested(f"name\0{normalise_fact_key(name)}"), entity.entity_id) for name in entity.names],
        )

    def put_merge(self, merge: Merge, scope: Scope) -> None:
        values = (merge.merge_id, self._scope_no(scope), merge.kept, merge.absorbed, merge.at_us, merge.how,
                  merge.similarity, merge.undone_at_us)  # fmt: skip
        self.connection.execute("INSERT OR REPLACE INTO entity_merge VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)

    def put_edge(self, edge: Edge, owner: str) -> None:
        body = self._unsealing().sealer(owner).seal(edge_body(edge), b"edge\0" + edge.edge_id)
        values = (edge.edge_id, self._scope_no(edge.scope), owner, edge.subject, edge.object, int(edge.single_valued),
                  edge.confidence, edge.source, body)  # fmt: skip
        self.connection.execute(_PUT_EDGE, values)
