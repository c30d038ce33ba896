"""What lies on disk: no word of anybody with encryption on, nothing touched by a wrong key."""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from aico_memory.bus.link import read_address
from aico_memory.bus.raw_frame import send_raw_frame
from aico_memory.contracts.v1 import envelope_pb2
from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.errors import AccessDenied, InvalidMessage, NotFound, UnknownTopic, WrongKey
from aico_memory.ids import new_id
from aico_memory.vault.curve_keys import add_identity, load_identity
from tests.support.deployment import Deployment, MakeDeployment, contents, eventually, said

pytestmark = pytest.mark.deployment
PASSPHRASE = "correct horse battery staple"
CHEAP = {
    "AICO_MEMORY_SET__security__argon2_memory_kib": "8192",
    "AICO_MEMORY_SET__security__argon2_time": "1",
}


def marker() -> str:
    """A text that stands nowhere else, with a letter beyond ASCII and one beyond the basic plane's first half."""
    return f"Zürgelbaum{uuid.uuid4().hex}漢字"


def spellings(text: str) -> list[bytes]:
    """The byte sequences by which a file could hold it, whole or only its letters that no encoding changes."""
    plain = text.removeprefix("Zürgelbaum").removesuffix("漢字")
    return [part.encode(encoding) for part in (text, plain) for encoding in ("utf-8", "utf-16-le", "utf-16-be")]


def holding(root: Path, texts: list[str]) -> list[tuple[str, str]]:
    """Every file under the folder, links and hidden ones included, that holds one of the texts."""
    found = []
    looked_at = 0
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder) / name
            if not path.is_file():
                continue
            try:
                data = path.read_bytes()
            except FileNotFoundError:
                # A temporary file of a moment.
                continue
            looked_at += 1
            data += str(path.relative_to(root)).encode()
            found += [(str(path), text) for text in texts if any(one in data for one in spellings(text))]
    assert looked_at > 20
    return found


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    run = Deployment(tmp_path_factory.mktemp("sealed") / "home", {"AICO_MEMORY_PASSPHRASE": PASSPHRASE, **CHEAP})
    try:
        run.up()
        yield run
    finally:
        run.down()


def live(run: Deployment) -> dict[str, str]:
    """Everything that a client can say, each with a marker of its own; the markers by what they were said in."""
    marks = {
        name: marker()
        for name in (
            "user", "session", "group", "project", "content", "name", "metadata", "question", "free_text", "selected", "topic",
            "update", "reason", "refused", "poison", "denied", "no_topic", "frame",
        )
    }  # fmt: skip
    user = marks["user"]
    with run.client() as client:
        client.set_consent(user, behavioral=True)
        message = said(
            f"I keep bees near the {marks['content']} tree", name=marks["name"], metadata={"where": marks["metadata"]}
        )
        event, _ = client.add(
            [message, said("and a second one to delete")],
            user_id=user,
            session_id=marks["session"],
            group_id=marks["group"],
            project_id=marks["project"],
        )
        client.flush(120)
        group = {"group_id": marks["group"]}
        records = client.get_all(user, filters={"kind": "record"}, **group)["results"]
        [memory, second] = sorted(records, key=lambda found: found["memory"] != message["content"])
        assert memory["evidence"] == [event]
        assert client.search(f"where is {marks['question']}?", user, **group)["results"]
        # In its own words, so that it is relevant enough to be shown whole.
        asked = f"Who keeps bees near the {marks['content']} tree? {marks['question']}"
        shown = client.context(asked, user, session_id=marks["session"], **group)
        assert marks["content"] in shown["text"]
        chosen = client.select_skill(
            user, f"Explain {marks['selected']} to me", intent="learning", topic=marks["topic"], session_id=marks["session"]
        )
        assert chosen is not None
        thumb = {"reason": "too_brief", "free_text": marks["free_text"], "request_id": chosen["request_id"]}
        client.feedback(user, event, chosen["skill_id"], 1, **thumb)
        client.update(memory["id"], f"The bees moved to the {marks['update']}", user, **group)
        client.delete(second["id"], user, reason=marks["reason"], **group)
        slept = client.sleep_now(user, wait=True, timeout_seconds=120)
        assert slept["status"] == "complete"
        # What is refused or cannot be applied may leave traces in logs, audit and dead letters.
        with pytest.raises(InvalidMessage):
            client.add([said(marks["refused"], role="robot")], user_id=user)
        with run.link("default") as link:
            assert link.publish([poison(user, marks["poison"])])[0].result(60)
            with pytest.raises(AccessDenied):
                link.publish([poison(user, marks["denied"], "memory/working/sweep/v1/")])[0].result(60)
            with pytest.raises(UnknownTopic):
                link.publish([poison(user, "x", f"memory/{marks['no_topic']}/")])[0].result(60)
        frame = b"\x03\xff" + marks["frame"].encode()
        assert send_raw_frame(read_address(run.home), load_identity(run.home, "default"), frame) == "invalid_message"
        bound = add_identity(run.home, f"bound-{uuid.uuid4().hex[:8]}", "client", ["somebody"])
        with run.client(bound.name) as other, pytest.raises(AccessDenied):
            other.search(marks["question"], user)
        with run.client() as asking, pytest.raises(NotFound):
            asking.get(str(uuid.uuid4()), user)
        client.flush(120)

        def buried() -> bool | None:
            letters = run.ok("dead-letters", "list", "--json").json
            return True if {"working", "semantic", "broker"} <= {letter["consumer"] for letter in letters} else None

        assert eventually(buried, "the poison has no dead letters")
    return marks


