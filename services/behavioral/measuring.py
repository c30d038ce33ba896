"""Figures of what the worker does: counted by the hour, told in the log under their metric types, asked for by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from google.protobuf.message import Message

from aico_memory.clock import Clock
from aico_memory.contracts.envelope import Event
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import behavioral_pb2
from aico_memory.domain.behavioral import metrics
from aico_memory.domain.behavioral.learning import SkillState
from aico_memory.domain.behavioral.metrics import Row
from aico_memory.domain.behavioral.records import FeedbackRecord, HourFigure, SelectionRecord
from aico_memory.domain.behavioral.skill import Catalogue
from aico_memory.errors import InvalidMessage
from aico_memory.runtime.paging import fitting
from aico_memory.runtime.ports import Ports, RequestHandler
from aico_memory.settings.behavioral import MetricsSettings
from aico_memory.stores.behavioral.port import BehavioralRows, BehavioralStore

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US
_END_US = 2**62
_TYPE = "behavioral_memory_"
# Outcomes of a batch that fitted a prior, whatever became of it.
FITTED = frozenset({"learned", "refused", "proposed"})
Figures = Sequence[HourFigure]


class Measuring:
    """Counting in the consumer's thread; questions in others."""

    def __init__(
        self, store: BehavioralStore, catalogue: Catalogue, settings: MetricsSettings, clock: Clock, log: FilteringBoundLogger,
        most_bytes: int,
    ) -> None:  # fmt: skip
        self._store = store
        self._catalogue = catalogue
        self._most_bytes = most_bytes
        self._settings = settings
        self._clock = clock
        self._log = log
        self._told: list[tuple[str, dict[str, object]]] = []
        self._hour_us = clock.now_us() // HOUR_US * HOUR_US
        self._queries: Mapping[str, Callable[[BehavioralRows, int, int], list[Row]]] = {
            "accuracy": lambda rows, start, end: metrics.accuracy(_figures(rows, start, end)),
            "slow_skills": lambda rows, start, end: metrics.slow_skills(_figures(rows, start, end)),
            "exploration": lambda rows, start, end: metrics.exploration(_figures(rows, start, end)),
            "thompson_sampling": lambda rows, start, end: metrics.batches(_figures(rows, start, end)),
            "adaptation": lambda rows, start, end: self._adaptation(rows, rows.taught_users(), start, end),
            "aggregate": lambda rows, start, end: [self._aggregate(rows, start, end)],
            "performance": lambda rows, start, end: [self._performance(rows, start, end)],
        }

    def after_commit(self) -> None:
        """Tell the log what was done, once it stands and its answers are on their way."""
        told, self._told = self._told, []
        for event, fields in told:
            self._log.info(event, **fields)

    def _tell(self, event: str, **fields: object) -> None:
        # What is left of transactions that did not stand is told with the next one: it was worked at.
        self._told.append((event, fields))

    def handlers(self) -> Mapping[str, RequestHandler]:
        """By topic."""
        return {topic_of(behavioral_pb2.BehaviorMetricsRequest).name: self._asked}

    def selected(self, rows: BehavioralRows, record: SelectionRecord, ms: float, context_ms: float, candidates: int) -> None:
        """A selection that was just made; times in ms."""
        if record.skill_id:
            hour_us, skill_id = _hour(record.at_us), self._counted_as(record.skill_id)
            what = metrics.EXPLORED if record.is_exploration else metrics.SELECTED
            rows.count_hour(hour_us, skill_id, what, record.confidence)
            rows.count_hour(hour_us, skill_id, metrics.SELECTION_MS, ms)
            rows.count_hour(hour_us, "", metrics.bin_of(metrics.SELECTION_MS, ms), ms)
            rows.count_hour(hour_us, "", metrics.bin_of(metrics.CONTEXT_MS, context_ms), context_ms)
        self._tell(
            "selected", metric_type=f"{_TYPE}selection", user=record.user, skill=record.skill_id, confidence=record.confidence,
            alignment=record.alignment, exploration=record.is_exploration, selection_ms=ms, context_extraction_ms=context_ms,
            candidates=candidates, outcome=record.outcome,
        )  # fmt: skip

    def judged(self, rows: BehavioralRows, record: FeedbackRecord, old_confidence: float, state: SkillState) -> None:
        """A feedback event that was just applied; `state` of the skill after it."""
        if record.skill_updated and record.reward:
            hour_us, skill_id, up = _hour(record.at_us), self._counted_as(record.skill_id), record.reward > 0
            rows.count_hour(hour_us, skill_id, metrics.POSITIVE if up else metrics.NEGATIVE, 1.0)
            if record.is_exploration:
                what = metrics.EXPLORED_POSITIVE if up else metrics.EXPLORED_NEGATIVE
                rows.count_hour(hour_us, skill_id, what, 1.0)
        uses = max(state.uses, 1)
        self._tell(
            "judged", metric_type=f"{_TYPE}feedback", user=record.user, skill=record.skill_id, reward=record.reward,
            reason=record.reason, old_confidence=old_confidence, new_confidence=record.new_confidence,
            confidence_delta=record.new_confidence - old_confidence, usage=state.uses, positive_rate=state.positive / uses,
            negative_rate=state.negative / uses, status=record.status, has_free_text=record.sealed_text is not None,
        )  # fmt: skip

    def learned(
        self, rows: BehavioralRows, report: behavioral_pb2.LearnReport, thumbs: Sequence[FeedbackRecord], at_us: int,
        seconds: float,
    ) -> None:  # fmt: skip
        """A nightly batch that was just run; `thumbs`: since the last fit where it fitted, else since the batch before."""
        up = sum(one.reward > 0 for one in thumbs)
        values = {
            "thumbs": float(len(thumbs)), "skills": float(len({one.skill_id for one in thumbs})), "alpha": float(up),
            "beta": float(len(thumbs) - up), "seconds": seconds,
        }  # fmt: skip
        if report.outcome in FITTED:
            # What waits for more thumbs is counted when it is learned from.
            for name, value in values.items():
                rows.count_hour(_hour(at_us), "", f"batch_{name}", value)
        self._tell(
            "learned", metric_type=f"{_TYPE}thompson_sampling", outcome=report.outcome, people=report.people,
            trajectories=len(thumbs), skills_updated=int(values["skills"]), alpha_change=values["alpha"],
            beta_change=values["beta"], signals=report.signals, prior=report.prior, value_before=report.value_before,
            value_after=report.value_after, seconds=seconds,
        )  # fmt: skip

    def idle(self, now_us: int) -> None:
        """At the turn of an hour tell the log what the last one was like, where it had anything."""
        hour_us = now_us // HOUR_US * HOUR_US
        if hour_us <= self._hour_us:
            return
        start, self._hour_us = self._hour_us, hour_us
        with self._store.reading() as rows:
            if not _figures(rows, start, hour_us):
                return
            aggregate, performance = self._aggregate(rows, start, hour_us), self._performance(rows, start, hour_us)
            skills = metrics.accuracy(_figures(rows, start, hour_us))
        accuracy = {row.skill_id: row.values.get("accuracy") for row in skills}
        self._log.info("hour", metric_type=f"{_TYPE}aggregate", hour_us=start, skill_accuracy=accuracy, **aggregate.values)
        self._log.info("hour", metric_type=f"{_TYPE}performance", hour_us=start, **performance.values)

    def _asked(self, event: Event, ports: Ports) -> Message:
        request = event.message
        query = self._queries.get(request.query)
        if query is None:
            raise InvalidMessage(f"There is no query {request.query!r}", f"There are {', '.join(sorted(self._queries))}.")
        with self._store.reading() as rows:
            found = query(rows, request.from_us, request.until_us or _END_US)
        wanted = found[request.after :][: request.limit or len(found)]
        return fitting(lambda lines: _page(request.query, wanted, lines), max(len(wanted), 1), self._most_bytes)

    def _counted_as(self, skill_id: str) -> str:
        return skill_id if skill_id in self._catalogue else metrics.OWN

    def _adaptation(self, rows: BehavioralRows, users: Sequence[str], start_us: int = 0, end_us: int = _END_US) -> list[Row]:
        """By user, of the thumbs given in [start, end); who gave none then is left out."""
        found = []
        for user in users:
            given = [one for one in rows.feedback_of(user) if one.skill_updated and one.undone_us is None]
            thumbs = [one.reward for one in given if start_us <= one.at_us < end_us]
            if thumbs:
                values = metrics.adaptation(thumbs, self._settings.window, self._settings.goal)
                found.append(Row(user=user, values=values))
        return found

    def _aggregate(self, rows: BehavioralRows, start_us: int, end_us: int) -> Row:
        until_us = min(end_us, self._clock.now_us() + 1)
        span = self._settings.retention_days * DAY_US
        active = rows.active_users(until_us - span, until_us)
        before = rows.active_users(until_us - 2 * span, until_us - span)
        some = sorted(active)[: self._settings.people]
        adapted = [row.values["adapted_after"] for row in self._adaptation(rows, some) if "adapted_after" in row.values]
        return metrics.aggregate(_figures(rows, start_us, end_us), adapted, active, before)

    def _performance(self, rows: BehavioralRows, start_us: int, end_us: int) -> Row:
        figures = _figures(rows, start_us, end_us)
        values: dict[str, float] = {}
        for what in (metrics.SELECTION_MS, metrics.CONTEXT_MS):
            values |= {f"{what}_{name}": value for name, value in metrics.percentiles(what, figures).items()}
        sizes = sorted(rows.size_of(user) + rows.outcome_bytes(user) for user in rows.taught_users()[: self._settings.people])
        if sizes:
            values["bytes_per_user"] = sum(sizes) / len(sizes)
            values["bytes_per_user_largest"] = float(sizes[-1])
        return Row(values=values)


def _page(query: str, found: Sequence[Row], limit: int) -> behavioral_pb2.BehaviorMetrics:
    answer = behavioral_pb2.BehaviorMetrics(query=query, left=max(len(found) - limit, 0))
    for row in found[:limit]:
        answer.rows.add(hour_us=row.hour_us, skill_id=row.skill_id, user_id=row.user, values=row.values)
    return answer


def _figures(rows: BehavioralRows, start_us: int, end_us: int) -> Figures:
    return list(rows.hours(_hour(start_us), end_us))


def _hour(at_us: int) -> int:
    return at_us - at_us % HOUR_US
