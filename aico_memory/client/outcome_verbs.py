"""Verbs on suggestions: may I suggest it, what became of it, what is known of this user's answers."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from google.protobuf.message import Message

from aico_memory.client import outcome_shapes as shapes
from aico_memory.client.outcome_results import (
    CompactionReport,
    Insight,
    Insights,
    OpenSuggestion,
    OutcomesFound,
    Profile,
    RecordedOutcome,
    SuggestionAdvice,
)
from aico_memory.client.session import Session
from aico_memory.client.validation import (
    checked_flag,
    checked_id,
    checked_names,
    checked_span,
    checked_text,
    moment_us,
    optional_text,
)
from aico_memory.contracts.v1 import behavioral_pb2, outcomes_pb2
from aico_memory.domain.advisor.outcome import ACCEPTED, OUTCOMES, REJECTED, checked_outcome, checked_type
from aico_memory.errors import InvalidMessage, NotFound
from aico_memory.ids import new_id

Moment = datetime | str | None
MAX_REASON = 2000
MAX_STATE = 20_000
# Compaction reads everybody's outcomes.
COMPACT_SECONDS = 600.0


class OutcomeVerbs:
    """Verbs on suggestions, outcomes and profiles."""

    _session: Session

    async def record_outcome(
        self,
        user_id: str,
        suggestion_id: str,
        type: str,
        value: str | None = None,
        outcome: str | None = None,
        reason: str | None = None,
        state_before: Any = None,
        state_after: Any = None,
        evidence: Sequence[str] = (),
        created: Moment = None,
        decided: Moment = None,
        tags: Sequence[str] = (),
        event_id: str | uuid.UUID | None = None,
    ) -> RecordedOutcome:
        """Record what became of a suggestion: accepted, rejected, expired or superseded. It updates the profile at once.

        `type` is a name (`add_habit`), `value` the key of its target; states are any JSON values. The same outcome of the
        same suggestion counts once; another one takes its place. Without the user's consent nothing is recorded, and the
        status says so.
        """
        user = self._session.user(user_id)
        message = behavioral_pb2.OutcomeRecorded(
            user_id=user,
            suggestion_id=checked_text(suggestion_id, "suggestion_id", 256),
            type=checked_type(checked_text(type, "type", 64)),
            value=optional_text(value, "value", 256),
            outcome=checked_outcome(optional_text(outcome, "outcome", 16)),
            reason=optional_text(reason, "reason", MAX_REASON),
            state_before_json=_as_json(state_before, "state_before"),
            state_after_json=_as_json(state_after, "state_after"),
            evidence=_texts(evidence, "evidence"),
            created_us=moment_us(created, "created"),
            decided_us=moment_us(decided, "decided"),
            tags=_texts(tags, "tags"),
        )
        return await self._decided(message, user, event_id)

    async def make_suggestion(
        self,
        user_id: str,
        type: str,
        value: str | None = None,
        reason: str | None = None,
        suggestion_id: str | None = None,
        state_before: Any = None,
        evidence: Sequence[str] = (),
        tags: Sequence[str] = (),
        expires: Moment = None,
    ) -> OpenSuggestion:
        """Note a suggestion that is being shown; it is open until it is accepted or rejected, or its time has passed."""
        user = self._session.user(user_id)
        named = optional_text(suggestion_id, "suggestion_id") or f"s{new_id(self._session.clock.now_us()).hex[-12:]}"
        message = outcomes_pb2.SuggestionMade(
            user_id=user,
            suggestion_id=named,
            type=checked_type(checked_text(type, "type", 64)),
            value=optional_text(value, "value", 256),
            reason=optional_text(reason, "reason", MAX_REASON),
            state_before_json=_as_json(state_before, "state_before"),
            evidence=_texts(evidence, "evidence"),
            tags=_texts(tags, "tags"),
            expires_us=moment_us(expires, "expires"),
        )

        async def nothing_stands(event_id: uuid.UUID) -> None:
            # The same suggestion again changes nothing and is answered by what stands.
            return None

        return shapes.suggestion_shape(await self._session.command(message, user, recover=nothing_stands))

    async def accept_suggestion(
        self, user_id: str, suggestion_id: str, reason: str | None = None, state_after: Any = None
    ) -> RecordedOutcome:
        """The user accepts an open suggestion. NotFound where there is no such suggestion."""
        return await self._decide(user_id, suggestion_id, ACCEPTED, reason, state_after)

    async def reject_suggestion(
        self, user_id: str, suggestion_id: str, reason: str | None = None, state_after: Any = None
    ) -> RecordedOutcome:
        """The user rejects an open suggestion. NotFound where there is no such suggestion."""
        return await self._decide(user_id, suggestion_id, REJECTED, reason, state_after)

    async def suggestions(self, user_id: str) -> list[OpenSuggestion]:
        """The user's open suggestions, oldest first."""
        user = self._session.user(user_id)
        page = await self._session.ask(outcomes_pb2.SuggestionsRequest(user_id=user), user)
        return [shapes.suggestion_shape(one) for one in page.suggestions]

    async def should_suggest(
        self, user_id: str, type: str, value: str | None = None, text: str | None = None
    ) -> SuggestionAdvice:
        """Whether to suggest this: yes, caution or no, with the reasons, the counts and similar past outcomes.

        `text` says what the suggestion is about, for finding similar ones; None: type and value. Similar are those of
        the same type or value, or as near as `outcomes.advice.similarity` says.
        """
        user = self._session.user(user_id)
        request = outcomes_pb2.ShouldSuggestRequest(
            user_id=user,
            type=checked_type(checked_text(type, "type", 64)),
            value=optional_text(value, "value", 256),
            text=optional_text(text, "text", MAX_REASON),
        )
        return shapes.advice_shape(await self._session.ask(request, user))

    async def profile(self, user_id: str) -> Profile:
        """What is known of the user's answers to suggestions: acceptance by type, patterns, trends, totals."""
        user = self._session.user(user_id)
        return shapes.profile_shape(await self._session.ask(outcomes_pb2.ProfileRequest(user_id=user), user))

    async def outcomes(
        self,
        user_id: str,
        layer: int = shapes.LINES,
        query: str | None = None,
        ids: Sequence[str] = (),
        types: Sequence[str] = (),
        outcomes: Sequence[str] = (),
        tags: Sequence[str] = (),
        since: Moment = None,
        until: Moment = None,
        top_k: int | None = None,
    ) -> OutcomesFound:
        """Past outcomes at one of three depths: 1 a line each, 2 how each came about, 3 everything.

        `ids` (of outcomes or suggestions, as layer 1 shows them) name which; else a `query` ranks what the filters let
        through, by likeness and words; with neither the newest come first. The answer says what reading it costs.
        """
        user = self._session.user(user_id)
        if isinstance(layer, bool) or not isinstance(layer, int) or layer not in (shapes.LINES, shapes.TIMELINE, shapes.DETAIL):
            raise InvalidMessage(f"layer is {layer!r}; allowed are 1, 2 and 3")
        if top_k is not None and (isinstance(top_k, bool) or not isinstance(top_k, int) or not 1 <= top_k <= 1000):
            raise InvalidMessage(f"top_k is {top_k!r}; allowed is 1 to 1000")
        became = _texts(outcomes, "outcomes")
        for name in became:
            if name not in OUTCOMES:
                raise InvalidMessage(f"outcomes names {name!r}; allowed are {', '.join(OUTCOMES)}")
        from_us, until_us = checked_span(since, until)
        request = outcomes_pb2.OutcomesRequest(
            user_id=user,
            layer=layer,
            query=optional_text(query, "query", MAX_REASON),
            ids=_texts(ids, "ids"),
            types=_texts(types, "types"),
            outcomes=became,
            tags=_texts(tags, "tags"),
            from_us=from_us,
            until_us=until_us,
            top_k=top_k or 0,
        )
        return shapes.outcomes_shape(await self._session.ask(request, user), layer)

    async def delete_outcomes(self, user_id: str, ids: Sequence[str] = (), everything: bool = False) -> dict[str, int]:
        """Delete outcomes and what the profile learned from them, or open suggestions; with `everything` all, and the profile.

        `ids` are those of outcomes or suggestions; one that an outcome has names that outcome alone. NotFound where the user
        has none of an id; nothing is deleted then. Numbers of deleted outcomes are not given again.
        """
        user = self._session.user(user_id)
        named = _texts(ids, "ids")
        if bool(named) == checked_flag(everything, "everything"):
            raise InvalidMessage("Name ids, or everything", "Give `ids` or `everything=True`, not both.")
        command = outcomes_pb2.DeleteOutcomes(user_id=user, ids=named, all=everything)
        result = await self._session.command(command, user)
        return {"deleted": result.deleted, "left": result.left}

    async def compact_outcomes(self, user_id: str | None = None) -> CompactionReport:
        """Compact old outcomes now, of one user or of everybody: id, type, value, outcome and date stay."""
        user = "" if user_id is None else self._session.user(user_id)
        command = outcomes_pb2.CompactNow(timestamp=self._session.clock.now_us())
        return shapes.compaction_shape(await self._session.command(command, user, seconds=COMPACT_SECONDS))

    async def curate_insights(self) -> Insights:
        """Make the generalisations over people anew, and the file that shows them."""
        command = outcomes_pb2.CurateInsights(timestamp=self._session.clock.now_us())
        return shapes.insights_shape(await self._session.command(command, "", seconds=COMPACT_SECONDS))

    async def insights(self, status: str | None = None) -> Insights:
        """Generalisations over at least k people: all, or those that are candidate, promoted or rejected."""
        request = outcomes_pb2.InsightsRequest(status=optional_text(status, "status", 16))
        return shapes.insights_shape(await self._session.ask(request, ""))

    async def review_insight(self, insight_id: str, action: str) -> Insight:
        """promote (it speaks to users without a history of their own) or reject."""
        command = outcomes_pb2.ReviewInsight(
            insight_id=checked_text(insight_id, "insight_id", 64), action=checked_text(action, "action", 16)
        )
        return shapes.insight_shape(await self._session.command(command, ""))

    async def _decide(
        self, user_id: str, suggestion_id: str, outcome: str, reason: str | None, state_after: Any
    ) -> RecordedOutcome:
        user = self._session.user(user_id)
        message = outcomes_pb2.DecideSuggestion(
            user_id=user,
            suggestion_id=checked_text(suggestion_id, "suggestion_id", 256),
            outcome=outcome,
            reason=optional_text(reason, "reason", MAX_REASON),
            state_after_json=_as_json(state_after, "state_after"),
        )
        return await self._decided(message, user, None)

    async def _decided(self, message: Message, user: str, event_id: str | uuid.UUID | None) -> RecordedOutcome:
        async def stands(event: uuid.UUID) -> outcomes_pb2.OutcomeResult | None:
            try:
                found: outcomes_pb2.OutcomeResult = await self._session.ask(
                    outcomes_pb2.OutcomeAnswerRequest(user_id=user, event_id=event.bytes), user
                )
            except NotFound:
                # It changed nothing: given again, it is answered again.
                return None
            return found

        given = None if event_id is None else checked_id(event_id, "event_id")
        return shapes.recorded_shape(await self._session.command(message, user, event_id=given, recover=stands))


def _as_json(value: Any, what: str) -> str:
    if value is None:
        return ""
    try:
        text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidMessage(f"{what} is no JSON value: {error}") from error
    return checked_text(text, what, MAX_STATE)


def _texts(values: Sequence[str] | None, what: str) -> list[str]:
    """A list of texts; none for None, which is what a model says of a list that it leaves empty."""
    if isinstance(values, str):
        raise InvalidMessage(f"{what} is one text", "Give a list of texts.")
    return [checked_text(one, what, MAX_REASON) for one in checked_names(values, what)]
