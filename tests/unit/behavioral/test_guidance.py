"""What preferences say of how to answer: stated before learned, and nothing that holds of people in general only."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.behavioral.guidance import GuidanceFigures, Liking, guidance_of

FRAGMENTS = {name: (f"little {name}", f"much {name}") for name in ("verbosity", "structure", "patience", "directness")}
FIGURES = GuidanceFigures()


def told(learned: dict[str, Liking], thumbs: float = 9.0, **stated: float) -> list[str]:
    return guidance_of(stated, learned, thumbs, FRAGMENTS, FIGURES)


@pytest.mark.parametrize(
    ("found", "sentences"),
    [
        (told({"structure": Liking(0.3, 0.1, 0.0)}), ["much structure"]),
        (told({"structure": Liking(-0.3, 0.1, 0.0)}), ["little structure"]),
        (told({"structure": Liking(0.3, 0.2, 0.0)}), []),
        # What the prior expected of anybody is no preference of this person, nor what a single thumb moved.
        (told({"structure": Liking(0.3, 0.1, 0.35)}), []),
        (told({"structure": Liking(0.3, 0.1, 0.0)}, thumbs=4.0), []),
        # What was stated stands over what was learned, and comes first.
        (told({"structure": Liking(0.3, 0.1, 0.0)}, structure=0.2, verbosity=0.9), ["much verbosity", "little structure"]),
        (told({"structure": Liking(0.3, 0.1, 0.0)}, verbosity=0.6), ["much structure"]),
        (told({}, thumbs=0.0, verbosity=0.0), ["little verbosity"]),
        (told({"reserved_1": Liking(0.9, 0.1, 0.0)}), []),
    ],
)
def test_what_is_sure_is_told(found: list[str], sentences: list[str]) -> None:
    assert found == sentences


numbers = st.floats(-1, 1)


@given(
    st.dictionaries(st.sampled_from(sorted(FRAGMENTS)), st.floats(0, 1)),
    st.dictionaries(st.sampled_from(sorted(FRAGMENTS)), st.builds(Liking, numbers, st.floats(0.01, 1), numbers)),
)
def test_at_most_so_many_and_none_twice(stated: dict[str, float], learned: dict[str, Liking]) -> None:
    found = guidance_of(stated, learned, 9.0, FRAGMENTS, FIGURES)
    assert len(found) == len(set(found)) <= FIGURES.sentences
