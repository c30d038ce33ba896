"""The write policy and the ranking profile under the guardrails: labels, proposals, and looking back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, TypeVar

from aico_memory.contracts.envelope import Event, make_record, reply_record
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import guardrails_pb2, sleep_pb2
from aico_memory.domain.gate.policy import WritePolicy, began, changed, initial_policy
from aico_memory.domain.guardrails import ranking, write_policy
from aico_memory.domain.guardrails.adjustment import (
    APPLIED,
    OFF,
    PROPOSED,
    RANKING_PROFILE,
    REFUSED,
    ROLLED_BACK,
    SYSTEM,
    WRITE_POLICY,
    Adjustment,
    decided,
)
from aico_memory.domain.guardrails.objectives import Seen, Trial, split
from aico_memory.domain.memory import RECORD, Scope
from aico_memory.domain.retrieval.ranking import Profile
from aico_memory.domain.scopes import GLOBAL, readable
from aico_memory.errors import AicoMemoryError, InvalidMessage, NotFound, RefusedTransition
from aico_memory.ids import derive_id
from aico_memory.runtime.adjusting import (
    DAY_US,
    Adjustable,
    account,
    adjustment_message,
    adjustment_page,
    decide,
    held_until,
    limits_of,
    look_back,
    settle,
    weights_of,
)
from aico_memory.runtime.ports import Ports
from aico_memory.settings.root import Settings
from aico_memory.stores.semantic.item_port import ItemReads
from aico_memory.stores.semantic.port import SemanticStore, SemanticTransaction
from services.semantic.convert import id_bytes
from services.semantic.shown import ShownRows

if TYPE_CHECKING:
    from aico_memory.contracts.v1.write_path_pb2 import MemoriesJudged

ADJUST = topic_of(guardrails_pb2.SemanticAdjustmentDecision).name
SELF_ADJUST = topic_of(guardrails_pb2.SelfAdjust).name
ADJUSTMENTS = topic_of(guardrails_pb2.SemanticAdjustmentsRequest).name
SHIPPED = "shipped"
# So many of the newest labels are learned from and tried on.
LABELS = 2000
_REFUSALS = (NotFound, InvalidMessage, RefusedTransition)
Effect = Callable[[SemanticTransaction, Event], None]
Label = TypeVar("Label")


class Ranker(Protocol):
    """What ranks, as far as its profile can be exchanged."""

    @property
    def shipped(self) -> Profile:
        """The configured profile."""

    def adopt(self, profile: Profile | None) -> None:
        """Rank by this instead of the configured one; None: by that again."""


class PolicyRules:
    """Everybody's write policy, as rules that can be exchanged."""

    def __init__(self, transaction: SemanticTransaction, settings: Settings, at_us: int) -> None:
        self._transaction = transaction
        self._figures = settings.write_path.policy
        self._at_us = at_us

    def current(self) -> WritePolicy:
        """What holds for everybody now."""
        history = self._transaction.policy(GLOBAL)
        return history.current if history else initial_policy(self._figures)

    def version(self) -> str:
        return write_policy.policy_version(self.current())

    def put(self, adjustment: Adjustment) -> None:
        self._set(adjustment.body)

    def restore(self, adjustment: Adjustment) -> None:
        self._set(adjustment.snapshot)

    def _set(self, body: object) -> None:
        history = self._transaction.policy(GLOBAL) or began(initial_policy(self._figures), self._at_us, "configuration")
        policy = write_policy.with_data(history.current, dict(body))  # type: ignore[call-overload]
        self._transaction.set_policy(GLOBAL, changed(history, policy, self._at_us, SYSTEM, self._figures))


class ProfileRules:
    """The ranking profile: what the ledger says is applied holds, so there is nothing else to exchange."""

    def __init__(self, transaction: SemanticTransaction, shipped: Profile) -> None:
        self._transaction = transaction
        self._shipped = shipped

    def current(self) -> Profile:
        """What ranks now."""
        return _profile(self._transaction.ledger().applied(RANKING_PROFILE)) or self._shipped

    def version(self) -> str:
        return ranking.profile_version(self.current())

    def put(self, adjustment: Adjustment) -> None:
        """The ranker reads the ledger after the commit."""

    def restore(self, adjustment: Adjustment) -> None:
        """The ranker reads the ledger after the commit."""


