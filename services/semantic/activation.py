"""What an answer used: access, co-activation of what was used together, activation that spreads to neighbours."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from aico_memory.contracts.envelope import Event
from aico_memory.domain.gate.statement import Known
from aico_memory.domain.gate.tagging import neighbours_of, pairs_of, retrieved_together, spread
from aico_memory.domain.memory import RECORD, Evolution
from aico_memory.domain.scopes import readable
from aico_memory.domain.strength.forgetting import awakened
from aico_memory.settings.identity import IdentitySettings
from aico_memory.settings.memory_model import RetentionSettings
from aico_memory.settings.write_path import WritePathSettings
from aico_memory.stores.semantic.port import SemanticTransaction
from services.semantic.convert import id_bytes


class Activation:
    """The effects of use; utility is judged elsewhere, by whoever knows whether it helped."""

    def __init__(self, figures: WritePathSettings, retention: RetentionSettings, identity: IdentitySettings) -> None:
        self._figures = figures
        self._retention = retention
        self._identity = identity

    def note_use(self, transaction: SemanticTransaction, event: Event) -> None:
        """Count the use of memories in an answer; items last longer where several were used together."""
        message, tags = event.message, self._figures.tags
        used = [id_bytes(memory_id) for memory_id in dict.fromkeys(message.memory_ids)]
        scopes = readable(self._identity.names(event.user))
        at_us = message.at_us or event.occurred_us
        known = transaction.known(used, scopes)
        known = self._awake(transaction, known, {id_bytes(memory_id) for memory_id in message.strong_ids}, event)
        items = [one.memory for one in known if one.memory.kind != RECORD and one.memory.status == "active"]
        records = [one.memory.memory_id for one in known if one.memory.kind == RECORD]
        for scope in scopes:
            transaction.note_use(records, scope, at_us)
        for memory in retrieved_together(items, at_us, tags, self._retention):
            transaction.set_strength(memory)
        ids = [one.memory_id for one in items]
        transaction.count_pairs(pairs_of(ids, tags))
        near = neighbours_of(ids, transaction.relations(ids))
        neighbours = [one.memory for one in transaction.known(sorted(near), scopes)]
        for memory in spread(scopes, neighbours, tags, self._retention):
            transaction.set_strength(memory)

    def _awake(
        self, transaction: SemanticTransaction, known: Sequence[Known], strong: Collection[bytes], event: Event
    ) -> list[Known]:
        """The memories, those that rested and matched well back in their tier."""
        found = []
        for one in known:
            memory = awakened(one.memory, event.occurred_us) if one.memory.memory_id in strong else one.memory
            if memory is not one.memory and memory.status == "active":
                tiers, cause = (one.memory.tier, memory.tier), event.event_id.bytes
                transaction.add_evolution(Evolution(memory.memory_id, "tier", *tiers, event.occurred_us, cause, "used again"))
                one = replace(one, memory=memory)  # noqa: PLW2901  # the memory as it is now
                transaction.put_item(one, None, event.global_sequence)
            found.append(one)
        return found
