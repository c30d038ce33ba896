"""The recorded streams through real processes: what they say happens, and twice the same."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from aico_memory.clock import SharedManualClock, from_us
from aico_memory.contracts.recording import open_recording
from aico_memory.runtime.divergence import first_divergence
from scripts.build_stream import Scenario, build, read_scenario, write_stream
from tests.support.deployment import Deployment, MakeDeployment, contents

pytestmark = [pytest.mark.deployment, pytest.mark.timeout(1500)]
PATIENCE_SECONDS = 500.0
STREAMS = Path(__file__).resolve().parent.parent / "streams"
WRITTEN = sorted(STREAMS.glob("*.yaml"))


def start_of(stream: Path) -> int:
    with open_recording(stream) as (header, _):
        return header.clock_start_us


def opened(stream: Path) -> tuple[bytes, list[bytes]]:
    """Header and frames; the digest of the contracts, which changes with each of them, left out."""
    with open_recording(stream) as (header, frames):
        header.contracts_digest = ""
        return header.SerializeToString(), [frame.SerializeToString() for frame in frames]


# One deployment takes them all, so they come in the order of their time.
IN_ORDER = sorted((path.with_suffix(".stream") for path in WRITTEN), key=start_of)


class Replayed:
    """A deployment that went through all streams."""

    def __init__(self, deployment: Deployment, accounts: dict[str, dict[str, object]], export: list[str]) -> None:
        self.deployment = deployment
        self.accounts = accounts
        self.export = export


def play(deployment: Deployment, stream: Path) -> dict[str, Any]:
    """The account of a replay; a frame that ended otherwise is told by its own test, anything else here and now."""
    done = deployment.run("replay", str(stream), "--json", seconds=PATIENCE_SECONDS)
    account: dict[str, Any] = done.json if done.out else {}
    assert "unexpected" in account, f"{stream.name}: {done.code} {done.out}\n{done.err}\n{deployment.last_words()}"
    return account


def replay_all(root: Path) -> Replayed:
    # The streams span three months of the manual clock: the journal keeps what they said, however long the replay takes.
    deployment = Deployment(root, {"AICO_MEMORY_CLOCK": "manual", "AICO_MEMORY_SET__bus__retention_seconds": "3600"})
    SharedManualClock(deployment.home.manual_clock, from_us(start_of(IN_ORDER[0]))).close()
    deployment.up()
    accounts = {stream.stem: play(deployment, stream) for stream in IN_ORDER}
    return Replayed(deployment, accounts, deployment.ok("export", "--canonical").out.splitlines())


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Replayed, Replayed]]:
    """Two deployments that went through the same streams, side by side."""
    roots = [tmp_path_factory.mktemp(name) / "home" for name in ("first", "second")]
    try:
        with ThreadPoolExecutor(2) as both:
            first, second = both.map(replay_all, roots)
        first.deployment.down()
        yield first, second
    finally:
        for root in roots:
            Deployment(root).down()


def test_the_committed_streams_are_what_the_scenarios_say(tmp_path: Path) -> None:
    assert len(WRITTEN) >= 4
    for scenario in WRITTEN:
        built = tmp_path / f"{scenario.stem}.stream"
        build(scenario, built)
        assert opened(built) == opened(scenario.with_suffix(".stream")), f"run scripts/build_stream.py {scenario.name}"


def test_every_frame_ends_as_its_stream_says_refusals_included(twice: tuple[Replayed, Replayed]) -> None:
    for replayed in twice:
        for name, account in replayed.accounts.items():
            assert account["unexpected"] == [], f"{name}\n{replayed.deployment.last_words()}"
            assert account["frames"] == len(read_scenario(STREAMS / f"{name}.yaml").frames())
        assert replayed.accounts["rough_sea"]["refused"] == 3


def test_replaying_the_same_streams_twice_gives_the_same_bytes(twice: tuple[Replayed, Replayed]) -> None:
    first, second = twice
    assert first_divergence(first.export, second.export) is None
    assert first.export == second.export


def test_every_message_is_found_after_the_replay(twice: tuple[Replayed, Replayed]) -> None:
    asked = 0
    with twice[1].deployment.client() as client:
        for scenario in WRITTEN:
            steps = read_scenario(scenario).steps
            edited = {step[verb]["of"] for step in steps for verb in ("update", "invalidate") if verb in step}
            for message in [step["message"] for step in steps if "message" in step]:
                if message["label"] in edited:
                    continue
                where = {f"{kind}_id": message[kind] for kind in ("group", "project") if kind in message}
                found = client.search(message["content"], message["user"], top_k=3, **where)
                assert message["content"] in contents(found), message["label"]
                asked += 1
            for update in [step["update"] for step in steps if "update" in step]:
                assert update["text"] in contents(client.search(update["text"], update["user"], top_k=3))
    assert asked > 30


def test_a_message_that_was_changed_is_named_as_the_first_difference(make_deployment: MakeDeployment, tmp_path: Path) -> None:
    """The same ten steps twice, one word of the fourth message another: real replays, compared by the command."""
    heading = {"name": "pair", "start": "2026-05-04T09:00:00+00:00"}
    steps: list[dict[str, Any]] = [
        {"message": {"label": f"m{number}", "user": "ida", "role": "user", "content": f"The {number}th box holds cups."}}
        for number in range(10)
    ]
    exports, streams = [], []
    for name, word in (("one", "cups"), ("other", "plates")):
        steps[3]["message"]["content"] = f"The 3rd box holds {word}."
        stream = tmp_path / f"{name}.stream"
        write_stream(Scenario(heading, steps), stream)
        deployment = make_deployment(name, AICO_MEMORY_CLOCK="manual")
        deployment.up("--only", "broker,working,semantic,model")
        assert deployment.ok("replay", str(stream), "--json").json["unexpected"] == []
        exports.append(tmp_path / f"{name}.jsonl")
        deployment.ok("export", "--canonical", "-o", str(exports[-1]))
        streams.append(stream)
    compared = deployment.run("diff-exports", str(exports[0]), str(exports[1]), "--stream", str(streams[0]), "--json")
    assert compared.code == 1
    with open_recording(streams[0]) as (_, frames):
        fourth = [frame.record.event_id for frame in frames][3]
    assert uuid.UUID(compared.json["event_id"]).bytes == fourth
    assert "cups" in compared.json["left"]
    assert "plates" in compared.json["right"]
    same = deployment.run("diff-exports", str(exports[0]), str(exports[0]), "--json")
    assert (same.code, same.json) == (0, {"equal": True})


def test_the_export_holds_what_was_said_and_names_what_it_leaves_out(twice: tuple[Replayed, Replayed]) -> None:
    header, *lines = [json.loads(line) for line in twice[0].export]
    assert header["omitted"]
    said = {
        frame["content"]
        for scenario in WRITTEN
        for step in read_scenario(scenario).steps
        for verb, frame in step.items()
        if verb == "message"
    }
    kept = {line.get("text") for line in lines if line["section"].startswith("semantic.")}
    assert said <= kept
    assert all(line["section"] and line["key"] for line in lines)


def test_the_export_of_one_user_holds_nothing_of_another(twice: tuple[Replayed, Replayed]) -> None:
    _, *lines = twice[1].deployment.ok("export", "--canonical", "--user", "mara").out.splitlines()
    assert any("Karl-Heine-Strasse" in line for line in lines)
    assert not any("Obstgarten" in line or "rack B" in line for line in lines)


def test_a_journal_written_to_a_recording_holds_the_events_of_the_streams(
    twice: tuple[Replayed, Replayed], tmp_path: Path
) -> None:
    deployment = twice[1].deployment
    target = tmp_path / "journal.stream.zst"
    deployment.ok("record", str(target))
    with open_recording(target) as (_, frames):
        found = list(frames)
    recorded = [frame.record.event_id for frame in found]
    played: list[bytes] = []
    for stream in IN_ORDER:
        with open_recording(stream) as (_, frames):
            for frame in frames:
                wanted = frame.WhichOneof("what") == "record" and not frame.expect
                if wanted and frame.record.event_id not in played:
                    played.append(frame.record.event_id)
    topics_beside_played = {frame.record.topic for frame in found if frame.record.event_id not in set(played)}
    assert [event for event in recorded if event in set(played)] == played
    # Between them stand the nights, asked for by marks and by the schedule.
    assert topics_beside_played == {"memory/consolidation/start/v1/", "memory/semantic/self_adjust/v1/"}
