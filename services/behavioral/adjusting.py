"""The common prior under the guardrails: fitted on some people, tried out on others, watched in use, taken back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from aico_memory.domain.behavioral.dimensions import DIMENSIONS
from aico_memory.domain.behavioral.evaluation import Estimate, EvaluationFigures, Judged, Person, evaluate
from aico_memory.domain.behavioral.population import RefitFigures, refitted
from aico_memory.domain.behavioral.prior import Prior, prior_as_data
from aico_memory.domain.behavioral.records import PriorRecord
from aico_memory.domain.behavioral.skill import Catalogue
from aico_memory.domain.behavioral.style_space import StyleSpace
from aico_memory.domain.guardrails.adjustment import APPLIED, BEHAVIORAL_PRIOR, PROPOSED, Adjustment, decided
from aico_memory.domain.guardrails.objectives import Score, Seen, Trial, split
from aico_memory.runtime.adjusting import DAY_US, held_until, limits_of, settle, weights_of
from aico_memory.settings.behavioral import BehavioralSettings
from aico_memory.settings.guardrails import GuardrailSettings
from aico_memory.stores.behavioral.port import BehavioralRows
from services.behavioral.figures import chooser_of
from services.behavioral.tastes import Tastes

# Characters of a token of English text, about: what a template costs.
TOKEN_CHARACTERS = 4
_VERBOSITY = DIMENSIONS.index("verbosity")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A refitted prior, and whom it was fitted on and can be tried out on."""

    prior: Prior
    thumbs: int
    held_out: Sequence[str]


class PriorRules:
    """The prior in use, as rules that can be exchanged."""

    def __init__(self, rows: BehavioralRows, tastes: Tastes) -> None:
        self._rows = rows
        self._tastes = tastes

    def version(self) -> str:
        return self._tastes.prior(self._rows).version

    def put(self, adjustment: Adjustment) -> None:
        body = adjustment.body
        self._rows.add_prior(
            PriorRecord(
                adjustment.version, adjustment.at_us, body["users"], body["thumbs"], "active", body["prior"], body["evaluation"]
            )
        )
        self._rows.restore_prior(adjustment.version)

    def restore(self, adjustment: Adjustment) -> None:
        self._rows.restore_prior(adjustment.snapshot["learned"])


def fitted(rows: BehavioralRows, tastes: Tastes, settings: BehavioralSettings, users: list[str], share: float, version: str
           ) -> Candidate | None:  # fmt: skip
    """A prior of the people who are not held out; None where they are too few."""
    taught, held_out = split(users, share)
    people = [tastes.evidence(rows, user) for user in taught]
    space = StyleSpace.like(tastes.space(rows), tastes.starting)
    prior = refitted(tastes.starting, people, space, RefitFigures(k=settings.prior.k), version)
    thumbs = round(sum(cell.total for evidence in people for cell in evidence.cells))
    return None if prior is None else Candidate(prior, thumbs, held_out)


def tried(
    rows: BehavioralRows, tastes: Tastes, catalogue: Catalogue, settings: BehavioralSettings, candidate: Candidate
) -> tuple[Trial, dict[str, float]]:
    """The replay of what the held-out people did: the prior in use and the candidate on the same thumbs."""
    people = _people(rows, candidate.held_out[: settings.prior.evaluate_people], catalogue)
    figures = EvaluationFigures(settings.prior.evaluate_thumbs, settings.hierarchical.cells)
    chooser = chooser_of(settings)
    before = evaluate(tastes.prior(rows), people, catalogue, chooser, figures)
    after = evaluate(candidate.prior, people, catalogue, chooser, figures)
    changed = [
        f"{situation}: {one} → {other}"
        for situation, one, other in zip(before.situations, before.chosen, after.chosen, strict=True) if one != other
    ]  # fmt: skip
    trial = Trial(
        _score(before, catalogue), _score(after, catalogue),
        len(changed), {"skills": Counter(before.chosen)}, {"skills": Counter(after.chosen)}, tuple(changed),
    )  # fmt: skip
    evaluation = {
        "value_before": before.value, "value_after": after.value, "log_loss_before": before.log_loss,
        "log_loss_after": after.log_loss, "thumbs": float(before.thumbs),
    }  # fmt: skip
    return trial, evaluation


