"""The messages that ask the tiers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from aico_memory.contracts.v1 import behavioral_pb2, context_pb2, envelope_pb2, semantic_pb2, working_pb2
from aico_memory.domain.context.plan import Plan
from aico_memory.settings.context import HotSettings

GLOBAL_SCOPE = "global"
_DAY_US = 86_400_000_000
# What was once true, and is seen where an intent asks for what was.
ONCE_TRUE = ("active", "superseded", "expired")


def turns_question(user: str, session: str, turns: int, in_mind: bool = False) -> working_pb2.ReadMessages:
    """The last turns of a conversation, or of all of a user's where none is named; with what the former has in mind."""
    return working_pb2.ReadMessages(user_id=user, session_id=session, limit=turns, in_mind=in_mind)


def buffer_question(user: str, session: str) -> working_pb2.ReadBuffer:
    """What a conversation has in mind."""
    return working_pb2.ReadBuffer(user_id=user, session_id=session)


def guidance_question(user: str, selection: str) -> behavioral_pb2.SelectionAnswerRequest:
    """What was selected under that id."""
    return behavioral_pb2.SelectionAnswerRequest(user_id=user, request_id=selection)


def style_question(user: str) -> behavioral_pb2.StyleGuidanceRequest:
    """What the user's preferences say of how to answer."""
    return behavioral_pb2.StyleGuidanceRequest(user_id=user)


def semantic_question(
    retriever: str, scopes: Sequence[envelope_pb2.Scope], limit: int, search: context_pb2.SearchRequest
) -> semantic_pb2.SemanticQuery:
    """One retriever's best, with the filters and times of the search."""
    return semantic_pb2.SemanticQuery(
        scopes=scopes, text=search.query, limit=limit, retrievers=[retriever], filters=search.filters,
        as_of_us=search.as_of_us, known_as_of_us=search.known_as_of_us,
    )  # fmt: skip


def candidates_question(
    request: context_pb2.ContextRequest,
    plan: Plan,
    scopes: Sequence[envelope_pb2.Scope],
    hypotheses: Sequence[str],
    hot: HotSettings | None,
    embed_ms: float,
    now_us: int,
) -> context_pb2.CandidatesRequest:
    """All that a context asks of long-term memory; `hot` None where the hot tier is at hand."""
    question = context_pb2.CandidatesRequest(
        user_id=request.user_id, questions=plan.questions, scopes=scopes, limit=plan.candidates, as_of_us=request.as_of_us,
        known_as_of_us=request.known_as_of_us, hypotheses=hypotheses, embed_ms=int(embed_ms), facts=bool(plan.questions),
        zone=request.zone, group_id=request.group_id, project_id=request.project_id, hops=plan.figures.hops,
        relations=plan.figures.relations, hub=plan.figures.hub, kinds=plan.figures.kinds, shares=request.explain,
    )  # fmt: skip
    if plan.historical:
        question.filters.statuses.extend(ONCE_TRUE)
    if hot is not None:
        question.hot = True
        question.hot_utility, question.hot_uses, question.hot_items = hot.utility, hot.uses, hot.items
        question.hot_since_us = max(1, now_us - round(hot.days * _DAY_US))
    return question


def readable_scopes(user: str, group: str, project: str) -> list[envelope_pb2.Scope]:
    """What a turn of this user may read: the user's own, the group and project it names, and what is global."""
    named = (
        (envelope_pb2.SCOPE_KIND_USER, user),
        (envelope_pb2.SCOPE_KIND_GROUP, group),
        (envelope_pb2.SCOPE_KIND_PROJECT, project),
        (envelope_pb2.SCOPE_KIND_GLOBAL, GLOBAL_SCOPE),
    )
    return [envelope_pb2.Scope(kind=kind, id=identifier) for kind, identifier in named if identifier]


def shares_of(shares: Iterable[tuple[str, float]]) -> list[semantic_pb2.RankedShare]:
    """Shares for the wire."""
    return [semantic_pb2.RankedShare(feature=feature, value=value) for feature, value in shares]
