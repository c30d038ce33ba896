"""What is given to the command line and is no text, and what it shows of texts that would control a terminal."""

from __future__ import annotations

import io
import json
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from aico_memory.cli import main
from aico_memory.cli.face import Exit, Face
from aico_memory.domain.retrieval.escaping import without_controls

NASTY = "My tea\x1b]0;pwn\x07 is \x1b[31mEarl\x9b2J\u202e Grey\r."
HIT: dict[str, Any] = {
    "id": "m1", "memory": NASTY, "kind": "fact", "created_at": "2026-03-01T12:00:00+00:00", "sources": [], "status": "active",
    "valid_from": None, "valid_until": None, "value": NASTY, "confidence": 0.8,
}  # fmt: skip


class Stored:
    """A client whose memory holds one nasty text; keeps what it is given."""

    def __init__(self) -> None:
        self.added: list[Any] = []

    def add(self, messages: list[Any], user: str, **more: Any) -> list[str]:
        self.added += messages
        return ["e1"]

    def search(self, *more: Any, **named: Any) -> dict[str, Any]:
        return {"results": [HIT], "degraded": [], "cut": False}

    get_all = recall = search

    def messages(self, user: str, **more: Any) -> list[dict[str, Any]]:
        return [{"timestamp": "t", "role": "user", "name": NASTY, "content": NASTY, "event_id": "e1"}]

    def get(self, *more: Any) -> dict[str, Any]:
        return {"id": "m1", "memory": NASTY}

    def export_behavior(self, user: str) -> list[dict[str, Any]]:
        return [{"section": "behavioral.feedback", "free_text": "lovely"}]


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Stored:
    made = Stored()

    @contextmanager
    def connected(face: Face) -> Iterator[Stored]:
        yield made

    monkeypatch.setattr(Face, "client", connected)
    monkeypatch.setenv("AICO_MEMORY_HOME", str(tmp_path / "home"))
    return made


def call(*arguments: str) -> int:
    try:
        return int(main(list(arguments)))
    except SystemExit as ended:
        return int(ended.code or 0)


def told(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["error"]
    return found


@pytest.mark.parametrize(
    "arguments", [("search", "tea"), ("list",), ("recall", "Which tea?"), ("messages",), ("get", "m1"), ("get", "m1", "--json")]
)
def test_no_stored_text_controls_the_terminal(
    stored: Stored, arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(*arguments) == 0
    shown = capsys.readouterr().out
    assert "Earl" in shown and "Grey" in shown
    assert all(letter.isprintable() or letter == "\n" for letter in shown)


def test_json_still_holds_the_text_as_it_was_said(stored: Stored, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("search", "tea", "--json") == 0
    assert json.loads(capsys.readouterr().out)["results"][0]["memory"] == NASTY


def test_ordinary_text_is_shown_as_it_is() -> None:
    for text in ("Grüße, çay!\n\tзавтра 👩\u200d👩\u200d👧", "می\u200cخواهم", ""):
        assert without_controls(text) == text


def test_standard_input_that_is_no_utf_8_is_refused_by_its_line(
    stored: Stored, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    good = '{"role": "user", "content": "Grüße"}\n'.encode()
    for given, where in ((b'\xff\xfe{"a":1}\n', "Line 1 is no UTF-8"), (good + b"{\n", "Line 2 is no JSON")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        assert call("add", "-", "--json") == Exit.USAGE
        error = told(capsys)
        assert error["code"] == "invalid_message" and where in error["detail"]
    assert not stored.added
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\n" + good), encoding="ascii"))
    assert call("add", "-") == 0
    assert stored.added == [{"role": "user", "content": "Grüße"}]


@pytest.mark.parametrize("given", [b"\xff\xfe\n", b"no json\n", b"[1]\n", b"[" * 100_000])
def test_files_that_are_no_exports_are_refused(
    stored: Stored, tmp_path: Path, given: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a").write_bytes(given)
    (tmp_path / "b").write_bytes(b"{}\n")
    assert call("diff-exports", str(tmp_path / "a"), str(tmp_path / "b"), "--json") == Exit.USAGE
    assert "none of an export" in told(capsys)["detail"]


def test_what_is_missing_is_named(stored: Stored, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("recall", "--json") == Exit.USAGE
    assert "missing argument" in (detail := told(capsys)["detail"]).lower() and "question" in detail.lower()


@pytest.mark.usefixtures("stored")
def test_an_export_of_behaviour_is_read_by_its_writer_alone_and_replaces_no_file_unasked(tmp_path: Path) -> None:
    file = tmp_path / "ana.jsonl"
    assert call("behavior-export", "--user", "ana", "-o", str(file)) == Exit.OK
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert json.loads(file.read_text())["free_text"] == "lovely"
    file.write_text("mine")
    assert call("behavior-export", "--user", "ana", "-o", str(file)) != Exit.OK
    assert file.read_text() == "mine"
    assert call("behavior-export", "--user", "ana", "-o", str(file), "--force") == Exit.OK
    assert "lovely" in file.read_text()
