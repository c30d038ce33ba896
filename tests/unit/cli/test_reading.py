"""What the verbs of reading hand on to the client, and what they show of its answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from aico_memory.cli import main
from aico_memory.cli.face import Face

LINK = {"layer": "L0", "id": "e1", "what": "rests_on", "present": False}


class Recorded:
    """A client that keeps what it is asked and answers with nothing much."""

    def __init__(self) -> None:
        self.asked: dict[str, dict[str, Any]] = {}

    def search(self, query: str, user: str, **more: Any) -> dict[str, Any]:
        self.asked["search"] = more
        return {"results": [], "dropped": [{"id": "m7", "rule": "top_k"}], "degraded": []}

    def context(self, query: str, user: str, **more: Any) -> dict[str, Any]:
        self.asked["context"] = more
        return {"text": "", "timings_ms": {}, "cached": False, "tokens": 0, "items": [], "degraded": []}

    def disclose(self, user: str, depth: str, *query: str, **more: Any) -> dict[str, Any]:
        self.asked["disclose"] = more
        return {"results": [], "tokens": 0, "tokens_in_full": 0, "degraded": []}

    def query_unified(self, *more: Any) -> dict[str, Any]:
        self.asked["unified"] = {"top_k": more[3]}
        return {"results": [], "degraded": ["working"]}

    def verify_links(self, user: str, limit: int) -> dict[str, Any]:
        return {"memories": 1, "links": 1, "sound": 0, "dangling": [LINK], "without_record": [], "complete": False}


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Recorded:
    recorded = Recorded()

    @contextmanager
    def connected(face: Face) -> Iterator[Recorded]:
        yield recorded

    monkeypatch.setattr(Face, "client", connected)
    monkeypatch.setenv("AICO_MEMORY_HOME", str(tmp_path / "home"))
    return recorded


def call(*arguments: str) -> int:
    try:
        return int(main(list(arguments)))
    except SystemExit as ended:
        return int(ended.code or 0)


def test_what_is_not_given_is_left_to_the_configuration(client: Recorded) -> None:
    for arguments in (("search", "tea"), ("context", "tea"), ("disclose", "search", "tea"), ("unified", "tea")):
        assert call(*arguments, "--user", "ana") == 0
    assert [client.asked[name]["top_k"] for name in ("search", "disclose", "unified")] == [None, None, None]
    assert client.asked["context"]["max_tokens"] is None


def test_every_option_of_reading_reaches_the_client(client: Recorded) -> None:
    assert call("search", "tea", "--profile", "hybrid", "-k", "3") == 0
    assert (client.asked["search"]["profile"], client.asked["search"]["top_k"]) == ("hybrid", 3)
    assert call("context", "tea", "--selection", "chosen", "--max-tokens", "90") == 0
    assert (client.asked["context"]["selection_id"], client.asked["context"]["max_tokens"]) == ("chosen", 90)
    assert call("disclose", "search", "tea", "--as-of", "2026-01-01T00:00:00Z", "--known-as-of", "2026-02-01T00:00:00Z") == 0
    asked = client.asked["disclose"]
    assert (asked["as_of"], asked["known_as_of"]) == ("2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z")


def test_what_was_left_out_and_what_leads_nowhere_is_named(client: Recorded, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("search", "tea", "--explain") == 0
    assert "left out  m7  top_k" in capsys.readouterr().out
    assert call("verify-links") == 0
    told = capsys.readouterr().out
    assert "not all could be looked at" in told and "dangling  L0  e1" in told
    assert call("unified", "tea") == 0
    assert "degraded  working" in capsys.readouterr().err
