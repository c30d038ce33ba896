"""What the gate counts and remembers, in SQLCipher: policies, pauses, usage, tags, pairs, interactions, traces, questions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from aico_memory.domain.gate.explain import Explanation
from aico_memory.domain.gate.policy import PolicyHistory, Usage
from aico_memory.domain.gate.tagging import Pair, Tag
from aico_memory.domain.memory import Scope
from aico_memory.errors import KeyDestroyed, WrongKey
from aico_memory.stores.semantic import rows
from aico_memory.stores.semantic.item_port import Interaction, Upkeep, Vector, spans
from aico_memory.stores.semantic.sql_items import IN_LISTED, listed
from aico_memory.stores.semantic.values import dumped, explanation_body, explanation_of, policy_body, policy_of
from aico_memory.stores.sql import Connection

_SCOPED = "scope_no = (SELECT scope_no FROM scope WHERE kind = ? AND id = ?)"
_TAGS = "SELECT memory_id, session_id, set_at_us, expires_at_us, captured_us FROM tag"
_COUNT_WRITE = """
INSERT INTO write_usage (scope_no, span, id, writes, at_us) VALUES (?, ?, ?, 1, ?)
ON CONFLICT (scope_no, span, id) DO UPDATE SET writes = writes + 1, at_us = max(at_us, excluded.at_us)
"""
_COUNT_PAIR = """
INSERT INTO co_activation (first, second, together) SELECT ?, ?, 1
WHERE (SELECT count(*) FROM memory WHERE memory_id IN (?, ?)) = 2
ON CONFLICT (first, second) DO UPDATE SET together = together + 1
"""
_PAIRS = f"SELECT first, second, together FROM co_activation WHERE first IN {IN_LISTED} AND +second IN {IN_LISTED}"
_EXPLAIN = """
INSERT INTO explanation (event_id, scope_no, owner, at_us, body) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (event_id) DO UPDATE SET at_us = excluded.at_us, body = excluded.body
"""
_SURPLUS = """
DELETE FROM question WHERE scope_no = ? AND position <= (
    SELECT position FROM question WHERE scope_no = ? ORDER BY position DESC LIMIT 1 OFFSET ?)
