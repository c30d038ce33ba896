"""Who may write what: the policies of scopes, asked for and changed over the bus."""

from __future__ import annotations

from dataclasses import asdict, replace

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import behavioral_pb2, envelope_pb2, write_path_pb2
from aico_memory.domain.gate.policy import (
    PolicyHistory,
    PolicyVersion,
    WritePolicy,
    began,
    changed,
    checked,
    effective,
    initial_policy,
    rolled_back,
    with_read_only,
)
from aico_memory.domain.memory import Scope
from aico_memory.domain.scopes import GLOBAL
from aico_memory.errors import AccessDenied, InvalidMessage, NotFound
from aico_memory.settings.identity import IdentitySettings
from aico_memory.settings.write_path import PolicySettings
from aico_memory.stores.semantic.item_port import ItemReads, ItemWrites
from services.semantic.convert import scope_message

CONFIGURATION = "configuration"
_SETS = ("kinds", "require_approval_kinds")
_SET, _ROLLBACK, _READ_ONLY = "set", "rollback", "read_only"


class Policing:
    """Policies by scope. Whoever speaks for one user cannot name another's."""

    def __init__(self, figures: PolicySettings, identity: IdentitySettings) -> None:
        self._figures = figures
        self._initial = initial_policy(figures)
        self._identity = identity

    def effective(self, reads: ItemReads, scope: Scope) -> WritePolicy:
        """What holds in a scope now."""
        everybody = reads.policy(GLOBAL)
        return effective(None if scope == GLOBAL else reads.policy(scope), everybody, self._initial)

    def state(self, reads: ItemReads, event: Event) -> write_path_pb2.PolicyState:
        """The policy that is asked for."""
        return self._state(reads, self._scope(event))

    @staticmethod
    def consent(transaction: ItemWrites, event: Event) -> None:
        """Effect of a `ConsentChanged`, which the behavioral worker answers and audits: a person's pause begins or ends."""
        message: behavioral_pb2.ConsentChanged = event.message
        if message.HasField("long_term"):
            since_us = transaction.paused_us(event.user) or event.occurred_us
            transaction.pause(event.user, 0 if message.long_term else since_us)

    def change(self, transaction: ItemWrites, event: Event) -> write_path_pb2.PolicyState:
        """A new version. Raises InvalidMessage naming the field, NotFound for a rollback where nothing was before."""
        message: write_path_pb2.PolicyChange = event.message
        scope = self._scope(event)
        if event.user and scope != Scope("user", self._identity.user(event.user)):
            raise AccessDenied(
                "In the name of one user nobody changes the policy of a group, a project or everybody",
                "Name no user in the header; an identity that is bound to certain users cannot.",
            )
        history = transaction.policy(scope)
        if history is None:
            if message.action == _ROLLBACK:
                raise NotFound("There is no earlier policy", "Set a policy instead.")
            history = began(self._inherited(transaction, scope), event.occurred_us, CONFIGURATION)
        after = self._changed(history, message, event)
        if after is not history:
            transaction.set_policy(scope, after)
        return self._state(transaction, scope)

    def _changed(self, history: PolicyHistory, message: write_path_pb2.PolicyChange, event: Event) -> PolicyHistory:
        at_us, by = event.occurred_us, event.sender
        if message.action == _SET:
            return changed(history, _with_fields(history.current, message), at_us, by, self._figures)
        if message.action == _ROLLBACK:
            return rolled_back(history, at_us, by, self._figures)
        if message.action == _READ_ONLY:
            return with_read_only(history, message.read_only, at_us, by, self._figures)
        raise InvalidMessage(f"{message.action!r} is nothing to do with a policy", "Say set, rollback or read_only.")

    def _inherited(self, reads: ItemReads, scope: Scope) -> WritePolicy:
        """What a scope begins its own history with; everybody's emergency switch is not taken along, it counts anyway."""
        everybody = None if scope == GLOBAL else reads.policy(GLOBAL)
        return replace(everybody.current, read_only=False) if everybody else self._initial

    def _state(self, reads: ItemReads, scope: Scope) -> write_path_pb2.PolicyState:
        history = reads.policy(scope)
        return write_path_pb2.PolicyState(
            scope=scope_message(scope), effective=_policy_message(self.effective(reads, scope)),
            versions=map(_version_message, history.versions if history else ()),
        )  # fmt: skip

    def _scope(self, event: Event) -> Scope:
        message = event.message
        if not message.HasField("scope") or message.scope.kind == envelope_pb2.SCOPE_KIND_UNSPECIFIED:
            return GLOBAL
        kind = envelope_pb2.ScopeKind.Name(message.scope.kind).removeprefix("SCOPE_KIND_").lower()
        scope = GLOBAL if kind == GLOBAL.kind else Scope(kind, message.scope.id)
        if not scope.id:
            raise InvalidMessage(f"The {kind} whose policy is meant has no id")
        if kind != "user":
            return scope
        if scope.id not in self._identity.names(event.user):
            raise AccessDenied("A policy of one user cannot be asked for as another", "Ask as that user.")
        return Scope("user", self._identity.user(scope.id))


def _with_fields(policy: WritePolicy, message: write_path_pb2.PolicyChange) -> WritePolicy:
    names = set(message.fields)
    unknown = sorted(names - (asdict(policy).keys() - {"read_only"}))
    if unknown or not names:
        raise InvalidMessage(f"No field {', '.join(unknown) or 'at all'} of a policy can be set", "See `policy set --help`.")
    given = {name: getattr(message.policy, name) for name in names}
    given.update({name: frozenset(given[name]) for name in _SETS if name in given})
    return checked(replace(policy, **given))


def _policy_message(policy: WritePolicy) -> write_path_pb2.Policy:
    fields = asdict(policy)
    return write_path_pb2.Policy(**{**fields, **{name: sorted(fields[name]) for name in _SETS}})


def _version_message(version: PolicyVersion) -> write_path_pb2.PolicyVersion:
    return write_path_pb2.PolicyVersion(
        number=version.number, policy=_policy_message(version.policy), at_us=version.at_us, by=version.by,
        restored=version.restored,
    )  # fmt: skip
