"""Recording what became of a suggestion: the outcome and the profile in one transaction, each event once."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Never

from google.protobuf.message import Message

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import outcomes_pb2
from aico_memory.domain.advisor.compaction import border_us, is_due
from aico_memory.domain.advisor.outcome import (
    EXPIRED,
    MAX_EVIDENCE_CHARACTERS,
    MAX_TAG_CHARACTERS,
    Outcome,
    checked_outcome,
    checked_texts,
    checked_type,
    repeats,
)
from aico_memory.domain.advisor.profile import Profile, TypeCount, folded, updated
from aico_memory.domain.advisor.records import OpenSuggestion, named_by
from aico_memory.errors import InvalidMessage, KeyDestroyed, NotFound
from aico_memory.ids import derive_id
from aico_memory.settings.outcomes import OutcomeSettings
from aico_memory.stores.behavioral.port import BehavioralRows
from aico_memory.vault.sealer import Sealer
from services.behavioral.advisor.compacting import compact_user
from services.behavioral.advisor.sealing import opened, opened_suggestion, profile_of, put_profile, sealed, suggestion_context
from services.behavioral.advisor.telling import acceptance_of

RECORDED, REVISED, UNCHANGED, NO_CONSENT, OPEN = "recorded", "revised", "unchanged", "no_consent", "open"
DAY_US = 86_400_000_000


class Recorder:
    """Applies outcomes, suggestions and decisions; one instance, in the consumer's thread."""

    def __init__(
        self, settings: OutcomeSettings, sealer_of: Callable[[str], Sealer], reader_of: Callable[[str], Sealer]
    ) -> None:
        self._settings = settings
        # Makes who has none a key; the other one raises KeyDestroyed then.
        self._sealer_of = sealer_of
        self._reader_of = reader_of

    def record(self, rows: BehavioralRows, event: Event) -> Message:
        """An `OutcomeRecorded`. InvalidMessage where the type, the outcome, a state or a time is none."""
        standing = _standing(rows, event)
        if standing is not None:
            return standing
        message = event.message
        checked_type(message.type)
        checked_outcome(message.outcome)
        if not rows.user(event.user).behavioral:
            return outcomes_pb2.OutcomeResult(status=NO_CONSENT, suggestion_id=message.suggestion_id)
        self._check_types(rows, event.user, message.type)
        decided_us = message.decided_us or event.occurred_us
        outcome = Outcome(
            user=event.user,
            event_id=event.event_id,
            number=0,
            suggestion_id=message.suggestion_id,
            type=message.type,
            outcome=message.outcome,
            created_us=message.created_us or decided_us,
            decided_us=decided_us,
            value=message.value,
            reason=message.reason,
            state_before=_state(message.state_before_json),
            state_after=_state(message.state_after_json),
            evidence=checked_texts(message.evidence, "evidence", MAX_EVIDENCE_CHARACTERS),
            tags=checked_texts(message.tags, "tags", MAX_TAG_CHARACTERS),
        )
        if outcome.created_us > outcome.decided_us:
            raise InvalidMessage("The suggestion was decided before it was created", "Check `created` and `decided`.")
        _require_past(decided_us, event)
        return self._add(rows, outcome, event.occurred_us)

    def make(self, rows: BehavioralRows, event: Event) -> Message:
        """A `SuggestionMade`: open until it is decided or its time has passed. The same id again says what stands."""
        message, user = event.message, event.user
        checked_type(message.type)
        suggestion_id = message.suggestion_id or f"s{derive_id(event.event_id, 'suggestion').hex[-12:]}"
        if not rows.user(user).behavioral:
            return outcomes_pb2.Suggestion(
                status=NO_CONSENT, suggestion_id=suggestion_id, type=message.type, value=message.value, reason=message.reason
            )
        self._expire(rows, rows.open_suggestions(user), event)
        decided = rows.outcomes_of_suggestion(user, suggestion_id)
        standing, sealer = rows.open_suggestion(user, suggestion_id), self._sealer_of(user)
        if standing is None and decided:
            last = opened(decided[-1], sealer)
            return outcomes_pb2.Suggestion(
                status=last.outcome, suggestion_id=suggestion_id, type=last.type, value=last.value, reason=last.reason,
                created_us=last.created_us,
            )  # fmt: skip
        if standing is None:
            self._check_types(rows, user, message.type)
            created_us = message.created_us or event.occurred_us
            expires_us = message.expires_us or created_us + self._settings.open_days * DAY_US
            if expires_us <= created_us:
                raise InvalidMessage("The suggestion expires before it was created", "Check `created` and `expires`.")
            words = {
                "value": message.value,
                "reason": message.reason,
                "state_before": _state(message.state_before_json),
                "evidence": checked_texts(message.evidence, "evidence", MAX_EVIDENCE_CHARACTERS),
                "tags": checked_texts(message.tags, "tags", MAX_TAG_CHARACTERS),
            }
            body = sealer.seal(json.dumps(words).encode(), suggestion_context(user, suggestion_id))
            standing = OpenSuggestion(user, suggestion_id, message.type, created_us, expires_us, body)
            rows.put_suggestion(standing)
        return open_message(standing, sealer)

    def decide(self, rows: BehavioralRows, event: Event) -> Message:
        """A `DecideSuggestion`: the outcome of an open suggestion, or another one of a suggestion decided before.

        NotFound where no such suggestion is known.
        """
        answered = _standing(rows, event)
        if answered is not None:
            return answered
        message, user = event.message, event.user
        checked_outcome(message.outcome)
        if not rows.user(user).behavioral:
            return outcomes_pb2.OutcomeResult(status=NO_CONSENT, suggestion_id=message.suggestion_id)
        _require_past(message.decided_us, event)
        sealer = self._sealer_of(user)
        suggestion = rows.open_suggestion(user, message.suggestion_id)
        decided = rows.outcomes_of_suggestion(user, message.suggestion_id)
        if suggestion is not None:
            outcome = _from_suggestion(suggestion, sealer)
        elif decided:
            outcome = opened(decided[-1], sealer)
            if outcome.outcome != message.outcome:
                # Why somebody accepted is no reason of a rejection.
                outcome = replace(outcome, reason="")
        else:
            raise NotFound(f"The user has no suggestion {message.suggestion_id!r}")
        outcome = replace(
            outcome,
            event_id=event.event_id,
            outcome=message.outcome,
            decided_us=max(message.decided_us or event.occurred_us, outcome.created_us),
            reason=message.reason or outcome.reason,
            state_after=_state(message.state_after_json),
            compacted=False,
        )
        return self._add(rows, outcome, event.occurred_us)

    def delete(self, rows: BehavioralRows, event: Event) -> Message:
        """A `DeleteOutcomes`: gone, and the profile is what the others say. NotFound where one is not there."""
        message, user = event.message, event.user
        records, suggestions = rows.outcomes(user), [one.suggestion_id for one in rows.open_suggestions(user)]
        if message.all:
            self._forget_profile(rows, user, event.occurred_us)
            rows.delete_outcomes(user, [one.number for one in records])
            for suggestion_id in suggestions:
                rows.close_suggestion(user, suggestion_id)
            return outcomes_pb2.DeletedOutcomes(deleted=len(records) + len(suggestions))
        found = {wanted: named_by(wanted, records) for wanted in sorted(set(message.ids))}
        named = {one.number for ones in found.values() for one in ones}
        # An outcome's own id is no word of a suggestion of the same name.
        shown = [one for one in suggestions if one in found and not any(f"o{each.number}" == one for each in found[one])]
        if unknown := [wanted for wanted, ones in found.items() if not ones and wanted not in shown]:
            raise NotFound(f"The user has no outcome and no open suggestion {unknown[0]!r}")
        for suggestion_id in shown:
            rows.close_suggestion(user, suggestion_id)
        if named:
            sealer = self._sealer_of(user)
            rows.delete_outcomes(user, sorted(named))
            left = [opened(one, sealer) for one in rows.outcomes(user)]
            profile = folded(left, self._settings.profile, profile_of(rows, user, sealer))
            put_profile(rows, user, profile, sealer, event.occurred_us)
        return outcomes_pb2.DeletedOutcomes(deleted=len(named) + len(shown), left=len(records) - len(named))

    def _forget_profile(self, rows: BehavioralRows, user: str, at_us: int) -> None:
        """The last number stays, so that no outcome to come is named as one that was deleted."""
        if rows.profile(user) is None:
            return
        try:
            sealer = self._reader_of(user)
        except KeyDestroyed:
            # Nobody is made a key anew for being deleted.
            rows.delete_profile(user)
            return
        put_profile(rows, user, Profile(last_number=profile_of(rows, user, sealer).last_number), sealer, at_us)

    def expire_overdue(self, rows: BehavioralRows, event: Event, now_us: int) -> int:
        """Record everybody's open suggestions whose time has passed; how many."""
        overdue = [one for one in rows.overdue_suggestions(now_us) if rows.user(one.user).behavioral]
        return self._expire(rows, overdue, event, now_us)

    def _expire(self, rows: BehavioralRows, suggestions: list[OpenSuggestion], event: Event, now_us: int = 0) -> int:
        overdue = [one for one in suggestions if one.expires_us <= (now_us or event.occurred_us)]
        for one in overdue:
            event_id = derive_id(event.event_id, f"expired {one.user} {one.suggestion_id}")
            outcome = _from_suggestion(one, self._sealer_of(one.user))
            expired = replace(outcome, event_id=event_id, outcome=EXPIRED, decided_us=one.expires_us)
            self._add(rows, expired, event.occurred_us)
        return len(overdue)

    def _check_types(self, rows: BehavioralRows, user: str, type_name: str) -> None:
        known = set(profile_of(rows, user, self._sealer_of(user)).types) | {one.type for one in rows.open_suggestions(user)}
        if type_name not in known and len(known) >= self._settings.types:
            told = f"The user has {len(known)} types of suggestions already"
            raise InvalidMessage(told, "Name kinds of suggestions by type, and what they are about by value.")

    def _add(self, rows: BehavioralRows, outcome: Outcome, at_us: int) -> Message:
        user, sealer = outcome.user, self._sealer_of(outcome.user)
        profile = profile_of(rows, user, sealer)
        earlier = rows.outcomes_of_suggestion(user, outcome.suggestion_id)
        rows.close_suggestion(user, outcome.suggestion_id)
        answer = outcomes_pb2.OutcomeResult(suggestion_id=outcome.suggestion_id)
        if earlier and repeats(outcome, opened(earlier[-1], sealer)):
            answer.status, answer.outcome_id = UNCHANGED, f"o{earlier[-1].number}"
            count = profile.types.get(outcome.type, TypeCount())
            answer.acceptance.CopyFrom(acceptance_of(outcome.type, count, self._settings.profile))
            return answer
        outcome = replace(outcome, number=profile.last_number + 1)
        if earlier or outcome.decided_us < profile.last_us:
            others = [opened(one, sealer) for one in rows.outcomes(user)]
            profile = folded([*others, outcome], self._settings.profile, profile)
        else:
            profile = updated(profile, outcome, self._settings.profile)
        answer.status, answer.outcome_id = REVISED if earlier else RECORDED, outcome.outcome_id
        answer.acceptance.CopyFrom(acceptance_of(outcome.type, profile.types[outcome.type], self._settings.profile))
        rows.add_outcome(sealed(outcome, sealer, answer.SerializeToString(deterministic=True)))
        put_profile(rows, user, profile, sealer, at_us)
        before_us = border_us(at_us, self._settings)
        if is_due(*rows.whole_outcomes(user), before_us, self._settings):
            compact_user(rows, user, sealer, before_us, at_us)
        return answer


