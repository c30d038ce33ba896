"""What the month in fast motion measured, as JSON."""

from __future__ import annotations

import json
from collections import Counter

from aico_memory.bench.retrieval.scoring import Scores
from aico_memory.bench.sleep.month import Day, Month
from aico_memory.bench.sleep.report import as_json


def test_a_month_can_be_written_as_json() -> None:
    day = Day(1, Counter(["episodic", "episodic", "dormant"]), Counter(active=3), 0.5, 1.0, Counter(promoted=2), 7)
    scores = Scores(2, 0.25, 0.5, 0.75, 1.0, 0.5, 0.123456)
    shown = json.loads(json.dumps(as_json({}, [], Month([day], {0: scores}, {0: scores}, degraded=1, seconds=2.0))))
    (told,) = shown["month"]["days"]
    assert told["tiers"] == {"episodic": 2, "dormant": 1}
    assert (told["statuses"], told["done"]) == ({"active": 3}, {"promoted": 2})
    assert (told["retained"], told["recalled"], shown["month"]["degraded"]) == (0.5, 1.0, 1)
    assert told["told_before"] == 7
    assert shown["month"]["everything"]["0"]["ndcg_10"] == 0.1235
