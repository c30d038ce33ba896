"""Between memories and rows: which columns stand plainly, and what is sealed for its owner."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from sys import intern
from typing import Any, Protocol

from aico_memory.domain.gate.statement import Known
from aico_memory.domain.memory import Condition, Evidence, Evolution, Memory, Scope, View, conditions
from aico_memory.errors import KeyDestroyed, WrongKey
from aico_memory.stores.semantic.opening import opened_once
from aico_memory.vault.sealer import Sealer

# Columns that hold a field of the same name as it is.
_TEXTS = ("owner", "kind", "tier", "sub_tier", "status", "session_id", "group_id", "project_id", "language",
          "temporal_type", "emotion", "write_source", "data_source")  # fmt: skip
_FLAGS = ("flashbulb", "pinned", "immutable")
PLAIN = (
    "memory_id", *_TEXTS,
    "said_at_us", "valid_from_us", "valid_until_us", "recorded_at_us", "invalidated_at_us", "created_at_us", "updated_at_us",
    "received_at_us", "superseded_by", "variant_of", "version_of", "version", "confidence", "importance", "utility",
    "stability", "difficulty", "storage_strength", "access_count", "last_accessed_us", "reference_count",
    "last_referenced_us", "valence", "arousal", *_FLAGS, "source_confidence", "heard",
)  # fmt: skip
# Rows read as (scope kind, scope id, body, *PLAIN).
SELECT = (
    f"SELECT m.row_no, s.kind, s.id, m.body, {', '.join('m.' + name for name in PLAIN)} "
    "FROM memory m JOIN scope s USING (scope_no)"
)
# What a context weighs and shows; the rest of a memory stands at its defaults then.
SHOWN = (
    "memory_id", "owner", "kind", "tier", "sub_tier", "status", "session_id", "language", "said_at_us", "valid_from_us",
    "valid_until_us", "recorded_at_us", "invalidated_at_us", "created_at_us", "version_of", "confidence", "importance",
    "utility", "valence", "source_confidence", "pinned",
)  # fmt: skip
_UNREAD: dict[str, Any] = {"updated_at_us": 0, "received_at_us": 0}
SELECT_SHOWN = SELECT.replace(", ".join("m." + name for name in PLAIN), ", ".join("m." + name for name in SHOWN))
INSERT = (
    f"INSERT INTO memory (scope_no, body, fact_key_digest, {', '.join(PLAIN)}) "
    f"VALUES (?, ?, ?, {', '.join('?' for _ in PLAIN)}) ON CONFLICT (memory_id) DO NOTHING"
)
UPDATE = (
    f"UPDATE memory SET body = ?, fact_key_digest = ?, {', '.join(name + ' = ?' for name in PLAIN)} "
    "WHERE memory_id = ? RETURNING row_no"
)
_OPERATORS = {"ne": "<>", "ge": ">=", "le": "<=", "gt": ">", "lt": "<"}


class Sealers(Protocol):
    """Data keys by user: the vault's `users`."""

    def sealer(self, user: str, create: bool = True) -> Sealer:
        """The user's sealer; KeyDestroyed where there is none and none is to be made."""


def plain_values(memory: Memory) -> tuple[Any, ...]:
    """The values of `PLAIN`."""
    return tuple(int(value) if isinstance(value := getattr(memory, name), bool) else value for name in PLAIN)


def seal_body(memory: Memory, sealer: Sealer) -> bytes:
    """Text, entities, fact key, speaker and zone, sealed for the owner and bound to this memory."""
    parts = [memory.text, memory.entities, memory.fact_key, memory.speaker, *((memory.zone,) if memory.zone else ())]
    content = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
    return sealer.seal(content.encode(), b"memory\0" + memory.memory_id)


