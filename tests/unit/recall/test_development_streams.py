"""The development half of the benchmark's streams, with an embedder that knows no language."""

from __future__ import annotations

from aico_memory.bench.facts.run import run_streams
from aico_memory.bench.facts.streams import LEARN, load_streams
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.models.twin import HashedEmbedder


def test_there_are_at_least_150_streams_in_three_languages() -> None:
    counts: dict[str, int] = {}
    for stream in load_streams():
        counts[stream.language] = counts.get(stream.language, 0) + 1
    assert sum(counts.values()) >= 150
    assert set(counts) == {"en", "de", "tr"}
    assert max(counts.values()) <= 2 * min(counts.values())


def test_streams_to_learn_from_stay_apart_and_say_what_is_expected_of_them() -> None:
    learned = [stream for stream in load_streams(learned=True) if stream.half == LEARN]
    assert len(learned) > 10_000
    assert not any(stream.half == LEARN for stream in load_streams())
    for stream in learned:
        told = " ".join(one.text for one in stream.said).casefold()
        assert stream.asked, stream.id
        assert all(value.casefold() in told for one in stream.asked for value in one.expected), stream.id


def test_the_rules_alone_stay_above_the_bars_on_the_development_half(tables: FormationTables) -> None:
    streams = [stream for stream in load_streams() if stream.half == "develop"]
    for (language, _), tally in run_streams(streams, tables, HashedEmbedder(), None).items():
        assert tally.share("recall", "now") >= 0.9, (language, tally.misses)
        assert tally.share("recall", "then") >= 0.9, (language, tally.misses)
        assert tally.invalidated == 0
        assert tally.merged == 0
