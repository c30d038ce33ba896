"""What `status` and `doctor` make of the workers' accounts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aico_memory.cli import status
from aico_memory.cli.announce import announce
from aico_memory.cli.checks import all_findings
from aico_memory.cli.face import Face
from aico_memory.cli.status import alarm_words, store_sizes, worker_alarms
from aico_memory.paths import Home
from aico_memory.runtime.deployment import ProcessState, ProcessTable


def test_a_worker_that_does_not_answer_is_an_alarm_with_its_mend() -> None:
    (alarm,) = worker_alarms({"working": {"pid": 1}, "semantic": {"error": "deadline_exceeded"}})
    assert (alarm["alarm"], alarm["process"]) == ("worker_silent", "semantic")
    assert alarm["mend"] == "aico-memory restart semantic"


def test_vectors_of_another_model_are_an_alarm_that_names_the_command_to_embed_anew() -> None:
    fits = {"semantic": {"model_mismatch": False, "fingerprint": "minilm|384|ab"}}
    assert worker_alarms(fits) == []
    (alarm,) = worker_alarms({"semantic": {"model_mismatch": True, "fingerprint": "minilm|384|ab"}})
    assert "minilm|384|ab" in alarm["detail"]
    assert "aico-memory reindex --rebuild" in alarm["mend"]


def test_an_alarm_is_one_line_whoever_raised_it() -> None:
    broker = {"alarm": "consumer_holds_retention", "consumer": "semantic", "records": 7}
    assert alarm_words(broker) == "consumer_holds_retention: consumer semantic, records 7"
    worker = {"alarm": "worker", "process": "working", "detail": "5 experiences expired", "mend": "…"}
    assert alarm_words(worker) == "worker: process working: 5 experiences expired"
    assert alarm_words({"alarm": "bus_unavailable", "detail": "Nothing listens"}) == "bus_unavailable: Nothing listens"


def test_a_start_is_told_as_json_where_that_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = ProcessTable(
        7, True, "2026-01-01T00:00:00+00:00", "system", "passphrase", (ProcessState("broker", 8, "running", 0, ""),)
    )
    announce(Face(Home(tmp_path), as_json=True), table)
    told = json.loads(capsys.readouterr().out)
    assert (told["ready"], told["supervisor"]) == (True, 7)
    assert [(process["name"], process["pid"]) for process in told["processes"]] == [("broker", 8)]


def test_doctor_names_what_a_spool_has_set_aside(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.spool.mkdir()
    assert not [one for one in all_findings(Face(home, as_json=True)) if one.subject == "spool"]
    aside = home.spool / "default.refused"
    aside.write_bytes(bytes(300))
    (finding,) = [one for one in all_findings(Face(home, as_json=True)) if one.subject == "spool"]
    assert (finding.level, finding.detail.split(";")[0]) == ("note", "the bus refused what default had kept")
    assert "300 bytes" in finding.detail
    assert str(aside) in finding.detail
    assert "give it again" in finding.mend


def test_status_shows_sizes_and_whether_the_machine_is_idle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = Home(tmp_path)
    home.journal.mkdir()
    (home.journal / "segment.mdb").write_bytes(bytes(3_000_000))
    with (home.journal / "mapped.mdb").open("wb") as sparse:
        sparse.truncate(1_000_000_000)
    table = ProcessTable(7, True, "2026-01-01T00:00:00+00:00", "system", "passphrase", ())
    monkeypatch.setattr(status, "running_supervisor", lambda home: 7)
    monkeypatch.setattr(status, "read_table", lambda home: table)
    monkeypatch.setattr(status, "_ask", lambda face, table, report: report.update(idle=False))
    assert list(store_sizes(home)) == ["journal"]
    assert 2_900_000 < store_sizes(home)["journal"] < 4_000_000
    report = status.gather_status(Face(home))
    assert report["sizes"] == store_sizes(home)
    status._print(Face(home), report)
    shown = capsys.readouterr().out
    assert "sizes       journal 3.0 MB\n" in shown
    assert "idle        no\n" in shown
