"""The bus through the command line of a running deployment: publish, tail, dead letters, record and replay."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.runtime.links import open_link
from aico_memory.runtime.settling import quiet
from aico_memory.runtime.waiting import until
from tests.support.deployment import Deployment, MakeDeployment, contents

pytestmark = pytest.mark.deployment
MESSAGE = "memory/working/message/v1/"


def test_a_message_published_by_hand_is_applied_like_any_other(deployment: Deployment) -> None:
    body = json.dumps({"user_id": "hand", "role": "user", "content": "The boiler is serviced in October"})
    published = deployment.ok("publish", MESSAGE.rstrip("/"), body, "--json").json
    assert published["global_sequence"] > 0
    deployment.ok("flush")
    assert contents(deployment.ok("search", "boiler", "--user", "hand", "--json").json) == ["The boiler is serviced in October"]


def test_a_request_published_by_hand_prints_its_answer(deployment: Deployment) -> None:
    page = deployment.ok("publish", "memory/scheduler/jobs/v1/", "{}").json
    assert {"consolidation", "working_sweep"} <= {job["name"] for job in page["jobs"]}


def test_json_that_does_not_fit_the_contract_is_refused_before_anything_is_published(deployment: Deployment) -> None:
    for body in ("not json", '{"no_such_field": 1}', '{"user_id": "hand", "role": "user"}'):
        refused = deployment.run("publish", MESSAGE, body)
        assert (refused.code, "invalid_message" in refused.err) == (2, True)


def test_tail_shows_what_stands_in_the_journal_and_no_words_unless_asked(deployment: Deployment) -> None:
    event = deployment.ok("add", "A sentence for the tail", "--user", "tail", "--json").json["event_ids"][0]
    lines = deployment.ok("tail", MESSAGE, "--from", "0", "--count", "1").out.splitlines()
    assert len(lines) == 1
    head = deployment.status()["head"]
    shown = deployment.ok("tail", MESSAGE, "--from", "0", "--count", str(_messages(deployment)), "--json").out
    entries = [json.loads(line) for line in shown.splitlines()]
    mine = next(entry for entry in entries if entry["event_id"] == event)
    assert mine["global"] <= head
    assert "A sentence for the tail" not in shown
    told = deployment.ok("tail", MESSAGE, "--from", str(mine["global"] - 1), "--count", "1", "--json", "--words").json
    assert told["message"]["content"] == "A sentence for the tail"


def test_tail_hears_live_what_comes(deployment: Deployment) -> None:
    tail = subprocess.Popen(
        [sys.executable, "-m", "aico_memory.cli", "tail", MESSAGE, "--count", "1", "--json"],
        stdout=subprocess.PIPE, text=True, env=deployment.variables,
    )  # fmt: skip
    try:

        def heard() -> bool | None:
            # Until the listener is there it hears nothing, so say it again.
            deployment.ok("add", "Is anybody listening?", "--user", "live")
            return True if tail.poll() is not None else None

        until(heard, 120, "the tail heard nothing", step=0.2)
        assert tail.stdout is not None
        assert json.loads(tail.stdout.read())["user"] == "live"
    finally:
        tail.kill()
        tail.wait()
        if tail.stdout is not None:
            tail.stdout.close()


def test_a_dead_letter_is_listed_shown_and_settled(deployment: Deployment) -> None:
    broken = OutgoingRecord(uuid.uuid4().bytes, MESSAGE, "broken", b"\xff\xffno envelope")
    with open_link(deployment.home, "operator") as link:
        link.publish([broken])[0].result(60)
        quiet(link, 120)
    mine = [entry for entry in deployment.ok("dead-letters", "list", "--json").json if entry["user_id"] == "broken"]
    # Working and semantic memory both hear messages.
    assert {entry["consumer"] for entry in mine} >= {"working", "semantic"}
    assert {entry["code"] for entry in mine} == {"invalid_message"}
    event = str(mine[0]["event_id"])
    assert deployment.ok("dead-letters", "show", event).json["reason"]
    assert deployment.ok("dead-letters", "drop", event, "--json").json["action"] == "drop"
    left = [entry for entry in deployment.ok("dead-letters", "list", "--json").json if entry["user_id"] == "broken"]
    assert left == []
    assert deployment.run("dead-letters", "show", str(uuid.uuid4())).code == 5


def test_a_recording_of_one_deployment_rebuilds_another(
    deployment: Deployment, make_deployment: MakeDeployment, tmp_path: Path
) -> None:
    deployment.ok("add", "This was recorded", "--user", "recorded", "--wait")
    stream = tmp_path / "journal.stream.zst"
    deployment.ok("record", str(stream))
    other = make_deployment("rebuilt")
    other.up()
    account = other.ok("replay", str(stream), "--json").json
    assert account["unexpected"] == []
    assert contents(other.ok("search", "recorded", "--user", "recorded", "--json").json) == ["This was recorded"]


def _messages(deployment: Deployment) -> int:
    with open_link(deployment.home, "operator") as link:
        return int(link.control("consumers", {}).result(60)["topics"][MESSAGE][1])