class Adjusting:
    """One instance a worker; everything but questions in the consumer's thread."""

    def __init__(
        self, ports: Ports, settings: Settings, store: SemanticStore, ranker: Ranker, shown: ShownRows,
        policy: Callable[[ItemReads, Scope], WritePolicy],
    ) -> None:  # fmt: skip
        self._ports = ports
        self._settings = settings
        self._guard = settings.guardrails
        self._store = store
        self._ranker = ranker
        self._shown = shown
        self._written_by = policy
        # What the last run said of each subject.
        self._told: dict[str, str] = {}
        self._stale = True
        self.effects: dict[str, Effect] = {ADJUST: self._decide, SELF_ADJUST: self._run}

    def page(self, event: Event) -> guardrails_pb2.AdjustmentPage:
        """Entries of the ledger."""
        with self._store.reading_ledger() as ledger:
            return adjustment_page(ledger, event)

    def status(self) -> dict[str, object]:
        """For `status`."""
        with self._store.reading_ledger() as ledger:
            found = account(ledger, self._guard, self._ports.clock.now_us())
        return {**found, "told": dict(self._told)}

    def after_commit(self) -> None:
        """Let the ranker follow the ledger."""
        if self._stale:
            self._stale = False
            with self._store.reading_ledger() as ledger:
                self._ranker.adopt(_profile(ledger.applied(RANKING_PROFILE)))

    def after(self, judge: Effect) -> Effect:
        """The effect of a word on memories, and what it teaches the ranking."""

        def both(transaction: SemanticTransaction, event: Event) -> None:
            judge(transaction, event)
            self.note_judged(transaction, event)

        return both

    def note_judged(self, transaction: SemanticTransaction, event: Event) -> None:
        """Keep what a word on memories says of the answer that showed them; only what its sender may see counts."""
        message: MemoriesJudged = event.message
        names = self._settings.identity.names(event.user)
        try:
            wanted = [id_bytes(one) for one in message.memory_ids]
        except InvalidMessage:
            return
        visible = transaction.known(wanted, readable(names, message.group_id, message.project_id))
        scopes = {one.memory.scope for one in visible if one.memory.status == "active" and one.memory.kind != RECORD}
        if len(visible) < len(set(wanted)) or any(self._written_by(transaction, scope).read_only for scope in scopes):
            # The word was refused.
            return
        label = self._shown.label(
            [one.memory.memory_id for one in visible], message.helpful, event.user, event.occurred_us
        )  # fmt: skip
        if label is not None:
            labels = transaction.labels()
            labels.put_ranking(ranking.merged(labels.ranking(label.label_id), label), LABELS)

    def _rules(self, transaction: SemanticTransaction, at_us: int) -> tuple[PolicyRules, ProfileRules]:
        return PolicyRules(transaction, self._settings, at_us), ProfileRules(transaction, self._ranker.shipped)

    def _decide(self, transaction: SemanticTransaction, event: Event) -> None:
        policy, profile = self._rules(transaction, event.occurred_us)
        rules: dict[str, Adjustable] = {WRITE_POLICY: policy, RANKING_PROFILE: profile}
        answer: guardrails_pb2.Adjustment | AicoMemoryError
        try:
            answer = decide(transaction.ledger(), event, rules)
            self._stale = True
        except _REFUSALS as refusal:
            answer = refusal
        if event.reply_to:
            transaction.emit(reply_record(event, answer))

    def _run(self, transaction: SemanticTransaction, event: Event) -> None:
        at_us = event.occurred_us
        policy, profile = self._rules(transaction, at_us)
        made = [
            *self._policy(transaction, policy, event, at_us),
            *self._profile(transaction, profile, event, at_us),
        ]
        self._stale = True
        page = guardrails_pb2.AdjustmentPage(adjustments=map(adjustment_message, made), told=self._told)
        if event.reply_to:
            transaction.emit(reply_record(event, page))
        if event.message.firing_id:
            detail = "; ".join(f"{subject}: {told}" for subject, told in sorted(self._told.items()))
            finished = sleep_pb2.JobFinished(firing_id=event.message.firing_id, outcome="done", detail=detail[:1000])
            identifier = derive_id(event.event_id, "finished")
            transaction.emit(make_record(finished, event_id=identifier, occurred_us=at_us, causation_id=event.event_id))

    def _policy(self, transaction: SemanticTransaction, rules: PolicyRules, event: Event, at_us: int) -> list[Adjustment]:
        labels = transaction.labels().reviews(LABELS)
        standing = rules.current()

        def look(since_us: int) -> Seen:
            return write_policy.seen(standing, [one for one in labels if one.at_us >= since_us])

        fit, kept = self._parted(labels, lambda one: one.memory_id.hex())
        after = write_policy.proposed(standing, fit, weights_of(self._guard))
        earlier = write_policy.seen(standing, [one for one in labels if one.at_us >= at_us - self._window_us()])
        proposal = Adjustment(
            str(derive_id(event.event_id, WRITE_POLICY)), WRITE_POLICY, write_policy.policy_version(after), rules.version(),
            PROPOSED, "", at_us, snapshot=write_policy.policy_as_data(standing),
            body={**write_policy.policy_as_data(after), "labels": len(labels)}, seen=earlier.did, seen_success=earlier.success,
        )  # fmt: skip
        return self._settled(
            transaction, proposal, rules, self._guard.write_policy, lambda: write_policy.trial(standing, after, kept), look,
            len(labels),
        )  # fmt: skip

    def _profile(self, transaction: SemanticTransaction, rules: ProfileRules, event: Event, at_us: int) -> list[Adjustment]:
        labels = transaction.labels().rankings(LABELS)
        standing = rules.current()

        def look(since_us: int) -> Seen:
            return ranking.seen(standing, [one for one in labels if one.at_us >= since_us])

        fit, kept = self._parted(labels, lambda one: one.label_id)
        enough = len(labels) >= self._guard.labels
        after = ranking.proposed(standing, fit, standing.name) if enough else standing
        earlier = ranking.seen(standing, [one for one in labels if one.at_us >= at_us - self._window_us()])
        proposal = Adjustment(
            str(derive_id(event.event_id, RANKING_PROFILE)), RANKING_PROFILE, ranking.profile_version(after), rules.version(),
            PROPOSED, "", at_us, snapshot=ranking.profile_as_data(standing),
            body={**ranking.profile_as_data(after), "labels": len(labels)}, seen=earlier.did, seen_success=earlier.success,
        )  # fmt: skip
        return self._settled(
            transaction, proposal, rules, self._guard.ranking_profile, lambda: ranking.trial(standing, after, kept), look,
            len(labels),
        )  # fmt: skip

    def _settled(
        self, transaction: SemanticTransaction, proposal: Adjustment, rules: Adjustable, mode: str, trial: Callable[[], Trial],
        look: Callable[[int], Seen], labels: int,
    ) -> list[Adjustment]:  # fmt: skip
        """What became of a subject: what was taken back, or what was decided of the proposal; `_told` says it in words."""
        subject, ledger = proposal.subject, transaction.ledger()
        looked = look_back(ledger, subject, rules, look, self._guard, proposal.at_us, self._ports.log)
        if looked is not None and looked.status == ROLLED_BACK:
            self._told[subject] = f"taken back: {looked.reason}"
            return [looked]
        newest = next(iter(ledger.adjustments(subject, 1)), None)
        if mode == OFF:
            self._told[subject] = "off"
        elif labels < self._guard.labels:
            self._told[subject] = f"too few labels: {labels} of {self._guard.labels}"
        elif proposal.version == rules.version():
            self._told[subject] = f"nothing better found on {labels} labels"
        elif newest is not None and (newest.version, newest.body.get("labels")) == (proposal.version, labels):
            self._told[subject] = f"nothing new since: {newest.status}"
        else:
            until = held_until(ledger, subject, self._guard)
            found = decided(proposal, trial(), mode, weights_of(self._guard), limits_of(self._guard), until)
            self._outdate(transaction, ledger.adjustments(subject), found)
            settle(ledger, found, rules, self._guard)
            self._told[subject] = f"{found.status}: {found.reason}"
            return [found]
        return []

    def _outdate(self, transaction: SemanticTransaction, entries: Sequence[Adjustment], found: Adjustment) -> None:
        if found.status not in (APPLIED, PROPOSED):
            return
        for one in entries:
            if one.status == PROPOSED:
                outdated = replace(one, status=REFUSED, reason="a newer proposal took its place", ended_us=found.at_us)
                transaction.ledger().put_adjustment(outdated)

    def _parted(self, labels: Sequence[Label], name: Callable[[Label], str]) -> tuple[list[Label], list[Label]]:
        """What is fitted on, and what is kept for the trial; labels of one name stay together."""
        kept = frozenset(split(sorted({name(one) for one in labels}), self._guard.holdout)[1])
        return [one for one in labels if name(one) not in kept], [one for one in labels if name(one) in kept]

    def _window_us(self) -> int:
        return self._guard.window_days * DAY_US


def _profile(adjustment: Adjustment | None) -> Profile | None:
    return None if adjustment is None else ranking.profile_from_data("default", dict(adjustment.body))
