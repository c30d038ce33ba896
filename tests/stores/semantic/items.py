"""Items as the write path stores them."""

import numpy as np

from aico_memory.domain.gate.statement import Known
from tests.stores.semantic.memories import ADA, a_memory


def an_item(number, value="Rome", scope=ADA, predicate="home_city", single=True, **fields):
    key = f"user|{predicate}" if single else f"user|{predicate}|{value.casefold()}"
    memory = a_memory(number, f"User lives in {value}", scope, **{"kind": "profile", "fact_key": key, **fields})
    return Known(memory, "user", predicate, value.casefold(), single, value)


def put(store, *items, tokens=("lives",), sequence=1):
    with store.transaction() as transaction:
        return [transaction.put_item(item, tokens, sequence) for item in items]


def unit(*numbers):
    vector = np.array(numbers, dtype=np.float32)
    return vector / np.linalg.norm(vector)
