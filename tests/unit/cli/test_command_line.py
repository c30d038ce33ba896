"""The command line without a deployment: parsing, help, errors, exit codes."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from aico_memory import errors
from aico_memory.cli import main
from aico_memory.cli.clock import parse_duration
from aico_memory.cli.face import Exit, Face, exit_code, hoist
from aico_memory.clock import SharedManualClock, parse_time
from aico_memory.errors import AicoMemoryError, InvalidMessage
from aico_memory.paths import Home
from aico_memory.vault.curve_keys import list_identities

COMMANDS = (
    "up", "down", "restart", "status", "doctor", "publish", "tail", "record", "replay", "keys", "add", "search", "context",
    "messages", "feedback", "consent", "skills", "select-skill", "flush", "sleep", "jobs", "dead-letters", "export",
    "diff-exports", "verify-replay", "clock", "topics", "reindex", "bench", "recall", "explain", "add-turn", "reinforce",
    "judge", "review", "policy",
)  # fmt: skip


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    for name in (
        "AICO_MEMORY_CLOCK",
        "AICO_MEMORY_PASSPHRASE",
        "AICO_MEMORY_KEY_FILE",
        "AICO_MEMORY_IDENTITY",
        "AICO_MEMORY_USER",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AICO_MEMORY_HOME", str(tmp_path / "home"))
    return Home(tmp_path / "home")


def call(*arguments: str) -> int:
    """The exit code of one call."""
    try:
        return main(list(arguments))
    except SystemExit as ended:
        return int(ended.code or 0)


def test_the_options_of_every_command_may_stand_anywhere() -> None:
    assert hoist(["status", "--json", "--home", "/x"]) == ["--json", "--home", "/x", "status"]
    assert hoist(["add", "--home=/x", "hi", "--user", "ana"]) == ["--home=/x", "add", "hi", "--user", "ana"]
    assert hoist(["add", "--", "--json"]) == ["add", "--", "--json"]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(name, "--help") == 0
    assert "Usage: aico-memory" in capsys.readouterr().out


def test_the_help_names_the_exit_codes_and_first_steps(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("--help") == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Exit codes: 0 done" in text
    assert "aico-memory up --detach" in text


def test_every_error_has_a_documented_exit_code() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, AicoMemoryError)]
    assert {exit_code(kind("x")) for kind in kinds} <= set(Exit)
    assert exit_code(errors.BusUnavailable("x")) is Exit.NOT_RUNNING
    assert exit_code(errors.NotAuthorised("x")) is Exit.REFUSED
    assert exit_code(errors.SkillNotFound("x")) is Exit.NOT_FOUND
    assert exit_code(errors.DeadlineExceeded("x")) is Exit.DEADLINE
    assert exit_code(errors.NaiveTime("x")) is Exit.USAGE


def test_an_error_is_one_line_with_code_and_mend(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("search", "tea", "--user", "ana") == Exit.NOT_RUNNING
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "bus_unavailable" in captured.err
    assert "aico-memory up" in captured.err


def test_an_error_in_json_is_machine_readable(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("jobs", "--json") == Exit.NOT_RUNNING
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "bus_unavailable"


def test_wrong_usage_is_two(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("add") == Exit.USAGE
    assert call("feedback", "m", "s", "7", "--user", "ana") == Exit.USAGE
    assert "invalid_reward" in capsys.readouterr().err


def test_status_of_a_home_where_nothing_runs(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("status", "--json") == Exit.NOT_RUNNING
    report = json.loads(capsys.readouterr().out)
    assert (report["ready"], report["running"], report["processes"]) == (False, False, [])


def test_keys_are_made_listed_rotated_and_revoked(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("keys", "init") == 0
    assert call("keys", "add", "phone", "--role", "client", "--user", "ana") == 0
    before = {entry.name: entry for entry in list_identities(home)}
    assert before["phone"].scopes == ("ana",)
    assert {"default", "operator", "working", "semantic"} <= before.keys()
    assert call("keys", "rotate", "phone") == 0
    assert call("keys", "revoke", "phone") == 0
    phones = [entry for entry in list_identities(home) if entry.name == "phone"]
    assert len(phones) == 2
    assert all(entry.revoked_at for entry in phones)
    capsys.readouterr()
    assert call("keys", "list", "--json") == 0
    assert "secret" not in capsys.readouterr().out
    assert call("keys", "revoke", "nobody") == Exit.NOT_FOUND


def test_the_master_key_moves_from_development_to_a_passphrase(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    assert call("keys", "init") == 0
    monkeypatch.setenv("NEW", "correct horse battery staple")
    assert call("keys", "rotate-master", "--new-passphrase-env", "NEW") == 0
    assert call("keys", "init") == Exit.REFUSED
    monkeypatch.setenv("AICO_MEMORY_PASSPHRASE", "correct horse battery staple")
    assert call("keys", "init") == 0
    assert call("keys", "rotate-master") == Exit.USAGE


def test_a_clock_can_be_turned_where_it_is_manual_only(
    home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home.ensure()
    assert call("clock", "advance", "1d") == Exit.ERROR
    monkeypatch.setenv("AICO_MEMORY_CLOCK", "manual")
    assert call("clock", "set", "2026-03-01T10:00:00+01:00") == 0
    assert call("clock", "advance", "1d2h") == 0
    clock = SharedManualClock(home.manual_clock)
    assert clock.now() == parse_time("2026-03-02T11:00:00+00:00")
    clock.close()
    assert call("clock", "set", "2026-03-01T10:00:00") == Exit.USAGE
    assert "naive_time" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("15m", 900), ("1h30m", 5400), ("2d", 172_800), ("1.5h", 5400), ("250ms", 0.25)],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "soon", "-3d", "3 fortnights", "1h-30m"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(InvalidMessage):
        parse_duration(text)


def test_topics_are_listed_without_a_deployment(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("topics", "--json") == 0
    names = {entry["topic"] for entry in json.loads(capsys.readouterr().out)}
    assert "memory/working/message/v1/" in names


def test_doctor_checks_a_fresh_home_without_a_fault(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("keys", "init") == 0
    capsys.readouterr()
    assert call("doctor", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["ok"]
    assert {"versions", "configuration", "keys", "access", "disk", "processes"} <= {
        entry["subject"] for entry in report["findings"]
    }


def test_doctor_names_what_is_wrong_with_the_schedule(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    (home.root / "config").mkdir(parents=True)
    file = home.root / "config" / "schedule.yaml"
    file.write_text("jobs: {night: {cron: '0 25 * * *', topic: memory/consolidation/start/v1/}}")
    assert call("doctor", "--json") == Exit.ERROR
    told = {one["subject"]: one for one in json.loads(capsys.readouterr().out)["findings"]}["schedule"]
    assert told["level"] == "fault" and "jobs.night.cron" in told["detail"]
    file.write_text("jobs: {night: {cron: '0 2 * * *', topic: memory/consolidation/start/v1/, enabled: false}}")
    call("doctor", "--json")
    told = {one["subject"]: one for one in json.loads(capsys.readouterr().out)["findings"]}["schedule"]
    assert (told["level"], told["detail"]) == ("ok", "0 jobs are on; off: night")


@pytest.mark.parametrize(
    ("path", "content", "named"),
    [
        ("config/ranking/mine.yaml", "weights: {nope: 1}", "ranking profile mine"),
        ("config/memory.yaml", "retrieval: {profile: mine}", "No ranking profile 'mine'"),
        ("config/questions.yaml", "languages: {en: {intents: {nope: [why]}}}", "nope"),
        ("config/language/xx.yaml", "nope: 1", "xx.yaml"),
        ("config/time_cues.yaml", "nope: 1", "time_cues.yaml"),
    ],
)
def test_doctor_names_the_table_with_which_no_worker_starts(
    home: Home, capsys: pytest.CaptureFixture[str], path: str, content: str, named: str
) -> None:
    file = home.root / path
    file.parent.mkdir(parents=True)
    file.write_text(content)
    assert call("doctor", "--json") == Exit.ERROR
    told = {one["subject"]: one for one in json.loads(capsys.readouterr().out)["findings"]}["tables"]
    assert told["level"] == "fault" and named in told["detail"]
    file.unlink()
    call("doctor", "--json")
    told = {one["subject"]: one for one in json.loads(capsys.readouterr().out)["findings"]}["tables"]
    assert told["level"] == "ok"


def test_doctor_tells_whether_words_leave_the_machine(
    home: Home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def told() -> dict[str, str]:
        call("doctor", "--json")
        findings = json.loads(capsys.readouterr().out)["findings"]
        return next(one for one in findings if one["subject"] == "language model")

    assert (told()["level"], "nothing that is said is sent" in told()["detail"]) == ("ok", True)
    prefix = "AICO_MEMORY_SET__language_model__"
    for name, value in (("enabled", "true"), ("model", "local"), ("endpoint", "https://models.example.com/v1")):
        monkeypatch.setenv(prefix + name, value)
    assert (told()["level"], "allowed_hosts" in told()["mend"] + told()["detail"]) == ("fault", True)
    monkeypatch.setenv(prefix + "allowed_hosts", "[models.example.com]")
    monkeypatch.setenv("AICO_MEMORY_LLM_API_KEY", "sk-secret")
    assert (told()["level"], told()["detail"]) == ("note", "what people say is sent to models.example.com (local), with a key")


def test_doctor_names_a_key_file_that_others_can_read_and_its_mend(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("keys", "init") == 0
    (home.curve / "default.json").chmod(0o644)
    capsys.readouterr()
    assert call("doctor", "--json") == Exit.ERROR
    report = json.loads(capsys.readouterr().out)
    fault = next(entry for entry in report["findings"] if entry["level"] == "fault")
    assert "chmod" in fault["mend"]


def test_two_exports_are_compared_by_content(home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    one.write_text('{"section": "s", "key": "k", "value": 1}\n')
    other.write_text('{"section": "s", "key": "k", "value": 2}\n')
    assert call("diff-exports", str(one), str(one), "--json") == 0
    assert call("diff-exports", str(one), str(other), "--json") == 1
    lines = capsys.readouterr().out.splitlines()
    assert json.loads(lines[0]) == {"equal": True}
    assert json.loads(lines[1])["fields"] == ["value"]


def test_tables_in_a_pipe_are_not_cut(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    Face(home).table(("a",), [["x" * 300]])
    assert "x" * 300 in capsys.readouterr().out


def test_an_outcome_in_the_place_of_the_target_is_not_recorded_as_one(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("outcomes", "record", "s1", "add_habit", "rejected") == Exit.USAGE
    assert "--outcome rejected" in capsys.readouterr().err