def judged(
    rows: BehavioralRows, tastes: Tastes, candidate: Candidate, trial: Trial, evaluation: dict[str, float],
    settings: GuardrailSettings, adjustment_id: str, at_us: int,
) -> Adjustment:  # fmt: skip
    """Decide on the candidate, keep that, and let it hold where it is applied."""
    standing, active = tastes.prior(rows), rows.active_prior()
    seen = seen_in_use(rows, at_us - settings.window_days * DAY_US, at_us, settings.watched_cases)
    proposal = Adjustment(
        adjustment_id, BEHAVIORAL_PRIOR, candidate.prior.version, standing.version, PROPOSED, "", at_us,
        snapshot={"learned": active.version if active else "", "prior": prior_as_data(standing)},
        body={"prior": prior_as_data(candidate.prior), "users": candidate.prior.users, "thumbs": candidate.thumbs,
              "evaluation": evaluation},
        seen=seen.did, seen_success=seen.success,
    )  # fmt: skip
    ledger = rows.ledger()
    until = held_until(ledger, BEHAVIORAL_PRIOR, settings)
    found = decided(proposal, trial, settings.behavioral_prior, weights_of(settings), limits_of(settings), until)
    settle(ledger, found, PriorRules(rows, tastes), settings)
    if found.status not in (APPLIED, PROPOSED):
        body = prior_as_data(candidate.prior)
        rows.add_prior(PriorRecord(found.version, at_us, candidate.prior.users, candidate.thumbs, "refused", body, evaluation))
    return found


def seen_in_use(rows: BehavioralRows, from_us: int, until_us: int, least: int) -> Seen:
    """What was chosen in the hours that begin in [from, until) and how it was liked, without any person."""
    skills: Counter[str] = Counter()
    actions: Counter[str] = Counter()
    thumbs: Counter[str] = Counter()
    for figure in rows.hours(from_us, until_us):
        if figure.what in ("selected", "explored"):
            skills[figure.skill_id] += figure.count
            actions[figure.what] += figure.count
        elif figure.what in ("positive", "negative"):
            thumbs[figure.what] += figure.count
    given = thumbs.total()
    success = thumbs["positive"] / given if given >= least else -1.0
    return Seen(success, skills.total(), {"skills": dict(skills), "actions": dict(actions)})


def position_of(rows: BehavioralRows) -> int:
    """Up to which feedback a prior was fitted last, whatever became of it."""
    fitted_before = [record.evaluation.get("position", 0) for record in rows.priors()]
    proposed = [one.body["evaluation"].get("position", 0) for one in rows.ledger().adjustments(BEHAVIORAL_PRIOR)]
    return int(max((*fitted_before, *proposed), default=0))


def _people(rows: BehavioralRows, users: Sequence[str], catalogue: Catalogue) -> list[Person]:
    people = []
    for user in users:
        thumbs = []
        for record in rows.feedback_of(user):
            if not (record.skill_updated and record.undone_us is None and record.skill_id in catalogue):
                continue
            selection = rows.selection(user, record.request_id) if record.request_id else None
            propensity = selection.propensity if selection and selection.skill_id == record.skill_id else 0.0
            thumbs.append(
                Judged(record.intent, record.sentiment, record.time_of_day, record.skill_id, record.reward > 0, propensity)
            )
        people.append(Person(tuple(thumbs)))
    return people


def _score(estimate: Estimate, catalogue: Catalogue) -> Score:
    """An answer's length is what a person waits for and pays: the style's verbosity, and the template's tokens."""
    chosen = [catalogue.get(skill) for skill in estimate.chosen]
    count = max(1, len(chosen))
    return Score(
        estimate.value, sum(skill.dimensions[_VERBOSITY] for skill in chosen) / count,
        sum(len(skill.template) for skill in chosen) / TOKEN_CHARACTERS / count, estimate.violations, estimate.thumbs,
    )  # fmt: skip