def open_row(row: Sequence[Any], sealers: Sealers) -> tuple[int, Memory] | None:
    """Row number and memory; None where the owner's key was destroyed, so that nobody can read it any more."""
    number, scope_kind, scope_id, body, *plain = row
    if (words := _opened_words(body, plain, sealers)) is None:
        return None
    text, entities, fact_key, speaker, zone = words
    fields = dict(zip(PLAIN, plain, strict=True))
    for name in _FLAGS:
        fields[name] = bool(fields[name])
    return number, Memory(
        scope=Scope(scope_kind, scope_id), text=text, entities=entities, fact_key=fact_key, speaker=speaker, zone=zone, **fields
    )


def open_shown(row: Sequence[Any], sealers: Sealers) -> tuple[int, Memory] | None:
    """The same of a row of `SELECT_SHOWN`."""
    number, scope_kind, scope_id, body, *plain = row
    if (words := _opened_words(body, plain, sealers)) is None:
        return None
    text, entities, _, speaker, _ = words
    # Names that thousands of memories share are one object: such memories are kept.
    fields: dict[str, Any] = {
        name: intern(value) if type(value) is str else value for name, value in zip(SHOWN, plain, strict=True)
    }
    fields["pinned"] = bool(plain[-1])
    return number, Memory(
        scope=Scope(intern(scope_kind), intern(scope_id)), text=text, entities=entities, speaker=speaker, **fields, **_UNREAD
    )


def _opened_words(body: bytes, plain: Sequence[Any], sealers: Sealers) -> tuple[str, tuple[str, ...], str, str, str] | None:
    """Text, entities, fact key, speaker and zone; `plain` begins with the memory's id and its owner."""
    memory_id, owner = plain[0], plain[1]
    try:
        sealer = sealers.sealer(owner, create=False)
        return opened_once(_words, sealer, body, b"memory\0" + memory_id)
    except (KeyDestroyed, WrongKey):
        return None


def seal_reading(item: Known, sealer: Sealer) -> bytes | None:
    """Subject, predicate, object key and value of an item; None where it has no reading."""
    parts = [item.subject, item.predicate, item.object_key, item.value]
    if not any(parts):
        return None
    content = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
    return sealer.seal(content.encode(), b"reading\0" + item.memory.memory_id)


def open_known(row: Sequence[Any], sealers: Sealers) -> Known | None:
    """From (reading, single_valued, *SELECT); None where the owner's key was destroyed."""
    reading, single_valued, *rest = row
    opened = open_row(rest, sealers)
    if opened is None:
        return None
    memory = opened[1]
    if reading is None:
        return Known(memory, single_valued=bool(single_valued))
    sealer = sealers.sealer(memory.owner, create=False)
    subject, predicate, object_key, value = opened_once(_parts, sealer, reading, b"reading\0" + memory.memory_id)
    return Known(memory, subject, predicate, object_key, bool(single_valued), value)


def outline(scope: Scope, plain: Sequence[Any]) -> Memory:
    """A memory from the columns of `PLAIN`, without its words."""
    fields = dict(zip(PLAIN, plain, strict=True))
    return Memory(scope=scope, text="", **{**fields, **{name: bool(fields[name]) for name in _FLAGS}})


def outlines(found: Iterable[Sequence[Any]], sealers: Sealers) -> list[Memory]:
    """The same from (scope kind, scope id, *PLAIN); without those whose owner's key was destroyed."""
    owner_at = 2 + PLAIN.index("owner")
    lines = list(found)
    opened = {owner for owner in {line[owner_at] for line in lines} if _is_held(owner, sealers)}
    return [outline(Scope(line[0], line[1]), line[2:]) for line in lines if line[owner_at] in opened]


def seal_evidence(evidence: Evidence, sealer: Sealer) -> bytes | None:
    """Name, metadata and excerpt of a piece of evidence; None where all are empty."""
    detail = [evidence.name, evidence.metadata_json, evidence.excerpt]
    if not any(detail):
        return None
    return sealer.seal(
        json.dumps(detail, ensure_ascii=False).encode(), _evidence_context(evidence.memory_id, evidence.event_id)
    )


