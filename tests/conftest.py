"""Fixtures for tests that need a whole deployment."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import settings

from tests.support.deployment import Deployment, MakeDeployment

# No timing is a test: how fast an example runs says something about the machine. What is tried is the same in every run, so
# that a change is judged by itself; `HYPOTHESIS_PROFILE=explore` tries something new each time.
settings.register_profile("patient", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "patient"))
# Nor is how long a disk takes for a sync: what is started for tests has longer to answer than a person would wait.
for _name, _seconds in (("connect", 8), ("handshake", 6), ("request", 30), ("command", 60)):
    os.environ.setdefault(f"AICO_MEMORY_SET__link__{_name}_seconds", str(_seconds))


ROOT = Path(__file__).resolve().parent
# Their tests start processes that keep a core busy by themselves, and share the deployment of the session.
ONE_BY_ONE = (ROOT / "bus", ROOT / "integration")


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Where tests run at once, those of whole deployments go one after the other, beside the rest."""
    for item in items:
        if any(folder in item.path.parents for folder in ONE_BY_ONE):
            item.add_marker(pytest.mark.xdist_group("one by one"))


@pytest.fixture(scope="session")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """One running deployment for all tests that leave it so; each uses users of its own."""
    shared = Deployment(tmp_path_factory.mktemp("shared") / "home")
    try:
        shared.up()
        yield shared
    finally:
        shared.down()


@pytest.fixture
def make_deployment(tmp_path: Path) -> Iterator[MakeDeployment]:
    """Deployments of one test; all are stopped with it."""
    made: list[Deployment] = []

    def make(name: str = "home", **environment: str) -> Deployment:
        one = Deployment(tmp_path / name, environment)
        made.append(one)
        return one

    yield make
    for one in made:
        one.down()


@pytest.fixture
def fresh_deployment(make_deployment: MakeDeployment) -> Deployment:
    """A running deployment of one test alone."""
    fresh = make_deployment()
    fresh.up()
    return fresh
