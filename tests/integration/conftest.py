"""Deployments for whole-system tests: one for all that leave it as it is, and homes for those that do not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.deployment import Deployment


@pytest.fixture(scope="session")
def shared_deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """The session's deployment, with a manual clock; tests take `deployment`."""
    made = Deployment(tmp_path_factory.mktemp("shared") / "home")
    try:
        yield made.up()
    finally:
        made.close()


@pytest.fixture
def deployment(shared_deployment: Deployment) -> Iterator[Deployment]:
    """The session's deployment, for tests that use users of their own and end no process: that is checked."""
    before = shared_deployment.pids()
    yield shared_deployment
    assert shared_deployment.pids() == before, "a process of the shared deployment died under this test"


@pytest.fixture
def make_deployment(tmp_path: Path) -> Iterator[Callable[..., Deployment]]:
    """Makes deployments of the test's own, not started yet; they are stopped at its end."""
    made: list[Deployment] = []

    def make(folder: Path | None = None, **options: Any) -> Deployment:
        made.append(Deployment(folder or tmp_path / f"home{len(made)}", **options))
        return made[-1]

    yield make
    for one in made:
        one.close()
