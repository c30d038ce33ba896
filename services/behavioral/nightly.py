"""The nightly batch: reasons move preferences, and the common prior is learned from everybody's thumbs."""

from __future__ import annotations

import numpy as np

from aico_memory.contracts.v1 import behavioral_pb2
from aico_memory.domain.behavioral.evaluation import EvaluationFigures, Judged, Person, evaluate
from aico_memory.domain.behavioral.population import RefitFigures, refitted
from aico_memory.domain.behavioral.posterior import StyleSpace
from aico_memory.domain.behavioral.prior import Prior, prior_as_data
from aico_memory.domain.behavioral.records import PriorRecord
from aico_memory.domain.behavioral.skill import Catalogue
from aico_memory.settings.behavioral import BehavioralSettings
from aico_memory.stores.behavioral.port import BehavioralRows
from services.behavioral.figures import chooser_of
from services.behavioral.signals import signal
from services.behavioral.tastes import Tastes

LEARNED, REFUSED, TOO_FEW, NOTHING_NEW, SWITCHED_OFF = "learned", "refused", "too_few_people", "nothing_new", "switched_off"


def run_batch(
    rows: BehavioralRows, tastes: Tastes, catalogue: Catalogue, settings: BehavioralSettings, version: str, at_us: int
) -> behavioral_pb2.LearnReport:
    """One batch; a second one without new feedback changes nothing.

    The refit starts from the prior that the deployment started with, over all thumbs that count: a thumb is never
    counted on top of itself. It is tried out on people it was not fitted on before it is used.
    """
    signals = signal(rows, catalogue, settings.library.signal_step, at_us)
    report = behavioral_pb2.LearnReport(signals=signals)
    fitted = rows.priors()
    since = int(fitted[-1].evaluation["position"]) if fitted else 0
    fresh, position = rows.thumbs_since(since)
    if settings.prior.source != LEARNED:
        report.outcome = SWITCHED_OFF
    elif fresh < settings.prior.fresh_thumbs:
        report.outcome = NOTHING_NEW
        report.detail = f"{fresh} new thumbs; {settings.prior.fresh_thumbs} are waited for"
    else:
        _refit(rows, tastes, catalogue, settings, version, at_us, position, report)
    report.prior = tastes.prior(rows).version
    return report


def _refit(
    rows: BehavioralRows, tastes: Tastes, catalogue: Catalogue, settings: BehavioralSettings, version: str, at_us: int,
    position: int, report: behavioral_pb2.LearnReport,
) -> None:  # fmt: skip
    users = _sampled(rows.taught_users(), settings.prior.people)
    people = [tastes.evidence(rows, user) for user in users]
    figures = RefitFigures(k=settings.prior.k)
    space = StyleSpace.like(tastes.space(rows), tastes.starting)
    report.people = len(people)
    report.thumbs = round(sum(cell.total for evidence in people for cell in evidence.cells))
    prior = refitted(tastes.starting, people, space, figures, version)
    if prior is None:
        report.outcome = TOO_FEW
        report.detail = f"{len(people)} people; {settings.prior.k} are needed"
        return
    evaluation: dict[str, float] = {"position": position}
    accepted = True
    half = refitted(tastes.starting, people[::2], space, figures, version)
    tried = users[1::2][: settings.prior.evaluate_people]
    if half is not None and tried:
        result = _evaluated(rows, tastes.prior(rows), half, tried, catalogue, settings)
        evaluation |= {name: float(value) for name, value in result.items()}
        report.value_before, report.value_after = result["value_before"], result["value_after"]
        accepted = result["value_after"] >= result["value_before"] - settings.prior.tolerance
    status = "active" if accepted else "refused"
    rows.add_prior(PriorRecord(version, at_us, prior.users, report.thumbs, status, prior_as_data(prior), evaluation))
    report.outcome = LEARNED if accepted else REFUSED


def _evaluated(
    rows: BehavioralRows, before: Prior, after: Prior, users: list[str], catalogue: Catalogue, settings: BehavioralSettings
) -> dict[str, float]:
    people = []
    for user in users:
        judged = []
        for record in rows.feedback_of(user):
            if not (record.skill_updated and record.undone_us is None and record.skill_id in catalogue):
                continue
            selection = rows.selection(user, record.request_id) if record.request_id else None
            propensity = selection.propensity if selection and selection.skill_id == record.skill_id else 0.0
            judged.append(
                Judged(record.intent, record.sentiment, record.time_of_day, record.skill_id, record.reward > 0, propensity)
            )
        people.append(Person(tuple(judged)))
    chooser = chooser_of(settings.trigger)
    figures = EvaluationFigures(settings.prior.evaluate_thumbs, settings.hierarchical.cells)
    one = evaluate(before, people, catalogue, chooser, figures)
    other = evaluate(after, people, catalogue, chooser, figures)
    return {
        "value_before": one.value, "value_after": other.value, "log_loss_before": one.log_loss,
        "log_loss_after": other.log_loss, "thumbs": one.thumbs,
    }  # fmt: skip


def _sampled(users: list[str], most: int) -> list[str]:
    """At most so many, evenly over the sorted list."""
    if len(users) <= most:
        return users
    return [users[int(place)] for place in np.linspace(0, len(users) - 1, most)]
