"""A behavioral worker that remembers what came of suggestions."""

from aico_memory.contracts.v1 import behavioral_pb2, outcomes_pb2
from tests.unit.behavioral.worker import START_US, Worker

KEY = bytes(range(32))
DAY_US = 86_400_000_000


class Advisor(Worker):
    def record(self, suggestion="s1", outcome="accepted", type="add_habit", value="run", days_ago=0, event_id=None, **fields):
        decided_us = START_US - days_ago * DAY_US
        user = fields.pop("user", "ann")
        message = behavioral_pb2.OutcomeRecorded(
            user_id=user, suggestion_id=suggestion, type=type, value=value, outcome=outcome, created_us=decided_us,
            decided_us=decided_us, **fields,
        )  # fmt: skip
        return self.publish(message, user=user, event_id=event_id)

    def outcomes(self, layer=1, user="ann", **fields):
        return self.ask(outcomes_pb2.OutcomesRequest(user_id=user, layer=layer, **fields), user=user)

    def profile(self, user="ann"):
        return self.ask(outcomes_pb2.ProfileRequest(user_id=user), user=user)

    def advise(self, type="add_habit", value="run", user="ann"):
        return self.ask(outcomes_pb2.ShouldSuggestRequest(user_id=user, type=type, value=value), user=user)

    def embed(self):
        """Let the worker be idle until everything is embedded."""
        for _ in range(50):
            self.handlers.idle(0)
        return self


def rules(answer):
    return {reason.rule: reason.advice for reason in answer.reasons}
