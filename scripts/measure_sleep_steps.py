"""What a step of the item phases costs: `python scripts/measure_sleep_steps.py [--items 10000] [--step 200]`.

Makes an encrypted store of its own with one scope full of items, older than most figures,
takes a first night and a second one, and tells for each phase how many steps it took, the
processor time of the thread a step and the longest time in which no other thread got its turn.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from pathlib import Path

import numpy as np

from aico_memory.domain.gate.statement import Known
from aico_memory.domain.gate.tagging import Pair
from aico_memory.domain.kinds import DAY_US
from aico_memory.domain.memory import Memory, Scope
from aico_memory.models.place_tables import load_place_cues
from aico_memory.paths import Home
from aico_memory.settings.root import Settings
from aico_memory.stores.semantic.sql_store import SqlSemanticStore
from aico_memory.vault.master import open_vault
from services.semantic.graphing import Graphing
from services.semantic.sleep.expiring import Expiry
from services.semantic.sleep.forgetting import Forgetting
from services.semantic.sleep.phase import SleepPhase, Step
from services.semantic.sleep.placing import Places
from services.semantic.sleep.replaying import Synapses
from services.semantic.sleep.strength_phases import Decay, Emotion, Rehearsal, Utility

START = 1_772_000_000_000_000
ADA = Scope("user", "ada")
KINDS = ("fact",) * 5 + ("preference",) * 2 + ("plan", "decision", "episode")


class Turns(threading.Thread):
    """Asks for its turn every half millisecond and notes the longest wait."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.longest = 0.0
        self.done = threading.Event()

    def run(self) -> None:
        last = time.perf_counter()
        while not self.done.wait(0.0005):
            now = time.perf_counter()
            self.longest, last = max(self.longest, now - last), now


def filled(store: SqlSemanticStore, items: int) -> None:
    """One scope of items of many kinds, ages, strengths and entities, with vectors; some were retrieved together."""
    source = np.random.default_rng(1)
    vectors = source.normal(size=(items, 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    ids = [uuid.UUID(int=int(source.integers(1 << 62)) << 60 | number).bytes for number in range(items)]
    with store.transaction() as transaction:
        for number, memory_id in enumerate(ids):
            made = START + int(source.integers(30)) * DAY_US
            memory = Memory(
                memory_id=memory_id, scope=ADA, owner="ada", kind=KINDS[number % len(KINDS)], language="en",
                text=f"User told something about thing {number}, in as many words as it takes to tell it",
                said_at_us=made, recorded_at_us=made, valid_from_us=made, created_at_us=made, updated_at_us=made,
                received_at_us=made, stability=float(source.uniform(0.5, 30)), utility=float(source.uniform()),
                access_count=int(source.integers(4)) if number % 5 == 0 else 0, confidence=0.7, fact_key=f"thing {number}",
                entities=(f"entity://thing/{number % 3000}",), flashbulb=number % 100 == 0, pinned=number % 100 == 0,
            )  # fmt: skip
            transaction.put_item(Known(memory, "user", "thing", f"{number}", False, f"{number}"), ["thing"], 1)
            transaction.keep_vector(memory_id, "measured", vectors[number])
        for number in range(0, items // 5 - 1, 2):
            for _ in range(3):
                transaction.count_pairs([Pair(*sorted(ids[number : number + 2]))])


def night(store: SqlSemanticStore, phases: tuple[SleepPhase, ...], at_us: int, limit: int) -> None:
    for phase in phases:
        after, counts, turns = "", Counter[str](), Turns()
        spent: list[float] = []
        turns.start()
        while not spent or after:
            step = Step(ADA, "ada", after, limit, at_us, uuid.uuid4(), 1)
            begun = time.thread_time()
            with store.transaction() as transaction:
                outcome = phase.step(transaction, step)
            spent.append((time.thread_time() - begun) * 1000)
            counts.update(outcome.counts)
            after = outcome.after
        turns.done.set()
        turns.join()
        p50, p95 = np.percentile(spent, 50), np.percentile(spent, 95)
        told = ", ".join(f"{name} {count}" for name, count in counts.items())
        sys.stdout.write(
            f"{phase.name:11s} {len(spent):4d} steps  CPU p50 {p50:5.1f} p95 {p95:5.1f} ms  no turn for "
            f"{turns.longest * 1000:5.1f} ms  {told}\n"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--step", type=int, default=200)
    options = parser.parse_args()
    settings = Settings()
    model = settings.memory_model
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder))
        home.ensure()
        vault = open_vault(home, settings.security, {})
        store = SqlSemanticStore.open(
            home.store("semantic"), vault.store_key("semantic"), vault.users, vault.namer("semantic")
        )  # fmt: skip
        filled(store, options.items)
        phases: tuple[SleepPhase, ...] = (
            Decay(model), Emotion(model), Synapses(model, settings.write_path.tags), Places(model, load_place_cues(home)),
            Utility(model), Rehearsal(model), Expiry(model.kinds, Graphing(model.graph)), Forgetting(model),
        )  # fmt: skip
        for number in (1, 2):
            sys.stdout.write(f"night {number}\n")
            night(store, phases, START + 100 * DAY_US + number, options.step)
        store.close()


if __name__ == "__main__":
    main()
