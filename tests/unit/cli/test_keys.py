"""Identities by the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aico_memory.cli import main
from aico_memory.paths import Home
from aico_memory.vault.curve_keys import list_identities


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
