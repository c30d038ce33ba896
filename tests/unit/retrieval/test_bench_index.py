"""The benchmark that sets from which size on Chroma answers."""

from aico_memory.bench.index.report import as_json, crossing
from aico_memory.bench.index.run import Row, run_index


def test_both_indexes_answer_the_same_questions_and_the_exact_one_misses_nothing() -> None:
    told: list[str] = []
    exact, chroma = run_index((1_500,), 10, 1, told.append)
    assert (exact.index, exact.vectors, exact.recall) == ("exact", 1_500, 1.0)
    assert (chroma.index, chroma.vectors) == ("chroma", 1_500)
    assert chroma.recall > 0.9
    assert min(exact.p50, exact.three_p50, chroma.p50, chroma.build_s) > 0
    assert told[-1] == "1,500 vectors: Chroma"
    assert [row.index for row in run_index((1_500,), 10, 1, told.append, approximate=False)] == ["exact"]


def test_the_crossing_is_the_smallest_size_at_which_chroma_was_faster() -> None:
    def row(index: str, vectors: int, p50: float) -> Row:
        return Row(index, vectors, 0.0, p50, p50, p50, 1.0)

    rows = [row("exact", 10, 1), row("chroma", 10, 2), row("exact", 20, 3), row("chroma", 20, 2), row("exact", 30, 4),
            row("chroma", 30, 2)]  # fmt: skip
    assert crossing(rows) == 20
    assert crossing(rows[:2]) is None
    assert as_json({}, rows)["chroma_faster_from"] == 20
