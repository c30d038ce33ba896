"""What can be asked of the advisor's memory; answered from what is committed, outside of the consumer's thread."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence

from google.protobuf.message import Message

from aico_memory.clock import Clock
from aico_memory.contracts.envelope import Event
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import outcomes_pb2
from aico_memory.domain.advisor.advice import Advice, Reason, advise
from aico_memory.domain.advisor.insights import PROMOTED, STATES, Insight, advice_of
from aico_memory.domain.advisor.outcome import OUTCOMES, Outcome, checked_outcome, checked_type, embedded_text
from aico_memory.domain.advisor.patterns import YES, PatternRules, patterns_of
from aico_memory.domain.advisor.profile import TypeCount
from aico_memory.domain.advisor.records import named_by
from aico_memory.errors import InvalidMessage, KeyDestroyed, NotFound
from aico_memory.models.token_counter import TokenCounter
from aico_memory.runtime.ports import Ports, RequestHandler
from aico_memory.settings.outcomes import OutcomeSettings
from aico_memory.stores.behavioral.port import BehavioralStore
from aico_memory.vault.sealer import Sealer
from services.behavioral.advisor.finding import IDS, NEWEST, Finder, Found, Library
from services.behavioral.advisor.insights import insights_page
from services.behavioral.advisor.recording import answer_of, open_message
from services.behavioral.advisor.sealing import opened, opened_vector, profile_of
from services.behavioral.advisor.telling import DETAIL, LINES, acceptance_of, item, profile_message


class Asking:
    """The ephemeral requests."""

    def __init__(
        self, store: BehavioralStore, rules: PatternRules, settings: OutcomeSettings, sealer_of: Callable[[str], Sealer],
        finder: Finder, counter: Callable[[], TokenCounter], clock: Clock, insights_file: str,
    ) -> None:  # fmt: skip
        self._store = store
        self._rules = rules
        self._settings = settings
        self._sealer_of = sealer_of
        self._finder = finder
        self._counter = counter
        self._clock = clock
        self._insights_file = insights_file

    def handlers(self) -> Mapping[str, RequestHandler]:
        """By topic."""
        asked: Mapping[type[Message], RequestHandler] = {
            outcomes_pb2.OutcomeAnswerRequest: self._answer,
            outcomes_pb2.SuggestionsRequest: self._suggestions,
            outcomes_pb2.ProfileRequest: self._profile,
            outcomes_pb2.OutcomesRequest: self._outcomes,
            outcomes_pb2.ShouldSuggestRequest: self._should_suggest,
            outcomes_pb2.InsightsRequest: self._insights,
        }
        return {topic_of(kind).name: handler for kind, handler in asked.items()}

    def _answer(self, event: Event, ports: Ports) -> Message:
        event_id = event.message.event_id
        with self._store.reading() as rows:
            found = rows.outcome_of_event(uuid.UUID(bytes=event_id)) if len(event_id) == 16 else None
        if found is None or found.user != event.user:
            raise NotFound("No outcome of this user stands under this event id (yet)")
        return answer_of(found.answer)

    def _suggestions(self, event: Event, ports: Ports) -> Message:
        now_us = self._clock.now_us()
        with self._store.reading() as rows:
            # What is over is recorded as expired when the job comes by, or the user's next suggestion.
            found = [one for one in rows.open_suggestions(event.user) if one.expires_us > now_us]
            sealer = self._reader(event.user)
        return outcomes_pb2.SuggestionsPage(suggestions=[open_message(one, sealer) for one in found])

    def _profile(self, event: Event, ports: Ports) -> Message:
        with self._store.reading() as rows:
            profile = profile_of(rows, event.user, self._reader(event.user))
            learning = rows.user(event.user).behavioral
        patterns = patterns_of(profile, self._rules)
        return profile_message(event.user, profile, patterns, learning, self._settings.profile)

    def _outcomes(self, event: Event, ports: Ports) -> Message:
        request = event.message
        for name in request.outcomes:
            checked_outcome(name)
        library = self._library(event.user, bool(request.query) and not request.ids)
        candidates = [one for one in library.outcomes if _passes(one, request)]
        # What is named is told whole.
        limit = request.top_k or (len(candidates) if request.ids else self._settings.top_k)
        if request.ids:
            found = _by_ids(candidates, request.ids)
        elif request.query:
            found = self._finder.ranked(candidates, library, request.query)
        else:
            newest = sorted(candidates, key=lambda one: (one.decided_us, one.number), reverse=True)
            found = Found([(0.0, one) for one in newest], {}, NEWEST)
        counter, ordered, replaced = self._counter(), library.by_time, library.replaced
        answer = outcomes_pb2.Outcomes(
            matching=len(candidates), tokenizer=counter.name, answered_by=found.answered_by, degraded=found.degraded
        )
        for score, one in found.hits[:limit]:
            answer.outcomes.append(item(one, request.layer, score, ordered, replaced, self._settings, counter.count))
            full = answer.outcomes[-1] if request.layer == DETAIL else item(
                one, DETAIL, score, ordered, replaced, self._settings, counter.count
            )  # fmt: skip
            answer.tokens_in_full += full.tokens
        answer.tokens = sum(one.tokens for one in answer.outcomes)
        return answer

    def _should_suggest(self, event: Event, ports: Ports) -> Message:
        request, user = event.message, event.user
        checked_type(request.type)
        with self._store.reading() as rows:
            learning = rows.user(user).behavioral
            profile = profile_of(rows, user, self._reader(user)) if learning else None
            insights = [one for one in rows.insights() if one.status == PROMOTED and one.type == request.type]
        if profile is None:
            answer = outcomes_pb2.SuggestionAdvice(verdict=YES, learning=False)
            answer.reasons.add(rule="no_consent", advice=YES, text="learning is off for this user: nothing is known")
            return answer
        library = self._library(user, with_vectors=True)
        latest = _latest(library.by_time)
        of_type = [one for one in latest if one.type == request.type]
        found = self._similar(request, latest, library)
        others = [
            (found.cosines[one.number], one) for _, one in found.hits
            if one.number in found.cosines and (one.type, one.value) != (request.type, request.value)
        ]  # fmt: skip
        class_name = self._rules.class_of(request.type)
        patterns = [one for one in patterns_of(profile, self._rules) if one.speaks_of(request.type, class_name)]
        count = profile.types.get(request.type, TypeCount())
        figures, now_us = self._settings.advice, self._clock.now_us()
        advice = advise(request.value, count, patterns, of_type, others[: figures.similar], figures, now_us)
        answer = self._advice_message(request, advice, count, insights)
        counter = self._counter().count
        hits = [(found.cosines.get(one.number, score), one) for score, one in found.hits]
        alike = [hit for hit in hits if _alike(*hit, request, figures.similarity)]
        for shown, one in alike[: figures.similar]:
            answer.similar.append(item(one, LINES, shown, library.by_time, {}, self._settings, counter))
        answer.degraded.extend(found.degraded)
        return answer

    def _similar(self, request: outcomes_pb2.ShouldSuggestRequest, latest: Sequence[Outcome], library: Library) -> Found:
        if not latest:
            return Found((), {}, NEWEST)
        about = request.text or embedded_text(_as_outcome(request))
        return self._finder.ranked(latest, library, about)

    def _advice_message(
        self, request: outcomes_pb2.ShouldSuggestRequest, advice: Advice, count: TypeCount, insights: Sequence[Insight]
    ) -> outcomes_pb2.SuggestionAdvice:
        figures = self._settings.profile
        reasons = list(advice.reasons)
        if not count.decided:
            low = self._settings.advice.reluctant_rate
            reasons += [
                Reason("insight", advice_of(one, self._rules, low), one.statement) for one in insights
            ]  # fmt: skip
        verdict = max((one.advice for one in reasons), key=("yes", "caution", "no").index, default=YES)
        answer = outcomes_pb2.SuggestionAdvice(
            verdict=verdict, learning=True, acceptance=acceptance_of(request.type, count, figures)
        )
        if request.value:
            answer.value_acceptance.CopyFrom(acceptance_of(request.value, advice.value_count, figures))
        for one in reasons:
            answer.reasons.add(rule=one.rule, advice=one.advice, text=one.text)
        return answer

    def _insights(self, event: Event, ports: Ports) -> Message:
        status = event.message.status
        if status and status not in STATES:
            raise InvalidMessage(f"The status is {status!r}", f"Allowed are {', '.join(STATES)}.")
        with self._store.reading() as rows:
            found = [one for one in rows.insights() if status in ("", one.status)]
        return insights_page(found, self._insights_file, self._settings.k)

    def _library(self, user: str, with_vectors: bool) -> Library:
        with self._store.reading() as rows:
            records = rows.outcomes(user)
            vectors = rows.outcome_vectors(user) if with_vectors and records else []
            sealer = self._reader(user) if records else None
        if sealer is None:
            return Library((), {})
        held = {}
        for one in vectors:
            vector = opened_vector(one, user, sealer)
            if vector is not None:
                held[one.number] = (one.fingerprint, vector)
        return Library([opened(record, sealer) for record in records], held)

    def _reader(self, user: str) -> Sealer:
        try:
            return self._sealer_of(user)
        except KeyDestroyed:
            return _NoKey()


class _NoKey:
    """Opens nothing: the user's key is destroyed, or was never made."""

    def seal(self, plaintext: bytes, context: bytes = b"") -> bytes:
        raise KeyDestroyed("No data key stands for this user")

    def open(self, sealed: bytes, context: bytes = b"") -> bytes:
        raise KeyDestroyed("No data key stands for this user")


