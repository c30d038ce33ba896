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
