"""Policies over the bus: versions of a scope, everybody's behind them, the emergency switch; on a twin of the store."""

from __future__ import annotations

from typing import Any

import pytest

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import envelope_pb2, write_path_pb2
from aico_memory.domain.memory import Scope
from aico_memory.errors import AccessDenied, InvalidMessage, NotFound
from aico_memory.ids import new_id
from aico_memory.settings.identity import IdentitySettings
from aico_memory.settings.write_path import PolicySettings
from aico_memory.stores.semantic.twin import MemorySemanticStore
from services.semantic.policing import Policing

START = 1_772_000_000_000_000
ANA = envelope_pb2.Scope(kind=envelope_pb2.SCOPE_KIND_USER, id="ana")


class Office:
    def __init__(self) -> None:
        self.store = MemorySemanticStore()
        self.policing = Policing(PolicySettings(scope_items=150), IdentitySettings(aliases={"ann": "ana"}))
        self.clock = START

    def _event(self, message: Any, user: str) -> Event:
        self.clock += 1
        return Event(new_id(START), "policy", user, message, sender="operator", occurred_us=self.clock)

    def change(self, action: str, scope: envelope_pb2.Scope | None = ANA, user: str = "ana", **fields: Any) -> Any:
        named = [*fields] if action == "set" else []
        policy = write_path_pb2.Policy(**(fields if action == "set" else {}))
        message = write_path_pb2.PolicyChange(
            scope=scope, action=action, fields=named, policy=policy, read_only=fields.get("read_only", False)
        )
        with self.store.transaction() as transaction:
            return self.policing.change(transaction, self._event(message, user))

    def state(self, scope: envelope_pb2.Scope | None = ANA, user: str = "ana") -> Any:
        return self.policing.state(self.store, self._event(write_path_pb2.PolicyRequest(scope=scope), user))


@pytest.fixture
def office() -> Office:
    return Office()


def test_a_change_is_a_version_on_top_of_the_configuration(office: Office) -> None:
    assert (office.state().effective.scope_items, list(office.state().versions)) == (150, [])
    state = office.change("set", mode="manual", require_approval_kinds=["preference", "plan"])
    assert state.effective.mode == "manual" and state.effective.scope_items == 150
    assert list(state.effective.require_approval_kinds) == ["plan", "preference"]
    assert [(one.number, one.by, one.policy.mode) for one in state.versions] == [
        (1, "configuration", "auto"), (2, "operator", "manual"),
    ]  # fmt: skip


def test_a_rollback_restores_and_the_first_policy_has_nothing_before_it(office: Office) -> None:
    with pytest.raises(NotFound):
        office.change("rollback")
    office.change("set", mode="shadow")
    state = office.change("rollback")
    assert state.effective.mode == "auto" and state.versions[-1].restored == 1
    with pytest.raises(NotFound):
        office.change("rollback")


def test_everybodys_policy_holds_where_a_scope_has_none_and_its_emergency_switch_everywhere(office: Office) -> None:
    bo = envelope_pb2.Scope(kind=envelope_pb2.SCOPE_KIND_USER, id="bo")
    office.change("set", mode="manual")
    office.change("set", None, "", mode="shadow")
    assert (office.state().effective.mode, office.state(bo, "bo").effective.mode) == ("manual", "shadow")
    office.change("read_only", None, "", read_only=True)
    assert office.state().effective.read_only and office.state(bo, "bo").effective.read_only
    assert office.policing.effective(office.store, Scope("project", "p")).read_only
    office.change("set", bo, "bo", scope_items=5)
    office.change("read_only", None, "", read_only=False)
    assert not office.state(bo, "bo").effective.read_only, "the switch of all is not taken into a policy of one"
    assert office.state(bo, "bo").effective.mode == "shadow"


def test_what_cannot_be_followed_is_refused_by_name_and_changes_nothing(office: Office) -> None:
    for fields, named in (
        ({"mode": "loud"}, "mode"), ({"min_confidence": 2.0}, "min_confidence"), ({"kinds": ["dream"]}, "kinds"),
        ({"min_evidence": 0}, "min_evidence"),
    ):  # fmt: skip
        with pytest.raises(InvalidMessage, match=named):
            office.change("set", **fields)
    with pytest.raises(InvalidMessage, match="nothing to do"):
        office.change("forget")
    assert not office.state().versions


def test_nobody_asks_for_or_changes_the_policy_of_another(office: Office) -> None:
    with pytest.raises(AccessDenied):
        office.state(ANA, "bo")
    with pytest.raises(AccessDenied):
        office.change("set", ANA, "bo", mode="manual")
    group = envelope_pb2.Scope(kind=envelope_pb2.SCOPE_KIND_GROUP, id="g")
    for other in (None, group):
        with pytest.raises(AccessDenied, match="one user"):
            office.change("set", other, "ana", mode="manual")
        office.change("set", other, "", mode="shadow")
        assert office.state(other, "ana").effective.mode == "shadow"
    alias = envelope_pb2.Scope(kind=envelope_pb2.SCOPE_KIND_USER, id="ann")
    office.change("set", alias, "ana", mode="manual")
    assert office.state().effective.mode == "manual"
