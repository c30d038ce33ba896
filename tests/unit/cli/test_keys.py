"""Identities by the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aico_memory import MemoryClient
from aico_memory.cli import main
from aico_memory.errors import ConfigurationInvalid
from aico_memory.paths import Home
from aico_memory.settings.load import load_settings
from aico_memory.stores.ownership import leave_proof
from aico_memory.vault.curve_keys import list_identities
from aico_memory.vault.master import open_vault


def call(home: Home, *arguments: str) -> int:
    """The exit code of one call."""
    try:
        return main(["--json", "--home", str(home.root), *arguments])
    except SystemExit as ended:
        return int(ended.code or 0)


def test_a_role_that_the_broker_does_not_know_gets_no_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = Home(tmp_path / "home")
    assert call(home, "keys", "init") == 0
    capsys.readouterr()
    assert call(home, "keys", "add", "phone", "--role", "reader") == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert "'reader'" in error["detail"]
    assert "client, " in error["mend"] and "operator" in error["mend"]
    assert "phone" not in {entry.name for entry in list_identities(home)}
    assert call(home, "keys", "add", "phone", "--role", "observer") == 0


def test_a_home_that_is_a_file_is_one_line_and_no_traceback(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "home").write_text("not a folder")
    for arguments in (("up", "--detach"), ("keys", "init")):
        assert call(Home(tmp_path / "home"), *arguments) == 1
        error = json.loads(capsys.readouterr().out)["error"]
        assert error["code"] == "configuration_invalid"
        assert "home" in error["detail"]


def test_a_client_says_in_a_typed_error_what_the_system_refused(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config").write_text("not a folder")
    (tmp_path / "home" / "spool").write_text("not a folder")
    assert call(Home(tmp_path / "home"), "keys", "init") == 0
    with pytest.raises(ConfigurationInvalid, match="spool"):
        MemoryClient.connect(tmp_path / "home", spool=True)


def test_doctor_names_a_store_that_the_keys_of_its_home_do_not_open(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AICO_MEMORY_PASSPHRASE", "AICO_MEMORY_KEY_FILE"):
        monkeypatch.delenv(name, raising=False)
    home = Home(tmp_path / "home")
    assert call(home, "keys", "init") == 0
    for store in ("semantic", "behavioral"):
        home.store(store).mkdir(mode=0o700)
    ours = open_vault(home, load_settings(home).security, {}).store_key("semantic")
    leave_proof(home.store("semantic") / "semantic.db.proof", ours)
    capsys.readouterr()
    assert call(home, "doctor") == 0
    assert "semantic 0.0 MB" in told_by_doctor(capsys, "stores")["detail"]
    leave_proof(home.store("behavioral") / "behavioral.db.proof", bytes(32))
    assert call(home, "doctor") == 1
    finding = told_by_doctor(capsys, "stores")
    assert finding["level"] == "fault"
    assert str(home.store("behavioral")) in finding["detail"]


def told_by_doctor(capsys: pytest.CaptureFixture[str], subject: str) -> dict[str, str]:
    """The finding about one subject."""
    findings: list[dict[str, str]] = json.loads(capsys.readouterr().out)["findings"]
    return next(one for one in findings if one["subject"] == subject)
