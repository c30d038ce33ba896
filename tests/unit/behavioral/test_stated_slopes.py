"""Statements in the posterior: a slope of their own where they hold, and nothing anywhere else."""

import numpy as np
import pytest

from aico_memory.domain.behavioral.dimensions import DIMENSIONS, NEUTRAL
from aico_memory.domain.behavioral.evidence import WISH_SLOPE, Cell, Evidence, Stated, Wish, kept_of
from aico_memory.domain.behavioral.posterior import TastePosterior
from aico_memory.domain.behavioral.prior import Prior
from aico_memory.domain.behavioral.situation import Situation
from aico_memory.domain.behavioral.style_space import StyleSpace

MORNING, NIGHT = Situation("question", "neutral", "morning"), Situation("question", "neutral", "night")
SHORT, LONG = (0.2, *NEUTRAL[1:]), (0.9, *NEUTRAL[1:])
# Together they differ in what else they are, too.
SKILLS = {"short": SHORT, "long": LONG, "plain": NEUTRAL, "formal": (0.3, 0.9, *NEUTRAL[2:])}
PRIOR = Prior(taste=(0.02, *(0.0,) * 15), taste_by_intent={"question": (0.01, *(0.0,) * 15)})
SPACE = StyleSpace(SKILLS, PRIOR)


def thumbs(skill, up=0.0, down=0.0, time_of_day="morning"):
    return Cell("question", "neutral", time_of_day, skill, up, down)


def beliefs(evidence, situation=MORNING):
    return TastePosterior(evidence, SPACE).beliefs(situation, list(SKILLS), [1.0] * len(SKILLS))


def likings(evidence, situation=MORNING):
    return dict(zip(SKILLS, beliefs(evidence, situation).alignment, strict=True))


def deviation():
    """Of the slope on the first dimension under the prior."""
    return float(TastePosterior(Evidence(), SPACE).taste()[1][0])


def test_a_statement_of_all_is_the_slope_with_its_error_and_touches_no_other_dimension():
    plain = TastePosterior(Evidence(), SPACE).taste()
    slopes, deviations = TastePosterior(Evidence(stated=(Stated("verbosity", 0.1, 4.0),)), SPACE).taste()
    assert slopes[0] == pytest.approx(-0.8 * WISH_SLOPE * deviation())
    assert deviations[0] == pytest.approx(WISH_SLOPE * deviation() / 2.0)
    assert np.array_equal(slopes[1:], plain[0][1:])
    assert np.array_equal(deviations[1:], plain[1][1:])


def test_what_people_like_on_the_mean_counts_no_more_where_something_was_said():
    found = likings(Evidence(stated=(Stated("verbosity", 0.5, 3.0),)))
    assert found["short"] == pytest.approx(found["long"], abs=1e-12)
    assert likings(Evidence())["short"] < likings(Evidence())["long"]


def test_what_is_said_of_one_context_is_said_of_no_other():
    stated = Evidence(stated=(Stated("verbosity", 0.0, 3.0, MORNING.bucket),))
    here, there, untold = beliefs(stated), beliefs(stated, NIGHT), beliefs(Evidence(), NIGHT)
    assert np.array_equal(there.mean, untold.mean)
    assert np.array_equal(there.covariance, untold.covariance)
    assert here.mean[0] > here.mean[1] and untold.mean[0] < untold.mean[1]


def test_the_statement_of_a_context_stands_before_that_of_all():
    both = Evidence(stated=(Stated("verbosity", 1.0, 3.0), Stated("verbosity", 0.0, 3.0, MORNING.bucket)))
    assert np.allclose(beliefs(both).mean, beliefs(Evidence(stated=both.stated[1:])).mean)
    assert np.allclose(beliefs(both, NIGHT).mean, beliefs(Evidence(stated=both.stated[:1]), NIGHT).mean)


def test_thumbs_and_reasons_move_a_stated_slope_the_less_the_more_it_weighs():
    def slope(weight, **evidence):
        return TastePosterior(Evidence(stated=(Stated("verbosity", 0.0, weight),), **evidence), SPACE).taste()[0][0]

    for evidence in ({"cells": (thumbs("long", up=9), thumbs("short", down=9))}, {"wishes": (Wish("verbosity", more=2.0),)}):
        assert slope(1.0) < slope(9.0, **evidence) < slope(1.0, **evidence)


def test_thumbs_in_a_stated_context_teach_its_slope_and_not_the_slope_everywhere():
    told = (thumbs("long", up=9), thumbs("short", down=9))
    stated = (Stated("verbosity", 0.0, 3.0, MORNING.bucket),)
    plain, found = (TastePosterior(Evidence(told, stated=one), SPACE) for one in ((), stated))
    untold = TastePosterior(Evidence(), SPACE).taste()[0][0]
    assert found.taste()[0][0] == pytest.approx(untold)
    assert plain.taste()[0][0] > untold
    assert likings(Evidence(told, stated=stated))["long"] > likings(Evidence(stated=stated))["long"]


def test_the_covariance_of_what_is_believed_stays_one():
    told = (thumbs("long", 3, 1), thumbs("short", 0, 2), thumbs("formal", 2, 2, "night"), Cell("*", "*", "*", "plain", 1.0))
    stated = (Stated("verbosity", 0.1, 3.0), Stated("formality", 0.7, 3.0), Stated("verbosity", 0.9, 3.0, NIGHT.bucket))
    for situation in (MORNING, NIGHT):
        found = beliefs(Evidence(told, (Wish("verbosity", 1.0),), stated=stated), situation).covariance
        assert np.allclose(found, found.T)
        assert np.linalg.eigvalsh(found).min() > -1e-12


def test_which_prior_explains_a_person_is_told_with_statements_too():
    told = tuple(thumbs(skill, *counts) for skill, counts in zip(SKILLS, ((0, 4), (0, 4), (6, 0), (0, 4)), strict=True))
    evidence = Evidence(told, stated=(Stated("verbosity", 0.4, 3.0),))
    common = TastePosterior(evidence, SPACE)
    other = common.under(evidence, SPACE.moderate)
    assert common.log_likelihood_if(SPACE.moderate_prior) == pytest.approx(other.log_likelihood())


def test_a_statement_leaves_of_thumbs_what_is_neutral_in_its_dimension():
    cell = thumbs("long", 4.0, 2.0)
    assert [kept_of(cell, (value, *NEUTRAL[1:]), DIMENSIONS[0]).total for value in (0.5, 0.75, 1.0, 0.0)] == [6, 3, 0, 0]
    assert kept_of(cell, LONG, DIMENSIONS[1]) == cell
