"""What a question about time or the graph may see, and which facts it means."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import temporal_pb2
from aico_memory.domain.formation.formed import SPEAKER
from aico_memory.domain.gate.statement import Known
from aico_memory.domain.memory import Evolution, Scope
from aico_memory.domain.scopes import readable, subject_for, subjects_in
from aico_memory.domain.sleep.derived import is_derived
from aico_memory.domain.temporal.evolution import Said, said_in, taught_by
from aico_memory.domain.temporal.versions import Version, version_of_memory
from aico_memory.errors import NotFound, TooLarge
from aico_memory.settings.identity import IdentitySettings
from aico_memory.stores.semantic.port import SemanticStore
from services.semantic.convert import id_bytes

_PAGE = 500
_OF_SEVERAL = frozenset({"group", "project"})


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks, under which names, and which scopes are seen."""

    user: str
    names: tuple[str, ...]
    scopes: tuple[Scope, ...]

    def subject(self, item: Known) -> str:
        """Whom an item is about, as the asker knows them."""
        return subject_for(item.subject, item.memory, self.names)


def asker_of(event: Event, identity: IdentitySettings) -> Asker:
    """By the header of the question and the group and project that it names."""
    message: Any = event.message
    names = identity.names(event.user)
    return Asker(names[0], names, readable(names, message.group_id, message.project_id))


@dataclass(frozen=True, slots=True)
class Meant:
    """Items that a question means, with their versions as they are believed over time."""

    items: Mapping[bytes, Known]
    versions: tuple[Version, ...]
    histories: Mapping[bytes, Sequence[Evolution]]
    # By item: the events that said it; of a former text also those that said what replaced it.
    said: Mapping[bytes, Sequence[Said]]

    def item(self, version: Version) -> Known:
        """The item of a version."""
        return self.items[version.version_id]


class Reach:
    """Reads the facts that questions mean. Records are no facts: they have neither validity nor a key."""

    def __init__(self, store: SemanticStore, most: int) -> None:
        self._store = store
        self._most = most

    def meant(self, about: temporal_pb2.FactsAbout, asker: Asker) -> Meant:
        """NotFound for an id that the asker may not see, TooLarge where all facts would be too many."""
        found = {one.memory.memory_id: one for one in self._items(about, asker) if one.memory.kind != "record"}
        # What a former text rests on stands with the item that it is a version of.
        whose = {key: one.memory.version_of or key for key, one in found.items()}
        asked = list(dict.fromkeys((*found, *whose.values())))
        histories, proofs = self._store.histories(asked), self._store.evidence(asked)
        causes = {key: taught_by(one.memory, histories[whose[key]], proofs[whose[key]]) for key, one in found.items()}
        versions = tuple(version_of_memory(one.memory, histories[key], causes[key]) for key, one in found.items())
        return Meant(found, versions, histories, {key: said_in(proofs[whose[key]]) for key in found})

    def key_of(self, about: temporal_pb2.FactsAbout, asker: Asker) -> Meant:
        """Facts of one key: that of the id, or of the reading. NotFound where nothing is known of it."""
        meant = self.meant(about, asker)
        if not meant.items:
            raise NotFound("Nothing is known of that", "See what is known with `aico-memory timeline --user USER`.")
        return meant

    def of_kinds(self, versions: Collection[Version], meant: Meant, kinds: Sequence[str]) -> list[Version]:
        """Those of the kinds that are asked for, all where none is named."""
        return [one for one in versions if not kinds or meant.item(one).memory.kind in kinds]

    def _items(self, about: temporal_pb2.FactsAbout, asker: Asker) -> Iterator[Known]:
        if about.memory_id:
            known = self._store.known([id_bytes(about.memory_id)], asker.scopes)
            if not known:
                raise NotFound(f"No memory {about.memory_id} of this user")
            yield from known
            if known[0].memory.fact_key:
                yield from self._store.by_key(known[0].memory.scope, known[0].memory.fact_key)
            return
        for scope in asker.scopes:
            subject = about.subject or SPEAKER
            if about.predicate and (scope.kind not in _OF_SEVERAL or subject == SPEAKER):
                for kept in self._subjects(subject, scope, asker):
                    yield from self._read(scope, kept, about.predicate)
            else:
                # Others of a shared scope are kept under another name than they go by.
                found = self._all(scope, about.subject, asker)
                yield from (one for one in found if about.predicate in ("", one.predicate))

    @staticmethod
    def _subjects(subject: str, scope: Scope, asker: Asker) -> tuple[str, ...]:
        """In a shared scope the asker stands under each of their names."""
        return subjects_in(scope, subject, asker.names)

    def _read(self, scope: Scope, subject: str, predicate: str) -> Sequence[Known]:
        return self._bounded(self._store.by_predicate(scope, subject, predicate, self._most + 1))

    def _all(self, scope: Scope, subject: str, asker: Asker) -> Iterator[Known]:
        after, seen = b"", 0
        while True:
            page = self._store.items([scope], (), after, _PAGE)
            seen += len(page)
            if seen > self._most:
                raise TooLarge(
                    f"More than {self._most} facts of {scope.key} would have to be looked at",
                    "Name a predicate, or raise memory_model.evolution.looked_at.",
                )
            # What sleep wrote of facts is none itself.
            facts = (one for one in page if not is_derived(one.memory))
            yield from (one for one in facts if not subject or asker.subject(one) == subject.casefold())
            if len(page) < _PAGE:
                return
            after = page[-1].memory.memory_id

    def _bounded(self, found: Sequence[Known]) -> Sequence[Known]:
        if len(found) > self._most:
            raise TooLarge(
                f"More than {self._most} facts of one predicate would have to be looked at",
                "Raise memory_model.evolution.looked_at.",
            )
        return found
