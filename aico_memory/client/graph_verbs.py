"""What a client can ask about the graph: who and what there is, what stands around it, ways, changes; and merges."""

from __future__ import annotations

from collections.abc import Sequence

from aico_memory.client.memory_verbs import Moment
from aico_memory.client.paging import Rows
from aico_memory.client.results import Memory
from aico_memory.client.session import Session
from aico_memory.client.shapes import memory_shape
from aico_memory.client.time_results import Edge, Entity, EntityMerge, GraphChanges, Related, Surroundings
from aico_memory.client.time_shapes import (
    edge_shape,
    entity_shape,
    graph_changes_shape,
    merge_shape,
    related_shape,
    surroundings_shape,
)
from aico_memory.client.validation import (
    MAX_NAME,
    checked_among,
    checked_count,
    checked_id,
    checked_text,
    moment_us,
    optional_text,
)
from aico_memory.contracts.v1 import temporal_pb2
from aico_memory.errors import InvalidMessage

MAX_FOUND = 1000
MAX_HOPS = 6
RELATIONS = ("supersedes", "contradicts", "causes", "elaborates", "same_entity", "related_to")
Name = str | None


class GraphVerbs:
    """Verbs on the graph. An entity is meant by its id or by any of its names; "user" is whoever asks.

    What they return tells by `cut` whether there is more than `limit`.
    """

    _session: Session

    async def entities(
        self, user_id: str, name: Name = None, limit: int = 100, group_id: Name = None, project_id: Name = None
    ) -> Rows[Entity]:
        """Who and what facts speak of, or those that bear a name."""
        user = self._session.user(user_id)
        request = temporal_pb2.EntitiesRequest(
            user_id=user,
            name=optional_text(name, "name"),
            limit=checked_count(limit, "limit", MAX_FOUND),
            group_id=optional_text(group_id, "group_id"),
            project_id=optional_text(project_id, "project_id"),
        )
        answer = await self._session.ask(request, user)
        return Rows((entity_shape(one) for one in answer.entities), answer.cut)

    async def neighbours(
        self,
        user_id: str,
        entity: str,
        as_of: Moment = None,
        known_as_of: Moment = None,
        limit: int = 100,
        group_id: Name = None,
        project_id: Name = None,
    ) -> Surroundings:
        """What stands around an entity as of a moment. Raises NotFound where nobody bears the name."""
        user = self._session.user(user_id)
        request = temporal_pb2.NeighboursRequest(
            user_id=user,
            entity=checked_text(entity, "entity", MAX_NAME),
            as_of_us=moment_us(as_of, "as_of"),
            known_as_of_us=moment_us(known_as_of, "known_as_of"),
            limit=checked_count(limit, "limit", MAX_FOUND),
            group_id=optional_text(group_id, "group_id"),
            project_id=optional_text(project_id, "project_id"),
        )
        return surroundings_shape(await self._session.ask(request, user))

    async def paths(
        self,
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
        """Ways from one entity to another as of a moment, the shortest first. Raises NotFound."""
        user = self._session.user(user_id)
        request = temporal_pb2.PathsRequest(
            user_id=user,
            start=checked_text(start, "start", MAX_NAME),
            goal=checked_text(goal, "goal", MAX_NAME),
            as_of_us=moment_us(as_of, "as_of"),
            known_as_of_us=moment_us(known_as_of, "known_as_of"),
            max_hops=checked_count(max_hops, "max_hops", MAX_HOPS),
            limit=checked_count(limit, "limit", MAX_FOUND),
            group_id=optional_text(group_id, "group_id"),
            project_id=optional_text(project_id, "project_id"),
        )
        answer = await self._session.ask(request, user)
        return Rows(([edge_shape(edge) for edge in way.edges] for way in answer.paths), answer.cut)

    async def graph_changes(
        self,
        user_id: str,
        since: Moment,
        until: Moment = None,
        known_as_of: Moment = None,
        group_id: Name = None,
        project_id: Name = None,
    ) -> GraphChanges:
        """Edges that hold at `until` (None: now) and did not at `since`, and the other way round."""
        if not since:
            raise InvalidMessage("Changes are those since a moment", "Give `since`: ISO 8601 with zone.")
        user = self._session.user(user_id)
        request = temporal_pb2.GraphChangesRequest(
            user_id=user,
            from_us=moment_us(since, "since"),
            until_us=moment_us(until, "until"),
            known_as_of_us=moment_us(known_as_of, "known_as_of"),
            group_id=optional_text(group_id, "group_id"),
            project_id=optional_text(project_id, "project_id"),
        )
        return graph_changes_shape(await self._session.ask(request, user))

    async def hub(
        self, user_id: str, entity: str, limit: int = 100, group_id: Name = None, project_id: Name = None
    ) -> Rows[Memory]:
        """Every active fact that mentions an entity under any of its names, what was said last first."""
        user = self._session.user(user_id)
        request = temporal_pb2.HubRequest(
            user_id=user,
            entity=checked_text(entity, "entity", MAX_NAME),
            limit=checked_count(limit, "limit", MAX_FOUND),
            group_id=optional_text(group_id, "group_id"),
            project_id=optional_text(project_id, "project_id"),
        )
        page = await self._session.ask(request, user)
        return Rows((memory_shape(record) for record in page.records), page.cut)

    async def related(
        self,
        user_id: str,
        memory_id: str,
        types: str | Sequence[str] | None = None,
        max_hops: int = 2,
        limit: int = 100,
        group_id: Name = None,
        project_id: Name = None,
    ) -> Rows[Related]:
        """Memories around a memory, nearest first: supersedes, contradicts, causes, elaborates, same_entity, related_to."""
        user = self._session.user(user_id)
        request = temporal_pb2.RelatedRequest(
            user_id=user,
            memory_id=str(checked_id(memory_id, "memory_id")),
            types=checked_among(types, "types", RELATIONS),
            max_hops=checked_count(max_hops, "max_hops", MAX_HOPS),
            limit=checked_count(limit, "limit", MAX_FOUND),
            group_id=optional_text(group_id, "group_id"),
            project_id=optional_text(project_id, "project_id"),
        )
        answer = await self._session.ask(request, user)
        return Rows((related_shape(item) for item in answer.items), answer.cut)

    async def merge_entities(
        self, user_id: str, kept: str, absorbed: str, group_id: Name = None, project_id: Name = None
    ) -> EntityMerge:
        """Two entities are one from now on. Nothing is moved: `undo_merge` parts them again. Raises NotFound."""
        user = self._session.user(user_id)
        command = temporal_pb2.MergeEntities(
            user_id=user,
            kept=checked_text(kept, "kept", MAX_NAME),
            absorbed=checked_text(absorbed, "absorbed", MAX_NAME),
            group_id=optional_text(group_id, "group_id"),
            project_id=optional_text(project_id, "project_id"),
        )
        return merge_shape(await self._session.command(command, user))

    async def undo_merge(self, user_id: str, merge_id: str, group_id: Name = None, project_id: Name = None) -> EntityMerge:
        """What was merged stands apart again. Raises NotFound."""
        user = self._session.user(user_id)
        command = temporal_pb2.UndoMerge(
            user_id=user,
            merge_id=str(checked_id(merge_id, "merge_id")),
            group_id=optional_text(group_id, "group_id"),
            project_id=optional_text(project_id, "project_id"),
        )
        return merge_shape(await self._session.command(command, user))
