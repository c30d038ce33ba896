"""A series of numbers as the answer that workers give about it."""

from __future__ import annotations

from collections.abc import Sequence

from aico_memory.contracts.v1 import temporal_pb2
from aico_memory.domain.memory import OPEN
from aico_memory.domain.temporal.prediction import Prediction, predict
from aico_memory.domain.temporal.trends import Point, trend
from aico_memory.settings.memory_model import EvolutionSettings

# Points of one answer, the newest.
MOST_POINTS = 1000


def trend_answer(
    series: Sequence[Point], bounds: tuple[float, float], since_us: int, until_us: int, predict_at_us: int,
    figures: EvolutionSettings,
) -> temporal_pb2.TrendAnswer:  # fmt: skip
    """Trend of what lies in [since, until) (0: open), and what is expected at `predict_at_us` (0: not asked)."""
    first_us, end_us = since_us or -OPEN, until_us or OPEN
    series = tuple(point for point in series if first_us <= point.at_us < end_us)
    answer = temporal_pb2.TrendAnswer()
    answer.points.extend(temporal_pb2.TrendPoint(at_us=one.at_us, value=one.value) for one in series[-MOST_POINTS:])
    found = trend(series, figures)
    if found is None:
        answer.unknown = f"{len(series)} values; {figures.trend_points} of different moments are needed"
    else:
        answer.slope, answer.volatility = found.slope, found.volatility
        for change in found.changes:
            answer.changes.add(at_us=change.at_us, before=change.before, after=change.after, p_value=change.p_value)
    if predict_at_us:
        answer.predicted_at_us = predict_at_us
        expected = predict(series, predict_at_us, bounds, figures)
        if isinstance(expected, Prediction):
            answer.predicted, answer.coverage = expected.value, expected.coverage
            answer.predicted_low, answer.predicted_high = expected.low, expected.high
        else:
            answer.prediction_unknown = expected.reason
    return answer
