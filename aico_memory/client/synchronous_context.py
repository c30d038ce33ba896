"""The synchronous face of the verbs of reading for a prompt."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from aico_memory.client.context_results import Context, Disclosure, IndexUpdate, UnifiedResults, VerifiedLinks
from aico_memory.client.context_verbs import LAYERS, ContextVerbs
from aico_memory.client.memory_verbs import Moment

Result = TypeVar("Result")
Name = str | None


class _Face(Protocol):
    """What the synchronous client has: the asynchronous one, and a loop that runs its verbs."""

    @property
    def _client(self) -> ContextVerbs: ...

    def _run(self, verb: Coroutine[Any, Any, Result]) -> Result: ...


class SynchronousContext:
    """Every verb is that of AsyncMemoryClient, which documents it, and waits for the result."""

    def context(
        self: _Face,
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
        """The block of text to put before a model that is about to answer `query`."""
        return self._run(
            self._client.context(
                query, user_id, session_id, max_tokens, explain, group_id, project_id, as_of, known_as_of, zone, mood,
                selection_id, patterns,
            )
        )  # fmt: skip

    def disclose(
        self: _Face,
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
        """Memories in as much detail as is needed: `search`, `timeline` or `detail`."""
        return self._run(
            self._client.disclose(
                user_id, depth, query, memory_ids, top_k, filters, as_of, known_as_of, group_id, project_id
            )
        )  # fmt: skip

    def query_unified(
        self: _Face,
        query: str,
        user_id: str,
        layers: Sequence[str] = LAYERS,
        top_k: int | None = None,
        group_id: Name = None,
        project_id: Name = None,
    ) -> UnifiedResults:
        """One search over all layers."""
        return self._run(self._client.query_unified(query, user_id, layers, top_k, group_id, project_id))

    def verify_links(
        self: _Face, user_id: str, limit: int = 1000, repair: bool = False, group_id: Name = None, project_id: Name = None
    ) -> VerifiedLinks:
        """Follow the links between a user's memories and what was said; with `repair`, mend them first."""
        return self._run(self._client.verify_links(user_id, limit, repair, group_id, project_id))

    def update_index(
        self: _Face, user_id: str, memory_ids: Sequence[str] = (), group_id: Name = None, project_id: Name = None
    ) -> IndexUpdate:
        """Bring words, vectors and links of these memories up to date, or of all that the user has."""
        return self._run(self._client.update_index(user_id, memory_ids, group_id, project_id))
