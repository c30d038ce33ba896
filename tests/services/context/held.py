"""Twins of the tiers that also tell what is around memories, of skills and of outcomes."""

from __future__ import annotations

from typing import Any

from aico_memory.contracts.v1 import behavioral_pb2, context_pb2, outcomes_pb2, semantic_pb2
from aico_memory.errors import InvalidMessage, NotFound
from tests.services.context.tiers import Tiers, memory_id


class Held(Tiers):
    """The tiers, with what is around memories and a page of skills."""

    skills: tuple[behavioral_pb2.Skill, ...] = ()

    def outcomes(self, message: Any, user: str) -> outcomes_pb2.Outcomes:
        if set(message.ids) - {"o1"}:
            raise NotFound(f"The user has no outcome {message.ids[0]!r}")
        if message.outcomes and message.outcomes[0] not in ("accepted", "rejected"):
            raise InvalidMessage(f"The outcome is {message.outcomes[0]!r}")
        if "evening" in message.tags:
            return outcomes_pb2.Outcomes()
        text = f"o1 layer {message.layer} {message.query}{''.join(message.ids)}"
        item = outcomes_pb2.OutcomeItem(outcome_id="o1", text=text, outcome="accepted", decided_us=1, tokens=9, score=0.5)
        return outcomes_pb2.Outcomes(outcomes=[item], tokens=9, tokens_in_full=90, tokenizer="t", degraded=["semantic"])

    def around(self, message: Any, user: str) -> context_pb2.Around:
        known = {memory_id(event_id) for event_id in self.recorded}
        answer = context_pb2.Around(settled=self.settled, unknown=[one for one in message.memory_ids if one not in known])
        for event_id in self.recorded:
            if memory_id(event_id) in message.memory_ids:
                one = answer.found.add(record=self.record(event_id))
                one.changes.add(what="created", new_value=self.texts[event_id], at_us=6)
                one.changes.add(what="text", old_value="before", new_value=self.texts[event_id], at_us=7)
                one.changes.add(what="confidence", old_value="0.5", new_value="0.6", at_us=8)
                if message.neighbours:
                    one.before.add(id="b", text="said before " * 40, said_at_us=1)
        return answer

    def page(self, message: Any, user: str) -> semantic_pb2.MemoryPage:
        return semantic_pb2.MemoryPage(records=[self.record(one) for one in self.recorded])

    def get(self, message: Any, user: str) -> semantic_pb2.MemoryPage:
        known = [one for one in (*self.recorded, *self.deleted, *self.edited) if memory_id(one) in message.memory_ids]
        page = semantic_pb2.MemoryPage(records=[self.record(one) for one in known])
        for one, record in zip(known, page.records, strict=True):
            record.status = "invalid" if one in self.deleted else record.status
        return page

    def all_skills(self, message: Any, user: str) -> behavioral_pb2.SkillsPage:
        return behavioral_pb2.SkillsPage(skills=self.skills)
