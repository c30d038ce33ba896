"""Who may write what: a policy with versions, and the admission of one statement."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, NamedTuple

from aico_memory.domain.kinds import ITEM_KINDS
from aico_memory.domain.memory import Memory, Scope
from aico_memory.errors import InvalidMessage, NotFound, ReadOnly
from aico_memory.settings.write_path import PolicySettings

MODES: Final = ("auto", "shadow", "manual")
# What a message that tries to instruct the system may never become.
GUARDED_KINDS: Final = frozenset({"constraint", "preference", "procedure"})
EVIDENCE_MISSING: Final = "evidence_missing"
# The person has taken back their consent to long-term memory for now.
LONG_TERM_PAUSED: Final = "long_term_paused"
READ_ONLY: Final = "read_only"
# Why sleep leaves a scope as it is, which is no failure.
HELD: Final = frozenset({READ_ONLY, LONG_TERM_PAUSED})


@dataclass(frozen=True, slots=True)
class WritePolicy:
    """The policy of a scope; 0 stands for no limit."""

    mode: str = "auto"
    write_enabled: bool = True
    read_only: bool = False
    # Empty: all.
    kinds: frozenset[str] = frozenset()
    require_approval_kinds: frozenset[str] = frozenset()
    min_confidence: float = 0.6
    min_evidence: int = 1
    session_writes: int = 10
    hour_writes: int = 50
    scope_items: int = 200


class PolicyVersion(NamedTuple):
    """A policy, when it began to hold, who set it, and from which version it was restored (0: none)."""

    number: int
    policy: WritePolicy
    at_us: int
    by: str
    restored: int = 0


@dataclass(frozen=True, slots=True)
class PolicyHistory:
    """All versions that are kept, the newest last; never empty."""

    versions: tuple[PolicyVersion, ...]

    @property
    def current(self) -> WritePolicy:
        return self.versions[-1].policy


class Usage(NamedTuple):
    """What the scope has written: fast-path writes of the session and of the last hour."""

    session_writes: int = 0
    hour_writes: int = 0


class Admission(NamedTuple):
    """`verdict` is admit, wait (sleep takes it up) or refuse; `rule` says why."""

    verdict: str
    rule: str


def initial_policy(figures: PolicySettings) -> WritePolicy:
    """The policy that a scope starts with. Raises InvalidMessage."""
    given = figures.model_dump(exclude={"kinds", "require_approval_kinds", "versions_kept"})
    return checked(
        WritePolicy(**given, kinds=frozenset(figures.kinds), require_approval_kinds=frozenset(figures.require_approval_kinds))
    )


def checked(policy: WritePolicy) -> WritePolicy:
    """InvalidMessage, naming the field, where the policy cannot be followed."""
    if policy.mode not in MODES:
        raise InvalidMessage(f"mode {policy.mode!r} is not known", f"Use one of {', '.join(MODES)}.")
    for name in ("kinds", "require_approval_kinds"):
        unknown = sorted(getattr(policy, name) - set(ITEM_KINDS))
        if unknown:
            raise InvalidMessage(f"{name} names {', '.join(unknown)}", f"Kinds are {', '.join(ITEM_KINDS)}.")
    if not 0 <= policy.min_confidence <= 1:
        raise InvalidMessage(f"min_confidence is {policy.min_confidence}", "Give a number from 0 to 1.")
    if policy.min_evidence < 1:
        raise InvalidMessage(f"min_evidence is {policy.min_evidence}", "Give at least 1.")
    for name in ("session_writes", "hour_writes", "scope_items"):
        if getattr(policy, name) < 0:
            raise InvalidMessage(f"{name} is {getattr(policy, name)}", "Give 0 for no limit, or more.")
    return policy


def effective(own: PolicyHistory | None, everybody: PolicyHistory | None, initial: WritePolicy) -> WritePolicy:
    """What holds in a scope: its own policy, else everybody's, else that of the configuration.

    The emergency switch of everybody holds in every scope.
    """
    general = everybody.current if everybody else initial
    policy = own.current if own else general
    return replace(policy, read_only=policy.read_only or general.read_only)


def began(policy: WritePolicy, at_us: int, by: str) -> PolicyHistory:
    """The first version."""
    return PolicyHistory((PolicyVersion(1, checked(policy), at_us, by),))


def changed(history: PolicyHistory, policy: WritePolicy, at_us: int, by: str, figures: PolicySettings) -> PolicyHistory:
    """A new version; the oldest beyond what is kept go."""
    return _appended(history, PolicyVersion(history.versions[-1].number + 1, checked(policy), at_us, by), figures)


def rolled_back(history: PolicyHistory, at_us: int, by: str, figures: PolicySettings) -> PolicyHistory:
    """The previous policy holds again, as a new version. A second rollback goes one further back. NotFound at the first.

    The emergency switch stays as it is: versions that only threw it are passed over, and what is restored takes it along.
    """
    newest, standing = history.versions[-1], _standing(history)
    if len(standing) < 2:
        raise NotFound("There is no earlier policy", "Set a policy instead.")
    policy = replace(standing[-2].policy, read_only=newest.policy.read_only)
    restored = PolicyVersion(newest.number + 1, policy, at_us, by, standing[-2].number)
    return _appended(history, restored, figures)


def with_read_only(history: PolicyHistory, read_only: bool, at_us: int, by: str, figures: PolicySettings) -> PolicyHistory:
    """The emergency switch, as a version that no rollback undoes; setting it as it stands changes nothing."""
    if history.current.read_only == read_only:
        return history
    return changed(history, replace(history.current, read_only=read_only), at_us, by, figures)


def require_writable(policy: WritePolicy, scope: Scope) -> None:
    """ReadOnly while the emergency switch is on: no verb changes an item of the scope."""
    if policy.read_only:
        raise ReadOnly(f"The items of {scope.key} are read-only", "They change again after `policy read-only off`.")


def admit(
    policy: WritePolicy, kind: str, confidence: float, evidence: int, usage: Usage, fast: bool, injected: bool = False,
    paused: bool = False,
) -> Admission:  # fmt: skip
    """The first rule that applies. `fast`: written at once; sleep knows no limits of session and hour.

    `paused`: the long-term memory of whoever said it.
    """
    if policy.read_only or paused:
        # Nothing is lost: what was said waits until writing is allowed again.
        return Admission("wait", READ_ONLY if policy.read_only else LONG_TERM_PAUSED)
    rules = (
        (not policy.write_enabled, "refuse", "write_disabled"),
        (injected and kind in GUARDED_KINDS, "refuse", "injection_guard"),
        (bool(policy.kinds) and kind not in policy.kinds, "refuse", "kind_not_allowed"),
        (confidence < policy.min_confidence, "refuse", "confidence_too_low"),
        (evidence < policy.min_evidence, "refuse", EVIDENCE_MISSING),
        (fast and _full(usage.session_writes, policy.session_writes), "wait", "session_limit"),
        (fast and _full(usage.hour_writes, policy.hour_writes), "wait", "hour_limit"),
    )
    return next((Admission(verdict, rule) for applies, verdict, rule in rules if applies), Admission("admit", "admitted"))


def write_status(policy: WritePolicy, kind: str) -> str:
    """active, shadow or candidate: as what an admitted statement is written."""
    if policy.mode == "manual" or kind in policy.require_approval_kinds:
        return "candidate"
    return "shadow" if policy.mode == "shadow" else "active"


def due_dormant(
    active: Sequence[Memory], policy: WritePolicy, important_from: float, spared: Collection[bytes] = ()
) -> tuple[bytes, ...]:
    """What goes dormant for the cap of the scope: of low importance first, in it what was said last the longest ago.

    Anchored items never do, nor those of the ids `spared`, for which room is made.
    """
    active = [one for one in active if one.tier != "dormant"]
    over = len(active) - policy.scope_items
    if not policy.scope_items or over <= 0:
        return ()
    movable = [one for one in active if not (one.pinned or one.immutable or one.memory_id in spared)]
    movable.sort(
        key=lambda one: (one.importance >= important_from, max(one.created_at_us, one.last_referenced_us), one.memory_id)
    )
    return tuple(one.memory_id for one in movable[:over])


def _standing(history: PolicyHistory) -> list[PolicyVersion]:
    """What is in force, on top of what was in force before it: what was set lies there until a rollback takes it away."""
    found: list[PolicyVersion] = [history.versions[0]]
    for before, one in pairwise(history.versions):
        if _only_switched(before.policy, one.policy):
            continue
        while one.restored and found and found[-1].number > one.restored:
            found.pop()
        # A restored version is the one it was taken from, where that is kept.
        if not one.restored or not found or found[-1].number < one.restored:
            found.append(one)
    return found


def _only_switched(before: WritePolicy, after: WritePolicy) -> bool:
    return before.read_only != after.read_only and replace(before, read_only=after.read_only) == after


def _full(used: int, limit: int) -> bool:
    return limit > 0 and used >= limit


def _appended(history: PolicyHistory, version: PolicyVersion, figures: PolicySettings) -> PolicyHistory:
    return PolicyHistory((*history.versions, version)[-figures.versions_kept :])
