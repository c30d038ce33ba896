"""Outcomes of suggestions in the same three depths as memories, where the filter asks for that kind alone."""

from __future__ import annotations

from collections.abc import Mapping

from aico_memory.contracts.v1 import context_pb2, outcomes_pb2
from aico_memory.domain.context.plan import BEHAVIORAL
from aico_memory.errors import NotFound
from services.context.tiers import Tiers

KIND = "outcome"
LAYERS: Mapping[str, int] = {"search": 1, "timeline": 2, "detail": 3}
_DAY_US = 86_400_000_000


def asks_for_outcomes(request: context_pb2.DiscloseRequest) -> bool:
    """Whether outcomes are meant and no memories."""
    return list(request.filters.kinds) == [KIND]


def disclose_outcomes(
    tiers: Tiers, request: context_pb2.DiscloseRequest, now_us: int, answer: context_pb2.Disclosed, most: int
) -> None:  # fmt: skip
    """Fill the answer from the owner of outcomes; its tier is named as degraded where it says nothing.

    Status filters are the outcomes accepted, rejected, expired, superseded; tags must all be there. The text of each is what
    is counted. A query that names no number finds at most `most`. Raises NotFound for an id that is of no outcome of the
    user.
    """
    question = outcomes_pb2.OutcomesRequest(
        user_id=request.user_id, layer=LAYERS[request.depth], query=request.query[:2000], ids=request.memory_ids,
        outcomes=request.filters.statuses, tags=request.filters.tags, from_us=request.filters.since_us,
        until_us=request.filters.until_us, top_k=min(request.top_k or (0 if request.memory_ids else most), 1000),
    )  # fmt: skip
    asked = tiers.ask(BEHAVIORAL, request.depth, question, request.user_id)
    found: outcomes_pb2.Outcomes | None = tiers.take(asked)
    if found is None:
        error = asked.future.exception() if asked.future.done() else None
        if isinstance(error, NotFound):
            raise error
        answer.degraded.append(f"{BEHAVIORAL}: {asked.refused}" if asked.refused else BEHAVIORAL)
        return
    answer.degraded.extend(found.degraded)
    answer.tokens, answer.tokens_in_full, answer.tokenizer = found.tokens, found.tokens_in_full, found.tokenizer
    for one in found.outcomes:
        answer.items.add(
            id=one.outcome_id, kind=KIND, text=one.text, score=one.score, value=one.value, status=one.outcome,
            days_ago=max(0, now_us - one.decided_us) // _DAY_US, valid_from_us=one.decided_us, tokens=one.tokens,
        )  # fmt: skip
