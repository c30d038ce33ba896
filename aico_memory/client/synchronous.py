"""The synchronous face of the client: the same verbs, run in an event loop of its own."""

from __future__ import annotations

import asyncio
import os
import threading
import uuid
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, wait
from typing import Any, TypeVar

from aico_memory.client.asynchronous import AnyHome, AsyncMemoryClient
from aico_memory.client.memory_verbs import Moment
from aico_memory.client.results import (
    AppliedSkill,
    Changed,
    Delivered,
    DetailedMemory,
    FeedbackOutcome,
    HistoryEntry,
    ListedMemories,
    Preference,
    RawMessage,
    SearchResults,
    Skill,
    SkillChoice,
)
from aico_memory.client.session import Session
from aico_memory.client.stream import EventStream
from aico_memory.client.synchronous_context import SynchronousContext
from aico_memory.client.synchronous_facts import SynchronousFacts
from aico_memory.client.synchronous_graph import SynchronousGraph
from aico_memory.client.synchronous_guard import SynchronousGuard
from aico_memory.client.synchronous_learning import SynchronousLearning
from aico_memory.client.synchronous_outcomes import SynchronousOutcomes
from aico_memory.client.synchronous_sleep import SynchronousSleep
from aico_memory.client.synchronous_time import SynchronousTime
from aico_memory.errors import ClosedConnection
from aico_memory.paths import find_home

Result = TypeVar("Result")
# How long open verbs may take to hear of the close, and how often a waiting thread looks whether the loop still runs.
_END_SECONDS = 0.5
_LOOK_SECONDS = 1.0


