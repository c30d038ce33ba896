"""Progressive disclosure: what there is, how it came about, everything. Each depth costs more tokens, and says how many."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf.json_format import MessageToDict

from aico_memory.clock import Clock
from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import context_pb2, semantic_pb2
from aico_memory.domain.context.deadlines import total_time
from aico_memory.domain.context.freshness import Applied
from aico_memory.domain.context.plan import SEMANTIC
from aico_memory.domain.retrieval.budget import ELLIPSIS
from aico_memory.errors import InvalidMessage, NotFound, TooLarge
from aico_memory.models.token_counter import TokenCounter
from aico_memory.runtime.ports import LinkPort
from aico_memory.settings.context import ContextSettings
from services.context import questions
from services.context.assembling import NOT_ASKED, timings
from services.context.caching import Answers
from services.context.outcome_disclosure import asks_for_outcomes, disclose_outcomes
from services.context.searching import Searching, turning
from services.context.tiers import Stopwatch, TierHealth, Tiers

DEPTHS = ("search", "timeline", "detail")
_DAY_US = 86_400_000_000
_COUNTED = 100_000
# Of what a query finds not everything fits into one answer.
_CUT = "around: too_large"
# Ids that an error names.
_NAMED = 3


class Disclosing:
    """Answers at one of three depths."""

    def __init__(
        self, link: LinkPort, settings: ContextSettings, searching: Searching, counter: TokenCounter, health: TierHealth,
        clock: Clock, answers: Answers,
    ) -> None:  # fmt: skip
        self._link = link
        self._settings = settings
        self._searching = searching
        self._counter = counter
        self._health = health
        self._clock = clock
        self._answers = answers

    def disclose(self, event: Event) -> context_pb2.Disclosed:
        """Raises InvalidMessage for an unknown depth, where nothing says what is meant, and for what would not be heeded.

        NotFound where any of the ids is of no memory that whoever asks may see, TooLarge where not all of them fit.
        """
        request: context_pb2.DiscloseRequest = event.message
        _check(request)
        if len(request.memory_ids) > self._settings.search_limit:
            raise InvalidMessage(
                f"{len(request.memory_ids)} memory_ids are given; at most {self._settings.search_limit} are taken",
                "Ask in several steps.",
            )
        watch = Stopwatch()
        answer = context_pb2.Disclosed(tokenizer=self._counter.name)
        if asks_for_outcomes(request):
            tiers = self._tiers(event, watch, self._settings.deadline_ms)
            disclose_outcomes(tiers, request, self._clock.now_us(), answer, self._settings.search_default)
            answer.timings.extend(timings(watch))
            return answer
        ticket = self._answers.ticket(request) if self._settings.cache.searches else None
        kept = self._answers.kept(ticket) if ticket is not None else None
        if kept is not None:
            answer.ParseFromString(kept.answer)
            answer.cached = True
        else:
            settled, records, turns_us = self._fill(event, request, watch, answer)
            if ticket is not None and settled is not None and not answer.degraded:
                turns = [turns_us, *turning(records), *(self._next_day(record) for record in records)]
                self._answers.keep(ticket, answer, (), Applied(settled, NOT_ASKED), turns)
        answer.timings.extend(timings(watch))
        return answer

    def _fill(
        self, event: Event, request: context_pb2.DiscloseRequest, watch: Stopwatch, answer: context_pb2.Disclosed
    ) -> tuple[int | None, Sequence[semantic_pb2.MemoryRecord], int]:
        """Memories in the detail that is asked for; how far long-term memory had come, None where it did not answer; and
        when the same query may next find something else though nothing was said."""
        scores: dict[str, float] = {}
        settled: int | None = NOT_ASKED
        turns_us = 0
        records: Sequence[semantic_pb2.MemoryRecord] = ()
        whole_ms: float = self._settings.deadline_ms
        if not request.memory_ids:
            kept_ms = 0.0
            if request.depth != "search":
                # What is around them is asked for after the search, which may wait for the model all the time it has.
                whole_ms = self._searching.time(event)
                kept_ms = min(self._settings.deadline_ms, whole_ms / 2)
            found, settled, turns_us = self._searching.found(event, _as_search(request), watch, kept_ms)
            scores = {hit.record.memory_id: hit.score for hit in found.hits}
            records = [hit.record for hit in found.hits]
            answer.degraded.extend(found.degraded)
        if request.depth == "search" and not request.memory_ids:
            answer.items.extend(self._snippet(record, scores[record.memory_id]) for record in records)
            answer.tokens_in_full = sum(self._cost(_plain(record)) for record in records)
        elif request.memory_ids or scores:
            around = self._around(event, request, list(request.memory_ids) or list(scores), watch, whole_ms)
            if around is None:
                answer.degraded.extend({SEMANTIC} - set(answer.degraded))
                settled = None
            else:
                if request.memory_ids and around.unknown:
                    raise NotFound(f"The user has no memory {', '.join(around.unknown[:_NAMED])}")
                if request.memory_ids and around.cut:
                    raise TooLarge(
                        f"{len(around.cut)} of the memories do not fit into one answer: {', '.join(around.cut[:_NAMED])}",
                        "Ask in several steps.",
                    )
                answer.degraded.extend([_CUT] * bool(around.cut))
                settled = None if settled is None else min(settled, around.settled)
                records = [one.record for one in around.found]
                for one in around.found:
                    score = scores.get(one.record.memory_id, 0.0)
                    answer.items.append(self._item(one, request.depth, score))
                    answer.tokens_in_full += self._cost(_plain(self._item(one, "detail", score)))
        for item in answer.items:
            item.tokens = self._cost(_plain(item))
        answer.tokens = sum(item.tokens for item in answer.items)
        return settled, records, turns_us

    def _around(
        self, event: Event, request: context_pb2.DiscloseRequest, memory_ids: Sequence[str], watch: Stopwatch, whole_ms: float
    ) -> context_pb2.Around | None:
        settings = self._settings
        tiers = self._tiers(event, watch, whole_ms)
        question = context_pb2.AroundRequest(
            user_id=request.user_id, memory_ids=memory_ids[: settings.search_limit],
            scopes=questions.readable_scopes(request.user_id, request.group_id, request.project_id),
            neighbours=settings.neighbours if request.depth != "search" else 0, known_as_of_us=request.known_as_of_us,
        )  # fmt: skip
        found: context_pb2.Around | None = tiers.take(tiers.ask(SEMANTIC, request.depth, question, request.user_id))
        return found

    def _tiers(self, event: Event, watch: Stopwatch, whole_ms: float) -> Tiers:
        settings = self._settings
        allowance = (event.deadline_us - event.occurred_us) / 1000 if event.deadline_us and event.occurred_us else 0.0
        total = total_time(whole_ms, allowance)
        reserve = min(settings.reserve_ms, total / 4)
        return Tiers(self._link, self._health, watch, total=total, reserve=reserve, probe=settings.probe_ms)

    def _item(self, one: context_pb2.AroundOne, depth: str, score: float) -> context_pb2.DisclosedItem:
        if depth == "search":
            return self._snippet(one.record, score)
        record = one.record
        item = context_pb2.DisclosedItem(
            id=record.memory_id, kind=record.kind, text=record.text, score=score, days_ago=self._days(record),
            value=record.value, changes=one.changes, before=one.before, after=one.after, status=record.status,
            valid_from_us=record.valid_from_us, valid_until_us=record.valid_until_us,
        )  # fmt: skip
        if depth == "detail":
            item.record.CopyFrom(record)
            # Told once, by the record.
            for name in ("text", "value", "status"):
                item.ClearField(name)
        else:
            longest = self._settings.snippet_characters
            for beside in (*item.before, *item.after):
                beside.text = _cut(beside.text, longest)
            del item.changes[:]
            item.changes.extend(change for change in one.changes if change.what in _TOLD)
            for change in item.changes:
                if change.what == "created" and change.new_value == item.text:
                    # Its text stands there already.
                    change.new_value = _cut(change.new_value, longest)
        return item

    def _snippet(self, record: semantic_pb2.MemoryRecord, score: float) -> context_pb2.DisclosedItem:
        return context_pb2.DisclosedItem(
            id=record.memory_id, kind=record.kind, text=_cut(record.text, self._settings.snippet_characters), score=score,
            days_ago=self._days(record),
        )  # fmt: skip

    def _next_day(self, record: semantic_pb2.MemoryRecord) -> int:
        """When it will have been said a day earlier than now."""
        said = record.sources[0].said_at_us if record.sources else record.valid_from_us
        return said + (self._days(record) + 1) * _DAY_US

    def _days(self, record: semantic_pb2.MemoryRecord) -> int:
        said = record.sources[0].said_at_us if record.sources else record.valid_from_us
        return max(0, self._clock.now_us() - said) // _DAY_US

    def _cost(self, plain: Mapping[str, Any]) -> int:
        text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
        # Of an endless text the beginning is counted, and stands for the rest.
        return self._counter.count(text[:_COUNTED]) * len(text) // min(len(text), _COUNTED)


# Changes that tell what was true, in `timeline`.
_TOLD = frozenset({"created", "text", "status", "valid_from_us", "valid_until_us", "tier"})


def _check(request: context_pb2.DiscloseRequest) -> None:
    """Nothing that is given may be ignored in silence; raises InvalidMessage."""
    if request.depth not in DEPTHS:
        raise InvalidMessage(f"No depth {request.depth[:32]!r}; there are {', '.join(DEPTHS)}")
    if not request.query and not request.memory_ids:
        raise InvalidMessage("Neither query nor memory ids are given", "Search first, then name ids of what was found.")
    if request.query and request.memory_ids:
        # Ids name what is told, a query looks for it: either would have to give way in silence.
        raise InvalidMessage("Both a query and memory_ids are given", "Give a query, or the ids of what it found.")
    timed, outcomes = bool(request.as_of_us or request.known_as_of_us), asks_for_outcomes(request)
    if timed and outcomes:
        raise InvalidMessage("as_of and known_as_of apply to memories", "Filter outcomes by since and until.")
    if request.filters.tags and not outcomes:
        raise InvalidMessage("Memories have no tags; outcomes have", "Filter by the kind outcome as well.")
    if outcomes and (request.filters.tiers or request.filters.session_id):
        raise InvalidMessage("Outcomes have neither tier nor session", "Filter outcomes by status, tag, since and until.")
    if request.memory_ids and not outcomes and (timed or request.filters.ByteSize()):
        raise InvalidMessage(
            "as_of, known_as_of and filters choose among what a query finds; memory_ids name it already",
            "Give a query with them, or the ids alone.",
        )
    if request.memory_ids and request.top_k:
        raise InvalidMessage("top_k bounds what a query finds; memory_ids name all of it", "Give the ids alone.")


def _as_search(request: context_pb2.DiscloseRequest) -> context_pb2.SearchRequest:
    return context_pb2.SearchRequest(
        user_id=request.user_id, query=request.query, top_k=request.top_k, as_of_us=request.as_of_us,
        known_as_of_us=request.known_as_of_us, filters=request.filters, group_id=request.group_id,
        project_id=request.project_id,
    )  # fmt: skip


def _plain(message: Any) -> dict[str, Any]:
    """As a reader gets it: without what is empty, scores in hundredths."""
    found: dict[str, Any] = MessageToDict(message, preserving_proto_field_name=True)
    found.pop("tokens", None)
    if "score" in found:
        found["score"] = round(found["score"], 2)
    return found


def _cut(text: str, longest: int) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= longest else flat[:longest].rstrip() + ELLIPSIS
