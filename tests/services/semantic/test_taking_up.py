"""What waited is judged as it would have been at once: with what it refers to, which may have waited, too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from aico_memory.contracts.v1 import behavioral_pb2
from aico_memory.domain.memory import Scope
from tests.services.semantic.statements import ADA, items, message, replay, set_policy, values
from tests.services.semantic.worker import Worker

STORIES = (
    ("My dentist is Dr. Weber.", "No, Dr. Klein."),
    ("I play chess.", "I gave up chess."),
    ("I drive a Golf.", "I sold the Golf."),
    ("I like tea.", "Sorry, I meant coffee, not tea."),
    ("I live in Rome.", "That was never true."),
    ("My sister lives in Rome.", "She moved to Oslo."),
    ("I'm learning Korean.", "I gave up on Korean, I'm doing Norwegian now."),
)


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    made = Worker(tmp_path / "home")
    yield made
    made.handlers.close()


def hold(worker: Worker, user: str, by: str, on: bool) -> None:
    if by == "read_only":
        set_policy(worker, Scope("user", user), read_only=on)
    else:
        worker.tell(behavioral_pb2.ConsentChanged(user_id=user, long_term=not on), user)


def held(worker: Worker, user: str) -> list[tuple[str, str, bool]]:
    """Value, status, and whether it holds as long as what was said first, of all that a person told."""
    found = items(worker, Scope("user", user))
    begins = min(one.memory.valid_from_us for one in found)
    return sorted((one.value, one.memory.status, one.memory.valid_from_us == begins) for one in found)


@pytest.mark.parametrize("by", ["read_only", "pause"])
def test_what_waited_comes_to_what_it_would_have_come_to_at_once(worker: Worker, by: str) -> None:
    for number, story in enumerate(STORIES):
        at_once, later = f"a{number}", f"b{number}"
        for text in story:
            worker.say(text, at_once)
        hold(worker, later, by, on=True)
        said = [worker.tell(message(text, later), later).event_id for text in story]
        hold(worker, later, by, on=False)
        # The order in which experiences are replayed says nothing of the order in which they were said.
        replay(worker, *reversed(said), user=later)
        assert held(worker, later) == held(worker, at_once), story


def test_what_was_said_in_between_and_found_nothing_is_judged_again(worker: Worker) -> None:
    set_policy(worker, ADA, read_only=True)
    said = worker.tell(message("I play chess."))
    set_policy(worker, ADA)
    worker.say("I gave up chess.")
    assert values(worker) == []
    replay(worker, said.event_id)
    assert values(worker) == [("chess", "expired")]
    assert worker.handlers.state.waiting("ada", (), 9) == []


def test_a_part_that_was_carried_out_is_not_carried_out_again(worker: Worker) -> None:
    set_policy(worker, ADA, session_writes=1)
    for text in ("I use Figma.", "I use Krita instead of Figma."):
        said = worker.tell(message(text))
    before = worker.handlers.state.waiting("ada", (), 9)
    assert [(one.fact.value, one.fact.act) for one in before] == [("Krita", "assert")]
    assert values(worker) == [("Figma", "expired")]
    replay(worker, said.event_id)
    assert values(worker) == [("Figma", "expired"), ("Krita", "active")]
