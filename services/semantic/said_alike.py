"""What the one who asks has said in the words of a question, for answers by wording."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.formation.observe import filters_of, stopping
from aico_memory.domain.gate.policy import MODES, WritePolicy
from aico_memory.domain.memory import OPEN, RECORD, Memory, Scope, View
from aico_memory.domain.recall.alike import any_alike
from aico_memory.domain.recall.mirrored import Utterance
from aico_memory.domain.recall.question import Question
from aico_memory.domain.recall.segments import words_of
from aico_memory.domain.recall.slots import slot_of
from aico_memory.domain.retrieval.tokens import query_tokens
from aico_memory.settings.recall import RecallSettings
from aico_memory.stores.semantic.port import SemanticStore
from services.semantic.policing import Policing

_FROM_PEOPLE = "user_message"
# What such a message says is nobody's own word, or was written to be obeyed; a list and a row of emoji are still theirs.
_NO_STATEMENTS = frozenset({"system_content", "xml_block", "code", "prompt_injection"})


def _believes(policy: WritePolicy, confidence: float) -> bool:
    """Whether what is said holds as it stands, with the confidence (0..1) of one message's wording.

    Nobody has to approve anything, and nothing is kept out.
    """
    restricted = policy.require_approval_kinds or policy.kinds or policy.read_only or not policy.write_enabled
    # A message by itself is one proof.
    enough = policy.min_evidence <= 1 and policy.min_confidence <= confidence
    return policy.mode == MODES[0] and enough and not restricted


def _shares(memory: Memory, keys: Sequence[str], grammar: Grammar) -> bool:
    return any(any_alike(keys, word, grammar) for word in words_of(memory.text, grammar))


class SaidAlike:
    """Messages of a person that may answer a question: all where they are few, else those that share words with it.

    Without a reader only what shares a word is worth looking at. Safe from many threads.
    """

    def __init__(self, store: SemanticStore, tables: FormationTables, policing: Policing, settings: RecallSettings) -> None:
        self._store = store
        self._tables = tables
        self._policing = policing
        self._settings = settings

    def __call__(
        self, question: Question, grammar: Grammar, scopes: Sequence[Scope], names: Collection[str], now_us: int, zone: str,
        known_us: int = OPEN,
    ) -> list[Utterance]:  # fmt: skip
        """Their messages in the scopes that may be believed as they stand, the oldest first, in the words of `known_us`."""
        slot = slot_of(question, grammar)
        # Where somebody has to approve what is believed, nothing is taken from what was merely said.
        policies = {scope: self._policing.effective(self._store, scope) for scope in scopes}
        own = tuple(scope for scope, policy in policies.items() if _believes(policy, self._settings.wording_confidence))
        if (slot is None and not self._settings.reader) or not own or not self._settings.messages:
            return []
        keys = slot.keys if slot is not None else tuple(sorted(question.words))
        found = []
        mine = [
            memory
            for memory in self._as_known(" ".join(keys), grammar.code, own, now_us, known_us)
            if memory.owner in names and memory.data_source == _FROM_PEOPLE
        ]
        if len({memory.speaker for memory in mine}) > 1:
            # Of a talk between several only what the one who asks has said.
            known = frozenset(name.casefold() for name in names)
            mine = [memory for memory in mine if not memory.speaker or memory.speaker.casefold() in known]
        pauses = {name: self._store.paused_us(name) for name in names}
        for memory in mine:
            since_us = pauses[memory.owner]
            if since_us and memory.created_at_us >= since_us:
                # What is said in a pause is kept, and nothing is made of it.
                continue
            if not self._settings.reader and not _shares(memory, keys, grammar):
                continue
            if not _NO_STATEMENTS & self._held_back(memory.text):
                found.append(memory)
        found.sort(key=lambda memory: memory.said_order)
        return [
            Utterance(memory.version_of or memory.memory_id, memory.text, memory.said_at_us, memory.zone or zone)
            for memory in found
        ]

    def _held_back(self, text: str) -> set[str]:
        """The configured filters that keep a text from making items."""
        figures = self._tables.observe
        return set(stopping(text, filters_of(text, self._tables.signals, figures), figures))

    def _as_known(self, keys: str, language: str, scopes: Sequence[Scope], now_us: int, known_us: int) -> list[Memory]:
        """The messages that are still there; of those that were edited since then the texts that stood then."""
        present = self._records(keys, language, View(tuple(scopes), now_us, kinds=(RECORD,)))
        if known_us >= OPEN:
            return present
        then = View(tuple(scopes), now_us, kinds=(RECORD,), statuses=("superseded",), known_as_of_us=known_us)
        former = {one.version_of: one for one in self._records(keys, language, then) if one.version_of is not None}
        there = {one.memory_id for one in self._store.get(list(former), scopes) if one.status == "active"}
        unedited = [one for one in present if one.version == 1 or one.recorded_at_us <= known_us]
        return unedited + [one for memory_id, one in former.items() if memory_id in there]

    def _records(self, keys: str, language: str, view: View) -> list[Memory]:
        """All records where they are few; else those that share words."""
        few = self._store.page(view, b"", self._settings.messages + 1)
        if len(few) <= self._settings.messages:
            return few
        hits = self._store.search_text(query_tokens(keys, (language,)), view, self._settings.messages)
        return list(self._store.admitted([hit.key for hit in hits], view).values())
