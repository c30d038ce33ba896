"""What a client can ask and say about facts: recall, why, what waits for review, who may write what, what was used."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from aico_memory.client import fact_shapes
from aico_memory.client.fact_results import (
    Explanation,
    PolicyState,
    Recall,
    Reinforcement,
    ReviewOutcome,
    ReviewQueue,
    ShadowReport,
    Turn,
)
from aico_memory.client.memory_verbs import Moment
from aico_memory.client.results import MemoryPage
from aico_memory.client.session import Session
from aico_memory.client.shapes import id_text, memory_shape
from aico_memory.client.validation import (
    MAX_NAME,
    MAX_QUERY,
    checked_among,
    checked_count,
    checked_flag,
    checked_id,
    checked_policy,
    checked_scopes,
    checked_span,
    checked_text,
    checked_zone,
    moment_us,
    optional_text,
)
from aico_memory.contracts.v1 import context_pb2, envelope_pb2, semantic_pb2, working_pb2, write_path_pb2
from aico_memory.errors import InvalidMessage
from aico_memory.ids import new_id, uuid7_ms

WAITING = ("candidate", "shadow")
MAX_REVIEW = 1000
MAX_REASON = 1000
# Between the id of a command and its time.
MOMENT_US = 1_000_000


class FactVerbs:
    """Verbs on facts and on the path on which they are written."""

    _session: Session

    async def recall(
        self,
        question: str,
        user_id: str,
        as_of: Moment = None,
        known_as_of: Moment = None,
        group_id: str | None = None,
        project_id: str | None = None,
        zone: str | None = None,
    ) -> Recall:
        """What answers a question (English, German or Turkish) and was true at `as_of`.

        `as_of` None: at the time that the question names ("in 2019", "next week"), else now.
        `{"results": [{"id", "memory", "value", "valid_from", "valid_until", "confidence", "evidence"}], "degraded"}`:
        normally one, several where several hold at once, none where nothing was true then. `value` is the shortest phrase
        as it was said, None where there is none; `memory` is the text, of a long one what stands around the value;
        `valid_from` and `valid_until` are None where open; `evidence` are event ids; `degraded`: who could not be asked.
        `known_as_of`: by what had been said then, whenever it arrived. `zone` (IANA): in which "yesterday" in the question is
        meant; else that of `as_of`. Reads the own facts, those of a group or project named. Raises InvalidMessage, NaiveTime.
        """
        user = self._session.user(user_id)
        request = context_pb2.RecallRequest(
            user_id=user,
            question=checked_text(question, "question", MAX_QUERY),
            as_of_us=moment_us(as_of, "as_of"),
            known_as_of_us=moment_us(known_as_of, "known_as_of"),
            group_id=optional_text(group_id, "group_id"),
            project_id=optional_text(project_id, "project_id"),
            zone=checked_zone(zone, "zone", as_of),
        )
        return fact_shapes.recall_shape(await self._session.ask(request, user))

    async def explain(
        self, identifier: str, user_id: str, group_id: str | None = None, project_id: str | None = None
    ) -> Explanation:
        """Why a message (its event id) led to what it led to, or how a memory (its id) came about.

        For each event: the filters that matched, its classes, density and feeling, and for each statement the neighbours
        with their similarity, the rule that decided, and what shadow mode would have done. Raises NotFound.
        """
        user = self._session.user(user_id)
        named = checked_id(identifier, "identifier")
        request = write_path_pb2.ExplainRequest(
            user_id=user,
            event_id=named.bytes,
            memory_id=str(named),
            group_id=optional_text(group_id, "group_id"),
            project_id=optional_text(project_id, "project_id"),
        )
        return fact_shapes.explained_shape(await self._session.ask(request, user))

    async def review_queue(
        self,
        user_id: str,
        status: str | Sequence[str] | None = None,
        limit: int = 100,
        group_id: str | None = None,
        project_id: str | None = None,
    ) -> ReviewQueue:
        """What waits for a person: candidates and shadows, the most important first, with what each would have done."""
        user = self._session.user(user_id)
        request = write_path_pb2.ReviewRequest(
            user_id=user,
            statuses=checked_among(status, "status", WAITING),
            limit=checked_count(limit, "limit", MAX_REVIEW),
            group_id=optional_text(group_id, "group_id"),
            project_id=optional_text(project_id, "project_id"),
        )
        return fact_shapes.review_shape(await self._session.ask(request, user))

    async def promote(
        self,
        memory_id: str,
        user_id: str,
        reason: str | None = None,
        group_id: str | None = None,
        project_id: str | None = None,
    ) -> ReviewOutcome:
        """Accept what waits: it is decided anew against what is known now.

        What is superseded, expired or disabled holds again from now on, and what holds in its place ends. Raises NotFound,
        RefusedTransition where it is active or deleted, or its value is held already, ImmutableItem where an immutable item
        stands against it.
        """
        return await self._reviewed("promote", memory_id, user_id, reason, group_id, project_id)

    async def reject(
        self,
        memory_id: str,
        user_id: str,
        reason: str | None = None,
        group_id: str | None = None,
        project_id: str | None = None,
    ) -> ReviewOutcome:
        """Lay aside what waits: it was never believed. Raises NotFound, RefusedTransition."""
        return await self._reviewed("reject", memory_id, user_id, reason, group_id, project_id)

    async def policy(
        self, user_id: str | None = None, group_id: str | None = None, project_id: str | None = None
    ) -> PolicyState:
        """The write policy of a user, group or project (the first that is named from the right), with its versions.

        Without a name: everybody's, which holds where a scope has none of its own.
        """
        user, scope = self._policy_scope(user_id, group_id, project_id)
        return fact_shapes.policy_shape(await self._session.ask(write_path_pb2.PolicyRequest(scope=scope), user))

    async def set_policy(
        self, user_id: str | None = None, group_id: str | None = None, project_id: str | None = None, **fields: Any
    ) -> PolicyState:
        """Change fields of a write policy as a new version.

        Fields: `mode` (auto, shadow, manual), `write_enabled`, `kinds` and `require_approval_kinds` (lists),
        `min_confidence`, `min_evidence`, `session_writes`, `hour_writes`, `scope_items` (0: no limit). Raises InvalidMessage.
        """
        user, scope = self._policy_scope(user_id, group_id, project_id)
        policy, names = checked_policy(fields)
        change = write_path_pb2.PolicyChange(scope=scope, action="set", fields=names, policy=policy)
        return await self._changed_policy(change, user)

    async def rollback_policy(
        self, user_id: str | None = None, group_id: str | None = None, project_id: str | None = None
    ) -> PolicyState:
        """Let the previous policy hold again, as a new version; `read_only` stays. Raises NotFound where there is none."""
        user, scope = self._policy_scope(user_id, group_id, project_id)
        return await self._changed_policy(write_path_pb2.PolicyChange(scope=scope, action="rollback"), user)

    async def set_read_only(
        self, read_only: bool, user_id: str | None = None, group_id: str | None = None, project_id: str | None = None
    ) -> PolicyState:
        """The emergency switch: while it is on no item changes, and what is said waits; records are kept all the same.

        Verbs that change items are refused with ReadOnly. Raises InvalidMessage for anything but True and False.
        """
        user, scope = self._policy_scope(user_id, group_id, project_id)
        change = write_path_pb2.PolicyChange(scope=scope, action="read_only", read_only=checked_flag(read_only, "read_only"))
        return await self._changed_policy(change, user)

    async def shadow_report(
        self,
        user_id: str,
        since: Moment = None,
        until: Moment = None,
        group_id: str | None = None,
        project_id: str | None = None,
    ) -> ShadowReport:
        """What was decided in [since, until), and what the modes auto and shadow would have done with each statement.

        Each is compared with what was stored when it came, under the mode that held then. After a shadow nothing is stored
        for the next to change or end, so that the counts of the other mode are no forecast of a run in it.
        """
        user = self._session.user(user_id)
        since_us, until_us = checked_span(since, until)
        request = write_path_pb2.ShadowReportRequest(
            user_id=user,
            since_us=since_us,
            until_us=until_us,
            group_id=optional_text(group_id, "group_id"),
            project_id=optional_text(project_id, "project_id"),
        )
        return fact_shapes.shadow_shape(await self._session.ask(request, user))

    async def add_turn(
        self,
        user_id: str,
        input: str,
        response: str,
        response_summary: str | None = None,
        interaction_id: str | None = None,
        session_id: str | None = None,
        group_id: str | None = None,
        project_id: str | None = None,
        timestamp: Moment = None,
        zone: str | None = None,
        injected: Sequence[str] | None = None,
        reinforce: bool = True,
    ) -> Turn:
        """Add what was asked and what was answered, as one turn; returns once it is acknowledged.

        `injected` are the ids of the memories that stood in the prompt, so that the answer does not confirm itself.
        With `reinforce`, facts that the response used or told the user grow more certain, each once for this interaction.
        """
        user = self._session.user(user_id)
        event_id = new_id(self._session.clock.now_us())
        named = optional_text(interaction_id, "interaction_id") or str(event_id)
        turn = working_pb2.Turn(
            user_id=user,
            session_id=optional_text(session_id, "session_id"),
            interaction_id=named,
            input=checked_text(input, "input", empty=True),
            response=checked_text(response, "response", empty=True),
            response_summary=optional_text(response_summary, "response_summary", MAX_QUERY),
            said_at_us=moment_us(timestamp, "timestamp"),
            injected_memory_ids=[str(checked_id(one, "injected")) for one in injected or ()],
            reinforce=checked_flag(reinforce, "reinforce"),
            group_id=optional_text(group_id, "group_id"),
            project_id=optional_text(project_id, "project_id"),
            zone=checked_zone(zone, "zone", timestamp),
        )
        if not turn.input and not turn.response:
            raise InvalidMessage("A turn has an input or a response")
        (acknowledged,) = await self._session.publish([self._session.record(turn, user, event_id)])
        return {"event_id": id_text(acknowledged.event_id), "interaction_id": named}

    async def reinforce(
        self,
        interaction_id: str,
        user_id: str,
        delta: float | None = None,
        group_id: str | None = None,
        project_id: str | None = None,
    ) -> Reinforcement:
        """Look once more for what a stored interaction used: raises only what it had not raised. Raises NotFound."""
        user = self._session.user(user_id)
        request = write_path_pb2.ReinforceInteraction(
            user_id=user,
            interaction_id=checked_text(interaction_id, "interaction_id", MAX_NAME),
            group_id=optional_text(group_id, "group_id"),
            project_id=optional_text(project_id, "project_id"),
        )
        if delta is not None:
            if isinstance(delta, bool) or not isinstance(delta, int | float) or not 0 <= delta <= 1:
                raise InvalidMessage(f"delta is {delta!r}", "Give a number from 0 to 1; contradictions lower confidence.")
            request.delta = delta
        return fact_shapes.reinforced_shape(await self._session.command(request, user))

    async def judge(
        self,
        memory_ids: str | Sequence[str],
        user_id: str,
        helpful: bool,
        group_id: str | None = None,
        project_id: str | None = None,
        event_id: str | uuid.UUID | None = None,
    ) -> MemoryPage:
        """Say whether memories that hold helped: their utility moves towards 1 or 0, once an event. Raises NotFound."""
        user = self._session.user(user_id)
        named = [memory_ids] if isinstance(memory_ids, str) else list(memory_ids)
        if not named:
            raise InvalidMessage("memory_ids is empty", "Name the memories that were judged.")
        judged = write_path_pb2.MemoriesJudged(
            user_id=user,
            memory_ids=[str(checked_id(one, "memory_ids")) for one in named],
            helpful=checked_flag(helpful, "helpful"),
            group_id=optional_text(group_id, "group_id"),
            project_id=optional_text(project_id, "project_id"),
        )
        identifier = None if event_id is None else checked_id(event_id, "event_id")

        async def stands(_: uuid.UUID) -> semantic_pb2.MemoryPage | None:
            scopes = checked_scopes(user, group_id, project_id)
            get = semantic_pb2.GetMemory(user_id=user, memory_ids=judged.memory_ids, scopes=scopes)
            found: semantic_pb2.MemoryPage = await self._session.ask(get, user)
            if len(found.records) < len(set(judged.memory_ids)):
                # It was refused: whoever gives it again hears why.
                return None
            judges = [record for record in found.records if record.status == "active" and record.kind != "record"]
            return semantic_pb2.MemoryPage(records=judges)

        page = await self._session.command(judged, user, event_id=identifier, recover=stands)
        return {"results": [memory_shape(record) for record in page.records]}

    async def _changed_policy(self, change: write_path_pb2.PolicyChange, user: str) -> PolicyState:
        """Change a policy; where the reply was lost, the version that this client made at that moment tells it."""

        async def stands(event_id: uuid.UUID) -> write_path_pb2.PolicyState | None:
            state: write_path_pb2.PolicyState = await self._session.ask(write_path_pb2.PolicyRequest(scope=change.scope), user)
            given_us = (uuid7_ms(event_id) or 0) * 1000
            ours = (each for each in state.versions if each.by == self._session.link.identity)
            return state if any(0 <= each.at_us - given_us < MOMENT_US for each in ours) else None

        return fact_shapes.policy_shape(await self._session.command(change, user, recover=stands))

    async def _reviewed(
        self, decision: str, memory_id: str, user_id: str, reason: str | None, group_id: str | None, project_id: str | None
    ) -> ReviewOutcome:
        user = self._session.user(user_id)
        command = write_path_pb2.ReviewDecision(
            user_id=user, memory_id=str(checked_id(memory_id, "memory_id")), decision=decision,
            reason=optional_text(reason, "reason", MAX_REASON), group_id=optional_text(group_id, "group_id"),
            project_id=optional_text(project_id, "project_id"),
        )  # fmt: skip
        return fact_shapes.review_outcome_shape(await self._session.command(command, user))

    def _policy_scope(
        self, user_id: str | None, group_id: str | None, project_id: str | None
    ) -> tuple[str, envelope_pb2.Scope | None]:
        """Header user, who speaks for their own scope alone, and the scope; none: everybody's, which no empty name means."""
        user = "" if user_id is None else self._session.user(user_id)
        for kind, name, given in (
            (envelope_pb2.SCOPE_KIND_PROJECT, "project_id", project_id), (envelope_pb2.SCOPE_KIND_GROUP, "group_id", group_id)
        ):  # fmt: skip
            if given is not None:
                return "", envelope_pb2.Scope(kind=kind, id=checked_text(given, name, MAX_NAME))
        return user, envelope_pb2.Scope(kind=envelope_pb2.SCOPE_KIND_USER, id=user) if user else None
