"""When thumbs on a person's own skill keep naming what is wrong with it: another wording of its template is proposed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from aico_memory.domain.behavioral.dimensions import DIMENSIONS, Vector, clamp
from aico_memory.domain.behavioral.evidence import wishes_of, wishes_of_text
from aico_memory.domain.behavioral.proposals import Fragments
from aico_memory.domain.behavioral.records import NO_CONSENT, FeedbackRecord, counting_from
from aico_memory.domain.behavioral.skill import Skill
from aico_memory.domain.feedback.classifier import matching


@dataclass(frozen=True, slots=True)
class RefinementFigures:
    """From when on a template counts as wanting."""

    # Wishes for less, or for more, of a style dimension, those for the other way taken off.
    wishes: int = 3
    # How far the style of the dimension moves (0..1).
    step: float = 0.2
    # Most dimensions that are spoken of at once.
    sentences: int = 5
    # A text of which no threshold is kept counts by the categories that are at least this likely.
    text_threshold: float = 0.35


@dataclass(frozen=True, slots=True)
class Refinement:
    """A template and style that might fit better, with what speaks for them."""

    dimensions: Vector
    template: str
    evidence: str


def refinement_of(
    skill: Skill, judged: Iterable[FeedbackRecord], fragments: Fragments, figures: RefinementFigures
) -> Refinement | None:
    """Of the feedback on one version of a skill that counts; None where it names nothing often enough.

    What a reason or a text wishes more or less of is told by the sentence of its dimension. A sentence for the other way
    goes; one that stands in the template already is not said again.
    """
    records = [record for record in judged if record.undone_us is None and record.status != NO_CONSENT]
    votes: Counter[str] = Counter()
    for record in records:
        votes.update(_wishes(record, skill.dimensions, figures.text_threshold))
    asked = sorted(
        (name for name, vote in votes.items() if abs(vote) >= figures.wishes and name in fragments),
        key=lambda name: (-abs(votes[name]), DIMENSIONS.index(name)),
    )
    wanted = {name: fragments[name][votes[name] > 0] for name in asked}
    news = [name for name in asked if wanted[name] not in skill.template][: figures.sentences]
    if not news:
        return None
    template, style = skill.template, dict(zip(DIMENSIONS, skill.dimensions, strict=True))
    for name in news:
        template = _without(template, fragments[name][votes[name] < 0])
        style[name] = clamp(style[name] + (figures.step if votes[name] > 0 else -figures.step))
    told = ", ".join(f"{abs(votes[name])} × {'more' if votes[name] > 0 else 'less'} {name}" for name in news)
    sentences = " ".join(wanted[name] for name in news)
    evidence = f"{len(records)} feedbacks on it asked for {told}"
    return Refinement(tuple(style.values()), f"{template} {sentences}".strip(), evidence)


def _wishes(record: FeedbackRecord, dimensions: Vector, threshold: float) -> dict[str, int]:
    """What one event wishes; praise wishes nothing, and what its reason has said its text does not say again."""
    if record.reward > 0:
        return {}
    found = wishes_of(record.reason, dimensions)
    for name, way in wishes_of_text(
        matching(record.categories or {}, counting_from(record, threshold)), found, dimensions
    ).items():
        found[name] = found.get(name, 0) + way
    return found


def _without(template: str, sentence: str) -> str:
    return template.replace(f" {sentence}", "").replace(sentence, "").strip()
