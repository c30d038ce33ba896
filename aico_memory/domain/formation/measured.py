"""A measure said alone: "85 kg this morning", of somebody who told what they weigh."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from aico_memory.domain.formation.formed import FormedFact
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.naming import object_key
from aico_memory.domain.formation.wording import lower_in
from aico_memory.domain.memory import OPEN

# A number with its unit, and nothing else.
_MEASURE = re.compile(
    r"^(?:now |already |(?:now |back )?(?:up|down) (?:to|at) )?(?P<v>\d[\d.,]* (?P<u>[a-z]+))(?: now| already| today)?[.!]*$"
)


def measured(
    text: str, earlier: Callable[[], Sequence[FormedFact]], grammar: Grammar, said_at_us: int, sentence: str
) -> list[FormedFact]:  # fmt: skip
    """ "85 kg this morning": the newest of what was told in that unit, by one of whom there is one value only."""
    match = _MEASURE.match(lower_in(text, grammar.code)) if grammar.parser == "english" else None
    if match is None:
        return []
    unit = match["u"]
    fact = next((one for one in reversed(earlier()) if one.single_valued and one.value.casefold().split()[1:2] == [unit]), None)
    if fact is None or fact.act not in ("assert", "correct") or fact.value.casefold() == match["v"]:
        return []
    return [
        replace(
            fact, value=match["v"], object_key=object_key(match["v"], grammar), act="assert", corrected="", text=sentence,
            excerpt=sentence[:300], valid_from_us=said_at_us, valid_until_us=OPEN, temporal_type="persistent",
        )
    ]  # fmt: skip