"""
_INTERACTION = "INSERT INTO interaction (scope_no, interaction_id, owner, event_id, at_us, body) VALUES (?, ?, ?, ?, ?, ?)"


class SqlBookReads:
    """The part of the port `ItemReads` that speaks of bookkeeping; whoever mixes it in says where to read."""

    __slots__ = ()

    def _reading(self) -> AbstractContextManager[Connection]:
        raise NotImplementedError

    def _unsealing(self) -> rows.Sealers:
        raise NotImplementedError

    def policy(self, scope: Scope) -> PolicyHistory | None:
        found = self._rows(f"SELECT number, body FROM policy_version WHERE {_SCOPED} ORDER BY number", scope)
        return PolicyHistory(tuple(policy_of(*row) for row in found)) if found else None

    def paused_us(self, owner: str) -> int:
        found = self._rows("SELECT since_us FROM paused WHERE owner = ?", (owner,))
        return int(found[0][0]) if found else 0

    def usage(self, scope: Scope, session_id: str, at_us: int) -> Usage:
        counted = spans(session_id, at_us)
        listed_spans = ", ".join("(?, ?)" for _ in counted)
        sql = f"SELECT span, writes FROM write_usage WHERE {_SCOPED} AND (span, id) IN (VALUES {listed_spans})"
        found = dict(self._rows(sql, (*scope, *(part for span in counted for part in span))))
        return Usage(found.get("session", 0), found.get("hour", 0))

    def tags(self, scope: Scope, session_id: str, at_us: int) -> list[Tag]:
        sql = f"{_TAGS} WHERE {_SCOPED} AND session_id = ? AND expires_at_us > ? ORDER BY memory_id"
        return [Tag(row[0], scope, *row[1:]) for row in self._rows(sql, (*scope, session_id, at_us))]

    def pair_counts(self, memory_ids: Sequence[bytes]) -> dict[Pair, int]:
        wanted = listed(memory_ids)
        return {Pair(first, second): together for first, second, together in self._rows(_PAIRS, (wanted, wanted))}

    def interaction(self, scope: Scope, interaction_id: str) -> Interaction | None:
        sql = f"SELECT owner, event_id, at_us, body FROM interaction WHERE {_SCOPED} AND interaction_id = ?"
        for owner, event_id, at_us, body in self._rows(sql, (*scope, interaction_id)):
            opened = self._opened_body(owner, body, b"interaction\0" + event_id)
            if opened is not None:
                response, summary = json.loads(opened)
                return Interaction(scope, owner, interaction_id, event_id, at_us, response, summary)
        return None

    def reinforced_by(self, scope: Scope, interaction_id: str) -> frozenset[bytes]:
        sql = f"SELECT memory_id FROM reinforced WHERE {_SCOPED} AND interaction_id = ?"
        return frozenset(memory_id for (memory_id,) in self._rows(sql, (*scope, interaction_id)))

    def explanation(self, event_id: bytes, scopes: Sequence[Scope]) -> Explanation | None:
        sql = "SELECT s.kind, s.id, e.owner, e.body FROM explanation e JOIN scope s USING (scope_no) WHERE e.event_id = ?"
        for kind, id_, owner, body in self._rows(sql, (event_id,)):
            opened = self._opened_body(owner, body, b"explanation\0" + event_id) if Scope(kind, id_) in scopes else None
            if opened is not None:
                return explanation_of(opened)
        return None

    def explanations(self, scopes: Sequence[Scope], since_us: int, until_us: int, limit: int) -> list[Explanation]:
        scoped, values = rows.within(scopes)
        sql = (
            f"SELECT m.owner, m.event_id, m.body FROM explanation m WHERE {scoped} AND m.at_us >= ? AND m.at_us < ? "
            "ORDER BY m.at_us DESC, m.event_id DESC LIMIT ?"
        )
        found = [
            self._opened_body(owner, body, b"explanation\0" + event_id)
            for owner, event_id, body in self._rows(sql, (*values, since_us, until_us, limit))
        ]
        return [explanation_of(body) for body in found if body is not None]

    def explained(self, event_id: bytes) -> bool:
        return bool(self._rows("SELECT 1 FROM explanation WHERE event_id = ?", (event_id,)))

    def applied_at(self, what: Upkeep, memory_ids: Sequence[bytes]) -> dict[bytes, int]:
        sql = f"SELECT memory_id, at_us FROM upkeep WHERE what = ? AND memory_id IN {IN_LISTED}"
        return dict(self._rows(sql, (what, listed(memory_ids))))

    def questions(self, scope: Scope, fingerprint: str, limit: int, before: int = 0) -> list[Vector]:
        earlier = "AND sequence < ? " if before else ""
        sql = f"SELECT half_floats FROM question WHERE {_SCOPED} AND fingerprint = ? {earlier}ORDER BY position DESC LIMIT ?"
        found = self._rows(sql, (*scope, fingerprint, *((before,) if before else ()), limit))
        return [np.frombuffer(half, dtype="<f2").astype(np.float32) for (half,) in found][::-1]

    def _rows(self, sql: str, values: Sequence[Any]) -> list[Any]:
        with self._reading() as connection:
            return connection.execute(sql, values).fetchall()

    def _opened_body(self, owner: str, body: bytes, context: bytes) -> bytes | None:
        try:
            return self._unsealing().sealer(owner, create=False).open(body, context)
        except (KeyDestroyed, WrongKey):
            return None


class SqlBookWrites(SqlBookReads):
    """The part of the port `ItemWrites` that speaks of bookkeeping."""

    __slots__ = ()
    connection: Connection

    def _scope_no(self, scope: Scope) -> int:
        raise NotImplementedError

    def set_policy(self, scope: Scope, history: PolicyHistory) -> None:
        scope_no = self._scope_no(scope)
        self.connection.execute("DELETE FROM policy_version WHERE scope_no = ?", (scope_no,))
        self.connection.executemany(
            "INSERT INTO policy_version (scope_no, number, body) VALUES (?, ?, ?)",
            [(scope_no, one.number, policy_body(one)) for one in history.versions],
        )

    def pause(self, owner: str, since_us: int) -> None:
        self.connection.execute("DELETE FROM paused WHERE owner = ?", (owner,))
        if since_us:
            self.connection.execute("INSERT INTO paused (owner, since_us) VALUES (?, ?)", (owner, since_us))

    def count_write(self, scope: Scope, session_id: str, at_us: int) -> None:
        scope_no = self._scope_no(scope)
        for span, name in spans(session_id, at_us):
            self.connection.execute(_COUNT_WRITE, (scope_no, span, name, at_us))

    def put_tag(self, tag: Tag) -> None:
        values = (tag.memory_id, self._scope_no(tag.scope), tag.session_id, tag.set_at_us, tag.expires_at_us, tag.captured_us)
        self.connection.execute("INSERT OR REPLACE INTO tag VALUES (?, ?, ?, ?, ?, ?)", values)

    def count_pairs(self, pairs: Sequence[Pair]) -> None:
        self.connection.executemany(_COUNT_PAIR, [(*pair, *pair) for pair in pairs])

    def keep_interaction(self, interaction: Interaction) -> bool:
        content = dumped([interaction.response, interaction.summary])
        body = self._unsealing().sealer(interaction.owner).seal(content, b"interaction\0" + interaction.event_id)
        values = (self._scope_no(interaction.scope), interaction.interaction_id, interaction.owner, interaction.event_id,
                  interaction.at_us, body)  # fmt: skip
        return self.connection.execute(f"{_INTERACTION} ON CONFLICT DO NOTHING", values).rowcount > 0

    def note_reinforced(self, scope: Scope, interaction_id: str, memory_ids: Sequence[bytes]) -> None:
        scope_no = self._scope_no(scope)
        self.connection.executemany(
            "INSERT OR IGNORE INTO reinforced (scope_no, interaction_id, memory_id) VALUES (?, ?, ?)",
            [(scope_no, interaction_id, memory_id) for memory_id in memory_ids],
        )

    def explain(self, explanation: Explanation, scope: Scope, owner: str, at_us: int) -> None:
        context = b"explanation\0" + explanation.event_id
        body = self._unsealing().sealer(owner).seal(explanation_body(explanation), context)
        self.connection.execute(_EXPLAIN, (explanation.event_id, self._scope_no(scope), owner, at_us, body))

    def note_applied(self, what: Upkeep, applied: Mapping[bytes, int]) -> None:
        self.connection.executemany(
            "INSERT OR REPLACE INTO upkeep (memory_id, what, at_us) VALUES (?, ?, ?)",
            [(memory_id, what, at_us) for memory_id, at_us in applied.items()],
        )

    def note_question(self, scope: Scope, fingerprint: str, vector: Vector, at_us: int, kept: int, sequence: int = 0) -> None:
        scope_no = self._scope_no(scope)
        self.connection.execute(
            "INSERT INTO question (scope_no, fingerprint, at_us, half_floats, sequence) VALUES (?, ?, ?, ?, ?)",
            (scope_no, fingerprint, at_us, np.asarray(vector).astype("<f2").tobytes(), sequence),
        )
        self.connection.execute(_SURPLUS, (scope_no, scope_no, kept))

    def forget_before(self, at_us: int, tags_at_us: int) -> None:
        self.connection.execute("DELETE FROM explanation WHERE at_us < ?", (at_us,))
        self.connection.execute("DELETE FROM write_usage WHERE at_us < ?", (at_us,))
        gone = "SELECT scope_no, interaction_id FROM interaction WHERE at_us < ?"
        self.connection.execute(f"DELETE FROM reinforced WHERE (scope_no, interaction_id) IN ({gone})", (at_us,))
        self.connection.execute("DELETE FROM interaction WHERE at_us < ?", (at_us,))
        self.connection.execute("DELETE FROM tag WHERE expires_at_us < ?", (tags_at_us,))
