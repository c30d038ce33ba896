"""Of a record it is known since when nothing it states holds any more."""

from __future__ import annotations

import pytest

from aico_memory.domain.memory import OPEN
from aico_memory.domain.retrieval.outlived import Made, over_since

REPLACED = Made("superseded", 100, 100, 500)
HOLDS = Made("active", 100, 100, OPEN)


@pytest.mark.parametrize(
    ("made", "since"),
    [
        ([REPLACED], 500),
        ([REPLACED, Made("superseded", 100, 100, 700)], 700),
        # A correction: it held at no time.
        ([Made("superseded", 100, 100, 100)], 100),
        ([Made("superseded", 100, 100, 40)], 100),
        # Something of it holds, or is over for another reason.
        ([REPLACED, HOLDS], 0),
        ([REPLACED, Made("expired", 100, 100, 600)], 0),
        # What was never believed is none of its statements.
        ([REPLACED, Made("invalid", 100, 100, OPEN)], 500),
        ([Made("invalid", 100, 100, OPEN)], 0),
        ([], 0),
        # It is the message that ended an older statement.
        ([Made("superseded", 20, 20, 100)], 0),
        # Not over yet.
        ([Made("superseded", 100, 100, 2000)], 0),
    ],
)
def test_it_is_over_where_all_that_was_read_in_it_is_replaced(made: list[Made], since: int) -> None:
    assert over_since(100, made, 1000) == since
