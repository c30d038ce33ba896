"""The common prior: designed, learned from sums, tried out before use."""

import random
from dataclasses import replace

import pytest

from aico_memory.domain.behavioral.choosing import Chooser
from aico_memory.domain.behavioral.evaluation import EvaluationFigures, Judged, Person, evaluate
from aico_memory.domain.behavioral.evidence import Cell, Evidence
from aico_memory.domain.behavioral.population import RefitFigures, designed, refitted, totals_of
from aico_memory.domain.behavioral.prior import Prior, style_of
from aico_memory.domain.behavioral.style_space import StyleSpace
from aico_memory.domain.behavioral.trigger import TriggerWeights
from aico_memory.errors import ConfigurationInvalid
from aico_memory.paths import shipped_config
from aico_memory.stores.behavioral.prior_file import FILE as PRIOR_FILE
from aico_memory.stores.behavioral.prior_file import load_prior
from aico_memory.stores.behavioral.skill_file import FILE, load_skills

CATALOGUE = load_skills(shipped_config() / FILE)
STYLES = {skill.skill_id: skill.dimensions for skill in CATALOGUE}
CHOOSER = Chooser(TriggerWeights(), 0.5, 5)
QUESTIONS = [skill.skill_id for skill in CATALOGUE if "question" in skill.trigger.intents]


def person(liked, thumbs=12, intent="question", seed=0):
    draws = random.Random(seed)
    counts = {skill: [0, 0] for skill in QUESTIONS}
    for _ in range(thumbs):
        skill = draws.choice(QUESTIONS)
        counts[skill][draws.random() < (0.9 if skill == liked else 0.3)] += 1
    return Evidence(tuple(Cell(intent, "neutral", "morning", skill, up, down) for skill, (down, up) in sorted(counts.items())))


def test_fewer_people_than_k_teach_nothing_common():
    space = StyleSpace(STYLES, Prior())
    people = [person("concise_response", seed=number) for number in range(4)]
    assert refitted(Prior(), people, space, RefitFigures(k=5), "v") is None
    assert refitted(Prior(), [Evidence()] * 9, space, RefitFigures(k=5), "v") is None


def test_sums_of_fewer_than_k_people_are_left_out():
    cell = Cell("question", "neutral", "morning", "concise_response", 3.0, 1.0)
    people = [Evidence((cell,))] * 4 + [Evidence((replace(cell, skill_id="rare"),))]
    assert [(total.skill_id, total.positive, total.users) for total in totals_of(people, 4)] == [("concise_response", 12.0, 4)]
    assert totals_of(people, 5) == []


def test_what_many_like_is_expected_of_the_next():
    space = StyleSpace(STYLES, Prior())
    people = [person("reactive_only", seed=number) for number in range(30)]
    prior = refitted(Prior(), people, space, RefitFigures(), "v")
    assert (prior.version, prior.users) == ("v", 30)
    expected = {skill: StyleSpace.like(space, prior).mean("question", skill) for skill in space.ids}
    assert max(QUESTIONS, key=expected.get) == "reactive_only"
    assert expected["reactive_only"] > 0.6
    assert all(0 < value < 1 for value in expected.values())


def served(number, likes, thumbs=40, turns=6):
    """A person who has one favourite (.9; the others .4), and after a few turns is given what was liked best so far."""
    draws = random.Random(number)
    counts = {skill: [1.0, 1.0] for skill in QUESTIONS}
    for turn in range(thumbs):
        best = max(QUESTIONS, key=lambda skill: counts[skill][1] / sum(counts[skill]))
        skill = best if turn >= turns else draws.choice(QUESTIONS)
        counts[skill][draws.random() < (0.9 if skill == likes else 0.4)] += 1
    cells = (Cell("question", "neutral", "morning", skill, up - 1, down - 1) for skill, (down, up) in sorted(counts.items()))
    return Evidence(tuple(cell for cell in cells if cell.total))


def test_who_was_given_more_of_what_they_like_does_not_make_it_look_liked_by_all():
    space = StyleSpace(STYLES, Prior())
    people = [served(number, QUESTIONS[number % len(QUESTIONS)]) for number in range(60)]
    pooled = sum(cell.positive for one in people for cell in one.cells) / sum(
        cell.total for one in people for cell in one.cells
    )
    prior = refitted(Prior(), people, space, RefitFigures(), "v")
    expected = StyleSpace.like(space, prior)
    mean = sum(expected.mean("question", skill) for skill in QUESTIONS) / len(QUESTIONS)
    # Somebody of whom nothing is known likes a skill with .4 + .5 / number of skills.
    truth = 0.4 + 0.5 / len(QUESTIONS)
    assert pooled > truth + 0.12
    assert abs(mean - truth) < 0.6 * (pooled - truth)


