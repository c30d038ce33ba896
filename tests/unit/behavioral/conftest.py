"""Skills, a worker without and with consent, and an advisor for tests of the behavioral worker."""

import pytest

from aico_memory.domain.behavioral.dimensions import NEUTRAL
from aico_memory.domain.behavioral.skill import Skill, Trigger
from aico_memory.stores.behavioral.sql_store import SqlBehavioralStore
from aico_memory.stores.behavioral.twin import MemoryBehavioralStore
from tests.unit.behavioral.advisor import KEY, Advisor
from tests.unit.behavioral.worker import Worker


@pytest.fixture(scope="session")
def make_skill():
    """A small skill with the conditions that are given."""

    def make(skill_id="one", *, intents=(), times=(), sentiments=(), topics=(), dimensions=NEUTRAL, name=""):
        trigger = Trigger(frozenset(intents), frozenset(times), frozenset(sentiments), tuple(topics))
        return Skill(skill_id, name or skill_id.title(), f"Do {skill_id}.", trigger, tuple(dimensions))

    return make


@pytest.fixture(params=["memory", "sql"])
def advisor(request, tmp_path):
    store = MemoryBehavioralStore() if request.param == "memory" else SqlBehavioralStore.open(tmp_path / "store", KEY)
    made = Advisor(store, tmp_path)
    made.consent()
    yield made
    made.handlers.close()


@pytest.fixture
def worker(tmp_path):
    return Worker(MemoryBehavioralStore(), tmp_path)


@pytest.fixture
def consenting(worker):
    worker.consent()
    return worker
