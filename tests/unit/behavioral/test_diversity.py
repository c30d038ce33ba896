"""The bound on one skill's share: only while another would do, shown with its share, by the settings."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.behavioral.diversity import Diversity, diversified, share_of
from aico_memory.domain.behavioral.explanation import explain, worded
from aico_memory.domain.behavioral.learning import SkillState
from aico_memory.domain.behavioral.policy import Candidate, Choice
from aico_memory.domain.behavioral.skill import Skill, SkillType, Trigger
from aico_memory.settings import Settings
from aico_memory.stores.behavioral.twin import MemoryBehavioralStore
from tests.unit.behavioral.worker import Worker

BOUND = Diversity(share=0.9, least=50, margin=0.05, confidence=0.3)


def candidate(name, score, confidence=0.5):
    skill = Skill(name, name.title(), SkillType.BASE, Trigger(frozenset({"question"})), "template", (0.5,) * 16)
    return Candidate(skill, 1.0, 0.5, 0.5, confidence, {"trigger": score})


def choice(*candidates):
    return Choice("p", candidates[0], candidates=candidates, propensity=0.7)


def states(**selected):
    return {name: SkillState(selected=count) for name, count in selected.items()}


def test_above_the_bound_the_best_valid_alternative_is_taken_and_the_share_told():
    given_ = choice(candidate("usual", 0.8), candidate("near", 0.76), candidate("nearer", 0.78), candidate("far", 0.5))
    found = diversified(given_, states(usual=95, near=5), BOUND)
    assert (found.chosen.skill.skill_id, found.preferred.skill.skill_id) == ("nearer", "usual")
    assert (found.share, found.bounded, found.propensity, found.is_exploration) == (0.95, True, 0.0, False)
    told = "Usual has made 95% of this user's selections, which is too much while this one does about as well."
    assert worded(explain(found), str.title).endswith(told)


@pytest.mark.parametrize(
    ("others", "counts", "share"),
    [
        ([candidate("near", 0.79)], {"usual": 45, "near": 5}, 0.9),
        ([candidate("near", 0.79)], {"usual": 49}, 0.0),
        ([candidate("far", 0.7)], {"usual": 95, "far": 5}, 0.95),
        ([candidate("unsure", 0.8, 0.2)], {"usual": 95, "unsure": 5}, 0.95),
        ([], {"usual": 100}, 1.0),
    ],
)
def test_at_the_bound_early_or_without_a_valid_alternative_the_choice_stands(others, counts, share):
    given_ = choice(candidate("usual", 0.8), *others)
    assert diversified(given_, states(**counts), BOUND) == replace(given_, share=share)


def test_where_nothing_is_chosen_nothing_is_bounded():
    assert diversified(Choice("p", None), states(usual=100), BOUND) == Choice("p", None)
    assert share_of("usual", {}, 0) == 0.0


@given(st.integers(0, 200), st.floats(0.5, 1.0))
def test_with_an_equal_alternative_the_share_never_stays_above_the_bound(rounds, share):
    bound = replace(BOUND, share=share, least=10)
    counts = {"usual": 10, "other": 0}
    for _ in range(rounds):
        found = diversified(choice(candidate("usual", 0.8), candidate("other", 0.8)), states(**counts), bound)
        counts[found.chosen.skill.skill_id] += 1
    total = sum(counts.values())
    # The start stood above it; from then on it falls until the bound, and one selection is all it may rise above.
    assert counts["usual"] <= max(10, share * total + 1)


@pytest.mark.parametrize(("share", "bounded"), [(0.5, True), (1.0, False)])
def test_the_worker_bounds_by_its_settings_and_says_so(tmp_path, share, bounded):
    figures = {"share": share, "least": 10, "margin": 1.0, "confidence": 0.0}
    settings = {"behavioral": {"model_deadline_ms": 10, "model_retry_ms": 1, "diversity": figures}}
    worker = Worker(MemoryBehavioralStore(), tmp_path, Settings.model_validate(settings))
    worker.consent()
    chosen = []
    for number in range(40):
        answer = worker.select(request_id=f"r{number}")
        worker.feedback(answer.skill_id, 1 if answer.skill_id == "reactive_only" else -1, request_id=f"r{number}")
        chosen.append(answer.skill_id)
    words = [worker.select(request_id=f"r{number}").explanation for number in range(40)]
    assert any("which is too much" in text for text in words) is bounded
    assert any("of this user's selections" in text for text in words[10:])
    largest = max(chosen.count(skill) for skill in set(chosen)) / len(chosen)
    assert (largest <= 0.55) is bounded
