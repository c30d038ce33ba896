"""What the command line refuses, and what it says then: files, identities, wrong usage, topics without a past, progress."""

from __future__ import annotations

import gzip
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import zstandard

from aico_memory.cli import checks, main, streams
from aico_memory.cli.detach import read_answer
from aico_memory.cli.face import Exit, hoist
from aico_memory.cli.status import alarm_words
from aico_memory.contracts.recording import create_recording, new_header
from aico_memory.errors import InvalidMessage, StorageFull
from aico_memory.paths import Home
from aico_memory.settings.bus import BusSettings
from aico_memory.vault.curve_keys import list_identities


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    for name in ("AICO_MEMORY_CLOCK", "AICO_MEMORY_PASSPHRASE", "AICO_MEMORY_KEY_FILE", "AICO_MEMORY_IDENTITY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AICO_MEMORY_HOME", str(tmp_path / "home"))
    return Home(tmp_path / "home")


@pytest.fixture
def call(home: Home) -> Callable[..., int]:
    def run(*arguments: str) -> int:
        try:
            return int(main(list(arguments)))
        except SystemExit as ended:
            return int(ended.code or 0)

    return run


@pytest.mark.parametrize(
    "arguments",
    [("search", "x", "-k", "0"), ("search",), ("nonsense",), ("search", "x", "--nonsense"), ("add", "x", "--user")],
)
def test_wrong_usage_is_told_to_programs_like_every_other_error(
    call: Callable[..., int], arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(*arguments, "--json") == Exit.USAGE
    told = json.loads(capsys.readouterr().out)["error"]
    assert told["code"] == "invalid_message" and told["detail"] and "--help" in told["mend"]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [(("search", "x", "-k", "5000"), "--top-k"), (("context", "x", "--max-tokens", "abc"), "--max-tokens"),
     (("context", "x", "--mood", "3"), "--mood"), (("recall",), "question"), (("verify-links", "--limit", "0"), "--limit")],
)  # fmt: skip
def test_wrong_usage_names_the_option_or_argument_to_programs_as_well(
    call: Callable[..., int], arguments: tuple[str, ...], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(*arguments, "--json") == Exit.USAGE
    assert named in json.loads(capsys.readouterr().out)["error"]["detail"]


@pytest.mark.parametrize("group", ["sleep", "dead-letters", "clock", "keys", "bench", "policy"])
def test_a_group_without_a_command_is_wrong_usage_to_programs_and_help_to_people(
    call: Callable[..., int], group: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(group, "--json") == Exit.USAGE
    assert json.loads(capsys.readouterr().out)["error"]["detail"] == "Missing command"
    assert call(group) == Exit.USAGE
    assert f"Usage: aico-memory {group}" in capsys.readouterr().out


@pytest.mark.parametrize("value", ["a=[", "a={", "a=2026-99-99", "a=!!python/object:x {}"])
def test_a_value_of_a_setting_that_is_no_yaml_is_refused_by_name(
    call: Callable[..., int], value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("evaluate-policy", "--set", value) == Exit.USAGE
    assert f"'{value}' is no YAML" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    "arguments",
    [("advance", "99999999999w"), ("advance", "1" + "0" * 400), ("advance", "9000000d"), ("set", "9999-12-31T23:59:59-10:00")],
)
def test_a_clock_is_not_turned_out_of_the_calendar(
    call: Callable[..., int], arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AICO_MEMORY_CLOCK", "manual")
    assert call("clock", "set", "2026-03-01T10:00:00+01:00") == 0
    assert call("clock", *arguments) == Exit.USAGE
    assert "calendar" in capsys.readouterr().err
    assert call("clock", "show") == 0
    assert "2026-03-01T09:00:00+00:00" in capsys.readouterr().out


def test_exit_codes_and_help_are_the_same_with_json(call: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    assert call("status", "--json") == Exit.NOT_RUNNING
    assert call("search", "--help", "--json") == 0
    assert "Usage: aico-memory search" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [("search", "hi", "--home"), ("search", "hi", "--identity", "--json")])
def test_an_option_without_its_value_is_named(arguments: tuple[str, ...]) -> None:
    with pytest.raises(InvalidMessage, match=f"{arguments[2]} needs a value"):
        hoist(arguments)


def test_an_identity_that_the_deployment_works_with_is_revoked_by_force_only(
    home: Home, call: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("keys", "init") == 0
    for name in ("operator", "semantic", "default"):
        assert call("keys", "revoke", name) == Exit.USAGE
        assert f"keys rotate {name}" in capsys.readouterr().err
    assert all(entry.revoked_at is None for entry in list_identities(home))
    assert call("keys", "revoke", "semantic", "--force") == 0
    capsys.readouterr()
    assert call("keys", "init") == 0
    told = " ".join(capsys.readouterr().out.split())
    assert f"{len(list_identities(home)) - 1} identities" in told
    assert "aico-memory keys add semantic --role semantic" in told
    assert call("keys", "add", "semantic", "--role", "semantic") == 0
    assert call("keys", "init", "--json") == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["revoked"] == []


def test_whoever_is_not_let_in_is_looked_for_in_the_list(call: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    assert call("keys", "init") == 0
    for verb in ("revoke", "rotate"):
        assert call("keys", verb, "nobody") == Exit.NOT_FOUND
        assert "keys list" in capsys.readouterr().err


def test_recordings_are_private_and_a_file_that_stands_there_is_kept(
    tmp_path: Path, call: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "monday.stream"
    with create_recording(file, new_header("monday", 1)):
        pass
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    before = file.read_bytes()
    for arguments in (("record", str(file)), ("export", "-o", str(file))):
        assert call(*arguments) == Exit.USAGE
        assert "--force" in capsys.readouterr().err
        assert call(*arguments, "--force") == Exit.NOT_RUNNING
    assert file.read_bytes() == before


def test_an_export_is_private(tmp_path: Path, call: Callable[..., int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "export_lines", lambda face, user: ["{}"])
    file = tmp_path / "today.jsonl"
    file.write_text("old")
    assert call("export", "-o", str(file), "--force") == 0
    assert file.read_text() == "{}\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("name", "content"),
    [("hostname", b"vm-17\n"), ("a.gz", b"vm-17\n"), ("b.gz", gzip.compress(b"vm-17\n", mtime=0)), ("c.zst", b"vm-17\n"),
     ("d.zst", zstandard.compress(b"vm-17\n"))],
)  # fmt: skip
def test_what_is_no_recording_is_called_that(
    name: str, content: bytes, tmp_path: Path, call: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    assert call("replay", str(file)) == Exit.USAGE
    assert "is no recording" in capsys.readouterr().err


class _Ended(Exception):
    """Enough was heard."""


def test_topics_without_a_past_are_named(
    call: Callable[..., int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    consumed: list[list[str]] = []

    class Link:
        epoch = 1

        def __enter__(self) -> Link:
            return self

        def __exit__(self, *_: object) -> None:
            return

        def consume(self, topics: list[str], epoch: int, start: int) -> Any:
            consumed.append(topics)
            raise _Ended

    monkeypatch.setattr("aico_memory.cli.face.Face.operator", lambda face: Link())
    assert call("tail", "--from", "0", "memory/bus/heartbeat/v1/") == Exit.USAGE
    assert "have no past: memory/bus/heartbeat/v1/" in capsys.readouterr().err
    with pytest.raises(_Ended):
        call("tail", "--from", "0", "memory/bus/heartbeat/v1/", "memory/working/message/v1/")
    assert "memory/bus/heartbeat/v1/" in capsys.readouterr().err
    assert consumed == [["memory/working/message/v1/"]]


def test_what_has_been_lost_is_told_and_is_no_fault_for_good(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    alarms = [
        {"alarm": "worker", "process": "working", "detail": "1 experiences expired", "mend": "Let nights run.", "past": True},
        {"alarm": "worker", "process": "model", "detail": "broken"},
    ]
    report = {"running": True, "processes": [], "alarms": alarms, "model": None, "consumers": []}
    monkeypatch.setattr(checks, "gather_status", lambda face: report)
    told = [
        (one.level, one.detail, one.mend) for one in checks._processes(SimpleNamespace(home=home)) if one.subject == "alarms"
    ]
    assert [level for level, _, _ in told] == ["note", "fault"]
    assert told[0][2] == "Let nights run." and "past" not in alarm_words(alarms[0])


def test_a_full_disk_names_settings_that_there_are() -> None:
    named = [word.strip(".,") for word in StorageFull("full").mend.split() if word.startswith("bus.")]
    assert named and {word.removeprefix("bus.") for word in named} <= BusSettings.model_fields.keys()


def test_the_skill_in_the_help_is_one_that_there_is(call: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    assert call("feedback", "--help") == 0
    assert call("feedback", "give", "--help") == 0
    shipped = (Path(__file__).resolve().parents[3] / "config/behavioral_skills.yaml").read_text()
    told = capsys.readouterr().out
    assert "concise_response" in told and "concise_response" in shipped and "concise_answer" not in told


def test_progress_is_told_before_the_last_word() -> None:
    reader, writer = os.pipe()
    lines: list[str] = []
    os.write(writer, b'{"progress": "broker ready"}\n{"progress": "working ready"}\n{"ready": true}\n')
    assert read_answer(reader, 5.0, lines.append) == {"ready": True}
    assert lines == ["broker ready", "working ready"]
    os.write(writer, b'{"progress": "broker ready"}\n')
    os.close(writer)
    assert read_answer(reader, 5.0, lines.append) is None
    os.close(reader)
