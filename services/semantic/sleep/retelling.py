"""Summaries in the words of a language model, where one is configured: asked behind everything else, taken up as an event.

The text by rule stands from the beginning and whenever nothing better comes. What
waits is not kept: a night asks again for what is still told by rule.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from aico_memory.clock import Clock
from aico_memory.contracts.envelope import Event, make_record
from aico_memory.contracts.v1 import extraction_pb2
from aico_memory.domain.gate.policy import WritePolicy
from aico_memory.domain.gate.statement import Known
from aico_memory.domain.memory import Evidence, Evolution, Memory, Scope
from aico_memory.domain.sleep.derived import is_derived
from aico_memory.domain.sleep.telling import text_digest
from aico_memory.errors import AicoMemoryError
from aico_memory.ids import derive_id
from aico_memory.runtime.ports import LinkPort
from aico_memory.settings.language_model import LanguageModelSettings
from aico_memory.stores.semantic.item_port import ItemReads
from aico_memory.stores.semantic.port import SemanticTransaction
from services.semantic.enriching import READ_BY
from services.semantic.model_thread import REFUSED, ModelThread
from services.semantic.pausing import is_held
from services.semantic.sleep.wishing import BASIS, METHOD, Wish, Wishes
from services.semantic.tokens import FormationRules
from services.semantic.writing import announce

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger


class SummaryTeller(ModelThread):
    """The thread that asks the model service and publishes what it tells."""

    def __init__(
        self, wishes: Wishes, link: LinkPort, clock: Clock, settings: LanguageModelSettings, log: FilteringBoundLogger
    ) -> None:
        super().__init__("summary-teller", link, settings)
        self._wishes = wishes
        self._clock = clock
        self._log = log
        self._told = self._left_to_rules = 0
        self._last = ""

    def status(self) -> dict[str, object]:
        """How many were told, how many stay as the rules wrote them, and why the last of these does."""
        return {"waiting": len(self._wishes), "told": self._told, "left_to_rules": self._left_to_rules, "last": self._last}

    def step(self) -> bool:
        """One wish; False where there is none."""
        wish = self._wishes.next()
        if wish is None:
            return False
        try:
            summary = self._asked(wish)
        except AicoMemoryError as error:
            summary = extraction_pb2.Summary(degraded=error.code)
        if summary.degraded or not summary.text:
            self._left_to_rules += 1
            self._last = summary.degraded
            if summary.prompt_tokens and summary.answer_tokens:
                # It answered, and not with anything that may be told.
                self._wishes.refuse(wish)
            return True
        self._publish(wish, summary)
        return True

    def failed(self, error: Exception) -> None:
        """What waits is wished for again."""
        self._last = type(error).__name__
        self._log.error("telling_failed", error=type(error).__name__, exc_info=error)

    def _asked(self, wish: Wish) -> extraction_pb2.Summary:
        request = extraction_pb2.SummariseRequest(
            memory_id=wish.memory_id, texts=wish.texts, characters=wish.characters, kind=wish.kind
        )
        answer: extraction_pb2.Summary = self.ask(request, wish.owner)
        return answer

    def _publish(self, wish: Wish, summary: extraction_pb2.Summary) -> None:
        memory_id = uuid.UUID(bytes=wish.memory_id)
        record = make_record(
            extraction_pb2.SummaryTold(memory_id=wish.memory_id, basis=wish.basis, summary=summary),
            event_id=derive_id(memory_id, f"told {wish.basis.hex()}"), occurred_us=self._clock.now_us(), user=wish.owner,
        )  # fmt: skip
        try:
            for future in self._link.publish([record]):
                future.result(self._settings.timeout_seconds)
        except REFUSED as error:
            self._log.error("telling_refused", code=error.code)
            return
        self._told += 1


class Retelling:
    """Takes up what a model told, in the consumer's transaction."""

    def __init__(self, rules: FormationRules, policy: Callable[[ItemReads, Scope], WritePolicy]) -> None:
        self._rules = rules
        self._policy = policy

    def take(self, transaction: SemanticTransaction, event: Event) -> None:
        """The new words, where the text they are meant for still stands and items may change; else nothing."""
        message: extraction_pb2.SummaryTold = event.message
        before = transaction.memory(message.memory_id)
        summary = message.summary
        if before is None or not summary.text or not _may_be_told(before, event.user, message.basis):
            return
        if is_held(transaction, self._policy(transaction, before.scope), before.owner):
            # A night asks again.
            return
        at_us = event.occurred_us
        after = replace(before, text=summary.text, version=before.version + 1, updated_at_us=at_us)
        transaction.put_item(Known(after), self._rules.tokens(after), event.global_sequence)
        read_by = {"model": summary.model, "prompt_hash": summary.prompt_hash}
        metadata = json.dumps({READ_BY: read_by, BASIS: message.basis.hex()})
        transaction.add_evidence(
            Evidence(before.memory_id, event.event_id.bytes, METHOD, at_us, before.confidence, metadata_json=metadata)
        )
        reason = f"model {summary.model}, instructions {summary.prompt_hash}"
        transaction.add_evolution(
            Evolution(before.memory_id, "text", before.text, after.text, at_us, event.event_id.bytes, reason)
        )
        announce(transaction, event.event_id, at_us, event.user, before.scope, "updated", [before.memory_id], reason)


def _may_be_told(memory: Memory, user: str, basis: bytes) -> bool:
    return is_derived(memory) and memory.status == "active" and memory.owner == user and text_digest(memory.text) == basis
