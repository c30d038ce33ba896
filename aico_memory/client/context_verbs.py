"""What a client asks before a model answers: the context, memories step by step, all layers at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aico_memory.client.context_results import Context, Disclosure, IndexUpdate, UnifiedResults, VerifiedLinks
from aico_memory.client.context_shapes import (
    context_shape,
    disclosure_shape,
    unified_shape,
    update_shape,
    verified_shape,
    with_update,
)
from aico_memory.client.memory_verbs import MAX_TOP_K, Moment
from aico_memory.client.session import Session
from aico_memory.client.validation import (
    MAX_QUERY,
    OUTCOME,
    checked_count,
    checked_filters,
    checked_flag,
    checked_id,
    checked_names,
    checked_or_configured,
    checked_scopes,
    checked_text,
    checked_zone,
    moment_us,
    optional_text,
)
from aico_memory.contracts.v1 import context_pb2, semantic_pb2
from aico_memory.errors import InvalidMessage

DEPTHS = ("search", "timeline", "detail")
LAYERS = ("L0", "L1", "L2")
MAX_CHECKED = 100_000
# Memories of one command, as its owner bounds it.
_UPDATED = 200
Name = str | None


class ContextVerbs:
    """Verbs of reading for a prompt."""

    _session: Session

    async def context(
        self,
        query: str,
        user_id: str,
        session_id: Name = None,
        max_tokens: int | None = None,
        explain: bool = False,
        group_id: Name = None,
        project_id: Name = None,
        as_of: Moment = None,
        known_as_of: Moment = None,
        zone: Name = None,
        mood: float | None = None,
        selection_id: Name = None,
        patterns: bool = False,
    ) -> Context:
        """The block of text to put before a model that is about to answer `query`, with where it comes from.

        `max_tokens`: room in the prompt; None is the configured number (`context.max_tokens`).
        `as_of`: what was true then; `known_as_of`: what was known then; None is now. `zone` (IANA) is that of the
        question's own dates. `mood`: how the one who asks feels, −1 to 1; memories that feel alike come first. None: as the
        last messages tell it (`context.mood.messages`; 0 there: not); the answer's `mood` says which.
        `selection_id`: the `request_id` of a skill that was selected; its guidance stands in the block as well. One that
        is not kept (any more), or chose no skill, adds nothing and is no error: the context is what an answer waits for.
        `patterns`: what the user has stated, or thumbs have shown, of how to answer stands in the block as one line (kind
        `style`); nothing without consent to behavioral learning.
        With `explain`: why each item is there, and what was left out by which rule.
        """
        user = self._session.user(user_id)
        request = context_pb2.ContextRequest(
            user_id=user,
            query=checked_text(query, "query", MAX_QUERY),
            session_id=optional_text(session_id, "session_id"),
            max_tokens=checked_or_configured(max_tokens, "max_tokens", 1_000_000),
            explain=checked_flag(explain, "explain"),
            group_id=optional_text(group_id, "group_id"),
            project_id=optional_text(project_id, "project_id"),
            as_of_us=moment_us(as_of, "as_of"),
            known_as_of_us=moment_us(known_as_of, "known_as_of"),
            zone=checked_zone(zone, "zone"),
            valence=_feeling(mood),
            valence_known=mood is not None,
            selection_id=optional_text(selection_id, "selection_id"),
            patterns=checked_flag(patterns, "patterns"),
        )
        return context_shape(await self._session.ask(request, user), explain)

    async def disclose(
        self,
        user_id: str,
        depth: str = "search",
        query: Name = None,
        memory_ids: Sequence[str] = (),
        top_k: int | None = None,
        filters: Mapping[str, Any] | None = None,
        as_of: Moment = None,
        known_as_of: Moment = None,
        group_id: Name = None,
        project_id: Name = None,
    ) -> Disclosure:
        """Memories in as much detail as is needed, with the tokens that reading them costs.

        `search` tells what there is (about 50 tokens each), `timeline` how it came about (about 200), `detail`
        everything (about 500). Give a `query`, or the ids of what was found at a lesser depth, never both. Filters and times
        as for search, of a query only, and so is `top_k`: None is the configured number (`context.search_default`);
        with `{"kind": "outcome"}` outcomes of suggestions are told instead, `status` filters by what became of them, and `tag`
        by their tags (all must be there); memories have no tags. Raises NotFound where any of the ids is unknown.
        """
        if depth not in DEPTHS:
            raise InvalidMessage(f"depth is {depth!r}; allowed are {', '.join(DEPTHS)}")
        if not query and not memory_ids:
            raise InvalidMessage("Give a query, or memory_ids of what was found")
        if query and memory_ids:
            raise InvalidMessage("Both query and memory_ids are given", "Give a query, or the ids of what it found.")
        if memory_ids and top_k is not None:
            raise InvalidMessage("top_k bounds what a query finds; memory_ids name all of it", "Give the ids alone.")
        user = self._session.user(user_id)
        chosen = checked_filters(filters, outcomes=True)
        outcomes = list(chosen.kinds) == [OUTCOME]
        request = context_pb2.DiscloseRequest(
            user_id=user,
            depth=depth,
            query=optional_text(query, "query", MAX_QUERY),
            memory_ids=[
                checked_text(one, "memory_ids") if outcomes else str(checked_id(one, "memory_ids")) for one in memory_ids
            ],
            top_k=checked_or_configured(top_k, "top_k", MAX_TOP_K),
            filters=chosen,
            as_of_us=moment_us(as_of, "as_of"),
            known_as_of_us=moment_us(known_as_of, "known_as_of"),
            group_id=optional_text(group_id, "group_id"),
            project_id=optional_text(project_id, "project_id"),
        )
        return disclosure_shape(await self._session.ask(request, user), depth)

    async def query_unified(
        self,
        query: str,
        user_id: str,
        layers: Sequence[str] = LAYERS,
        top_k: int | None = None,
        group_id: Name = None,
        project_id: Name = None,
    ) -> UnifiedResults:
        """One search over what was said (L0), what is remembered (L1) and how to behave (L2), with what ties the hits.

        The first of each layer come first, then the second: scores of different layers do not compare.
        `top_k`: most of each layer; None is the configured number (`context.search_default`).
        """
        named = checked_names(layers, "layers")
        if unknown := sorted(set(named) - set(LAYERS)):
            raise InvalidMessage(f"layers names {unknown[0]!r}; there are {', '.join(LAYERS)}")
        if not named:
            raise InvalidMessage(f"layers names none; there are {', '.join(LAYERS)}")
        user = self._session.user(user_id)
        request = context_pb2.UnifiedRequest(
            user_id=user,
            query=checked_text(query, "query", MAX_QUERY),
            layers=named,
            top_k=checked_or_configured(top_k, "top_k", MAX_TOP_K),
            group_id=optional_text(group_id, "group_id"),
            project_id=optional_text(project_id, "project_id"),
        )
        return unified_shape(await self._session.ask(request, user))

    async def verify_links(
        self, user_id: str, limit: int = 1000, repair: bool = False, group_id: Name = None, project_id: Name = None
    ) -> VerifiedLinks:
        """Follow the links between a user's memories and what was said, of at most `limit` memories.

        Looked at are the user's own scope and the group and project that are named, whatever became of a memory. With
        `repair` all of them are brought up to date before, as by `update_index`, and `repaired` tells what that did. A proof
        whose message is gone stays: nobody can say it anew, and what rests on it is still believed.
        """
        user = self._session.user(user_id)
        request = context_pb2.VerifyLinksRequest(
            user_id=user, limit=checked_count(limit, "limit", MAX_CHECKED), group_id=optional_text(group_id, "group_id"),
            project_id=optional_text(project_id, "project_id"),
        )  # fmt: skip
        if not checked_flag(repair, "repair"):
            return verified_shape(await self._session.ask(request, user))
        repaired = await self.update_index(user_id, (), group_id, project_id)
        found = verified_shape(await self._session.ask(request, user))
        found["repaired"] = repaired
        return found

    async def update_index(
        self, user_id: str, memory_ids: Sequence[str] = (), group_id: Name = None, project_id: Name = None
    ) -> IndexUpdate:
        """Bring words, vectors and links of these memories up to date, or of all that the user has; what was repaired.

        Looked through are the user's own scope and the group and project that are named, there what is the user's own
        word. Vectors are made behind the answer: `flush` waits for them. Raises NotFound, ReadOnly.
        """
        user = self._session.user(user_id)
        scopes = checked_scopes(user, group_id, project_id)
        named = [str(checked_id(one, "memory_ids")) for one in memory_ids]
        batches = [named[at : at + _UPDATED] for at in range(0, len(named), _UPDATED)] or [[]]
        found = update_shape(semantic_pb2.IndexUpdated())
        for batch in batches:
            after = None
            while after != "":
                command = semantic_pb2.UpdateIndex(user_id=user, memory_ids=batch, scopes=scopes, after=after or "")
                answer = await self._session.command(command, user)
                found = with_update(found, answer)
                after = answer.next
        return found


def _feeling(mood: float | None) -> float:
    if mood is None:
        return 0.0
    if isinstance(mood, bool) or not isinstance(mood, int | float) or not -1 <= mood <= 1:
        raise InvalidMessage(f"mood is {mood!r}; allowed is a number from -1 to 1")
    return float(mood)
