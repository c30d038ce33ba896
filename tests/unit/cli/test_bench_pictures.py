"""What benchmarks need or are to measure is looked at before anything is measured."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from aico_memory.cli import main
from aico_memory.cli.face import Exit


@pytest.mark.parametrize(
    "arguments",
    [["bench", "sleep", "--picture", "month.png"], ["bench", "behavior", "--curves", "curves"]],
    ids=lambda one: one[1],
)
def test_without_matplotlib_nothing_is_measured_first(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("it was measured")

    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    monkeypatch.setattr("aico_memory.bench.sleep.nights.run_nights", never)
    monkeypatch.setattr("aico_memory.bench.behavior.run.run", never)
    assert main([*arguments, "--json"]) == Exit.ERROR
    told = json.loads(capsys.readouterr().out)["error"]
    assert (told["code"], "aico-memory[bench]" in told["mend"]) == ("configuration_invalid", True)


@pytest.mark.parametrize("share", ["0", "7", "-1", "nan"])
def test_a_share_of_feedback_that_is_none_is_refused_before_anything_is_measured(
    share: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("it was measured")

    monkeypatch.setattr("aico_memory.bench.behavior.run.run", never)
    with pytest.raises(SystemExit, match=str(Exit.USAGE.value)):
        main(["bench", "behavior", f"--feedback={share}"])


def test_a_part_of_the_retrieval_benchmark_that_there_is_not_is_refused_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("the model was loaded")

    monkeypatch.setattr("aico_memory.bench.retrieval.local.open_workshop", never)
    with pytest.raises(SystemExit, match=str(Exit.USAGE.value)):
        main(["bench", "retrieval", "--data", str(tmp_path), "--only", "languages", "--only", "conversation"])
