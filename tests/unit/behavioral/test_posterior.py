"""The style posterior: exact where it can be worked out by hand, and what must hold whatever is learned."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aico_memory.domain.behavioral.dimensions import DIMENSIONS, NEUTRAL
from aico_memory.domain.behavioral.evidence import (
    ANY,
    Cell,
    Evidence,
    Wish,
    bounded,
    cell_of,
    wishes_of,
    with_thumb,
    with_wish,
)
from aico_memory.domain.behavioral.posterior import WISH_SLOPE, TastePosterior, inverse_of_lower, taste_of
from aico_memory.domain.behavioral.prior import TYPICAL_LENGTH, Prior, Spread, prior_as_data, prior_from_data
from aico_memory.domain.behavioral.situation import Situation
from aico_memory.domain.behavioral.style_space import StyleSpace
from aico_memory.errors import InvalidMessage


def style(**values):
    return tuple(values.get(name, 0.5) for name in DIMENSIONS)


TERSE, WORDY, WARM = style(verbosity=0.1), style(verbosity=0.9), style(emotional_expression=0.9)
SKILLS = {"terse": TERSE, "warm": WARM, "wordy": WORDY}
QUESTION = Situation("question", "neutral", "morning")


def beliefs(evidence, prior=None, situation=QUESTION, skills=tuple(SKILLS)):
    space = StyleSpace(SKILLS, prior or Prior())
    return TastePosterior(evidence, space).beliefs(situation, skills, [1.0] * len(skills))


def thumbs(skill, positive=0.0, negative=0.0, situation=QUESTION):
    return Cell(situation.intent, situation.sentiment, situation.time_of_day, skill, positive, negative)


def test_without_a_thumb_the_prior_is_what_is_believed():
    prior = Prior(level=0.6, slope=0.2, skill={"warm": 0.05})
    found = TastePosterior(Evidence(), StyleSpace(SKILLS, prior)).beliefs(QUESTION, ("terse", "warm"), (0.5, 1.0))
    assert found.mean == pytest.approx([0.5, 0.65])
    assert found.situation == pytest.approx([0.5, 0.6])
    assert found.record == pytest.approx([0.0, 0.0])


def test_one_thumb_moves_the_mean_by_the_gain_of_one_gaussian_observation():
    spread = Spread()
    found = beliefs(Evidence((thumbs("terse", positive=1),)), skills=("terse",))
    length = (0.8**2) / TYPICAL_LENGTH
    kernel = (1 - spread.nearness) * length + spread.nearness
    styled = kernel * (spread.taste + spread.taste_by_intent + spread.taste_by_sentiment)
    variance = styled + spread.level + spread.skill + spread.skill_by_intent + spread.skill_by_bucket
    gain = variance / (variance + spread.noise)
    assert found.mean[0] == pytest.approx(0.62 + gain * (1 - 0.62))
    assert found.covariance[0, 0] == pytest.approx(variance * (1 - gain))
    assert found.alignment[0] == pytest.approx(styled / (variance + spread.noise) * (1 - 0.62))


def test_a_thumb_carries_over_to_skills_of_like_style_and_against_those_of_opposite_style():
    found = beliefs(Evidence((thumbs("terse", negative=4),)))
    terse, warm, wordy = found.mean
    assert terse < warm < wordy


def test_a_thumb_counts_most_in_its_own_bucket_then_intent_and_still_elsewhere():
    evidence = Evidence((thumbs("terse", positive=3),))
    means = [
        beliefs(evidence, situation=situation, skills=("terse",)).mean[0]
        for situation in (QUESTION, Situation("question", "negative", "night"), Situation("casual", "positive", "night"))
    ]
    assert means[0] > means[1] > means[2] > 0.62


def test_the_parts_sum_to_the_mean():
    found = beliefs(Evidence((thumbs("terse", 2, 1), thumbs("warm", 0, 2)), (Wish("verbosity", 0, 2),)))
    assert found.situation + found.alignment + found.record == pytest.approx(found.mean)


def test_a_wish_moves_every_skill_along_its_dimension_at_once():
    plain, wished = beliefs(Evidence()), beliefs(Evidence(wishes=(Wish("verbosity", less=1),)))
    terse, warm, wordy = wished.mean - plain.mean
    assert terse > 0 > wordy
    assert warm == pytest.approx(0.0)
    assert terse == pytest.approx(-wordy)


def test_one_wish_moves_the_slope_half_way_to_what_a_wish_stands_for_weighted_by_its_error():
    spread = Spread()
    deviation = np.sqrt(spread.taste * (1 - spread.nearness) / TYPICAL_LENGTH)
    slope, _ = TastePosterior(Evidence(wishes=(Wish("verbosity", more=1),)), StyleSpace(SKILLS, Prior())).taste()
    assert slope[0] == pytest.approx(WISH_SLOPE * deviation / (1 + WISH_SLOPE**2))
    assert slope[1:] == pytest.approx(0.0)


def test_skills_that_are_gone_teach_nothing():
    evidence = Evidence((thumbs("deleted", 5),))
    assert beliefs(evidence).mean == pytest.approx(beliefs(Evidence()).mean)


def cells():
    labels = st.tuples(
        st.sampled_from(["question", "casual", "learning"]),
        st.sampled_from(["neutral", "negative"]),
        st.sampled_from(["morning", "night"]),
        st.sampled_from(sorted(SKILLS)),
    )
    counts = st.tuples(st.integers(0, 40), st.integers(0, 40))
    return st.dictionaries(labels, counts, max_size=24).map(
        lambda found: tuple(Cell(*key, float(up), float(down)) for key, (up, down) in sorted(found.items()))
    )


wishes = st.dictionaries(st.sampled_from(DIMENSIONS), st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=6).map(
    lambda found: tuple(Wish(name, *told) for name, told in sorted(found.items()))
)


@given(cells(), wishes)
@settings(max_examples=60, deadline=None)
def test_whatever_is_learned_the_posterior_is_finite_surer_than_the_prior_and_the_same_again(found, told):
    evidence = Evidence(found, told)
    one, again, before = beliefs(evidence), beliefs(evidence), beliefs(Evidence())
    assert np.isfinite(one.mean).all()
    assert np.linalg.eigvalsh(one.covariance).min() > -1e-9
    assert (one.covariance.diagonal() <= before.covariance.diagonal() + 1e-9).all()
    assert one.mean.tobytes() == again.mean.tobytes()
    assert one.covariance.tobytes() == again.covariance.tobytes()


@given(cells(), st.sampled_from(sorted(SKILLS)))
@settings(max_examples=40, deadline=None)
def test_a_thumb_up_never_lowers_the_belief_in_its_skill_there_and_a_thumb_down_never_raises_it(found, skill):
    before = dict(zip(SKILLS, beliefs(Evidence(found)).mean, strict=True))[skill]
    for reward, sign in ((1, 1), (-1, -1)):
        taught = {cell.key: cell for cell in found}
        cell = cell_of(QUESTION, skill)
        # A cell that is merely better or worse than believed moves belief towards its rate; 99 thumbs settle the rate.
        taught[cell.key] = with_thumb(Cell(*cell.key), reward, weight=99.0)
        after = beliefs(Evidence(tuple(taught[key] for key in sorted(taught)))).mean
        moved = dict(zip(SKILLS, after, strict=True))[skill]
        without = tuple(one for one in found if one.key != cell.key)
        base = dict(zip(SKILLS, beliefs(Evidence(without)).mean, strict=True))[skill]
        assert sign * (moved - base) >= -1e-9 or (sign > 0 and base > 1) or (sign < 0 and base < 0)
    assert np.isfinite(before)


def test_cells_beyond_the_limit_merge_times_then_sentiments_and_lose_no_thumb():
    many = [
        Cell(intent, sentiment, time, "terse", 1.0, 2.0)
        for intent in ("a", "b")
        for sentiment in ("neutral", "negative")
        for time in ("morning", "night")
    ]
    by_sentiment = bounded(many, 4)
    assert {(cell.intent, cell.sentiment, cell.time_of_day) for cell in by_sentiment} == {
        (intent, sentiment, ANY) for intent in ("a", "b") for sentiment in ("neutral", "negative")
    }
    by_intent = bounded(many, 2)
    assert [cell.key for cell in by_intent] == [("a", ANY, ANY, "terse"), ("b", ANY, ANY, "terse")]
    for found in (by_sentiment, by_intent):
        assert (sum(cell.positive for cell in found), sum(cell.negative for cell in found)) == (8.0, 16.0)
    assert bounded(many, 8) == tuple(sorted(many, key=lambda cell: cell.key))


def test_reasons_name_the_dimensions_they_wish_otherwise():
    assert wishes_of("too_verbose", NEUTRAL) == {"verbosity": -1, "explanation_depth": -1}
    assert wishes_of("too_brief", NEUTRAL) == {"verbosity": 1, "explanation_depth": 1}
    assert wishes_of("wrong_tone", style(formality=0.9, emotional_expression=0.1)) == {
        "formality": -1, "emotional_expression": 1,
    }  # fmt: skip
    assert wishes_of("wrong_tone", NEUTRAL) == {}
    assert wishes_of("not_helpful", WORDY) == wishes_of("incorrect_info", WORDY) == wishes_of("", WORDY) == {}
    assert with_wish(with_wish(Wish("verbosity"), 1), -1) == Wish("verbosity", 1.0, 1.0)


def test_a_prior_survives_being_written_down():
    prior = Prior(
        version="x", users=7, taste=tuple(number / 100 for number in range(16)), taste_by_intent={"a": (0.5,) * 16},
        skill={"terse": 0.1}, skill_by_intent={"a": {"terse": -0.1}}, spread=Spread(taste=0.5),
    )  # fmt: skip
    assert prior_from_data(prior_as_data(prior)) == prior


@pytest.mark.parametrize("body", [{"taste": {"loudness": 1}}, {"spread": {"width": 1}}, {"colour": 1}, {"taste": 4}])
def test_a_prior_that_cannot_be_read_says_so(body):
    with pytest.raises(InvalidMessage):
        prior_from_data(body)


def thumbs_on(liked, count):
    """So many thumbs on each skill, up where it is liked."""
    return tuple(
        Cell(intent, "neutral", "morning", skill, count * good, count * (1 - good))
        for skill, good in liked.items()
        for intent in ("question", "request")
    )


# Pairs of one direction: a moderate and a pronounced skill, and their mirror images.
MIDDLE_AND_ENDS = {
    "little": (0.6,) * 14 + (0.5, 0.5),
    "much": (1.0,) * 14 + (0.5, 0.5),
    "little_less": (0.4,) * 14 + (0.5, 0.5),
    "much_less": (0.0,) * 14 + (0.5, 0.5),
}


def test_who_likes_the_middle_of_every_direction_is_told_from_who_likes_a_direction():
    space = StyleSpace(MIDDLE_AND_ENDS, Prior())
    middle = Evidence(thumbs_on({"little": 0.9, "much": 0.2, "little_less": 0.9, "much_less": 0.2}, 8))
    direction = Evidence(thumbs_on({"little": 0.6, "much": 0.9, "little_less": 0.4, "much_less": 0.1}, 8))
    expected = taste_of(middle, space).beliefs(QUESTION, ("little", "much", "much_less"), (1.0,) * 3).mean
    assert expected[0] > max(expected[1:])
    assert taste_of(middle, space).log_likelihood() > TastePosterior(middle, space).log_likelihood()
    plain = TastePosterior(direction, space).beliefs(QUESTION, ("little", "much"), (1.0, 1.0))
    chosen = taste_of(direction, space).beliefs(QUESTION, ("little", "much"), (1.0, 1.0))
    assert list(chosen.mean) == list(plain.mean)


def random_evidence(rng, count, skills):
    cells = {}
    for _ in range(count):
        situation = Situation(*(str(rng.choice(list(labels))) for labels in ("abcd", "pn", "me")))
        cell = thumbs(str(rng.choice(skills)), float(rng.integers(0, 4)), float(rng.integers(0, 4)) + 0.25, situation)
        cells[cell.key] = cell
    wishes = (Wish("verbosity", more=2.0), Wish("formality", less=1.0)) if count % 2 else ()
    return Evidence(tuple(sorted(cells.values(), key=lambda cell: cell.key)), wishes)


@pytest.mark.parametrize("count", [0, 1, 7, 40, 120])
def test_the_other_priors_likelihood_is_that_of_a_posterior_under_it(count):
    rng = np.random.default_rng(count)
    skills = {f"s{number}": tuple(rng.random(16)) for number in range(12)}
    space = StyleSpace(skills, Prior())
    evidence = random_evidence(rng, count, list(skills))
    expected = TastePosterior(evidence, space.moderate).log_likelihood()
    assert TastePosterior(evidence, space).log_likelihood_if(space.moderate_prior) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("count", [1, 8, 90])
def test_a_persons_own_skills_behind_the_base_skills_are_believed_in_like_any(count):
    rng = np.random.default_rng(count)
    skills = {f"s{number}": tuple(rng.random(16)) for number in range(12)}
    base = StyleSpace(dict(list(skills.items())[:5]), Prior(taste=(0.01,) * 16))
    whole = StyleSpace(skills, base.prior)
    own = base.extended(whole.place, whole.styles)
    evidence = random_evidence(rng, count, list(skills))
    asked = Situation("b", "n", "m"), ["s1", "s7", "s11"], [0.6, 0.8, 1.0]
    found, expected = taste_of(evidence, own).beliefs(*asked), taste_of(evidence, whole).beliefs(*asked)
    for part in ("situation", "record", "covariance"):
        assert getattr(found, part) == pytest.approx(getattr(expected, part), abs=1e-12)
    assert (found.mean[0], found.alignment[0]) == pytest.approx((expected.mean[0], expected.alignment[0]), abs=1e-12)
    assert found.mean == pytest.approx(found.situation + found.alignment + found.record)
    assert (found.mean - expected.mean).min() > -1e-12


@pytest.mark.parametrize("size", [0, 1, 47, 48, 49, 97, 200])
def test_a_triangular_matrix_is_inverted(size):
    rng = np.random.default_rng(size)
    lower = np.tril(rng.random((size, size))) + 2.0 * np.eye(size) * max(1, size)
    found = inverse_of_lower(lower)
    assert np.allclose(found @ lower, np.eye(size))
    assert np.array_equal(found, np.tril(found))


def test_a_few_thumbs_leave_everybody_with_the_common_prior():
    space = StyleSpace(MIDDLE_AND_ENDS, Prior())
    few = Evidence(
        (Cell("question", "neutral", "morning", "little", 2.0), Cell("question", "neutral", "morning", "much", 0.0, 2.0))
    )
    assert taste_of(few, space).log_likelihood() == TastePosterior(few, space).log_likelihood()


def test_the_moderate_prior_is_a_prior_like_any_other():
    prior = Prior(taste=(0.01,) * 16)
    assert prior_from_data(prior_as_data(prior.moderate())) == prior.moderate()
    assert prior.moderate().taste == prior.taste
    ids = list(MIDDLE_AND_ENDS)
    styles = StyleSpace(MIDDLE_AND_ENDS, prior).styles
    change = prior.moderate().liking("question", ids, styles) - prior.liking("question", ids, styles)
    assert change[0] > change[1]


def test_the_posterior_under_another_prior_is_that_of_the_evidence_itself():
    rng = np.random.default_rng(4)
    skills = {f"s{number}": tuple(rng.random(16)) for number in range(6)}
    space = StyleSpace(skills, Prior())
    evidence = random_evidence(rng, 30, [*skills, "gone"])
    asked = Situation("b", "n", "m"), list(skills), [1.0] * len(skills)
    found = TastePosterior(evidence, space).under(evidence, space.moderate).beliefs(*asked)
    assert np.array_equal(found.mean, TastePosterior(evidence, space.moderate).beliefs(*asked).mean)
