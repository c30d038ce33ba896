"""Verbs on what was learned of how a person wants to be answered: see it, ask why, take it back, own skills, policies."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypedDict

from aico_memory.client.feedback_verbs import Undone
from aico_memory.client.results import Skill
from aico_memory.client.selection_verbs import Moment, SelectionVerbs
from aico_memory.client.session import Session
from aico_memory.client.shapes import skill_shape
from aico_memory.client.validation import (
    checked_names,
    checked_or_configured,
    checked_span,
    checked_text,
    json_object,
    moment_us,
    optional_text,
)
from aico_memory.contracts.v1 import behavioral_pb2
from aico_memory.errors import InvalidMessage

# The nightly batch reads everybody's thumbs.
LEARN_SECONDS = 600.0
# What the contract can say.
_MOST_ROWS = 2**32 - 1


class StyleBelief(TypedDict):
    """What a person likes of one style dimension by itself; `slope` from its middle to its upper end."""

    dimension: str
    slope: float
    deviation: float
    # What they have said of it for all situations, 0..1; None where that is nothing.
    stated: float | None


class Learned(TypedDict):
    """What the nightly batch did."""

    # learned | proposed | refused | rolled_back | too_few_people | too_few_thumbs | nothing_new | switched_off
    outcome: str
    people: int
    thumbs: int
    signals: int
    prior: str
    value_before: float
    value_after: float
    proposals: int
    # Stored texts that were sorted into categories, and how many of them moved a preference.
    classified: int
    moved_by_text: int
    # Texts that are sorted after this answer.
    texts_left: int
    detail: str


class PolicyValue(TypedDict):
    """What a policy is worth by the log: the chance of a thumb up with its 95 % interval."""

    policy: str
    value: float
    low: float
    high: float
    # As many equally weighted decisions say as much; mean weight (1: the log took everything that this policy takes).
    effective: float
    support: float


class PolicyEvaluation(TypedDict):
    """A candidate beside the policy in use, on the same logged decisions."""

    # better | worse | no_difference | too_few_decisions | too_little_support | unchanged
    outcome: str
    decisions: int
    people: int
    # Share of thumbs up among these decisions.
    observed: float
    in_use: PolicyValue
    candidate: PolicyValue
    # Of the values, candidate less the one in use, with its 95 % interval.
    difference: float
    low: float
    high: float
    # Selections that say nothing: no_thumb, no_propensity, not_replayable, earlier.
    left_out: dict[str, int]
    # What the candidate changes.
    changes: list[str]


class LearningVerbs(SelectionVerbs):
    """Verbs on skills' learning."""

    _session: Session

    async def style(self, user_id: str) -> list[StyleBelief]:
        """What the user likes of each style dimension, over all skills and situations, as learned so far."""
        user = self._session.user(user_id)
        answer = await self._session.ask(behavioral_pb2.PreferencesRequest(user_id=user), user)
        return [
            {
                "dimension": one.dimension,
                "slope": one.slope,
                "deviation": one.deviation,
                "stated": one.stated if one.HasField("stated") else None,
            }
            for one in answer.taste
        ]

    async def learn_now(self) -> Learned:
        """Run the nightly batch: reasons move preferences, the common prior is refitted from everybody's thumbs."""
        command = behavioral_pb2.LearnNow(timestamp=self._session.clock.now_us())
        report = await self._session.command(command, "", seconds=LEARN_SECONDS)
        return {
            "outcome": report.outcome,
            "people": report.people,
            "thumbs": report.thumbs,
            "signals": report.signals,
            "prior": report.prior,
            "value_before": report.value_before,
            "value_after": report.value_after,
            "proposals": report.proposals,
            "classified": report.classified,
            "moved_by_text": report.moved_by_text,
            "texts_left": report.texts_left,
            "detail": report.detail,
        }

    async def undo_learning(self, user_id: str, until: Moment = None) -> Undone:
        """Take back everything learned of the user after a moment; None: everything. Feedback stays listed as undone.

        Of feedback that was given before, what a night made of its reason and text later goes, and comes again in no other
        night; what was edited later says what it said then, without the words that the edit took away.
        Skills stand as they stood then: proposals that were accepted since are proposals again, and what was put aside
        returns. What was deleted stays deleted.
        """
        user = self._session.user(user_id)
        command = behavioral_pb2.UndoLearning(user_id=user, until_us=moment_us(until, "until"))
        result = await self._session.command(command, user)
        return {"undone": result.undone, "left": result.left}

    async def put_skill(
        self,
        user_id: str,
        template: str,
        name: str | None = None,
        skill_id: str | None = None,
        intents: Sequence[str] = (),
        sentiments: Sequence[str] = (),
        times_of_day: Sequence[str] = (),
        dimensions: Mapping[str, float] | None = None,
        topics: Sequence[str] = (),
    ) -> Skill:
        """Create a skill of the user's own, or (with `skill_id`) a new version of one. At least one condition is needed, and
        at most 32 of each kind, labels of 64 characters.

        `topics` (at most 8 phrases of 200 characters) are compared with what a message is about by their embeddings: beside
        other conditions the nearest one counts by degrees; alone it makes the skill apply where it is near. Where the
        embedding model does not speak the language of one of both, by the share of the topic's words that the message has.
        A `skill_id` may be chosen; one that was given and that the user does not have raises SkillNotFound.
        A new version without a name, or without any condition, keeps those of the version before. `dimensions`: values 0..1
        by name; those that are not named stay as in the version before, else neutral (0.5).
        """
        user = self._session.user(user_id)
        command = behavioral_pb2.PutSkill(
            user_id=user,
            skill_id=optional_text(skill_id, "skill_id", 128),
            name=optional_text(name, "name", 128),
            template=checked_text(template, "template", 4000),
            intents=checked_names(intents, "intents"),
            sentiments=checked_names(sentiments, "sentiments"),
            times_of_day=checked_names(times_of_day, "times_of_day"),
            topics=checked_names(topics, "topics"),
            style=_checked_style(dimensions) if dimensions is not None else {},
        )
        return skill_shape(await self._session.command(command, user))

    async def change_skill(self, user_id: str, skill_id: str, action: str) -> Skill:
        """accept, archive, restore, revert or delete a skill of the user's own; archive or restore a base skill.

        What is restored stands as it stood when it was put aside: a proposal waits again to be accepted.
        `revert` makes the version before the newest one, exactly as it was made. A proposed refinement of a skill that is
        accepted becomes a new version of that skill.
        """
        user = self._session.user(user_id)
        command = behavioral_pb2.ChangeSkill(
            user_id=user,
            skill_id=checked_text(skill_id, "skill_id", 128),
            action=checked_text(action, "action", 16),
        )
        return skill_shape(await self._session.command(command, user))

    async def policies(self) -> dict[str, Any]:
        """The policies there are and the one in use; the priors learned from people and the one in use."""
        answer = await self._session.ask(behavioral_pb2.PoliciesRequest(), "")
        return {
            "policies": [{"name": one.name, "description": one.description, "in_use": one.in_use} for one in answer.policies],
            "prior": answer.prior,
            "priors": [
                {
                    "version": one.version,
                    "fitted_at": datetime.fromtimestamp(one.fitted_us / 1e6, UTC).isoformat(),
                    "users": one.users,
                    "thumbs": one.thumbs,
                    "status": one.status,
                    "evaluation": json.loads(one.evaluation_json or "{}"),
                }
                for one in answer.priors
            ],
        }

    async def evaluate_policy(self, policy: str | None = None, settings: Mapping[str, Any] | None = None) -> PolicyEvaluation:
        """What another policy, or other figures, would have been worth on what was logged, before they are configured.

        `settings`: what is to be changed of `behavioral` (policy, trigger, diversity, hybrid, hierarchical, prior, learning),
        nested as in config/memory.yaml. Each logged choice of people with consent whose thumb and propensity are known is
        put before both, with what had been learned by then. Nothing changes. InvalidMessage for what cannot be configured.
        """
        request = behavioral_pb2.PolicyEvaluationRequest(
            policy=optional_text(policy, "policy", 64), settings_json=json_object(settings, "settings")
        )
        answer = await self._session.ask(request, "", seconds=LEARN_SECONDS)
        return {
            "outcome": answer.outcome,
            "decisions": answer.decisions,
            "people": answer.people,
            "observed": answer.observed,
            "in_use": _policy_value(answer.in_use),
            "candidate": _policy_value(answer.candidate),
            "difference": answer.difference,
            "low": answer.low,
            "high": answer.high,
            "left_out": dict(sorted(answer.left_out.items())),
            "changes": list(answer.changes),
        }

    async def set_preference(self, user_id: str, style: Mapping[str, float], bucket: int | None = None) -> dict[str, Any]:
        """Say which style the user wants: values 0..1 by the names of dimensions, in one context bucket or in all.

        It stands over what was learned until then: the value is how the dimension is liked where it was said (0.5: neither
        little nor much of it), and older thumbs count there as much as their skills are neutral in it. Feedback goes on from
        it; contexts that come later begin with what was said of all. Without consent the status says so.
        """
        return await self._put_preference(user_id, behavioral_pb2.PutPreference(style=_checked_style(style)), bucket)

    async def reset_preference(self, user_id: str, bucket: int | None = None) -> dict[str, Any]:
        """Put the preferred style of one context bucket, or of all, back to neutral.

        What was said there, and what thumbs and reasons have taught of style there, counts no more; feedback itself, the
        confidence in skills and, with a bucket, what other contexts have taught stay. `undo_learning` takes it back. It needs
        no consent.
        """
        return await self._put_preference(user_id, behavioral_pb2.PutPreference(reset=True), bucket)

    async def _put_preference(self, user_id: str, command: behavioral_pb2.PutPreference, bucket: int | None) -> dict[str, Any]:
        user = command.user_id = self._session.user(user_id)
        if bucket is not None:
            if isinstance(bucket, bool) or not isinstance(bucket, int) or not 0 <= bucket < 2**32:
                raise InvalidMessage(f"bucket is {bucket!r}; allowed is a whole number from 0")
            command.bucket = bucket
        result = await self._session.command(command, user)
        return {"status": result.status, "buckets": result.buckets}

    async def behavior_metrics(
        self, query: str, since: Moment = None, until: Moment = None, limit: int | None = None
    ) -> list[dict[str, Any]]:
        """A ready-made query over what selection and learning did; rows of named figures.

        accuracy (by hour and skill), slow_skills, adaptation (by user), exploration (against exploitation, by hour),
        aggregate, performance (percentiles in ms, bytes a user) or thompson_sampling (nightly batches). Skills of people's own
        are counted together, as "own".
        """
        from_us, until_us = checked_span(since, until)
        request = behavioral_pb2.BehaviorMetricsRequest(
            query=checked_text(query, "query", 32), from_us=from_us, until_us=until_us,
            limit=checked_or_configured(limit, "limit", _MOST_ROWS),
        )  # fmt: skip
        told: list[behavioral_pb2.MetricRow] = []
        left = 1
        while left:
            answer = await self._session.ask(request, "")
            told += answer.rows
            # An answer without rows goes nowhere, whatever it says is left.
            left = answer.left if answer.rows else 0
            request.after, request.limit = len(told), left if request.limit else 0
        rows = []
        for one in told:
            named: dict[str, Any] = {"hour": datetime.fromtimestamp(one.hour_us / 1e6, UTC).isoformat()} if one.hour_us else {}
            named |= {"skill_id": one.skill_id} if one.skill_id else {}
            named |= {"user_id": one.user_id} if one.user_id else {}
            rows.append({**named, **dict(sorted(one.values.items()))})
        return rows

    async def behavior_figures(self, since: Moment = None, until: Moment = None) -> list[dict[str, Any]]:
        """Selections, explorations and thumbs by the hour and skill; own skills are "own", no person is named."""
        from_us, until_us = checked_span(since, until)
        request = behavioral_pb2.BehaviorFiguresRequest(from_us=from_us, until_us=until_us)
        found: list[behavioral_pb2.BehaviorFigure] = []
        while True:
            answer = await self._session.ask(request, "")
            found += answer.figures
            if answer.next_us <= request.from_us:
                break
            request.from_us = answer.next_us
        return [
            {
                "hour": datetime.fromtimestamp(one.hour_us / 1e6, UTC).isoformat(),
                "skill_id": one.skill_id,
                "what": one.what,
                "count": one.count,
                "total": one.total,
                "largest": one.largest,
            }
            for one in found
        ]


def _policy_value(value: behavioral_pb2.PolicyValue) -> PolicyValue:
    return {
        "policy": value.policy,
        "value": value.value,
        "low": value.low,
        "high": value.high,
        "effective": value.effective,
        "support": value.support,
    }


def _checked_style(style: Mapping[str, float]) -> dict[str, float]:
    if not isinstance(style, Mapping):
        raise InvalidMessage("A style must be a mapping from names of dimensions to numbers")
    for name, value in style.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise InvalidMessage(f"The value of {name!r} is {value!r}; allowed is a number from 0 to 1")
    return {str(name): float(value) for name, value in style.items()}
