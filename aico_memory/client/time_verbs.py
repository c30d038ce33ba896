"""What a client can ask about time: what held when, how it changed, where a number is heading."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from aico_memory.client.memory_verbs import Moment
from aico_memory.client.session import Session
from aico_memory.client.time_results import Evolution, HeldFact, HeldFacts, Prediction, Trend
from aico_memory.client.time_shapes import evolution_shape, held_shape, prediction_shape, trend_shape
from aico_memory.client.validation import (
    MAX_NAME,
    checked_count,
    checked_kinds,
    checked_span,
    checked_text,
    moment_us,
    optional_text,
)
from aico_memory.clock import format_us
from aico_memory.contracts.v1 import temporal_pb2
from aico_memory.errors import InvalidMessage

MAX_FACTS = 10_000
MAX_STEPS = 1000
_PAGE = 500
Name = str | None
Kinds = str | Sequence[str] | None


SKILL, STYLE = "skill:", "style:"


class TimeVerbs:
    """Verbs on facts over time.

    In all of them `about` is the id of a memory (then all versions of that fact are meant) or a predicate such as
    "home_city"; `subject` says of whom it is, "user" (whoever asks) where it is left out beside a predicate. Trends and
    predictions are also those of "skill:<skill id>" (its confidence) and "style:<dimension>" (the preferred style, in
    `bucket`).
    """

    _session: Session

    async def state(
        self,
        user_id: str,
        at: Moment = None,
        known_as_of: Moment = None,
        about: Name = None,
        subject: Name = None,
        kind: Kinds = None,
        limit: int = MAX_FACTS,
        group_id: Name = None,
        project_id: Name = None,
    ) -> HeldFacts:
        """All facts that were true at a moment (None: now), as believed at `known_as_of` (None: today).

        Of a single-valued predicate one at most a scope (own, group, project). Raises NotFound for an unknown id, TooLarge.
        """
        return await self._state(
            user_id,
            at,
            known_as_of,
            False,
            _about(about, subject, kind),
            limit,
            group_id,
            project_id,
        )

    async def snapshot(
        self,
        user_id: str,
        at: Moment,
        about: Name = None,
        subject: Name = None,
        kind: Kinds = None,
        limit: int = MAX_FACTS,
        group_id: Name = None,
        project_id: Name = None,
    ) -> HeldFacts:
        """The state of a moment as it would have been answered then, without anything that was learned since."""
        if not at:
            raise InvalidMessage("A snapshot is that of a moment", "Give `at`: ISO 8601 with zone.")
        return await self._state(user_id, at, None, True, _about(about, subject, kind), limit, group_id, project_id)

    async def timeline(
        self,
        user_id: str,
        about: Name = None,
        since: Moment = None,
        until: Moment = None,
        known_as_of: Moment = None,
        subject: Name = None,
        kind: Kinds = None,
        limit: int = MAX_FACTS,
        group_id: Name = None,
        project_id: Name = None,
    ) -> HeldFacts:
        """What was true in [since, until), piece by piece; without bounds everything that ever was."""
        user = self._session.user(user_id)
        from_us, until_us = checked_span(since, until)
        request = temporal_pb2.TimelineRequest(
            user_id=user,
            group_id=optional_text(group_id, "group_id"),
            project_id=optional_text(project_id, "project_id"),
            about=_about(about, subject, kind),
            from_us=from_us,
            until_us=until_us,
            known_as_of_us=moment_us(known_as_of, "known_as_of"),
        )
        return await self._pages(request, user, limit)

    async def evolution(
        self,
        user_id: str,
        about: str,
        subject: Name = None,
        limit: int = MAX_STEPS,
        group_id: Name = None,
        project_id: Name = None,
    ) -> Evolution:
        """How a fact came to be what it is: stated, changed, corrected, ended …, each with the event that taught it.

        Raises NotFound where nothing is known of it.
        """
        user = self._session.user(user_id)
        request = temporal_pb2.EvolutionRequest(
            user_id=user,
            group_id=optional_text(group_id, "group_id"),
            project_id=optional_text(project_id, "project_id"),
            about=_about(checked_text(about, "about", MAX_NAME), subject, None),
            limit=checked_count(limit, "limit", MAX_STEPS),
        )
        return evolution_shape(await self._session.ask(request, user))

    async def trend(
        self,
        user_id: str,
        about: str,
        what: str = "value",
        since: Moment = None,
        until: Moment = None,
        predict_at: Moment = None,
        subject: Name = None,
        group_id: Name = None,
        project_id: Name = None,
        bucket: int = 0,
        at: Moment = None,
    ) -> Trend:
        """Slope a day, volatility and change points of a number over time, and what is expected at `predict_at`.

        `what`: "value" (the number that the fact states, such as a weight), "confidence" or "utility". What is too
        little for a trend or a prediction is said to be unknown. `at`: what a skill or style was then; `bucket` is that of
        a style. An option that does not belong to what is asked about is refused. Raises NotFound, InvalidMessage.
        """
        span = (*checked_span(since, until), moment_us(predict_at, "predict_at"))
        return trend_shape(await self._trend(user_id, about, what, span, subject, group_id, project_id, bucket, at))

    async def predict(
        self,
        user_id: str,
        about: str,
        at: Moment,
        what: str = "value",
        subject: Name = None,
        group_id: Name = None,
        project_id: Name = None,
        bucket: int = 0,
    ) -> Prediction:
        """The number expected at a moment, with an interval; or unknown, and why."""
        if not at:
            raise InvalidMessage("A prediction is that of a moment", "Give `at`: ISO 8601 with zone.")
        span = (0, 0, moment_us(at, "at"))
        return prediction_shape(await self._trend(user_id, about, what, span, subject, group_id, project_id, bucket, None))

    async def _state(
        self, user_id: str, at: Moment, known_as_of: Moment, snapshot: bool, about: temporal_pb2.FactsAbout, limit: int,
        group_id: Name, project_id: Name,
    ) -> HeldFacts:  # fmt: skip
        user = self._session.user(user_id)
        request = temporal_pb2.StateRequest(
            user_id=user,
            group_id=optional_text(group_id, "group_id"),
            project_id=optional_text(project_id, "project_id"),
            about=about,
            at_us=moment_us(at, "at"),
            known_as_of_us=moment_us(known_as_of, "known_as_of"),
            snapshot=snapshot,
        )
        return await self._pages(request, user, limit)

    async def _pages(
        self, request: temporal_pb2.StateRequest | temporal_pb2.TimelineRequest, user: str, limit: int
    ) -> HeldFacts:
        left = checked_count(limit, "limit", MAX_FACTS)
        found: list[HeldFact] = []
        while True:
            request.limit = min(left, _PAGE)
            page = await self._session.ask(request, user)
            found += [held_shape(fact) for fact in page.facts]
            left -= len(page.facts)
            if not page.next or left <= 0:
                break
            # The moments of the first page hold for all: now is another one by the second.
            if isinstance(request, temporal_pb2.StateRequest):
                request.at_us = page.at_us
            request.after = page.next
        at, known_as_of = format_us(page.at_us), format_us(page.known_as_of_us)
        return {"results": found, "at": at, "known_as_of": known_as_of, "cut": bool(page.next)}

    async def _trend(
        self, user_id: str, about: str, what: str, span: tuple[int, int, int], subject: Name, group_id: Name,
        project_id: Name, bucket: int, at: Moment,
    ) -> temporal_pb2.TrendAnswer:  # fmt: skip
        user = self._session.user(user_id)
        named = checked_text(about, "about", MAX_NAME)
        since_us, until_us, predict_at_us = span
        request: temporal_pb2.TrendRequest | temporal_pb2.BehaviorTrendRequest
        _refuse_idle(named, what, subject, group_id, project_id, bucket, at)
        if named.startswith((SKILL, STYLE)):
            request = temporal_pb2.BehaviorTrendRequest(
                user_id=user,
                skill_id=named.removeprefix(SKILL) if named.startswith(SKILL) else "",
                dimension=named.removeprefix(STYLE) if named.startswith(STYLE) else "",
                bucket=checked_bucket(bucket),
                since_us=since_us,
                until_us=until_us,
                predict_at_us=predict_at_us,
                at_us=moment_us(at, "at"),
            )
        else:
            request = temporal_pb2.TrendRequest(
                user_id=user,
                group_id=optional_text(group_id, "group_id"),
                project_id=optional_text(project_id, "project_id"),
                about=_about(named, subject, None),
                what=checked_text(what, "what", 16),
                since_us=since_us,
                until_us=until_us,
                predict_at_us=predict_at_us,
            )
        answer: temporal_pb2.TrendAnswer = await self._session.ask(request, user)
        return answer


def checked_bucket(bucket: object) -> int:
    """A context bucket. InvalidMessage where it is none."""
    if isinstance(bucket, bool) or not isinstance(bucket, int) or not 0 <= bucket < 2**32:
        raise InvalidMessage(f"bucket is {bucket!r}", "Give the number that `preferences` shows.")
    return bucket


def _refuse_idle(
    named: str, what: str, subject: Name, group_id: Name, project_id: Name, bucket: object, at: Moment
) -> None:  # fmt: skip
    """InvalidMessage for an option that would be taken and do nothing."""
    idle: dict[str, object]
    if named.startswith((SKILL, STYLE)):
        a_skill = named.startswith(SKILL)
        told = ("value", "confidence") if a_skill else ("value",)
        mend = f"Leave it out: {'the confidence of a skill' if a_skill else 'the preferred style'} is told, of the user alone."
        idle = {
            "what": what not in told, "subject": subject, "group_id": group_id, "project_id": project_id,
            "bucket": a_skill and bucket != 0,
        }  # fmt: skip
    else:
        mend = f"Leave it out; it belongs to {STYLE}<dimension> or {SKILL}<skill id>. `state` tells what a fact was then."
        idle = {"bucket": bucket != 0, "at": at}
    for name, given in idle.items():
        if given:
            raise InvalidMessage(f"{name} says nothing of {named}", mend)


def _about(about: Name, subject: Name, kind: Kinds) -> temporal_pb2.FactsAbout:
    """What is a UUID is the id of a memory, anything else a predicate."""
    named = optional_text(about, "about")
    meant = temporal_pb2.FactsAbout(subject=optional_text(subject, "subject"), kinds=checked_kinds(kind, "kind"))
    try:
        meant.memory_id = str(uuid.UUID(named)) if named else ""
    except ValueError:
        meant.predicate = named
    if meant.memory_id and meant.subject:
        raise InvalidMessage("subject says nothing beside the id of a memory", "Leave it out, or name a predicate.")
    return meant
