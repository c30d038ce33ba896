import pytest

from aico_memory.domain.behavioral.dimensions import NEUTRAL
from aico_memory.domain.behavioral.skill import Skill, Trigger


@pytest.fixture(scope="session")
def make_skill():
    """A small skill with the conditions that are given."""

    def make(skill_id="one", *, intents=(), times=(), sentiments=(), topics=(), dimensions=NEUTRAL, name=""):
        trigger = Trigger(frozenset(intents), frozenset(times), frozenset(sentiments), tuple(topics))
        return Skill(skill_id, name or skill_id.title(), f"Do {skill_id}.", trigger, tuple(dimensions))

    return make
