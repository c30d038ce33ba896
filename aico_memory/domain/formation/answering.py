"""From the words of a language model to facts that the message itself bears out, and what was refused and why.

Nothing of an answer is believed for its own sake: each fact must quote the message, take its value from the
quote, speak of somebody who is named, and give no date that the message does not. The scope is never the model's
to choose: an answer has no field for it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from aico_memory.domain.formation.fact_key import fact_key
from aico_memory.domain.formation.formed import FormedFact
from aico_memory.domain.formation.grounding import Ground, Refused, grounded
from aico_memory.domain.formation.prompting import SCHEMA_NAME, AnsweredFact

_FENCE: Final = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n?```\s*\Z", re.DOTALL)
_CLAIM: Final = 200


class Unusable(Exception):
    """An answer of which nothing can be taken; `rule` is empty_answer, no_json or schema."""

    def __init__(self, rule: str, reason: str) -> None:
        super().__init__(reason)
        self.rule = rule
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Checked:
    """What was taken of an answer, and what was not."""

    facts: tuple[FormedFact, ...]
    refused: tuple[Refused, ...]


def read_answer(text: str) -> tuple[Any, ...]:
    """The facts as they stand in the answer, unchecked. Raises Unusable."""
    if not text.strip():
        raise Unusable("empty_answer", "The model said nothing")
    fenced = _FENCE.match(text)
    try:
        answer = json.loads(fenced[1] if fenced else text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise Unusable("no_json", f"The answer is no JSON ({type(error).__name__})") from None
    if not isinstance(answer, dict) or set(answer) != {SCHEMA_NAME} or not isinstance(answer[SCHEMA_NAME], list):
        raise Unusable("schema", f"The answer is not an object with the one field {SCHEMA_NAME!r}, a list")
    return tuple(answer[SCHEMA_NAME])


def check_answer(given: Sequence[Any], ground: Ground, by_rules: Sequence[FormedFact], most: int) -> Checked:
    """Each fact taken or refused by one rule. `by_rules`: what the rules read from the same message; they stand."""
    facts: list[FormedFact] = []
    refused: list[Refused] = []
    for place, raw in enumerate(given):
        if place >= most:
            refused.append(Refused("too_many", f"{len(given)} facts of one message; {most} are taken", ""))
            break
        found = _checked(raw, ground)
        if isinstance(found, FormedFact):
            found = _beside(found, by_rules, facts) or found
        if isinstance(found, FormedFact):
            facts.append(found)
        else:
            refused.append(found._replace(claim=_shown(raw)))
    return Checked(tuple(facts), tuple(refused))


def _checked(raw: Any, ground: Ground) -> FormedFact | Refused:
    try:
        claim = AnsweredFact.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        return Refused("schema", f"{field}: {first['msg']}", "")
    return grounded(claim, ground)


def _beside(fact: FormedFact, by_rules: Sequence[FormedFact], taken: Sequence[FormedFact]) -> Refused | None:
    """One message proves a fact once; where the rules read the same thing otherwise, they are believed."""
    if any(_alike(fact, one) for one in by_rules):
        return Refused("already_read", "The rules have read the same", "")
    if any(_alike(fact, one) for one in taken):
        return Refused("said_twice", "The answer has the same fact before", "")
    other = next((one for one in by_rules if _key(one) == _key(fact)), None)
    if other is not None:
        return Refused("rules_read_otherwise", f"The rules have read {other.act} {other.value!r}", "")
    return None


def _alike(one: FormedFact, other: FormedFact) -> bool:
    return (_key(one), one.object_key, one.act) == (_key(other), other.object_key, other.act)


def _key(fact: FormedFact) -> str:
    return fact_key(fact.subject, fact.predicate, fact.object_key, fact.single_valued)


def _shown(raw: Any) -> str:
    return json.dumps(raw, ensure_ascii=False, default=str)[:_CLAIM]


def _no_number(name: str) -> float:
    raise ValueError(name)
