"""The made-up histories of the token benchmark."""

import random
from statistics import mean

from aico_memory.bench.tokens.histories import facts, outcomes
from aico_memory.domain.advisor.outcome import OUTCOMES, checked_type
from aico_memory.models.token_counter import estimate_tokens


def test_outcomes_have_the_size_that_is_asked_for_and_are_the_same_for_the_same_seed():
    made = list(outcomes(random.Random(1), 40, 500, estimate_tokens))
    sizes = [
        sum(map(estimate_tokens, (one.reason, str(one.state_before), str(one.state_after), *one.evidence))) for one in made
    ]
    assert 430 <= mean(sizes) <= 500
    assert made == list(outcomes(random.Random(1), 40, 500, estimate_tokens))
    assert len({one.suggestion_id for one in made}) == 40
    assert {one.outcome for one in made} <= set(OUTCOMES)
    assert all(checked_type(one.type) for one in made)


def test_each_fact_is_asked_for_once_and_its_question_does_not_tell_the_answer():
    planted = list(facts(random.Random(2), 100))
    assert len({question for _, question, _ in planted}) == 100
    assert all(code in message and code not in question for message, question, code in planted)
