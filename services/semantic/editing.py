"""What people do to memories by hand: edits, and deletions, which withdraw. Both reach what rests on the same words."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace

from aico_memory.contracts.envelope import Event
from aico_memory.domain.formation.entities import extract_entities
from aico_memory.domain.formation.formed import SPEAKER
from aico_memory.domain.formation.language import guess_language
from aico_memory.domain.gate.policy import require_writable
from aico_memory.domain.gate.rewording import key_for, restated, reworded
from aico_memory.domain.gate.statement import UNSAID, Known, withdrawal
from aico_memory.domain.lifecycle import withdrawn
from aico_memory.domain.memory import OPEN, RECORD, Evidence, Evolution, Memory, record_of
from aico_memory.domain.sleep.derived import is_derived
from aico_memory.domain.strength.confidence import written_confidence
from aico_memory.domain.strength.forgetting import awakened
from aico_memory.domain.temporal.evolution import EDITED, differences
from aico_memory.errors import AccessDenied, ImmutableItem, InvalidMessage, NotFound, RefusedTransition
from aico_memory.ids import derive_id
from aico_memory.settings.identity import IdentitySettings
from aico_memory.settings.memory_model import ConfidenceSettings
from aico_memory.stores.semantic.port import SemanticTransaction
from services.semantic.convert import id_bytes, id_text, scopes_of
from services.semantic.forming import Forming, Prepared, Vectors, facts_of
from services.semantic.gating import Gating
from services.semantic.graphing import Graphing
from services.semantic.saying import Said
from services.semantic.sleep.deriving import derived_from, set_aside
from services.semantic.stated import keep_stated
from services.semantic.tokens import FormationRules
from services.semantic.writing import announce

EDITABLE = ("active", "candidate", "shadow")
_EXPLICIT = "user_explicit"
# An edit's former text is kept under the id that this word makes of the edit's event.
VERSION = "version"
_LIFT = "Lift its anchor first (`pin --mutable`), then change it."


class Editing:
    """The verbs `update`, `anchor` and `delete`."""

    def __init__(
        self,
        rules: FormationRules,
        forming: Forming,
        gating: Gating,
        graphing: Graphing,
        identity: IdentitySettings,
        confidence: ConfidenceSettings,
    ) -> None:
        self._rules = rules
        self._forming = forming
        self._gating = gating
        self._graphing = graphing
        self._identity = identity
        self._confidence = confidence

    def update(self, transaction: SemanticTransaction, event: Event) -> Memory:
        """A person's edit: the memory has the new text from now on, the old text stays as a superseded version.

        Raises NotFound, ImmutableItem, RefusedTransition, ReadOnly, InvalidMessage.
        """
        message = event.message
        known = self._editable(transaction, event)
        memory = known.memory
        if not message.text.strip() or "\0" in message.text:
            raise InvalidMessage("A memory has words, and no NUL among them", "Delete it, if nothing is to be left of it.")
        if memory.text == message.text and not message.metadata_json:
            return memory
        at_us = event.occurred_us
        # What waits for review was believed in none of its wordings.
        believed = memory.status == "active"
        status, until_us = ("superseded", at_us) if believed else ("invalid", memory.recorded_at_us)
        former = replace(
            memory, memory_id=derive_id(event.event_id, VERSION).bytes, status=status, invalidated_at_us=until_us,
            updated_at_us=at_us, superseded_by=memory.memory_id, version_of=memory.memory_id, pinned=False,
        )  # fmt: skip
        language = guess_language(message.text, self._rules.languages)
        # Whoever edits it does not want it to rest.
        edited = replace(
            awakened(memory, at_us), text=message.text, language=language, recorded_at_us=at_us, updated_at_us=at_us,
            version=memory.version + 1,
            entities=extract_entities(message.text, self._rules.gazetteer, language), write_source="manual",
        )  # fmt: skip
        transaction.put_item(replace(known, memory=former), self._rules.tokens(former), event.global_sequence)
        vectors = self._forming.vectors
        for was in transaction.vectors_of([memory.memory_id], vectors.fingerprint).values():
            transaction.keep_vector(former.memory_id, vectors.fingerprint, was)
        if memory.kind == RECORD:
            transaction.replace(edited, self._rules.tokens(edited), event.global_sequence)
        else:
            edited = self._reread(transaction, event, known, edited)
        vector = vectors.of(message.text)
        if vector is not None:
            transaction.keep_vector(memory.memory_id, vectors.fingerprint, vector)
        transaction.add_evidence(
            Evidence(
                memory.memory_id, event.event_id.bytes, _EXPLICIT, at_us, role="user", said_at_us=at_us,
                session_id=memory.session_id, metadata_json=message.metadata_json,
            )
        )  # fmt: skip
        change = Evolution(memory.memory_id, "text", memory.text, message.text, at_us, event.event_id.bytes, EDITED)
        transaction.add_evolution(change)
        announce(transaction, event.event_id, at_us, event.user, memory.scope, "updated", [memory.memory_id], EDITED, "edit")
        if memory.kind == RECORD:
            self._say_anew(transaction, event, memory, message.text)
        return edited

    def anchor(self, transaction: SemanticTransaction, event: Event) -> Memory:
        """Pin a memory, make it immutable, or lift either. Raises NotFound, AccessDenied, RefusedTransition, ReadOnly."""
        message = event.message
        known = self._changeable(transaction, event)
        memory, at_us = known.memory, event.occurred_us
        after = replace(
            memory, pinned=message.pinned if message.HasField("pinned") else memory.pinned,
            immutable=message.immutable if message.HasField("immutable") else memory.immutable, updated_at_us=at_us,
        )  # fmt: skip
        if (after.pinned, after.immutable) == (memory.pinned, memory.immutable):
            return memory
        if after.pinned and not memory.pinned:
            # What is held fast does not rest.
            after = awakened(after, at_us)
        transaction.put_item(replace(known, memory=after), None, event.global_sequence)
        reason = message.reason or "anchored"
        for change in differences(memory, after, at_us, event.event_id.bytes, reason):
            transaction.add_evolution(change)
        announce(transaction, event.event_id, at_us, event.user, memory.scope, "updated", [memory.memory_id], reason, "anchor")
        return after

    def invalidate(self, transaction: SemanticTransaction, event: Event) -> Memory:
        """Delete means withdraw: seen no more, except by who asks what was known before.

        With a record go the items that rest on it alone; with an item the records that
        say it: what a person wants gone is found under neither. Raises NotFound, ImmutableItem, and ReadOnly
        where an item would go.
        """
        known = self._owned(transaction, event)
        if known.memory.status == "invalid":
            return known.memory
        if known.memory.immutable:
            raise ImmutableItem(f"The memory {id_text(known.memory.memory_id)} is immutable", _LIFT)
        taken = [known.memory.memory_id]
        derived = is_derived(known.memory)
        resting = [] if derived else [
            one for one in self._resting(transaction, known) if not one.memory.immutable and one.memory.status != "invalid"
        ]  # fmt: skip
        if any(one.memory.kind != RECORD for one in (known, *resting)):
            require_writable(self._gating.policy(transaction, known.memory.scope), known.memory.scope)
        if derived:
            # What sleep wrote goes alone: the items that it told stand on their own.
            taken += self._set_aside(transaction, event, [known])[1:]
            gone = self._withdraw(transaction, event, known)
        else:
            gone = self._withdraw(transaction, event, known)
            for other in resting:
                self._withdraw(transaction, event, other)
                taken.append(other.memory.memory_id)
            # No summary tells what is gone; sleep writes them anew.
            taken += self._set_aside(transaction, event, derived_from(transaction, taken, gone.scope))
        reason = event.message.reason or "deleted"
        announce(transaction, event.event_id, event.occurred_us, event.user, gone.scope, "invalidated", taken, reason, "delete")
        return gone

    @staticmethod
    def _set_aside(transaction: SemanticTransaction, event: Event, derived: Sequence[Known]) -> list[bytes]:
        active = [one for one in derived if one.memory.status == "active"]
        return set_aside(transaction, active, event.occurred_us, event.event_id, event.global_sequence, "what it told is gone")

    def _withdraw(self, transaction: SemanticTransaction, event: Event, known: Known) -> Memory:
        before, at_us = known.memory, event.occurred_us
        gone = withdrawn(before, at_us)
        transaction.put_item(replace(known, memory=gone), None, event.global_sequence)
        for change in differences(before, gone, at_us, event.event_id.bytes, event.message.reason):
            transaction.add_evolution(change)
        held = transaction.statement(before.memory_id)
        if held is not None and held[1] == "kept":
            mark = derive_id(uuid.UUID(bytes=before.memory_id), "withdrawn").bytes
            transaction.keep_statement(withdrawal(held[0], mark, event.event_id.bytes, at_us, event.global_sequence), "kept")
        elif held is not None:
            transaction.drop_statement(before.memory_id)
        self._graphing.follow(transaction, [replace(known, memory=gone)])
        return gone

    def _resting(self, transaction: SemanticTransaction, known: Known) -> Sequence[Known]:
        """Of a record: items that nothing else proves. Of an item: the records of what said it."""
        memory = known.memory
        events = {one.event_id for one in transaction.evidence(memory.memory_id)}
        others = {one for event_id in sorted(events) for one in transaction.items_of_event(event_id)} - {memory.memory_id}
        found = [one for one in transaction.known(sorted(others), [memory.scope]) if not is_derived(one.memory)]
        if memory.kind != RECORD:
            return [one for one in found if one.memory.kind == RECORD]
        counts = transaction.evidence_counts([one.memory.memory_id for one in found])
        return [one for one in found if one.memory.kind != RECORD and counts[one.memory.memory_id] <= 1]

    def _reread(self, transaction: SemanticTransaction, event: Event, known: Known, edited: Memory) -> Memory:
        """The item with the reading of its new text; its statement says the same, so that later ones meet it there."""
        formed = self._forming.form(_said(event, replace(edited, zone=_zone_of(transaction, edited)), edited.said_at_us))
        held = transaction.statement(edited.memory_id)
        before = None if held is None else held[0].fact
        item = reworded(known, edited, facts_of(formed), before, akin=self._akin(known.memory, edited))
        key = key_for(item, edited.text) if known.predicate else edited.fact_key
        self._require_room(transaction, edited, replace(item.memory, fact_key=key))
        believed = written_confidence(self._confidence.explicit, _EXPLICIT, 1, self._confidence)
        edited = replace(item.memory, fact_key=key, confidence=max(edited.confidence, believed))
        item = replace(item, memory=edited)
        transaction.put_item(item, self._rules.tokens(edited), event.global_sequence)
        self._graphing.restate(transaction, item, event.occurred_us, event.event_id.bytes)
        if held is not None:
            statement, state = held
            for one in transaction.statements(edited.scope, statement.key, 10_000) if state == "kept" else ():
                # That an earlier stretch of the value ran out stays true.
                said = one.fact.act not in UNSAID and one.fact.object_key == known.object_key
                repeats = said and one.statement_id != edited.memory_id
                if repeats and not transaction.known([one.statement_id], [edited.scope]):
                    transaction.drop_statement(one.statement_id)
            # Its vector goes with it: the new words have another.
            transaction.drop_statement(statement.statement_id)
            keep_stated(transaction, restated(statement, item, known.memory), state, self._forming.vectors)
        return edited

    def _akin(self, memory: Memory, edited: Memory) -> bool:
        """Whether both texts have a word in common that not every text has."""
        return bool((self._rules.content_words(memory) & self._rules.content_words(edited)) - {SPEAKER})

    @staticmethod
    def _require_room(transaction: SemanticTransaction, before: Memory, after: Memory) -> None:
        """InvalidMessage where another item holds what this one would tell, or would hold open beside it."""
        opens = after.valid_until_us == OPEN > before.valid_until_us
        for one in transaction.by_key(after.scope, after.fact_key) if opens or after.fact_key != before.fact_key else ():
            other = one.memory
            meets = after.fact_key != before.fact_key or (other.valid_until_us == OPEN and not other.variant_of)
            if other.status == "active" and other.memory_id != after.memory_id and meets:
                raise InvalidMessage("Another memory tells of that already", "Edit that one, or delete this one.")

    def _say_anew(self, transaction: SemanticTransaction, event: Event, record: Memory, text: str) -> None:
        """What an edited message states now; what only its old words said was never true."""
        said = _said(event, replace(record, text=text), record.said_at_us)
        formed = self._forming.form(said)
        vectors = self._forming.vectors
        now = {(fact.subject, fact.predicate, fact.object_key) for fact in facts_of(formed)}
        stays = set()
        place = len(facts_of(formed))
        for item in self._resting(transaction, Known(record)):
            reading = (item.subject, item.predicate, item.object_key)
            held = transaction.statement(item.memory.memory_id)
            if reading in now:
                stays.add(reading)
            elif held is not None and item.memory.status in EDITABLE and not item.memory.immutable:
                fact = replace(held[0].fact, act="retract", corrected=item.object_key, explicit=True)
                place += 1
                taken = self._gating.statement(replace(said, said_at_us=event.occurred_us), formed, fact, place)
                closing = derive_id(event.event_id, "closing", place).bytes
                # Its words are of another message: whether that lies in the batch shall not matter.
                self._gating.judge(transaction, taken, closing, formed, Vectors(vectors.fingerprint), event.global_sequence)
        facts = tuple(one for one in formed.facts if (one.subject, one.predicate, one.object_key) not in stays)
        plans = tuple(one for one in formed.foresight if (one.subject, one.predicate, one.object_key) not in stays)
        known_now = replace(said, said_at_us=event.occurred_us)
        self._gating.take(transaction, Prepared(known_now, replace(formed, facts=facts, foresight=plans), vectors))

    def _editable(self, transaction: SemanticTransaction, event: Event) -> Known:
        known = self._changeable(transaction, event)
        if known.memory.immutable:
            raise ImmutableItem(f"The memory {id_text(known.memory.memory_id)} is immutable", _LIFT)
        return known

    def _changeable(self, transaction: SemanticTransaction, event: Event) -> Known:
        known = self._owned(transaction, event)
        memory = known.memory
        if memory.status not in EDITABLE:
            raise RefusedTransition(f"A memory that is {memory.status} cannot be changed")
        if memory.kind != RECORD:
            require_writable(self._gating.policy(transaction, memory.scope), memory.scope)
        return known

    def _owned(self, transaction: SemanticTransaction, event: Event) -> Known:
        """Whose word it is may change it, in whichever of the named scopes it lies."""
        message = event.message
        names = self._identity.names(event.user)
        scopes = scopes_of(message.scopes, event.user, names)
        found = transaction.known([id_bytes(message.memory_id)], scopes)
        if not found:
            raise NotFound(f"No memory {message.memory_id} of this user")
        if found[0].memory.owner not in names:
            raise AccessDenied(f"The memory {message.memory_id} is the word of another", "Say what is right; that is yours.")
        return found[0]


def _said(event: Event, memory: Memory, said_at_us: int) -> Said:
    return Said(
        event_id=event.event_id, text=memory.text, role="user", name=memory.speaker, owner=memory.owner, scope=memory.scope,
        said_at_us=said_at_us, occurred_us=event.occurred_us, received_us=event.received_us, session_id=memory.session_id,
        sequence=event.global_sequence, group_id=memory.group_id, project_id=memory.project_id, zone=memory.zone,
    )  # fmt: skip


def _zone_of(transaction: SemanticTransaction, item: Memory) -> str:
    """The zone of the first message that an item rests on, "" where that had none: its times are meant there."""
    for proof in transaction.evidence(item.memory_id):
        record = transaction.memory(record_of(proof.event_id))
        if record is not None:
            return record.zone
    return ""