def poison(user: str, text: str, topic: str = "memory/working/message/v1/") -> OutgoingRecord:
    """A record that the broker takes and no worker can read."""
    event_id = new_id().bytes
    envelope = envelope_pb2.Envelope(event_id=event_id, topic=topic, payload=b"\xff\xff" + text.encode())
    return OutgoingRecord(event_id, topic, user, envelope.SerializeToString())


def named(marks: dict[str, str], found: list[tuple[str, str]]) -> list[str]:
    """What was found where, in words."""
    words = {text: name for name, text in marks.items()}
    return [f"{words[text]} in {path}" for path, text in found]


def snapshot(root: Path) -> dict[str, tuple[int, str]]:
    """Mode and digest of every file and folder."""
    found = {}
    for path in sorted(root.rglob("*")):
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        found[str(path.relative_to(root))] = (path.stat().st_mode, digest)
    return found


def test_a_wrong_passphrase_is_said_at_the_start_and_nothing_is_touched(sealed: Deployment) -> None:
    with sealed.client() as client:
        client.add([said("What is mine stays mine")], user_id="owner")
        client.flush(120)
    sealed.down()
    before = snapshot(sealed.root)
    for wrong in ({"AICO_MEMORY_PASSPHRASE": "incorrect horse"}, {"AICO_MEMORY_PASSPHRASE": ""}):
        thief = Deployment(sealed.root, {**CHEAP, **wrong})
        refused = thief.run("up", "--detach", "--timeout", "60")
        assert refused.code != 0
        assert "wrong_key" in refused.err + refused.out or WrongKey.default_mend in refused.err + refused.out
        assert "AICO_MEMORY_PASSPHRASE" in refused.err + refused.out
        assert snapshot(sealed.root) == before
    sealed.up()
    assert sealed.status()["encryption"] == {"enabled": True, "key": "passphrase"}
    with sealed.client() as client:
        assert contents(client.search("mine", "owner")) == ["What is mine stays mine"]


def told(sealed: Deployment, marks: dict[str, str]) -> None:
    """No word stands in any file; of the user's id SECURITY.md says where it does."""
    user = marks["user"]
    assert named(marks, holding(sealed.root, [text for text in marks.values() if text != user])) == []
    parts = {Path(path).relative_to(sealed.root).parts[0] for path, _ in holding(sealed.root, [user])}
    assert parts <= {"journal", "logs"}


def test_no_file_holds_a_word_of_anybody_while_it_runs_nor_after(sealed: Deployment) -> None:
    marks = live(sealed)
    told(sealed, marks)
    sealed.down()
    told(sealed, marks)
    # Nor the passphrase.
    assert holding(sealed.root, [PASSPHRASE]) == []


def test_the_search_for_words_would_find_them(tmp_path: Path) -> None:
    text = marker()
    for number in range(21):
        (tmp_path / f"empty{number}").write_bytes(b"")
    for name, data in (("a", text.encode()), ("b", b"x" + text.encode("utf-16-le")), ("c", text[10:-2].encode("utf-16-le"))):
        (tmp_path / name).write_bytes(data)
    assert sorted(Path(path).name for path, _ in holding(tmp_path, [text])) == ["a", "b", "c"]


def test_encryption_switched_off_shows_in_status_and_on_disk(make_deployment: MakeDeployment) -> None:
    run = make_deployment(AICO_MEMORY_SET__security__encryption="off")
    run.up("--only", "broker,working,semantic,model")
    assert run.status()["encryption"]["enabled"] is False
    assert run.status()["encryption"]["key"] == "off"
    assert "encryption  off" in run.ok("status").out
    assert "words       stay on this machine" in run.ok("status").out
    text = marker()
    with run.client() as client:
        client.add([said(f"Everybody may read {text}")], user_id="open")
        client.flush(120)
    # The proof that the search above looks where the words would be.
    folders = {Path(path).relative_to(run.root).parts[0] for path, _ in holding(run.root, [text])}
    assert {"journal", "working", "semantic"} <= folders
