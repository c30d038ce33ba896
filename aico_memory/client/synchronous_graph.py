"""The synchronous face of the verbs on the graph."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import Any, Protocol, TypeVar

from aico_memory.client.graph_verbs import GraphVerbs
from aico_memory.client.memory_verbs import Moment
from aico_memory.client.paging import Rows
from aico_memory.client.results import Memory
from aico_memory.client.time_results import Edge, Entity, EntityMerge, GraphChanges, Related, Surroundings

Result = TypeVar("Result")
Name = str | None


class _Face(Protocol):
    """What the synchronous client has: the asynchronous one, and a loop that runs its verbs."""

    @property
    def _client(self) -> GraphVerbs: ...

    def _run(self, verb: Coroutine[Any, Any, Result]) -> Result: ...


class SynchronousGraph:
    """Every verb is that of AsyncMemoryClient, which documents it, and waits for the result."""

    def entities(
        self: _Face, user_id: str, name: Name = None, limit: int = 100, group_id: Name = None, project_id: Name = None
    ) -> Rows[Entity]:
        """Who and what facts speak of."""
        return self._run(self._client.entities(user_id, name, limit, group_id, project_id))

    def neighbours(
        self: _Face,
        user_id: str,
        entity: str,
        as_of: Moment = None,
        known_as_of: Moment = None,
        limit: int = 100,
        group_id: Name = None,
        project_id: Name = None,
    ) -> Surroundings:
        """What stands around an entity as of a moment."""
        return self._run(self._client.neighbours(user_id, entity, as_of, known_as_of, limit, group_id, project_id))

    def paths(
        self: _Face,
        user_id: str,
        start: str,
        goal: str,
        as_of: Moment = None,
        known_as_of: Moment = None,
        max_hops: int = 3,
        limit: int = 20,
        group_id: Name = None,
        project_id: Name = None,
    ) -> Rows[list[Edge]]:
        """Ways from one entity to another as of a moment, the shortest first."""
        return self._run(
            self._client.paths(user_id, start, goal, as_of, known_as_of, max_hops, limit, group_id, project_id)
        )  # fmt: skip

    def graph_changes(
        self: _Face,
        user_id: str,
        since: Moment,
        until: Moment = None,
        known_as_of: Moment = None,
        group_id: Name = None,
        project_id: Name = None,
    ) -> GraphChanges:
        """Edges that came and went between two moments."""
        return self._run(self._client.graph_changes(user_id, since, until, known_as_of, group_id, project_id))

    def hub(
        self: _Face, user_id: str, entity: str, limit: int = 100, group_id: Name = None, project_id: Name = None
    ) -> Rows[Memory]:
        """Every active fact that mentions an entity."""
        return self._run(self._client.hub(user_id, entity, limit, group_id, project_id))

    def related(
        self: _Face,
        user_id: str,
        memory_id: str,
        types: str | Sequence[str] | None = None,
        max_hops: int = 2,
        limit: int = 100,
        group_id: Name = None,
        project_id: Name = None,
    ) -> Rows[Related]:
        """Memories around a memory, nearest first."""
        return self._run(self._client.related(user_id, memory_id, types, max_hops, limit, group_id, project_id))

    def merge_entities(
        self: _Face, user_id: str, kept: str, absorbed: str, group_id: Name = None, project_id: Name = None
    ) -> EntityMerge:
        """Two entities are one from now on; it can be undone."""
        return self._run(self._client.merge_entities(user_id, kept, absorbed, group_id, project_id))

    def undo_merge(self: _Face, user_id: str, merge_id: str, group_id: Name = None, project_id: Name = None) -> EntityMerge:
        """What was merged stands apart again."""
        return self._run(self._client.undo_merge(user_id, merge_id, group_id, project_id))