def _passes(outcome: Outcome, request: outcomes_pb2.OutcomesRequest) -> bool:
    if request.types and outcome.type not in request.types:
        return False
    if request.outcomes and outcome.outcome not in request.outcomes:
        return False
    if not set(request.tags) <= set(outcome.tags):
        return False
    return request.from_us <= outcome.decided_us < (request.until_us or 2**62)


def _by_ids(candidates: Sequence[Outcome], ids: Sequence[str]) -> Found:
    hits: dict[int, Outcome] = {}
    for wanted in ids:
        named = named_by(wanted, candidates)
        if not named:
            raise NotFound(f"The user has no outcome {wanted[:64]!r}")
        hits.update((one.number, one) for one in named)
    return Found([(0.0, one) for one in hits.values()], {}, IDS)


def _alike(nearness: float, one: Outcome, request: outcomes_pb2.ShouldSuggestRequest, least: float) -> bool:
    """Whether an outcome is shown as similar: near enough, or of the same type or value."""
    return nearness >= least or one.type == request.type or bool(request.value and one.value == request.value)


def _latest(ordered: Sequence[Outcome]) -> list[Outcome]:
    """Of each suggestion the outcome recorded last, in the given order."""
    numbers: dict[str, int] = {}
    for one in ordered:
        numbers[one.suggestion_id] = max(one.number, numbers.get(one.suggestion_id, 0))
    return [one for one in ordered if numbers[one.suggestion_id] == one.number]


def _as_outcome(request: outcomes_pb2.ShouldSuggestRequest) -> Outcome:
    nobody = uuid.UUID(int=0)
    return Outcome("", nobody, 0, "", request.type, OUTCOMES[0], 0, 0, value=request.value)