def _require_past(decided_us: int, event: Event) -> None:
    # Clocks of two machines may differ, days do not.
    if decided_us > event.occurred_us + DAY_US:
        raise InvalidMessage("The suggestion was decided in the future", "Check `decided`: an outcome is what became of it.")


def _standing(rows: BehavioralRows, event: Event) -> outcomes_pb2.OutcomeResult | None:
    found = rows.outcome_of_event(event.event_id)
    return None if found is None else answer_of(found.answer)


def answer_of(answer: bytes) -> outcomes_pb2.OutcomeResult:
    """The answer that an event got when it was applied."""
    return outcomes_pb2.OutcomeResult.FromString(answer)


def open_message(found: OpenSuggestion, sealer: Sealer) -> outcomes_pb2.Suggestion:
    """An open suggestion as its user sees it."""
    words = opened_suggestion(found, sealer)
    return outcomes_pb2.Suggestion(
        status=OPEN, suggestion_id=found.suggestion_id, type=found.type, value=words.get("value", ""),
        reason=words.get("reason", ""), created_us=found.created_us, expires_us=found.expires_us,
    )  # fmt: skip


def _from_suggestion(suggestion: OpenSuggestion, sealer: Sealer) -> Outcome:
    words = opened_suggestion(suggestion, sealer)
    return Outcome(
        user=suggestion.user,
        event_id=uuid.UUID(int=0),
        number=0,
        suggestion_id=suggestion.suggestion_id,
        type=suggestion.type,
        outcome=EXPIRED,
        created_us=suggestion.created_us,
        decided_us=suggestion.expires_us,
        value=words.get("value", ""),
        reason=words.get("reason", ""),
        state_before=words.get("state_before", ""),
        evidence=tuple(words.get("evidence", ())),
        tags=tuple(words.get("tags", ())),
    )


def _state(text: str) -> str:
    """A JSON text in its shortest form, "" for none; InvalidMessage where it is no JSON, or no text that can be kept."""
    if not text:
        return ""
    try:
        state = json.loads(text, parse_constant=_no_json)
        # A number that is too large is infinite by now.
        shortest = json.dumps(state, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
        # JSON can name half of a surrogate pair, which is no character: nothing could seal or send it.
        shortest.encode()
    except (ValueError, RecursionError) as error:
        raise InvalidMessage("A state before or after is no JSON", "Give an object as JSON text.") from error
    return shortest


def _no_json(name: str) -> Never:
    raise ValueError(f"{name} is no JSON")
