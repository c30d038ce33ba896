"""Answers about how what was learned of a user moves over time."""

from __future__ import annotations

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import temporal_pb2
from aico_memory.domain.behavioral.dimensions import DIMENSIONS
from aico_memory.domain.behavioral.over_time import preference_series, skill_series, value_at
from aico_memory.errors import InvalidMessage
from aico_memory.runtime.ports import Ports
from aico_memory.runtime.trend_answers import trend_answer
from aico_memory.settings.memory_model import EvolutionSettings
from aico_memory.stores.behavioral.port import BehavioralStore

_UNIT = (0.0, 1.0)


class OverTime:
    """Safe from many threads."""

    def __init__(self, store: BehavioralStore, figures: EvolutionSettings) -> None:
        self._store = store
        self._figures = figures

    def trend(self, event: Event, ports: Ports) -> temporal_pb2.TrendAnswer:
        """Trend, prediction and the value of a moment; unknown, with the reason, where the values are too few."""
        request: temporal_pb2.BehaviorTrendRequest = event.message
        if bool(request.skill_id) == bool(request.dimension):
            raise InvalidMessage("A trend is that of a skill or of a dimension", "Give skill_id, or dimension and bucket.")
        if request.dimension and request.dimension not in DIMENSIONS:
            raise InvalidMessage(f"No dimension {request.dimension!r}", f"The dimensions are {', '.join(DIMENSIONS)}.")
        with self._store.reading() as rows:
            changes = rows.evolution_of(event.user)
            if request.skill_id:
                series = skill_series(changes, request.skill_id)
            else:
                present = rows.preference(event.user, request.bucket)
                series = preference_series(changes, request.bucket, DIMENSIONS.index(request.dimension), present)
        answer = trend_answer(
            series, _UNIT, request.since_us, request.until_us, request.predict_at_us, self._figures
        )  # fmt: skip
        then = value_at(series, request.at_us) if request.at_us else None
        if then is not None:
            answer.value_then = then
        return answer
