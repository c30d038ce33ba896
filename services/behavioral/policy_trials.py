"""A changed policy, or changed figures, on what was logged, before they are configured: answered, and nothing changes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from google.protobuf.message import Message
from pydantic import ValidationError

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import behavioral_pb2
from aico_memory.domain.behavioral.policies import POLICIES, policy_named
from aico_memory.domain.behavioral.policy import Policy
from aico_memory.domain.behavioral.policy_replay import (
    NO_SUPPORT,
    TOO_FEW,
    Comparison,
    Course,
    Logged,
    ReplayFigures,
    Ruling,
    Thumb,
    Value,
    compare,
)
from aico_memory.domain.behavioral.prior import COLD, Prior
from aico_memory.domain.behavioral.records import APPLIED, FeedbackRecord, SelectionRecord
from aico_memory.domain.behavioral.situation import Situation
from aico_memory.domain.behavioral.skill import Catalogue
from aico_memory.errors import InvalidMessage
from aico_memory.ids import stable_hash64
from aico_memory.paths import Home, config_file
from aico_memory.runtime.ports import Ports
from aico_memory.settings.behavioral import DECIDING, BehavioralSettings
from aico_memory.stores.behavioral.port import BehavioralRows, BehavioralStore
from aico_memory.stores.behavioral.prior_file import FILE as PRIOR_FILE
from aico_memory.stores.behavioral.prior_file import load_prior
from aico_memory.vault.sealer import Sealer
from services.behavioral.figures import chooser_of, cold_prior, hierarchical_figures, hybrid_figures, learning_figures
from services.behavioral.shelves import Shelves
from services.behavioral.tastes import Tastes

UNCHANGED = "unchanged"
# A person's selections that are read.
_SELECTIONS = 5000


def starting_prior(home: Home, settings: BehavioralSettings, catalogue: Catalogue) -> Prior:
    """What people start from before anything was learned from people: shipped, or the base skills' own data."""
    cold = cold_prior(settings.hierarchical, catalogue)
    return cold if settings.prior.source == COLD else load_prior(config_file(home, PRIOR_FILE), cold)


