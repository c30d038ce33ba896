"""A person's own skills in the style posterior: what they begin with, and what is taken over from the space of before."""

import numpy as np
import pytest

from aico_memory.domain.behavioral.dimensions import NEUTRAL
from aico_memory.domain.behavioral.evidence import Evidence
from aico_memory.domain.behavioral.posterior import TastePosterior
from aico_memory.domain.behavioral.prior import Prior
from aico_memory.domain.behavioral.situation import Situation
from aico_memory.domain.behavioral.style_space import StyleSpace
from tests.unit.behavioral.test_posterior import QUESTION, SKILLS, TERSE, WARM, thumbs


def own_space():
    base = StyleSpace({"terse": TERSE, "warm": WARM}, Prior(skill={"warm": 0.2}))
    whole = StyleSpace({**SKILLS, "bare": NEUTRAL}, base.prior)
    return base.extended(whole.place, whole.styles)


def liked(*cells, skills=("terse", "warm", "wordy", "bare"), situation=QUESTION):
    found = TastePosterior(Evidence(cells), own_space()).beliefs(situation, skills, [1.0] * len(skills))
    return dict(zip(skills, found.alignment + found.record, strict=True))


def test_a_persons_own_skill_begins_as_well_liked_as_the_best_of_the_others():
    assert liked()["wordy"] == liked()["bare"] == pytest.approx(0.2)
    taught = liked(thumbs("terse", positive=20), thumbs("warm", negative=20))
    assert taught["wordy"] == pytest.approx(taught["terse"]) == pytest.approx(taught["bare"])
    assert taught["terse"] > taught["warm"]
    assert liked(skills=("wordy", "bare")) == pytest.approx({"wordy": 0.0, "bare": 0.0}), "there is no other to be like"


def test_an_own_skills_thumbs_down_take_from_the_start_it_was_given_and_thumbs_up_leave_it():
    def given(*cells, **more):
        space = StyleSpace({**SKILLS, "bare": NEUTRAL}, Prior(skill={"warm": 0.2}))
        plain = TastePosterior(Evidence(cells), space).beliefs(more.get("situation", QUESTION), ("bare",), [1.0])
        unaided = plain.alignment[0] + plain.record[0]
        found = liked(*cells, **more)
        return (found["bare"] - unaided) / (found["warm"] - unaided)

    assert given(thumbs("bare", negative=3)) == pytest.approx(1 / 4)
    assert given(thumbs("bare", positive=2)) == pytest.approx(1.0)
    assert given(thumbs("bare", positive=1, negative=1)) == pytest.approx(2 / 3)
    elsewhere = Situation("creative", "neutral", "morning")
    assert given(thumbs("bare", negative=3), situation=elsewhere) == pytest.approx(1.0), "with this intent nothing was said"


def test_a_space_that_takes_over_means_believes_what_a_fresh_one_does():
    rng = np.random.default_rng(3)
    skills = {f"s{number}": tuple(rng.random(16)) for number in range(8)}
    base = StyleSpace(dict(list(skills.items())[:3]), Prior(taste=(0.02,) * 16))
    styles = StyleSpace(skills, base.prior).styles
    place = {skill_id: number for number, skill_id in enumerate(skills)}
    before = base.extended(place, styles)
    for space in (before, before.moderate):
        for skill_id in skills:
            space.mean("question", skill_id)
    moved = styles.copy()
    moved[5] = -moved[5]
    after, fresh = base.extended(place, moved, before), base.extended(place, moved)
    again = base.extended(place, styles, after)
    for skill_id in skills:
        assert after.mean("question", skill_id) == fresh.mean("question", skill_id)
        assert after.moderate.mean("question", skill_id) == fresh.moderate.mean("question", skill_id)
        assert again.mean("question", skill_id) == before.mean("question", skill_id)
        assert again.moderate.mean("question", skill_id) == before.moderate.mean("question", skill_id)
    assert before.mean("question", "s5") != after.mean("question", "s5")
    other = StyleSpace(dict(list(skills.items())[:3]), Prior(taste=(-0.02,) * 16))
    assert other.extended(place, styles, before).mean("question", "s6") != before.mean("question", "s6")
