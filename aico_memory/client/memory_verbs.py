"""What a client can say to memory: add, search and the verbs on single memories."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from aico_memory.client.results import (
    Changed,
    DetailedMemory,
    HistoryEntry,
    ListedMemories,
    Memory,
    RawMessage,
    SearchResults,
)
from aico_memory.client.session import Session
from aico_memory.client.shapes import detailed_shape, history_shape, id_text, memory_shape, message_shape, search_shape
from aico_memory.client.validation import (
    MAX_QUERY,
    checked_count,
    checked_filters,
    checked_flag,
    checked_id,
    checked_messages,
    checked_or_configured,
    checked_scopes,
    checked_text,
    json_object,
    moment_us,
    optional_text,
)
from aico_memory.contracts.v1 import context_pb2, semantic_pb2, working_pb2
from aico_memory.errors import AccessDenied, InvalidMessage, NotFound
from aico_memory.ids import new_id

Moment = datetime | str | None
MAX_TOP_K = 1000
MAX_PAGE = 10_000
_PAGE = 500
# How many memories' owners a client remembers, so that a verb on a memory it has seen needs no user_id.
_OWNERS = 100_000


class MemoryVerbs:
    """Verbs on messages and memories."""

    _session: Session
    _owners: dict[str, str]

    async def add(
        self,
        messages: Sequence[Mapping[str, Any]] | Mapping[str, Any],
        user_id: str,
        session_id: str | None = None,
        group_id: str | None = None,
        project_id: str | None = None,
    ) -> list[str]:
        """Add messages; returns their event ids once all are acknowledged, which means on disk.

        A message is `{"role", "content"}` and, as you like, `id` (a UUID: the same one twice has one effect),
        `name`, `timestamp` (when it was said: ISO 8601 with zone or an aware datetime), `zone` (IANA, in which "tomorrow"
        is meant; else that of the timestamp) and `metadata` (a JSON object). One `user_id` is one person: `name` is what
        they are called, and tells no two people apart; add each one's messages under a `user_id` of their own, with
        a `group_id` where they share what they say. What names a group or a project is
        remembered there, and read by whoever names it. All are checked before the first is published. Without
        timestamps they were said now, one after the other; ids that are made here grow in the list's order.

        Raises InvalidMessage, NaiveTime, TooLarge; BusUnavailable or DeadlineExceeded after `link.publish_seconds`: what
        was given may arrive all the same once the bus is back. The error's `event_ids` are the messages' ids in their
        order: add them again with these as `id`, and each has one effect.
        """
        user = self._session.user(user_id)
        scope = [optional_text(value, what) for value, what in _named(session_id, group_id, project_id)]
        checked = checked_messages(messages, user, *scope)
        # Never later than now, so that a clock that stands still does not put them into the future: their ids tell them apart.
        now_us = self._session.clock.now_us()
        fresh = iter(sorted(new_id(now_us) for _ in checked))
        records = [self._session.record(message, user, identifier or next(fresh)) for identifier, message in checked]
        acknowledged = await self._session.publish(records)
        return [id_text(entry.event_id) for entry in acknowledged]

    async def search(
        self,
        query: str,
        user_id: str,
        top_k: int | None = None,
        as_of: Moment = None,
        known_as_of: Moment = None,
        filters: Mapping[str, Any] | None = None,
        explain: bool = False,
        group_id: str | None = None,
        project_id: str | None = None,
        profile: str | None = None,
    ) -> SearchResults:
        """Search by meaning and by words, best first.

        What answers the question and holds, as `recall` would tell it, comes first, marked `answers`; every message keeps
        its own place behind it. What was superseded comes as an item only where the question, `as_of`, `known_as_of` or a
        filter asks for it.
        `as_of`: what was true then; `known_as_of`: what was known then; None is now. `filters`: `kind`, `tier`,
        `status` (a text or a list each), `session_id`, `since` and `until` (said in [since, until)).
        `top_k`: most results; None is the configured number (`context.search_default`).
        `profile` names a ranking profile (config/ranking), shown as it ranks; None is the configured one.

        Kinds: record, profile, preference, constraint, correction, entity, fact, decision, plan, task_state, episode,
        procedure, pattern, summary. Tiers: episodic, semantic, dormant. States: candidate, shadow, active, superseded,
        expired, disabled, invalid. InvalidMessage for any other.
        """
        user = self._session.user(user_id)
        request = context_pb2.SearchRequest(
            user_id=user,
            query=checked_text(query, "query", MAX_QUERY),
            top_k=checked_or_configured(top_k, "top_k", MAX_TOP_K),
            as_of_us=moment_us(as_of, "as_of"),
            known_as_of_us=moment_us(known_as_of, "known_as_of"),
            filters=checked_filters(filters),
            explain=checked_flag(explain, "explain"),
            group_id=optional_text(group_id, "group_id"),
            project_id=optional_text(project_id, "project_id"),
            profile=optional_text(profile, "profile"),
        )
        found = search_shape(await self._session.ask(request, user), explain)
        self._remember(user, found["results"])
        return found

    async def messages(self, user_id: str, session_id: str | None = None, limit: int = 100) -> list[RawMessage]:
        """The raw messages in working memory, newest last."""
        user = self._session.user(user_id)
        session = optional_text(session_id, "session_id")
        wanted = checked_count(limit, "limit", MAX_PAGE)
        found: list[working_pb2.StoredMessage] = []
        while True:
            # An answer is cut at its size in bytes: go back from the oldest message that came.
            before = found[0].event_id if found else b""
            request = working_pb2.ReadMessages(
                user_id=user, session_id=session, limit=wanted - len(found), before_event_id=before
            )
            try:
                page = await self._session.ask(request, user)
            except NotFound:
                # That message has expired meanwhile; what is older goes with it sooner or later.
                break
            found[:0] = page.messages
            if not page.cut:
                break
        return [message_shape(message) for message in found]

    async def get(
        self, memory_id: str, user_id: str | None = None, group_id: str | None = None, project_id: str | None = None
    ) -> DetailedMemory:
        """One memory with all that is kept of it: strengths, use, feeling, provenance, and how it was taken from what was said.

        `user_id` may be left out where this client has met the memory. Raises NotFound.
        """
        user, identifier = self._owner(memory_id, user_id)
        scopes = checked_scopes(user, group_id, project_id)
        page = await self._session.ask(semantic_pb2.GetMemory(user_id=user, memory_ids=[identifier], scopes=scopes), user)
        if not page.records:
            raise NotFound(f"The user has no memory {identifier}")
        return detailed_shape(page.records[0])

    async def get_all(
        self,
        user_id: str,
        filters: Mapping[str, Any] | None = None,
        limit: int = 100,
        group_id: str | None = None,
        project_id: str | None = None,
    ) -> ListedMemories:
        """The memories of a user, and of a group and project that are named, at most `limit`; filters as for search.

        `cut` tells that there are more.
        """
        user = self._session.user(user_id)
        left = checked_count(limit, "limit", 1_000_000)
        chosen = checked_filters(filters)
        scopes = checked_scopes(user, group_id, project_id)
        found: list[Memory] = []
        after = ""
        while left:
            request = semantic_pb2.ListMemories(
                user_id=user, filters=chosen, limit=min(left, _PAGE), after=after, scopes=scopes
            )
            page = await self._session.ask(request, user)
            found += [memory_shape(record) for record in page.records[:left]]
            left -= min(left, len(page.records))
            after = page.next
            if not after or not page.records:
                break
        self._remember(user, found)
        return {"results": found, "cut": bool(after)}

    async def update(
        self,
        memory_id: str,
        text: str,
        user_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        group_id: str | None = None,
        project_id: str | None = None,
    ) -> Changed:
        """Correct a memory: a new version; the old text stays queryable. Raises NotFound, ImmutableItem.

        An item is read anew, as if the text had been said when it was: whom it is about, its value and since and until when.

        In a group or project only whose word it is may change it: AccessDenied for others.
        """
        user, identifier = self._owner(memory_id, user_id)
        command = semantic_pb2.UpdateMemory(
            user_id=user,
            memory_id=identifier,
            text=checked_text(text, "text"),
            metadata_json=json_object(metadata, "metadata"),
            scopes=checked_scopes(user, group_id, project_id),
        )
        page = await self._session.command(command, user, recover=partial(self._after_change, command))
        return self._changed(page, user, identifier, "Memory updated successfully!")

    async def pin(
        self,
        memory_id: str,
        user_id: str | None = None,
        pinned: bool | None = True,
        immutable: bool | None = None,
        reason: str | None = None,
        group_id: str | None = None,
        project_id: str | None = None,
    ) -> Changed:
        """Hold a memory fast, or let it go; None leaves as it is.

        What is pinned is not forgotten, cut or demoted; what is immutable is not edited, merged, superseded or deleted
        either: what contradicts it waits for `review`. Raises NotFound, AccessDenied, and RefusedTransition for what holds no
        longer.
        """
        user, identifier = self._owner(memory_id, user_id)
        command = semantic_pb2.AnchorMemory(
            user_id=user,
            memory_id=identifier,
            reason=optional_text(reason, "reason"),
            scopes=checked_scopes(user, group_id, project_id),
        )
        if pinned is None and immutable is None:
            raise InvalidMessage("Neither pinned nor immutable is given", "Give True or False for one of them.")
        if pinned is not None:
            command.pinned = checked_flag(pinned, "pinned")
        if immutable is not None:
            command.immutable = checked_flag(immutable, "immutable")
        page = await self._session.command(command, user, recover=partial(self._after_change, command))
        return self._changed(page, user, identifier, "Memory anchored as asked.")

    async def delete(
        self,
        memory_id: str,
        user_id: str | None = None,
        reason: str | None = None,
        group_id: str | None = None,
        project_id: str | None = None,
    ) -> Changed:
        """Invalidate a memory: it holds no longer and stays in the history. Raises NotFound, ImmutableItem, AccessDenied."""
        user, identifier = self._owner(memory_id, user_id)
        command = semantic_pb2.InvalidateMemory(
            user_id=user,
            memory_id=identifier,
            reason=optional_text(reason, "reason"),
            scopes=checked_scopes(user, group_id, project_id),
        )
        page = await self._session.command(command, user, recover=partial(self._after_change, command))
        return self._changed(page, user, identifier, "Memory deleted successfully!")

    async def history(
        self, memory_id: str, user_id: str | None = None, group_id: str | None = None, project_id: str | None = None
    ) -> list[HistoryEntry]:
        """How a memory has changed: its making, then each change, oldest first. Raises NotFound.

        It was made when it arrived, which may be after the moment at which what changed it was said.
        """
        user, identifier = self._owner(memory_id, user_id)
        scopes = checked_scopes(user, group_id, project_id)
        request = semantic_pb2.MemoryHistoryRequest(user_id=user, memory_id=identifier, scopes=scopes)
        answer = await self._session.ask(request, user)
        return history_shape(identifier, answer.changes)

    async def _after_change(
        self,
        command: semantic_pb2.UpdateMemory | semantic_pb2.AnchorMemory | semantic_pb2.InvalidateMemory,
        event_id: uuid.UUID,
    ) -> semantic_pb2.MemoryPage | None:
        """The memory as it stands, where its history names this command as the cause of a change."""
        user, memory_id, scopes = command.user_id, command.memory_id, command.scopes
        asked = semantic_pb2.MemoryHistoryRequest(user_id=user, memory_id=memory_id, scopes=scopes)
        try:
            history = await self._session.ask(asked, user)
        except (NotFound, AccessDenied):
            return None
        if all(change.cause_event_id != event_id.bytes for change in history.changes):
            return None
        get = semantic_pb2.GetMemory(user_id=user, memory_ids=[memory_id], scopes=scopes)
        page: semantic_pb2.MemoryPage = await self._session.ask(get, user)
        return page

    def _changed(self, page: semantic_pb2.MemoryPage, user: str, memory_id: str, message: str) -> Changed:
        memories = [memory_shape(record) for record in page.records]
        self._remember(user, memories)
        return {"message": message, "id": memory_id, "memory": memories[0] if memories else None}

    def _owner(self, memory_id: object, user_id: str | None) -> tuple[str, str]:
        identifier = str(checked_id(memory_id, "memory_id"))
        if user_id is not None:
            return self._session.user(user_id), identifier
        known = self._owners.get(identifier)
        if known is None:
            raise InvalidMessage(f"Whose memory is {identifier}?", "Give user_id; this client has not met the memory before.")
        return known, identifier

    def _remember(self, user: str, memories: Sequence[Mapping[str, Any]]) -> None:
        for memory in memories:
            self._owners[memory["id"]] = user
        while len(self._owners) > _OWNERS:
            self._owners.pop(next(iter(self._owners)))


def _named(session_id: object, group_id: object, project_id: object) -> tuple[tuple[object, str], ...]:
    return (session_id, "session_id"), (group_id, "group_id"), (project_id, "project_id")
