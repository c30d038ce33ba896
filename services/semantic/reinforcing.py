"""What answers use grows more certain, and what helped grows more useful: each once an event."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import semantic_pb2, write_path_pb2
from aico_memory.domain.formation.formed import FormedFact
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.formation.told_back import told_back
from aico_memory.domain.gate.policy import WritePolicy, require_writable
from aico_memory.domain.gate.reinforcement import Reinforced, reinforce, told_in
from aico_memory.domain.memory import RECORD, Evolution, Scope
from aico_memory.domain.scopes import GLOBAL, readable, scope_of
from aico_memory.domain.strength.utility import judged
from aico_memory.errors import NotFound
from aico_memory.settings.identity import IdentitySettings
from aico_memory.settings.memory_model import UtilitySettings
from aico_memory.settings.write_path import InteractionSettings
from aico_memory.stores.semantic.item_port import Interaction, ItemReads, ItemWrites
from aico_memory.stores.semantic.port import SemanticTransaction
from services.semantic.convert import id_bytes, id_text
from services.semantic.explaining import item_message
from services.semantic.pausing import is_held
from services.semantic.writing import announce

CONFIDENCE, UTILITY = "confidence", "utility"
# How the news call what led to a change.
_USE = "use"
_PAGE = 500


class Reinforcing:
    """Passes over the items in view of an interaction."""

    def __init__(
        self, figures: InteractionSettings, utility: UtilitySettings, identity: IdentitySettings, tables: FormationTables,
        policy: Callable[[ItemReads, Scope], WritePolicy],
    ) -> None:  # fmt: skip
        self._figures = figures
        self._tables = tables
        self._utility = utility
        self._identity = identity
        self._policy = policy

    def capture(self, transaction: SemanticTransaction, event: Event) -> Sequence[Reinforced]:
        """Keep a turn as an interaction, and strengthen what its response used, unless the turn says not to.

        A second turn under the id of an interaction changes nothing, and while items are read-only, or the person's
        long-term memory is paused, none is strengthened.
        """
        turn = event.message
        interaction = Interaction(
            scope_of(event.user, turn.group_id, turn.project_id), event.user, turn.interaction_id, event.event_id.bytes,
            turn.said_at_us or event.occurred_us, turn.response, turn.response_summary,
        )  # fmt: skip
        if not transaction.keep_interaction(interaction) or not turn.reinforce:
            return ()
        if is_held(transaction, self._policy(transaction, interaction.scope), interaction.owner):
            return ()
        return self._pass(transaction, interaction, event)

    def again(self, transaction: SemanticTransaction, event: Event) -> write_path_pb2.InteractionReinforced:
        """Raise what the interaction used and had not raised before. Raises NotFound, InvalidMessage, ReadOnly."""
        message: write_path_pb2.ReinforceInteraction = event.message
        found = self._find(transaction, event)
        require_writable(self._policy(transaction, found.scope), found.scope)
        delta = message.delta if message.HasField("delta") else None
        raised = self._pass(transaction, found, event, delta)
        return write_path_pb2.InteractionReinforced(
            interaction_id=message.interaction_id,
            items=[
                write_path_pb2.ReinforcedItem(
                    memory_id=id_text(one.memory.memory_id), old_confidence=one.old_confidence,
                    new_confidence=one.new_confidence,
                )
                for one in raised
            ],
        )  # fmt: skip

    def judge(self, transaction: SemanticTransaction, event: Event) -> semantic_pb2.MemoryPage:
        """Move the utility of active items that the user may see; inactive ones are left out. Raises NotFound, ReadOnly."""
        message: write_path_pb2.MemoriesJudged = event.message
        names = self._identity.names(event.user)
        scopes = readable(names, message.group_id, message.project_id)
        page = semantic_pb2.MemoryPage()
        wanted = [id_bytes(one) for one in dict.fromkeys(message.memory_ids)]
        visible = transaction.known(wanted, scopes)
        missing = set(wanted) - {known.memory.memory_id for known in visible}
        if missing:
            raise NotFound(f"No memory {id_text(min(missing))} of this user")
        found = [one for one in visible if one.memory.status == "active" and one.memory.kind != RECORD]
        for scope in dict.fromkeys(one.memory.scope for one in found):
            require_writable(self._policy(transaction, scope), scope)
        for known in found:
            memory = known.memory
            utility = judged(memory.utility, message.helpful, self._utility)
            after = replace(known, memory=replace(memory, utility=utility, updated_at_us=event.occurred_us))
            transaction.put_item(after, None, event.global_sequence)
            transaction.add_evolution(_change(memory.memory_id, UTILITY, memory.utility, utility, event))
            page.records.append(item_message(after, transaction.evidence(memory.memory_id), names))
        if page.records:
            scope = scope_of(event.user, message.group_id, message.project_id)
            changed = [id_bytes(record.memory_id) for record in page.records]
            reason = "it helped" if message.helpful else "it did not help"
            _announce(transaction, event, scope, "updated", changed, reason)
        return page

    def _find(self, transaction: ItemWrites, event: Event) -> Interaction:
        message: write_path_pb2.ReinforceInteraction = event.message
        for name in self._identity.names(event.user):
            scope = scope_of(name, message.group_id, message.project_id)
            found = transaction.interaction(scope, message.interaction_id)
            if found is not None:
                return found
        raise NotFound(
            f"No interaction {message.interaction_id} is known here",
            "Give the interaction_id of a turn that was added, with its user, group or project.",
        )

    def _pass(
        self, transaction: SemanticTransaction, interaction: Interaction, event: Event, delta: float | None = None
    ) -> Sequence[Reinforced]:
        in_view = [interaction.scope, *(() if interaction.scope == GLOBAL else (GLOBAL,))]
        already = transaction.reinforced_by(interaction.scope, interaction.interaction_id)
        raised: list[Reinforced] = []
        # The summary is one of its own words: it tells of the person, not to them.
        said = told_back(interaction.response, self._tables, interaction.at_us)
        for scope in in_view:
            raised += self._of_scope(transaction, scope, in_view, interaction, said, already, event, delta)
        used = [one.memory.memory_id for one in raised]
        transaction.note_reinforced(interaction.scope, interaction.interaction_id, used)
        if used:
            _announce(transaction, event, interaction.scope, "reinforced", used, "used in an answer")
        return raised

    def _of_scope(
        self, transaction: SemanticTransaction, scope: Scope, in_view: Collection[Scope], interaction: Interaction,
        said: Sequence[FormedFact], already: frozenset[bytes], event: Event, delta: float | None,
    ) -> Sequence[Reinforced]:  # fmt: skip
        raised: list[Reinforced] = []
        names = self._identity.names(event.user)
        after = b""
        while page := transaction.items([scope], ("active",), after, _PAGE):
            after = page[-1].memory.memory_id
            by_id = {known.memory.memory_id: known for known in page}
            found = reinforce(
                interaction.response, interaction.summary, (known.memory for known in page), in_view, already,
                event.occurred_us, self._figures, delta, told_in(said, page, names) if said else (),
            )  # fmt: skip
            for one in found:
                memory_id = one.memory.memory_id
                transaction.put_item(replace(by_id[memory_id], memory=one.memory), None, event.global_sequence)
                transaction.add_evolution(_change(memory_id, CONFIDENCE, one.old_confidence, one.new_confidence, event))
            raised += found
            if len(page) < _PAGE:
                break
        return raised


def _announce(
    transaction: SemanticTransaction, event: Event, scope: Scope, action: str, memory_ids: Sequence[bytes], reason: str
) -> None:
    announce(transaction, event.event_id, event.occurred_us, event.user, scope, action, memory_ids, reason, _USE)


def _change(memory_id: bytes, what: str, old: float, new: float, event: Event) -> Evolution:
    return Evolution(memory_id, what, f"{old:.6f}", f"{new:.6f}", event.occurred_us, event.event_id.bytes, "used in an answer")
