"""The simulation of `bench behavior`: worlds as they are described, figures worked out right, nothing told to players."""

from dataclasses import replace

import numpy as np
import pytest

from aico_memory.bench.behavior.baselines import BestFixed, LinUcb, RandomChoice, ThompsonCells, play
from aico_memory.bench.behavior.report import as_json, as_text, bars_of, earliest_latest, first_reached, interval, row_of
from aico_memory.bench.behavior.run import BASELINES, COLD, FIXED, LEARNED, Outcome, Plan, run
from aico_memory.bench.behavior.worlds import WORLDS, draw_world, load_worlds
from aico_memory.domain.behavioral.trigger import TriggerWeights
from aico_memory.paths import shipped_config
from aico_memory.stores.behavioral.skill_file import FILE, load_skills

CATALOGUE = load_skills(shipped_config() / FILE)
STYLES = 2.0 * np.array([skill.dimensions for skill in CATALOGUE]) - 1.0


def drawn(world="balanced", users=40, interactions=60, seed=1, company=0, parameters="main", **changes):
    figures = replace(load_worlds(parameters)[world], **changes)
    return draw_world(figures, CATALOGUE, TriggerWeights(), 0.5, users, interactions, seed, company)


@pytest.fixture(scope="module")
def world():
    return drawn()


@pytest.mark.parametrize("parameters", ["main", "check"])
def test_every_parameterisation_has_the_three_worlds_in_order_of_how_personal_they_are(parameters):
    worlds = load_worlds(parameters)
    assert tuple(worlds) == WORLDS
    shares = [worlds[name].personal_share for name in WORLDS]
    assert shares == sorted(shares)
    assert shares[1] == 0.5
    assert {figures.flipped for figures in worlds.values()} == {0.05}


def test_a_random_and_the_best_choice_have_the_means_that_are_asked_for(world):
    figures = load_worlds()["balanced"]
    assert play(world, RandomChoice(world, 1), 1.0).mean() == pytest.approx(figures.random, abs=0.03)
    best = world.best()[np.arange(len(world.visits))[:, None], world.visits]
    assert best.mean() == pytest.approx(figures.oracle, abs=0.03)
    assert ((world.truth > 0) & (world.truth < 1)).all()


def test_equal_seeds_draw_equal_worlds_and_another_company_shares_nothing_but_the_common_taste():
    one, again, others = drawn(), drawn(), drawn(company=1)
    assert one.truth.tobytes() == again.truth.tobytes()
    assert one.visits.tobytes() == again.visits.tobytes()
    assert not np.allclose(one.truth, others.truth)
    common = [drawn(company=company, personal_share=0.0).truth.mean(0) for company in (0, 1)]
    applies = one.applies
    assert np.corrcoef(common[0][applies], common[1][applies])[0, 1] > 0.99


def test_the_more_personal_a_world_the_less_the_best_fixed_skill_reaches():
    reached = [play(drawn(world), BestFixed(drawn(world), 1), 1.0).mean() for world in WORLDS]
    assert reached[0] > reached[1] > reached[2]


def test_about_as_many_thumbs_are_turned_over_as_is_said():
    world = drawn(users=60, interactions=100, flipped=0.5)
    chosen = np.array([int(np.flatnonzero(row)[0]) for row in world.applies[world.visits[:, 0]]])
    liked = np.mean([world.likes(step, chosen).mean() for step in range(100)])
    assert liked == pytest.approx(0.5, abs=0.03)


def test_players_choose_only_what_applies_and_learn_only_from_thumbs_that_were_given(world):
    for player in (RandomChoice(world, 1), ThompsonCells(world, 1, by_bucket=False), LinUcb(world, STYLES, 1)):
        chosen = player.choose(0)
        assert world.applies[world.visits[:, 0], chosen].all()
    player = LinUcb(world, STYLES, 1)
    before = player.mean.copy(), player.covariance.copy()
    chosen = player.choose(0)
    player.learn(0, chosen, np.ones(len(chosen), bool), np.zeros(len(chosen), bool))
    assert (player.mean == before[0]).all()
    assert (player.covariance == before[1]).all()


def test_the_first_interaction_is_the_one_from_which_the_mean_stays_at_the_bar():
    reached = np.array([[0.6, 0.8, 0.6, 0.7, 0.9], [0.6, 0.8, 0.6, 0.72, 0.9]])
    assert first_reached(reached) == 4
    assert first_reached(reached, 0.5) == 1
    assert first_reached(reached, 0.95) is None
    assert first_reached(reached[:, :3]) is None
    low, high = earliest_latest(reached)
    assert (low, high) == (4, 5)
    assert interval(np.array([0.5, 0.7])) == pytest.approx(1.96 * np.std([0.5, 0.7], ddof=1) / np.sqrt(2))


def test_bars_are_held_or_missed_by_the_rows():
    def row(algorithm, first, steady, world="balanced"):
        made = row_of(Outcome(world, 1.0, algorithm, np.full((3, 60), 0.5), 0.81))
        return {**made, "first": first, "steady": steady}

    rows = [row(COLD, 20, 0.74), row(LEARNED, 6, 0.72), row(FIXED, None, 0.73)]
    held = {(bar.what, bar.wanted): bar.held for bar in bars_of(rows)}
    assert held == {
        (f"{COLD}: balanced, 100% feedback", "≤ 20"): True,
        (f"{LEARNED}: balanced, 100% feedback", "≤ 5"): False,
        (f"{COLD}: balanced, 100% feedback, interactions 51 to the end", "≥ 0.730 (best fixed)"): True,
        (f"{LEARNED}: balanced, 100% feedback, interactions 51 to the end", "≥ 0.730 (best fixed)"): False,
    }


def test_a_small_run_plays_every_algorithm_twice_alike():
    plan = Plan(users=6, seeds=1, interactions=12, feedback=(1.0,), worlds=("balanced",), processes=1,
                algorithms=(*BASELINES[:6], FIXED, COLD))  # fmt: skip
    one, again = run(plan, lambda _: None), run(plan, lambda _: None)
    assert [outcome.algorithm for outcome in one] == list(plan.algorithms)
    for first, second in zip(one, again, strict=True):
        assert first.reached.tobytes() == second.reached.tobytes()
        assert first.reached.shape == (6, 12)


def test_the_real_code_learns_a_taste_that_is_plain():
    """With few thumbs flipped and a wide range the expectation of ours must rise well above random."""
    plan = Plan(users=30, seeds=1, interactions=40, feedback=(1.0,), worlds=("idiosyncratic",), processes=1,
                algorithms=("random", COLD))  # fmt: skip
    chance, ours = run(plan, lambda _: None)
    assert ours.reached[:, 25:].mean() > chance.reached[:, 25:].mean() + 0.05


@pytest.mark.parametrize(("interactions", "told"), [(40, " 1+: 0.500"), (60, " 51+: 0.500")])
def test_what_is_shown_says_from_which_interaction_the_mean_is(interactions, told):
    row = row_of(Outcome("balanced", 1.0, COLD, np.full((3, interactions), 0.5), 0.81))
    plan = Plan(users=3, seeds=1, interactions=interactions)
    assert told in as_text(as_json(None, plan, [row], []))
