"""What the verbs of reading hand on to the client, and what they show of its answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from aico_memory.cli import main
from aico_memory.cli.face import Face

FINDING = {"id": "m8", "decision": "repaired", "rule": "dangling_reference", "others": ["m9"]}
UPDATED = {
    "memories": 3, "links": 5, "dangling": 1, "repaired": 1, "without_record": 0, "vectors": 2, "findings": [FINDING],
}  # fmt: skip
LINK = {"layer": "L0", "id": "e1", "what": "rests_on", "present": False}


class Recorded:
    """A client that keeps what it is asked and answers with nothing much."""

    def __init__(self) -> None:
        self.asked: dict[str, dict[str, Any]] = {}
        self.found: list[dict[str, Any]] = []

    def search(self, query: str, user: str, **more: Any) -> dict[str, Any]:
        self.asked["search"] = more
        return {"results": self.found, "dropped": [{"id": "m7", "rule": "top_k"}], "degraded": []}

    def context(self, query: str, user: str, **more: Any) -> dict[str, Any]:
        self.asked["context"] = more
        return {"text": "", "timings_ms": {}, "cached": False, "tokens": 0, "items": [], "degraded": []}

    def disclose(self, user: str, depth: str, *query: str, **more: Any) -> dict[str, Any]:
        self.asked["disclose"] = more
        return {"results": [], "tokens": 0, "tokens_in_full": 0, "degraded": []}

    def query_unified(self, *more: Any) -> dict[str, Any]:
        self.asked["unified"] = {"top_k": more[3]}
        return {"results": [], "degraded": ["working"]}

    def verify_links(self, user: str, limit: int, repair: bool, group_id: str | None, project_id: str | None) -> dict[str, Any]:
        self.asked["verify-links"] = {"group_id": group_id, "project_id": project_id}
        found = {
            "memories": 1,
            "links": 1,
            "sound": 0,
            "dangling": [LINK],
            "without_record": [],
            "degraded": [],
            "complete": False,
        }
        return {**found, "repaired": UPDATED} if repair else found

    def update_index(self, user: str, memory_ids: Sequence[str], **more: Any) -> dict[str, Any]:
        self.asked["update-index"] = {"memory_ids": memory_ids, **more}
        return UPDATED


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


def test_disclose_filters_as_search_does_and_tells_of_outcomes_at_every_depth(client: Recorded) -> None:
    assert call("disclose", "search", "tea", "--tier", "semantic", "--status", "active", "-s", "chat") == 0
    assert client.asked["disclose"]["filters"] == {"tier": ["semantic"], "status": ["active"], "session_id": "chat"}
    assert call("disclose", "search", "tea", "--kind", "outcome", "--tag", "a", "--tag", "b") == 0
    assert client.asked["disclose"]["filters"] == {"kind": ["outcome"], "tag": ["a", "b"]}
    for depth in ("timeline", "detail"):
        assert call("disclose", depth, "o17", "--kind", "outcome") == 0
        assert client.asked["disclose"]["filters"] == {"kind": ["outcome"]}
        assert call("disclose", depth, "m17") == 0
        assert client.asked["disclose"]["filters"] is None


def test_what_was_left_out_and_what_leads_nowhere_is_named(client: Recorded, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("search", "tea", "--explain") == 0
    assert "left out  m7  top_k" in capsys.readouterr().out
    assert call("verify-links") == 0
    told = capsys.readouterr().out
    assert "not all could be looked at" in told and "dangling  L0  e1" in told
    assert "brought up to date" not in told
    assert call("unified", "tea") == 0
    assert "degraded  working" in capsys.readouterr().err


def test_what_is_brought_up_to_date_is_told_as_a_verb_and_as_a_repair(
    client: Recorded, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("update-index", "m8", "m9", "--group", "climbers") == 0
    assert client.asked["update-index"] == {"memory_ids": ["m8", "m9"], "group_id": "climbers", "project_id": None}
    alone = capsys.readouterr().out
    assert call("verify-links", "--repair", "--group", "climbers") == 0
    assert client.asked["verify-links"] == {"group_id": "climbers", "project_id": None}
    beside = capsys.readouterr().out
    for told in (alone, beside):
        assert "3 memories brought up to date: 5 links, 1 dangling, 1 repaired" in told
        assert "repaired  dangling_reference  m8" in told
    assert call("update-index") == 0
    assert client.asked["update-index"]["memory_ids"] == ()


def test_a_hit_is_told_with_when_it_was_said_and_until_when_it_held(
    client: Recorded, capsys: pytest.CaptureFixture[str]
) -> None:
    hit = {
        "id": "m1", "memory": "User lives in Porto", "kind": "fact", "created_at": "2026-11-23T09:00:00+00:00", "score": 0.5,
        "sources": [{"timestamp": "2026-03-01T12:00:00+00:00"}], "valid_from": "2026-03-02T12:00:00+00:00",
        "valid_until": "2026-05-01T12:00:00+00:00", "status": "superseded",
    }  # fmt: skip
    client.found = [hit, {**hit, "id": "m2", "sources": [], "status": "active"}]
    assert call("search", "Porto") == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[1].split() == [
        "2026-03-01T12:00:00+00:00", "superseded", "until", "2026-05-01T12:00:00+00:00", "fact", "m1"
    ]  # fmt: skip
    assert shown[3].split() == ["2026-03-02T12:00:00+00:00", "fact", "m2"]