def test_the_noise_is_what_the_spread_leaves_of_a_single_thumbs_variance():
    space = StyleSpace(STYLES, Prior())
    people = [person("reactive_only", seed=number) for number in range(30)]
    spread = refitted(Prior(), people, space, RefitFigures(), "v").spread
    liked = sum(cell.positive for one in people for cell in one.cells) / sum(cell.total for one in people for cell in one.cells)
    between = spread.level + spread.taste + spread.taste_by_intent + spread.taste_by_sentiment
    between += spread.skill + spread.skill_by_intent + spread.skill_by_bucket
    assert spread.noise + between == pytest.approx(liked * (1 - liked))


def test_people_who_differ_are_fitted_a_wider_spread_than_people_who_do_not():
    space = StyleSpace(STYLES, Prior())
    alike = [person("", thumbs=60, seed=number) for number in range(30)]
    differing = [person(QUESTIONS[number % len(QUESTIONS)], thumbs=60, seed=number) for number in range(30)]
    narrow, wide = (refitted(Prior(), people, space, RefitFigures(), "v").spread for people in (alike, differing))
    assert wide.taste + wide.skill > 3 * (narrow.taste + narrow.skill)


def test_a_refit_depends_on_the_people_only():
    space = StyleSpace(STYLES, Prior())
    people = [person("reactive_only", seed=number) for number in range(8)]
    assert refitted(Prior(), people, space, RefitFigures(), "v") == refitted(Prior(), people, space, RefitFigures(), "v")


def test_the_designed_prior_expects_what_an_intents_skills_have_in_common():
    prior = designed(Prior(), CATALOGUE, 0.04)
    warm, cool = (style_of(STYLES[skill]) for skill in ("warm_encouragement", "technical_precision"))
    taste = prior.taste_by_intent
    assert sum(taste["emotional"] * warm) > sum(taste["emotional"] * cool)
    assert sum(taste["technical"] * warm) < sum(taste["technical"] * cool)


def test_the_shipped_prior_says_where_it_comes_from_and_adds_to_the_design():
    cold = designed(Prior(), CATALOGUE, 0.04)
    shipped = load_prior(shipped_config() / PRIOR_FILE, cold)
    assert shipped.version.startswith("shipped")
    assert shipped.level == cold.level
    assert shipped.taste_by_intent["casual"] != cold.taste_by_intent["casual"]
    text = (shipped_config() / PRIOR_FILE).read_text()
    assert "provenance" in text
    assert "no user data" in text


def test_a_prior_file_that_is_wrong_is_named(tmp_path):
    path = tmp_path / "prior.yaml"
    for content in ("prior: 3", "{", "other: {}", "prior: {taste: {loudness: 1}}"):
        path.write_text(content)
        with pytest.raises(ConfigurationInvalid, match=r"prior\.yaml"):
            load_prior(path, Prior())


def test_the_trial_tells_a_right_prior_from_a_wrong_one():
    draws = random.Random(1)

    def logged():
        return tuple(
            Judged("question", "neutral", "morning", skill, draws.random() < (0.9 if skill == "reactive_only" else 0.3), 0.2)
            for skill in (draws.choice(QUESTIONS) for _ in range(10))
        )

    people = [Person(logged()) for _ in range(40)]
    right = Prior(skill={"reactive_only": 0.25, "concise_response": -0.2})
    wrong = Prior(skill={"reactive_only": -0.25, "detailed_explanation": 0.3})
    good, bad = (evaluate(prior, people, CATALOGUE, CHOOSER, EvaluationFigures()) for prior in (right, wrong))
    assert good.thumbs == bad.thumbs == 400
    assert good.value > bad.value + 0.1
    assert good.log_loss < bad.log_loss
    assert good.value == pytest.approx(0.9, abs=0.1)


def test_nothing_logged_is_nothing_told():
    assert evaluate(Prior(), [Person(())], CATALOGUE, CHOOSER, EvaluationFigures()).thumbs == 0