class PolicyTrials:
    """Safe from many threads."""

    def __init__(
        self, store: BehavioralStore, catalogue: Catalogue, home: Home, settings: BehavioralSettings,
        sealer_of: Callable[[str], Sealer],
    ) -> None:  # fmt: skip
        self._store = store
        self._catalogue = catalogue
        self._home = home
        self._settings = settings
        self._sealer_of = sealer_of

    def evaluate(self, event: Event, ports: Ports) -> Message:
        """Compare the candidate with what is in use. InvalidMessage for settings that there are not."""
        wanted = self._candidate(event.message.settings_json, event.message.policy)
        figures = self._settings.evaluation
        with self._store.reading() as rows:
            users = sorted(rows.taught_users(), key=stable_hash64)[: figures.people]
            shelves = Shelves(self._catalogue, self._sealer_of, 1)
            courses = [course_of(rows, user, tuple(shelves.of(rows, user))) for user in users]
            in_use, candidate = self._ruling(rows, self._settings), self._ruling(rows, wanted)
        found = compare(courses, in_use, candidate, ReplayFigures(
            figures.decisions, figures.draws, figures.least_decisions, figures.least_effective
        ))  # fmt: skip
        changed = changes(self._settings, wanted)
        if not changed and found.outcome not in (TOO_FEW, NO_SUPPORT):
            found = replace(found, outcome=UNCHANGED)
        return _told(found, self._settings.policy, wanted.policy, changed)

    def _candidate(self, settings_json: str, policy: str) -> BehavioralSettings:
        try:
            given = json.loads(settings_json or "{}")
            if not isinstance(given, dict) or not set(given) <= set(DECIDING):
                raise InvalidMessage(
                    "settings_json is no object of settings that decide", f"It may hold {', '.join(DECIDING)} of `behavioral`."
                )
            merged = _merged(self._settings.model_dump(), given) | ({"policy": policy} if policy else {})
            wanted = BehavioralSettings.model_validate(merged)
        except ValidationError as error:
            first = error.errors()[0]
            raise InvalidMessage(f"behavioral.{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
        except json.JSONDecodeError as error:
            raise InvalidMessage(f"settings_json is no JSON: {error}") from error
        if wanted.policy not in POLICIES:
            raise InvalidMessage(f"There is no policy {wanted.policy!r}", f"There are {', '.join(POLICIES)}.")
        return wanted

    def _ruling(self, rows: BehavioralRows, settings: BehavioralSettings) -> Ruling:
        tastes = Tastes(self._catalogue, starting_prior(self._home, settings, self._catalogue), settings)
        return Ruling(
            _without_draws(settings), chooser_of(settings), learning_figures(settings.learning), tastes.prior(rows),
            settings.hierarchical.cells, settings.hierarchical.content_weight,
        )  # fmt: skip


def changes(before: BehavioralSettings, after: BehavioralSettings) -> list[str]:
    """What decides otherwise after than before: `path: one → other`, sorted."""
    one, other = (dict(_flat(settings.model_dump(include=set(DECIDING)))) for settings in (before, after))
    return [f"{path}: {one[path]} → {other[path]}" for path in sorted(one) if one[path] != other.get(path)]


def course_of(rows: BehavioralRows, user: str, skills: tuple[Any, ...]) -> Course:
    """A person's log: each selection behind the thumbs that were given before it, oldest first."""
    selections = rows.selections_of(user, "", _SELECTIONS)[::-1]
    thumbs = [one for one in rows.feedback_of(user) if one.skill_updated and one.undone_us is None and one.reward]
    latest = {(one.request_id, one.skill_id): one.reward > 0 for one in thumbs if one.request_id}
    steps: list[Logged | Thumb] = []
    chosen: set[str] = set()
    given = 0
    known = {one.request_id for one in selections}
    for one in sorted((one for one in selections if one.outcome == APPLIED), key=lambda one: one.at_us):
        # A thumb comes behind the selection that it judges, though both may bear one time.
        while given < len(thumbs) and thumbs[given].at_us <= one.at_us and (
            thumbs[given].request_id in chosen or thumbs[given].request_id not in known
        ):  # fmt: skip
            steps.append(_thumb(thumbs[given]))
            given += 1
        steps.append(_logged(one, latest.get((one.request_id, one.skill_id))))
        chosen.add(one.request_id)
    return Course(skills, steps)


def _logged(one: SelectionRecord, liked: bool | None) -> Logged:
    return Logged(
        Situation(one.intent, one.sentiment, one.time_of_day),
        one.skill_id,
        one.propensity,
        liked,
        one.is_exploration,
        one.at_us,
    )


def _thumb(one: FeedbackRecord) -> Thumb:
    situation = Situation(one.intent, one.sentiment, one.time_of_day)
    return Thumb(situation, one.skill_id, one.reward, one.reason, one.is_exploration)


def _without_draws(settings: BehavioralSettings) -> Policy:
    """The policy; how likely its own choice is need not be counted here, where the choice itself is drawn many times."""
    policy = policy_named(
        settings.policy, replace(hybrid_figures(settings.hybrid), propensity_draws=0),
        replace(hierarchical_figures(settings), propensity_draws=0),
    )  # fmt: skip
    if policy is None:
        raise InvalidMessage(f"There is no policy {settings.policy!r}", f"There are {', '.join(POLICIES)}.")
    return policy


def _told(found: Comparison, in_use: str, candidate: str, changed: list[str]) -> behavioral_pb2.PolicyEvaluation:
    return behavioral_pb2.PolicyEvaluation(
        outcome=found.outcome, decisions=found.decisions, people=found.people, observed=found.observed,
        in_use=_value(found.in_use, in_use), candidate=_value(found.candidate, candidate), difference=found.difference,
        low=found.low, high=found.high, left_out=found.left_out, changes=changed,
    )  # fmt: skip


def _value(found: Value, policy: str) -> behavioral_pb2.PolicyValue:
    return behavioral_pb2.PolicyValue(
        policy=policy, value=found.value, low=found.low, high=found.high, effective=found.effective, support=found.support
    )


def _merged(into: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    both = {key: _merged(into[key], value) for key, value in other.items()
            if isinstance(value, Mapping) and isinstance(into.get(key), Mapping)}  # fmt: skip
    return {**into, **other, **both}


def _flat(data: Mapping[str, Any], path: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, value in data.items():
        found += _flat(value, f"{path}{key}.") if isinstance(value, Mapping) else [(f"{path}{key}", value)]
    return found
