"""The retrieval benchmark on a tiny set of its own: in this process and through a real deployment it finds the same."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from aico_memory.bench.retrieval.data import Collection, Question, Said
from aico_memory.bench.retrieval.local import open_workshop, ranked, tabulated
from aico_memory.bench.retrieval.scoring import mean, score
from aico_memory.bench.retrieval.through_bus import deployed
from aico_memory.models.ranking_tables import load_profiles
from aico_memory.paths import Home
from tests.support.exports import export_folder

pytestmark = pytest.mark.deployment
DEPTH = 5
TALK = (
    ("Hi Ines! How was the weekend?", "The ferry to the island was cancelled because of fog.",
     "Oh no. What did you do instead?", "We baked rye bread with my aunt."),
    ("Did the repair shop call?", "Yes, the gearbox of the van needs a new bearing.", "Expensive?", "Four hundred, sadly."),
    ("My cousin plays the oboe in an orchestra now.", "Lovely! Since when?", "Since last September, in Porto.",
     "I never managed more than the recorder."),
)  # fmt: skip
ASKED = (
    ("Why was the ferry not running?", 1), ("What did Ines bake with her aunt?", 3), ("What is broken in the van?", 5),
    ("Which instrument does the cousin play?", 8),
)  # fmt: skip


def collection() -> Collection:
    began = datetime(2024, 3, 1, 9, tzinfo=UTC)
    messages = []
    for session, turns in enumerate(TALK):
        for place, text in enumerate(turns):
            at = began + timedelta(days=session, seconds=place)
            messages.append(Said(f"t{len(messages)}", text, ("Ines", "Tom")[(place + 1) % 2], f"talk-{session}", at))
    return Collection("tiny", tuple(messages), tuple(Question(text, (f"t{place}",), "1") for text, place in ASKED))


def test_both_ways_rank_the_same_turns(tmp_path, monkeypatch):
    monkeypatch.setenv("AICO_MEMORY_SET__models__export_folder", str(export_folder()))
    tiny, home = collection(), Home(tmp_path)
    workshop = open_workshop(home)
    profile = load_profiles(home)["default"]
    entries = tabulated(tiny, workshop.shelf(tiny), workshop.figures)
    ids = [message.id for message in tiny.messages]
    here = [ranked(entry, profile, ids, DEPTH) for entry in entries]
    with deployed({"again": profile}) as deployment:
        deployment.remember(tiny, lambda _: None)
        there = [found[:DEPTH] for found in deployment.ranked(tiny, tiny.questions, "again")]
        configured = [found[:DEPTH] for found in deployment.ranked(tiny, tiny.questions, "")]
        assert deployment.asking.degraded == 0
    assert configured == there
    # Facts that were formed stand for the turn they rest on, and vectors are kept as half floats: the heads agree.
    assert [found[0] for found in there] == [found[0] for found in here]
    for found in (here, there):
        scores = mean(score(ranking, question.gold) for ranking, question in zip(found, tiny.questions, strict=True))
        assert scores.recall_5 == 1.0
        assert scores.recall_1 >= 0.75
