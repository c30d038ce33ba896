"""Answers of the working process: conversations, pending experiences, buffers."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import groupby

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import working_pb2
from aico_memory.contracts.v1.working_pb2 import BufferPage, MessagePage, StoredMessage
from aico_memory.domain.working.buffer import BufferEntry, BufferRules, is_promotion_candidate, touch
from aico_memory.settings.working import WorkingSettings
from aico_memory.stores.working import WorkingStore


class Reading:
    """Answers questions from the store; any thread."""

    def __init__(self, store: WorkingStore, settings: WorkingSettings) -> None:
        self._store = store
        self._settings = settings
        self._rules = BufferRules(
            capacity=settings.buffer_items,
            fading_us=int(settings.buffer_fading_minutes * 60_000_000),
            promotion_accesses=settings.promotion_accesses,
            promotion_importance=settings.promotion_importance,
        )

    def messages(self, event: Event) -> MessagePage:
        """The newest messages, newest last; cut at the page's bytes the oldest are left out."""
        asked = event.message
        # First of all: what comes in meanwhile is not vouched for.
        _, settled = self._store.cursor()
        found = self._store.read(event.user, asked.session_id, self._limit(asked.limit), asked.before_event_id)
        kept = self._fitting(found[::-1])
        held = self._store.buffer(event.user, asked.session_id) if asked.in_mind and asked.session_id else ()
        return MessagePage(
            messages=kept[::-1], cut=len(kept) < len(found), settled=settled, in_mind=[entry.id for entry in held]
        )

    def experiences(self, event: Event) -> MessagePage:
        """Pending experiences, oldest first."""
        asked = event.message
        found = self._store.experiences(event.user, self._limit(asked.limit), asked.until_us, asked.after_event_id)
        kept = self._fitting(found)
        return MessagePage(messages=kept, cut=len(kept) < len(found))

    def pending_users(self, event: Event) -> working_pb2.PendingUsers:
        """Users with pending experiences, by id; or the one that is named."""
        asked = event.message
        if asked.user_id:
            found = [one for one in self._store.pending_users(sys.maxsize) if one.user == asked.user_id]
        else:
            found = self._store.pending_users(self._limit(asked.limit), asked.after)
        return working_pb2.PendingUsers(
            users=[working_pb2.PendingUser(user_id=one.user, pending=one.pending, oldest_us=one.oldest_us) for one in found]
        )

    def buffer(self, event: Event) -> BufferPage:
        """What a session holds in mind."""
        return self._page(self._store.buffer(event.user, event.message.session_id))

    def touched(self, event: Event) -> BufferPage:
        """Items came to mind; nobody waits for this answer."""
        message = event.message
        at_us = message.at_us or event.occurred_us
        items = [item for item in message.items if item.id]
        if not items or not message.session_id:
            return BufferPage()
        letters = self._settings.buffer_characters
        # What came to mind at one moment came together, what came later may push it out.
        moments = [
            (moment, [(item.id, item.content[:letters], item.importance) for item in together])
            for moment, together in groupby(items, lambda item: item.last_access_us or at_us)
        ]

        def follow(held: tuple[BufferEntry, ...]) -> tuple[BufferEntry, ...]:
            for moment, together in moments:
                held = touch(held, together, moment, self._rules)
            return held

        return self._page(self._store.update_buffer(event.user, message.session_id, follow, at_us))

    def _limit(self, asked: int) -> int:
        return min(asked or self._settings.read_default, self._settings.read_limit)

    def _fitting(self, messages: Sequence[StoredMessage]) -> list[StoredMessage]:
        """The first ones that fit into an answer; always at least one."""
        kept: list[StoredMessage] = []
        room = self._settings.page_bytes
        for message in messages:
            room -= message.ByteSize()
            if kept and room < 0:
                break
            kept.append(message)
        return kept

    def _page(self, entries: Sequence[BufferEntry]) -> BufferPage:
        return BufferPage(
            items=[
                working_pb2.BufferItem(
                    id=entry.id,
                    content=entry.content,
                    importance=entry.importance,
                    access_count=entry.access_count,
                    last_access_us=entry.last_access_us,
                    promotion_candidate=is_promotion_candidate(entry, self._rules),
                )
                for entry in entries
            ]
        )
