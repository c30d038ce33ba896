"""What people state to a semantic worker, and the items that come of it."""

from __future__ import annotations

import uuid
from typing import Any

from aico_memory.contracts.v1 import semantic_pb2, working_pb2
from aico_memory.domain.gate.policy import WritePolicy, began, effective
from aico_memory.domain.memory import Scope
from aico_memory.domain.scopes import GLOBAL
from aico_memory.stores.semantic.item_port import ItemReads
from tests.services.semantic.worker import START, Worker

ADA = Scope("user", "ada")
DAY = 86_400_000_000


def items(worker: Worker, scope: Scope = ADA, *statuses: str) -> list[Any]:
    return worker.handlers.state.items([scope], statuses, b"", 999)


def values(worker: Worker, scope: Scope = ADA, *statuses: str) -> list[tuple[str, str]]:
    """Value and status, in the order of saying."""
    found = sorted(items(worker, scope, *statuses), key=lambda one: (one.memory.said_at_us, one.memory.memory_id))
    return [(one.value, one.memory.status) for one in found]


def exported(worker: Worker) -> list[str]:
    return list(worker.handlers.export("", "", 999).lines)


def message(text: str, user: str = "ada", **fields: Any) -> working_pb2.Message:
    return working_pb2.Message(user_id=user, **{"role": "user", "content": text, "session_id": "s1", **fields})


def set_policy(worker: Worker, scope: Scope = ADA, **fields: Any) -> None:
    with worker.handlers.state.transaction() as transaction:
        transaction.set_policy(scope, began(WritePolicy(**fields), START, "operator"))


def policy_of(reads: ItemReads, scope: Scope) -> WritePolicy:
    """What holds in a scope where the configuration says nothing."""
    return effective(reads.policy(scope), reads.policy(GLOBAL), WritePolicy())


def replay(worker: Worker, *said: uuid.UUID, user: str = "ada") -> semantic_pb2.ExperiencesReplayed:
    ids = [one.bytes for one in said]
    worker.tell(semantic_pb2.ReplayExperiences(run_id="r", user_id=user, batch=1, event_ids=ids), user)
    return worker.emitted(("replayed", semantic_pb2.ExperiencesReplayed))[-1]
