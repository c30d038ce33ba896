"""What an answer used: access, co-activation of what was used together, activation that spreads to neighbours."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from aico_memory.contracts.envelope import Event
from aico_memory.domain.gate.policy import WritePolicy
from aico_memory.domain.gate.tagging import neighbours_of, pairs_of, retrieved_together, spread
from aico_memory.domain.memory import RECORD, Evolution, Memory, Scope
from aico_memory.domain.scopes import readable
from aico_memory.domain.strength.forgetting import awakened
from aico_memory.settings.identity import IdentitySettings
from aico_memory.settings.memory_model import RetentionSettings
from aico_memory.settings.write_path import WritePathSettings
from aico_memory.stores.semantic.item_port import ItemReads
from aico_memory.stores.semantic.port import SemanticTransaction
from services.semantic.convert import id_bytes


class Activation:
    """The effects of use; utility is judged elsewhere, by whoever knows whether it helped."""

    def __init__(
        self, figures: WritePathSettings, retention: RetentionSettings, identity: IdentitySettings,
        policy: Callable[[ItemReads, Scope], WritePolicy], give_way: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self._figures = figures
        self._retention = retention
        self._identity = identity
        self._policy = policy
        # Called before each report: several come at once, and none is in a hurry.
        self._give_way = give_way

    def note_use(self, transaction: SemanticTransaction, event: Event) -> None:
        """Count the use of memories in an answer; items last longer where several were used together.

        Only of those that matched well each two are a pair: what merely stood beside them has nothing to do with them.
        While items are read-only, or the long-term memory of who asked is paused, only the use of records is counted.
        """
        self._give_way()
        message, tags = event.message, self._figures.tags
        used = [id_bytes(memory_id) for memory_id in dict.fromkeys(message.memory_ids)]
        scopes = readable(self._identity.names(event.user), message.group_id, message.project_id)
        at_us = message.at_us or event.occurred_us
        open_to_writing = scopes if not transaction.paused_us(event.user) else ()
        changing = [scope for scope in open_to_writing if not self._policy(transaction, scope).read_only]
        memories = [one for one in transaction.outlined(used, scopes) if one.kind == RECORD or one.scope in changing]
        strong = {id_bytes(memory_id) for memory_id in message.strong_ids}
        memories = self._awake(transaction, memories, strong, event, scopes)
        items = [one for one in memories if one.kind != RECORD and one.status == "active"]
        records = [one.memory_id for one in memories if one.kind == RECORD]
        for scope in scopes:
            transaction.note_use(records, scope, at_us)
        transaction.set_retention(retrieved_together(items, at_us, tags, self._retention))
        ids = [one.memory_id for one in items]
        transaction.count_pairs(pairs_of([one for one in ids if one in strong], tags))
        near = neighbours_of(ids, transaction.relations(ids))
        neighbours = transaction.outlined(sorted(near), changing)
        transaction.set_retention(spread(changing, neighbours, tags, self._retention))

    def _awake(
        self, transaction: SemanticTransaction, memories: Sequence[Memory], strong: Collection[bytes], event: Event,
        scopes: Sequence[Scope],
    ) -> list[Memory]:  # fmt: skip
        """The memories, those that rested and matched well back in their tier."""
        found = []
        for one in memories:
            memory = awakened(one, event.occurred_us) if one.memory_id in strong else one
            if memory is not one and memory.status == "active":
                # Whoever wakes is stored anew, and so with its words.
                (whole,) = transaction.known([one.memory_id], scopes)
                awake = replace(whole, memory=awakened(whole.memory, event.occurred_us))
                tiers, cause = (one.tier, memory.tier), event.event_id.bytes
                transaction.add_evolution(Evolution(memory.memory_id, "tier", *tiers, event.occurred_us, cause, "used again"))
                transaction.put_item(awake, None, event.global_sequence)
                found.append(memory)
            else:
                found.append(one)
        return found
