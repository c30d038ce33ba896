"""kill -9 of every process under load, in small; `aico-memory bench faults` does the same a hundred times."""

from __future__ import annotations

import os

import pytest

from aico_memory.bench.faults.run import PROCESSES, Plan, run_faults
from tests.support.exports import export_folder

pytestmark = [pytest.mark.deployment, pytest.mark.faults, pytest.mark.timeout(900)]


def test_ten_kills_lose_nothing_double_nothing_and_leave_the_state_of_a_run_without_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [name for name in os.environ if name.startswith("AICO_MEMORY_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AICO_MEMORY_SET__models__export_folder", str(export_folder()))
    verdict = run_faults(Plan(kills_each=1, kills_more=2, seed=7, pause=0.03, down_at_once=2), lambda said: None)
    assert sum(verdict.kills.values()) == 10
    assert set(verdict.kills) == set(PROCESSES)
    assert verdict.acknowledged == verdict.steps > 50
    assert verdict.sleeps > 0
    # Whole or with a tier missing: how many of each is a matter of the machine's speed.
    assert verdict.answers.get("whole", 0) + verdict.answers.get("degraded", 0) > 0
    assert verdict.lost == []
    assert verdict.doubled == []
    assert verdict.unfound == []
    assert verdict.differences == []
    assert verdict.held
