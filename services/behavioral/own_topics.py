"""The topics of people's own skills: what a batch of requests needs embedded, and how near a message lies to them.

Vectors are kept in memory under a digest of their text and asked for one text a question, so that a vector does not
depend on what is asked beside it. Losing them loses nothing: the model is asked again.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import behavioral_pb2, model_pb2
from aico_memory.domain.behavioral.shelf import Shelf
from aico_memory.domain.behavioral.topic_words import word_nearness
from aico_memory.domain.formation.language import LanguageTable
from aico_memory.domain.language.detection import is_foreign
from aico_memory.errors import KeyDestroyed
from aico_memory.stores.behavioral.port import BehavioralStore
from aico_memory.vault.sealer import Sealer
from services.behavioral.own_skills import opened, tidy_topics
from services.behavioral.shelves import Shelves
from services.behavioral.topic_vectors import Matrix, rows_of

SELECT = topic_of(behavioral_pb2.SkillSelectionRequest).name
PUT_SKILL = topic_of(behavioral_pb2.PutSkill).name
CHANGE_SKILL = topic_of(behavioral_pb2.ChangeSkill).name
UNDO = topic_of(behavioral_pb2.UndoLearning).name
# Some topics were not at hand; some were compared by their words.
LEFT_OUT, BY_WORDS = "left_out", "words"
# Vectors kept in memory: 1.5 KiB each with 384 dimensions.
_VECTORS = 4096
# People of whom it is kept that they have no topics.
_PEOPLE = 10_000


def text_digest(text: str) -> bytes:
    """16 bytes that stand for a text: nobody's words are kept for longer than their request."""
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


class Wanted(NamedTuple):
    """Topics that a selection may be compared with, and the skills as they will be by then (None: they are changing)."""

    texts: tuple[str, ...]
    shelf: Shelf | None


class Nearness(NamedTuple):
    """By own skill: how near one of its topics is, -1..1; and what the answer is to tell, "" where cosines said it all."""

    by_skill: Mapping[str, float]
    words_or_left_out: str = ""


class _Kept(NamedTuple):
    fingerprint: str
    row: Matrix
    # The model does not speak its language: its vector says nothing.
    foreign: bool


class OwnTopics:
    """One instance, used by the consumer's thread."""

    def __init__(
        self, store: BehavioralStore, shelves: Shelves, reader_of: Callable[[str], Sealer], languages: LanguageTable
    ) -> None:
        self._languages = languages
        self._function_words = frozenset(languages.speakers)
        self._store = store
        self._shelves = shelves
        self._reader_of = reader_of
        self._rows: OrderedDict[bytes, _Kept] = OrderedDict()
        # Who had none when last looked at, and of whose skills nothing was heard since.
        self._without: set[str] = set()

    def wanted(self, events: Sequence[Event]) -> dict[str, Wanted]:
        """By user: what a selection of this batch may need; people without topics of their own are left out.

        Every batch is to be given, in order: who had no topics is read again only after a command of theirs. A skill
        that is made, brought back (by an undo, too) or reverted earlier in the same batch is among the user's skills by then.
        """
        changing = {event.user for event in events if event.topic in (PUT_SKILL, CHANGE_SKILL, UNDO)}
        self._without -= changing
        selecting = {event.user for event in events if event.topic == SELECT}
        found: dict[str, Wanted] = {}
        for user in sorted(selecting - self._without):
            if user in changing:
                made = [event.message.topics for event in events if event.topic == PUT_SKILL and event.user == user]
                found[user] = Wanted((*self._of_all_versions(user), *tidy_topics(chain.from_iterable(made))), None)
                continue
            with self._store.reading() as rows:
                shelf = self._shelves.of(rows, user)
            if shelf.own_topics:
                found[user] = Wanted(tuple(topic for _, topics in shelf.own_topics for topic in topics), shelf)
            else:
                self._remember_without(user)
        return found

    def missing(self, texts: Iterable[str], fingerprint: str) -> list[str]:
        """Those of which no vector of this embedding model is kept."""
        return [text for text in dict.fromkeys(texts) if self._kept(text, fingerprint) is None]

    def keep(self, text: str, embeddings: model_pb2.Embeddings) -> None:
        """Take the answer to `EmbedRequest(texts=[text])`."""
        rows = rows_of(embeddings, 1)
        if rows is not None:
            foreign = is_foreign(text, embeddings.languages, self._languages)
            self._rows[text_digest(text)] = _Kept(embeddings.fingerprint, rows[0], foreign)
            while len(self._rows) > _VECTORS:
                self._rows.popitem(last=False)

    def nearness(self, shelf: Shelf, text: str, vector: Matrix, fingerprint: str, digits: int) -> Nearness:
        """The largest cosine to a topic of each own skill, rounded; to topics that the model cannot read, of words in common.

        A skill of whose topics one is not at hand is left out: half of its topics would say something else.
        """
        found: dict[str, float] = {}
        complete, by_words = True, False
        for skill_id, topics in shelf.own_topics:
            kept = [one for topic in topics if (one := self._kept(topic, fingerprint)) and one.row.size == vector.size]
            if len(kept) < len(topics):
                complete = False
                continue
            spoken = [one.row for one in kept if not one.foreign]
            unread = [topic for topic, one in zip(topics, kept, strict=True) if one.foreign]
            by_words = by_words or bool(unread)
            cosine = float((np.stack(spoken) @ vector).max()) if spoken else -1.0
            found[skill_id] = round(max(cosine, self._shared(unread, text)) if unread else cosine, digits)
        return Nearness(found, LEFT_OUT if not complete else BY_WORDS if by_words else "")

    def nearness_by_words(self, shelf: Shelf, text: str, digits: int) -> Nearness:
        """For a text that the model cannot read: words in common with a topic, whatever its language."""
        found = {skill_id: round(self._shared(topics, text), digits) for skill_id, topics in shelf.own_topics}
        return Nearness(found, BY_WORDS if found else "")

    def _shared(self, topics: Iterable[str], text: str) -> float:
        return max((word_nearness(topic, text, self._function_words) for topic in topics), default=0.0)

    def _of_all_versions(self, user: str) -> list[str]:
        with self._store.reading() as rows:
            records = rows.user_skills(user)
        try:
            return [topic for one in records for topic in opened(one, self._reader_of(user)).trigger.topics]
        except KeyDestroyed:
            return []

    def _remember_without(self, user: str) -> None:
        if len(self._without) >= _PEOPLE:
            self._without.clear()
        self._without.add(user)

    def _kept(self, text: str, fingerprint: str) -> _Kept | None:
        key = text_digest(text)
        kept = self._rows.get(key)
        if kept is None or kept.fingerprint != fingerprint:
            return None
        self._rows.move_to_end(key)
        return kept
