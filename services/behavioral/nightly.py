"""The nightly batch: reasons move preferences, and the common prior is learned from everybody's thumbs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aico_memory.contracts.v1 import behavioral_pb2
from aico_memory.domain.behavioral.skill import Catalogue
from aico_memory.domain.guardrails.adjustment import APPLIED, BEHAVIORAL_PRIOR, OFF, PROPOSED, ROLLED_BACK
from aico_memory.ids import derive_id
from aico_memory.runtime.adjusting import look_back
from aico_memory.settings.behavioral import BehavioralSettings
from aico_memory.settings.guardrails import GuardrailSettings
from aico_memory.stores.behavioral.port import BehavioralRows
from services.behavioral.adjusting import PriorRules, fitted, judged, position_of, seen_in_use, tried
from services.behavioral.signals import signal
from services.behavioral.tastes import Tastes

if TYPE_CHECKING:
    from uuid import UUID

    from structlog.typing import FilteringBoundLogger

LEARNED, REFUSED, TOO_FEW, NOTHING_NEW, SWITCHED_OFF = "learned", "refused", "too_few_people", "nothing_new", "switched_off"
TOO_FEW_THUMBS = "too_few_thumbs"
_OUTCOMES = {APPLIED: LEARNED, PROPOSED: PROPOSED}


def run_batch(
    rows: BehavioralRows, tastes: Tastes, catalogue: Catalogue, settings: BehavioralSettings, guard: GuardrailSettings,
    cause: UUID, at_us: int, log: FilteringBoundLogger,
) -> behavioral_pb2.LearnReport:  # fmt: skip
    """One batch; a second one without new feedback changes nothing.

    First the prior in use is judged by what was seen of it, and taken back where that is an alarm. The refit starts from
    the prior that the deployment started with, over all thumbs that count: a thumb is never counted on top of itself.
    """
    signals = signal(rows, catalogue, settings.library.signal_step, cause, at_us)
    report = behavioral_pb2.LearnReport(signals=signals)
    looked = look_back(
        rows.ledger(), BEHAVIORAL_PRIOR, PriorRules(rows, tastes),
        lambda since_us: seen_in_use(rows, since_us, at_us, guard.watched_cases), guard, at_us, log,
    )  # fmt: skip
    fresh, position = rows.thumbs_since(position_of(rows))
    if settings.prior.source != LEARNED or guard.behavioral_prior == OFF:
        report.outcome = SWITCHED_OFF
    elif looked is not None and looked.status == ROLLED_BACK:
        report.outcome, report.detail = ROLLED_BACK, looked.reason
    elif fresh < settings.prior.fresh_thumbs:
        report.outcome = NOTHING_NEW
        report.detail = f"{fresh} new thumbs; {settings.prior.fresh_thumbs} are waited for"
    else:
        _refit(rows, tastes, catalogue, settings, guard, cause, at_us, position, report)
    report.prior = tastes.prior(rows).version
    return report


def _refit(
    rows: BehavioralRows, tastes: Tastes, catalogue: Catalogue, settings: BehavioralSettings, guard: GuardrailSettings,
    cause: UUID, at_us: int, position: int, report: behavioral_pb2.LearnReport,
) -> None:  # fmt: skip
    users = _sampled(rows.taught_users(), settings.prior.people)
    report.people = len(users)
    report.thumbs = round(sum(cell.total for user in users for cell in tastes.evidence(rows, user).cells))
    version = f"learned-{derive_id(cause, 'prior').hex[-16:]}"
    candidate = fitted(rows, tastes, settings, users, guard.holdout, version)
    if candidate is None:
        report.outcome = TOO_FEW
        report.detail = f"{len(users)} people; {settings.prior.k} are needed beside those who are held out"
        return
    if report.thumbs < settings.prior.least_thumbs:
        report.outcome = TOO_FEW_THUMBS
        report.detail = f"{report.thumbs} thumbs of {len(users)} people; {settings.prior.least_thumbs} are needed"
        return
    trial, evaluation = tried(rows, tastes, catalogue, settings, candidate)
    evaluation["position"] = position
    report.value_before, report.value_after = trial.before.success, trial.after.success
    adjustment_id = str(derive_id(cause, "adjustment"))
    found = judged(rows, tastes, candidate, trial, evaluation, guard, adjustment_id, at_us)
    report.outcome, report.detail = _OUTCOMES.get(found.status, REFUSED), found.reason


def _sampled(users: list[str], most: int) -> list[str]:
    """At most so many, evenly over the sorted list."""
    if len(users) <= most:
        return users
    return [users[int(place)] for place in np.linspace(0, len(users) - 1, most)]
