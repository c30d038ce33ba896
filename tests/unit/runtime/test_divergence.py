"""Finding the first difference of two exports."""

from __future__ import annotations

import json

from aico_memory.ids import compose_uuid7
from aico_memory.runtime.divergence import first_divergence

EARLY, LATE = (compose_uuid7(moment, bytes(10)) for moment in (1_000, 2_000))


def line(section: str, key: str, **values: object) -> str:
    return json.dumps({"section": section, "key": key, **values}, sort_keys=True)


def test_equal_exports_do_not_diverge() -> None:
    lines = [line("semantic.memory", "a", text="x")]
    assert first_divergence(lines, [lines[0] + "\n"]) is None


def test_the_difference_that_goes_back_to_the_earliest_event_counts() -> None:
    left = [line("a.first", "1", event=str(LATE), value=1), line("z.last", "2", event=EARLY.hex, value=1)]
    right = [line("a.first", "1", event=str(LATE), value=2), line("z.last", "2", event=EARLY.hex, value=2)]
    found = first_divergence(left, right)
    assert found is not None
    assert (found.section, found.event_id, found.fields, found.differing) == ("z.last", str(EARLY), ("value",), 2)


def test_the_streams_own_order_decides_where_it_is_given() -> None:
    left = [line("a", "1", event=str(LATE), value=1), line("z", "2", event=str(EARLY), value=1)]
    right = [line("a", "1", event=str(LATE), value=2), line("z", "2", event=str(EARLY), value=2)]
    found = first_divergence(left, right, order=[LATE.hex, EARLY.hex])
    assert found is not None
    assert found.event_id == str(LATE)


def test_an_object_that_one_side_lacks_is_a_difference() -> None:
    found = first_divergence([line("a", "1", event=str(EARLY))], [])
    assert found is not None
    assert (found.left is None, found.right, found.event_id) == (False, None, str(EARLY))


def test_fields_inside_fields_are_named_by_their_path() -> None:
    found = first_divergence([line("a", "1", deep={"x": [1], "y": 2})], [line("a", "1", deep={"x": [2], "y": 2})])
    assert found is not None
    assert found.fields == ("deep.x",)
    assert found.event_id == ""


def test_two_objects_under_one_key_are_both_compared() -> None:
    double = [line("a", "1", value=1), line("a", "1", value=2)]
    found = first_divergence(double, [line("a", "1", value=1), line("a", "1", value=3)])
    assert found is not None
    assert found.key == "1 (2)"
