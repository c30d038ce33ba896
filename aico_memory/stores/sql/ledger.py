"""The ledger of self-adjustments: one shape, kept by whoever owns the rules that were adjusted."""

from __future__ import annotations

import json
from typing import Protocol

from aico_memory.domain.guardrails.adjustment import Adjustment, adjustment_as_data, adjustment_from_data
from aico_memory.stores.sql.dialect import Connection

_PUT = """
INSERT INTO adjustments (adjustment_id, subject, status, at_us, body) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (adjustment_id) DO UPDATE SET status = excluded.status, body = excluded.body
"""
_PRUNE = """
DELETE FROM adjustments WHERE subject = ? AND status <> 'applied' AND position <= (
    SELECT position FROM adjustments WHERE subject = ? ORDER BY position DESC LIMIT 1 OFFSET ?)
"""


class Ledger(Protocol):
    """Entries by id, in the order in which they came."""

    def adjustments(self, subject: str = "", limit: int = 0) -> list[Adjustment]:
        """The newest first, of a subject ("": of all); 0: all."""

    def adjustment(self, adjustment_id: str) -> Adjustment | None: ...

    def applied(self, subject: str) -> Adjustment | None:
        """The one that holds; None where no adjustment does."""

    def put_adjustment(self, adjustment: Adjustment, kept: int = 0) -> None:
        """Store it as it is now, in its place; beyond `kept` entries of the subject (0: all) the oldest go."""


class SqlLedger:
    """The port on a connection whose database has the table `adjustments`."""

    __slots__ = ("_ledger_connection",)

    def __init__(self, connection: Connection) -> None:
        self._ledger_connection = connection

    def adjustments(self, subject: str = "", limit: int = 0) -> list[Adjustment]:
        sql = "SELECT body FROM adjustments WHERE ? IN ('', subject) ORDER BY position DESC LIMIT ?"
        return [_read(row[0]) for row in self._ledger_connection.execute(sql, (subject, limit or -1))]

    def adjustment(self, adjustment_id: str) -> Adjustment | None:
        sql = "SELECT body FROM adjustments WHERE adjustment_id = ?"
        row = self._ledger_connection.execute(sql, (adjustment_id,)).fetchone()
        return None if row is None else _read(row[0])

    def applied(self, subject: str) -> Adjustment | None:
        sql = "SELECT body FROM adjustments WHERE subject = ? AND status = 'applied' ORDER BY position DESC LIMIT 1"
        row = self._ledger_connection.execute(sql, (subject,)).fetchone()
        return None if row is None else _read(row[0])

    def put_adjustment(self, adjustment: Adjustment, kept: int = 0) -> None:
        body = json.dumps(adjustment_as_data(adjustment), sort_keys=True, ensure_ascii=False)
        row = (adjustment.adjustment_id, adjustment.subject, adjustment.status, adjustment.at_us, body)
        self._ledger_connection.execute(_PUT, row)
        if kept:
            self._ledger_connection.execute(_PRUNE, (adjustment.subject, adjustment.subject, kept))


class MemoryLedger:
    """The twin of `SqlLedger`, on a dictionary that its owner copies."""

    def __init__(self, entries: dict[str, Adjustment]) -> None:
        self._entries = entries

    def adjustments(self, subject: str = "", limit: int = 0) -> list[Adjustment]:
        found = [one for one in reversed(self._entries.values()) if subject in ("", one.subject)]
        return found[:limit] if limit else found

    def adjustment(self, adjustment_id: str) -> Adjustment | None:
        return self._entries.get(adjustment_id)

    def applied(self, subject: str) -> Adjustment | None:
        return next((one for one in self.adjustments(subject) if one.status == "applied"), None)

    def put_adjustment(self, adjustment: Adjustment, kept: int = 0) -> None:
        # Through the same form as on disk: what comes back is equal, tuples and integers included.
        self._entries[adjustment.adjustment_id] = _read(json.dumps(adjustment_as_data(adjustment)))
        for old in self.adjustments(adjustment.subject)[kept:] if kept else []:
            if old.status != "applied":
                del self._entries[old.adjustment_id]


def _read(body: str) -> Adjustment:
    return adjustment_from_data(json.loads(body))