class MemoryClient(
    SynchronousContext, SynchronousFacts, SynchronousTime, SynchronousGraph, SynchronousLearning, SynchronousGuard,
    SynchronousOutcomes, SynchronousSleep,
):  # fmt: skip
    """A client of one home as one identity: `with MemoryClient.connect() as client`. Thread-safe.

    Every verb is that of AsyncMemoryClient, which documents it, and waits for the result.
    """

    def __init__(self, session: Session) -> None:
        self._pid = os.getpid()
        self._client = AsyncMemoryClient(session)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="memory-client", daemon=True)
        self._thread.start()
        self._closed = False

    @classmethod
    def connect(cls, home: AnyHome = None, identity: str = "default", spool: bool = False) -> MemoryClient:
        """Connect to the bus of a home (default: AICO_MEMORY_HOME, else the platform's data folder).

        Raises within two seconds: BusUnavailable where nothing answers, NotAuthorised for an unknown or
        revoked key, VersionMismatch. With `spool`, what is added while the bus is away is kept on disk, sealed,
        and published as soon as it is there; then connecting does not need the bus either.
        """
        return cls(Session.open(find_home(home), identity, spool))

    @property
    def identity(self) -> str:
        """Who this client is to the bus."""
        return self._client.identity

    @property
    def connected(self) -> bool:
        """Whether the bus answers at this moment; if not, the client goes on trying."""
        return self._client.connected

    def close(self) -> None:
        """Wait (bounded) for what is on its way, then close."""
        if self._closed or os.getpid() != self._pid:
            return
        self._closed = True
        self._client._session.close()
        if threading.current_thread() is self._thread:
            # From a callback: nobody can wait for the loop in its own thread.
            self._loop.call_soon(self._loop.stop)
            return
        # Verbs that other threads wait for end with what the link tells them, not with the loop.
        ended = asyncio.run_coroutine_threadsafe(_end_tasks(), self._loop)
        wait([ended], 2 * _END_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        if not self._thread.is_alive():
            self._loop.close()

    def __enter__(self) -> MemoryClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(
        self,
        messages: Sequence[Mapping[str, Any]] | Mapping[str, Any],
        user_id: str,
        session_id: str | None = None,
        group_id: str | None = None,
        project_id: str | None = None,
    ) -> list[str]:
        """Add messages; returns their event ids, acknowledged."""
        return self._run(self._client.add(messages, user_id, session_id, group_id, project_id))

    def search(
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
        """Search by meaning and by words, best first."""
        found = self._client.search(query, user_id, top_k, as_of, known_as_of, filters, explain, group_id, project_id, profile)
        return self._run(found)

    def messages(self, user_id: str, session_id: str | None = None, limit: int = 100) -> list[RawMessage]:
        """The raw messages in working memory, newest last."""
        return self._run(self._client.messages(user_id, session_id, limit))

    def get(
        self, memory_id: str, user_id: str | None = None, group_id: str | None = None, project_id: str | None = None
    ) -> DetailedMemory:
        """One memory with all that is kept of it."""
        return self._run(self._client.get(memory_id, user_id, group_id, project_id))

    def get_all(
        self,
        user_id: str,
        filters: Mapping[str, Any] | None = None,
        limit: int = 100,
        group_id: str | None = None,
        project_id: str | None = None,
    ) -> ListedMemories:
        """The memories of a user, and of a group and project that are named."""
        return self._run(self._client.get_all(user_id, filters, limit, group_id, project_id))

    def update(
        self,
        memory_id: str,
        text: str,
        user_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        group_id: str | None = None,
        project_id: str | None = None,
    ) -> Changed:
        """Correct a memory; the old text stays queryable."""
        return self._run(self._client.update(memory_id, text, user_id, metadata, group_id, project_id))

    def pin(
        self,
        memory_id: str,
        user_id: str | None = None,
        pinned: bool | None = True,
        immutable: bool | None = None,
        reason: str | None = None,
        group_id: str | None = None,
        project_id: str | None = None,
    ) -> Changed:
        """Hold a memory fast, or let it go; None leaves as it is."""
        return self._run(self._client.pin(memory_id, user_id, pinned, immutable, reason, group_id, project_id))

    def delete(
        self,
        memory_id: str,
        user_id: str | None = None,
        reason: str | None = None,
        group_id: str | None = None,
        project_id: str | None = None,
    ) -> Changed:
        """Invalidate a memory; it stays in the history."""
        return self._run(self._client.delete(memory_id, user_id, reason, group_id, project_id))

    def history(
        self, memory_id: str, user_id: str | None = None, group_id: str | None = None, project_id: str | None = None
    ) -> list[HistoryEntry]:
        """How a memory has changed, oldest first."""
        return self._run(self._client.history(memory_id, user_id, group_id, project_id))

    def select_skill(
        self,
        user_id: str,
        message: str,
        intent: str | None = None,
        sentiment: str | None = None,
        time_of_day: str | None = None,
        topic: str | None = None,
        request_id: str | None = None,
        session_id: str | None = None,
        zone: str | None = None,
    ) -> SkillChoice | None:
        """Choose how to answer a message; None where no skill applies."""
        more = (intent, sentiment, time_of_day, topic, request_id, session_id, zone)
        return self._run(self._client.select_skill(user_id, message, *more))

    def apply_skill(
        self,
        user_id: str,
        system_prompt: str,
        message: str,
        intent: str | None = None,
        sentiment: str | None = None,
        time_of_day: str | None = None,
        topic: str | None = None,
        request_id: str | None = None,
        session_id: str | None = None,
        zone: str | None = None,
    ) -> AppliedSkill:
        """A system prompt with the words of the chosen skill behind it."""
        more = (intent, sentiment, time_of_day, topic, request_id, session_id, zone)
        return self._run(self._client.apply_skill(user_id, system_prompt, message, *more))

    def feedback(
        self,
        user_id: str,
        message_id: str,
        skill_id: str,
        reward: int,
        reason: str | None = None,
        free_text: str | None = None,
        request_id: str | None = None,
        event_id: str | uuid.UUID | None = None,
    ) -> FeedbackOutcome:
        """Say whether an answer was good: reward -1, 0 or 1."""
        return self._run(self._client.feedback(user_id, message_id, skill_id, reward, reason, free_text, request_id, event_id))

    def set_consent(self, user_id: str, behavioral: bool | None = None, long_term: bool | None = None) -> dict[str, bool]:
        """Allow or forbid learning from a user's behaviour, pause long-term memory."""
        return self._run(self._client.set_consent(user_id, behavioral, long_term))

    def skills(self, user_id: str) -> list[Skill]:
        """The skills as this user has taught them."""
        return self._run(self._client.skills(user_id))

    def preferences(self, user_id: str, bucket: int | None = None) -> list[Preference]:
        """The style a user prefers, per context bucket."""
        return self._run(self._client.preferences(user_id, bucket))

    def flush(self, timeout_seconds: float = 60.0) -> None:
        """Return when every consumer is done with what this client published."""
        self._run(self._client.flush(timeout_seconds))

    def publish(
        self,
        topic: str,
        fields: Mapping[str, Any],
        user_id: str | None = None,
        event_id: str | uuid.UUID | None = None,
    ) -> str:
        """Publish a message of any topic by its contract's field names; returns the event id."""
        return self._run(self._client.publish(topic, fields, user_id, event_id))

    def subscribe(self, topic: str, callback: Callable[[Delivered], object] | None = None) -> Events:
        """Hear what is published on a topic from now on: iterate over it, or give a callback (run in another thread)."""
        return Events(self._run(self._client.subscribe(topic, callback)), self._run)

    def _run(self, verb: Coroutine[Any, Any, Result]) -> Result:
        if os.getpid() != self._pid:
            verb.close()
            raise ClosedConnection("This process was forked from the one that opened the client")
        if self._closed:
            verb.close()
            raise ClosedConnection("The client was closed")
        running = asyncio.run_coroutine_threadsafe(verb, self._loop)
        try:
            while not wait([running], _LOOK_SECONDS).done:
                if not self._thread.is_alive():
                    raise ClosedConnection("The client was closed meanwhile")
            return running.result()
        except CancelledError:
            raise ClosedConnection("The client was closed meanwhile") from None
        except BaseException:
            running.cancel()
            raise


async def _end_tasks() -> None:
    """Let every other task end by itself for a moment, then cancel it."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:
        _, late = await asyncio.wait(others, timeout=_END_SECONDS)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)


class Events(Iterator[Delivered]):
    """Records of one topic, as they come; `close()` (or leaving the `with`) ends the iteration."""

    def __init__(self, stream: EventStream, run: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
        self._stream = stream
        self._run = run

    def __next__(self) -> Delivered:
        try:
            event: Delivered = self._run(self._stream.__anext__())
        except (StopAsyncIteration, ClosedConnection):
            raise StopIteration from None
        return event

    def next(self, timeout: float) -> Delivered | None:
        """The next record; None after `timeout` seconds without one."""

        async def bounded() -> Delivered | None:
            try:
                return await asyncio.wait_for(self._stream.__anext__(), timeout)
            except (TimeoutError, StopAsyncIteration):
                return None

        event: Delivered | None = self._run(bounded())
        return event

    def close(self) -> None:
        """Hear nothing more."""
        self._run(self._stream.close())

    def __enter__(self) -> Events:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
