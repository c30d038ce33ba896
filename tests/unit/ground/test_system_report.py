"""Bars of the system benchmark: which rows speak of them."""

from __future__ import annotations

from aico_memory.bench.statistics import spread
from aico_memory.bench.system.report import as_json, bars
from aico_memory.bench.system.run import MEBIBYTE, Row


def row(messages: int, p95: float, beside: float, kept: float, *, users: int = 1, writes: float = 0.0) -> Row:
    return Row(
        "a row", messages, users, writes, 1.0, 1.0,
        p50={"over the bus": spread([20.0]), "without the embedding": spread([beside])},
        p95={"over the bus": spread([p95])}, cached_p95_ms=kept, search_p95_ms=9.0,
        resident_mib={"model": 900.0, "broker": 300.0}, proportional_mib={"model": 900.0, "broker": 3.5e8 / MEBIBYTE},
        degraded=0,
    )  # fmt: skip


def test_bars_are_read_from_one_user_whom_nobody_disturbs() -> None:
    rows = [
        row(1_000, 99.0, 5.0, 4.0),
        row(10_000, 24.0, 8.0, 6.0),
        row(10_000, 80.0, 40.0, 60.0, writes=9.5),
        row(100_000, 50.0, 20.0, 5.0),
        row(100_000, 10.0, 1.0, 1.0, users=1000),
    ]
    found = {bar.name: (bar.measured, bar.held) for bar in bars(rows)}
    assert found.pop("context p95 of 10,000 messages, ms") == (24.0, True)
    assert found.pop("kept context p95 of 1,000 messages, ms") == (4.0, True)
    assert found.pop("kept context p95 of 10,000 messages, ms") == (6.0, False)
    assert found.pop("kept context p95 of 100,000 messages, ms") == (5.0, True)
    assert found.pop("growth of p50 without the embedding, 1,000 to 100,000") == (4.0, False)
    assert len(found) == 3
    assert all(name.startswith("memory without the model") and held for name, (_, held) in found.items())


def test_a_bar_that_no_row_speaks_of_is_not_named() -> None:
    assert [bar.name for bar in bars([row(500, 1.0, 1.0, 1.0, users=3)])] == []
    assert as_json({}, [row(10_000, 24.0, 8.0, 6.0)], 7.0)["bars"][0]["held"] is True