def open_evidence(row: Sequence[Any], sealer: Sealer) -> Evidence:
    """From (memory_id, event_id, method, at_us, confidence, role, said_at_us, session_id, detail)."""
    memory_id, event_id, method, at_us, confidence, role, said_at_us, session_id, detail = row
    name = metadata = excerpt = ""
    if detail is not None:
        name, metadata, excerpt = opened_once(_parts, sealer, detail, _evidence_context(memory_id, event_id))
    return Evidence(memory_id, event_id, method, at_us, confidence, role, name, said_at_us, session_id, metadata, excerpt)


def moved_to(evidence: Evidence, memory_id: bytes) -> Evidence:
    """The same evidence, of another memory."""
    return replace(evidence, memory_id=memory_id)


def seal_evolution(evolution: Evolution, sealer: Sealer) -> bytes:
    """Old value, new value and reason of a change."""
    content = json.dumps([evolution.old_value, evolution.new_value, evolution.reason], ensure_ascii=False)
    return sealer.seal(content.encode(), _evolution_context(evolution.memory_id, evolution.cause))


def open_evolution(row: Sequence[Any], sealer: Sealer) -> Evolution:
    """From (memory_id, cause, what, at_us, detail)."""
    memory_id, cause, what, at_us, detail = row
    old, new, reason = json.loads(sealer.open(detail, _evolution_context(memory_id, cause)))
    return Evolution(memory_id, what, old, new, at_us, cause, reason)


def where(wanted: Iterable[Condition]) -> tuple[str, list[Any]]:
    """The conditions as SQL over `memory m`, each with AND in front, and its parameters."""
    sql, values = "", []
    for condition in wanted:
        clause, more = _clause(condition)
        sql += f" AND {clause}"
        values += more
    return sql, values


def _clause(condition: Condition) -> tuple[str, list[Any]]:
    field, op, value = condition
    if op == "any":
        parts = [_clause(one) for one in value]
        return f"({' OR '.join(clause for clause, _ in parts)})", [one for _, more in parts for one in more]
    if op == "in":
        return f"m.{field} IN ({', '.join('?' for _ in value)})", list(value)
    return f"m.{field} {_OPERATORS[op]} ?", [value]


def seen(view: View) -> tuple[str, list[Any]]:
    """The same of all that a view asks for but its scopes; former texts are none of it where they were replaced by then."""
    sql, values = where(conditions(view))
    if view.as_of_us or view.known_as_of_us:
        sql += " AND (m.version_of IS NULL OR m.invalidated_at_us > ?)"
        values.append(view.known_as_of_us or view.now_us)
    return sql, values


def within(scopes: Sequence[Scope]) -> tuple[str, list[Any]]:
    """`scope_no IN (…)` over `memory m` for these scopes; with none of them it matches nothing."""
    pairs = ", ".join("(?, ?)" for _ in scopes)
    return (
        f"m.scope_no IN (SELECT scope_no FROM scope WHERE (kind, id) IN (VALUES {pairs}))" if scopes else "0",
        [part for scope in scopes for part in scope],
    )


def _is_held(owner: str, sealers: Sealers) -> bool:
    try:
        sealers.sealer(owner, create=False)
    except (KeyDestroyed, WrongKey):
        return False
    return True


def _words(content: bytes) -> tuple[str, tuple[str, ...], str, str, str]:
    # Of most memories no zone is known, nor was one kept before.
    text, entities, fact_key, speaker, *zone = json.loads(content)
    return text, tuple(entities), fact_key, speaker, "".join(zone)


def _parts(content: bytes) -> tuple[str, ...]:
    return tuple(json.loads(content))


def _evidence_context(memory_id: bytes, event_id: bytes) -> bytes:
    return b"evidence\0" + memory_id + event_id


def _evolution_context(memory_id: bytes, cause: bytes) -> bytes:
    return b"evolution\0" + memory_id + cause
