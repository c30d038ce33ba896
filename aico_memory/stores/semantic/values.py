"""Values of the write path as bytes: JSON of plain parts, sealed where they hold words, and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

from aico_memory.domain.formation.formed import FormedFact
from aico_memory.domain.gate.explain import Explanation, Outcome, Seen
from aico_memory.domain.gate.policy import PolicyVersion, WritePolicy
from aico_memory.domain.gate.statement import Statement
from aico_memory.domain.graph.edges import Edge
from aico_memory.domain.memory import Scope
from aico_memory.domain.temporal.versions import Belief
from aico_memory.stores.semantic.sleep_port import SleepJob

_SETS = ("kinds", "require_approval_kinds")


def dumped(value: Any) -> bytes:
    """Compact JSON; bytes as hexadecimal."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain).encode()


def statement_body(statement: Statement) -> bytes:
    """A statement, whole."""
    return dumped({**_shallow(statement), "fact": _shallow(statement.fact)})


def statement_of(body: bytes) -> Statement:
    """Raises TypeError for the body of another version of the program that knows more."""
    fields: dict[str, Any] = json.loads(body)
    fact = fields.pop("fact")
    fact["entities"] = tuple(fact["entities"])
    fields["scope"] = Scope(*fields["scope"])
    for name in ("statement_id", "event_id"):
        fields[name] = bytes.fromhex(fields[name])
    return Statement(fact=FormedFact(**fact), **fields)


def explanation_body(explanation: Explanation) -> bytes:
    """An explanation, whole."""
    return dumped(_shallow(explanation))


def explanation_of(body: bytes) -> Explanation:
    """The explanation again."""
    fields: dict[str, Any] = json.loads(body)
    fields["event_id"] = bytes.fromhex(fields["event_id"])
    fields["filtered"], fields["trace"] = tuple(fields["filtered"]), tuple(fields["trace"])
    fields["classes"] = tuple((str(name), float(score)) for name, score in fields["classes"])
    fields["outcomes"] = tuple(_outcome_of(line) for line in fields["outcomes"])
    return Explanation(**fields)


def policy_body(version: PolicyVersion) -> str:
    """One version of a policy; sets in order."""
    policy = asdict(version.policy)
    return dumped(
        [version.at_us, version.by, version.restored, {**policy, **{name: sorted(policy[name]) for name in _SETS}}]
    ).decode()


def policy_of(number: int, body: str) -> PolicyVersion:
    """The version again."""
    at_us, by, restored, policy = json.loads(body)
    return PolicyVersion(
        number, WritePolicy(**{**policy, **{name: frozenset(policy[name]) for name in _SETS}}), at_us, by, restored
    )


def edge_body(edge: Edge) -> bytes:
    """Predicate, literal and beliefs."""
    return dumped([edge.predicate, edge.literal, edge.beliefs])


def edge_parts(body: bytes) -> tuple[str, str, tuple[Belief, ...]]:
    """Predicate, literal and beliefs again."""
    predicate, literal, beliefs = json.loads(body)
    return (
        predicate,
        literal,
        tuple(Belief(known, since, until, bytes.fromhex(cause)) for known, since, until, cause in beliefs),
    )


def _outcome_of(line: list[Any]) -> Outcome:
    found = Outcome(*line)
    return found._replace(
        statement_id=bytes.fromhex(str(line[0])), target=bytes.fromhex(str(found.target)),
        channels=tuple(found.channels),  # type: ignore[arg-type]
        neighbours=tuple(Seen(bytes.fromhex(one[0]), *one[1:]) for one in found.neighbours),  # type: ignore[arg-type]
        written=tuple(bytes.fromhex(str(one)) for one in found.written),
    )  # fmt: skip


def _shallow(value: Any) -> dict[str, Any]:
    """The fields as they are: `asdict` would copy everything beneath them."""
    return {one.name: getattr(value, one.name) for one in fields(value)}


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, frozenset):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} cannot be stored")


def sleep_job_body(job: SleepJob) -> str:
    """What came of a job so far; it holds nobody's words."""
    return dumped({"counts": dict(job.counts), "samples": job.samples, "errors": job.errors}).decode()


def sleep_job_of(row: Sequence[Any]) -> SleepJob:
    """From (event_id, job, firing_id, at_us, only_user, users, body)."""
    event_id, job, firing_id, at_us, only_user, users, body = row
    content = json.loads(body)
    samples = tuple((decision, rule, memory_id) for decision, rule, memory_id in content["samples"])
    errors = tuple(content["errors"])
    return SleepJob(event_id, job, firing_id, at_us, only_user, users, content["counts"], samples, errors)
