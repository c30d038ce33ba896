"""Two people told of at once, and clauses that leave out what the one before has said."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from aico_memory.domain.formation.attributes import Found
from aico_memory.domain.formation.frames import Frame, Party
from aico_memory.domain.formation.grammar import FormationTables, Grammar

# Of three or more nothing is told as of a pair; each would be told of again with each of the others.
_PAIR = re.compile(r"^(?P<a>[^\W\d_][\w-]*) (?:and|und|ve|ile) (?P<b>[^\W\d_][\w-]*) (?!(?:and|und|ve|ile) )")
# How the second of two stands beside a verb that both are subjects of.
_BESIDE = {"en": ("to {}", "with {}", "from {}"), "de": ("mit {}", "von {}"), "tr": ("@le {}", "@den {}")}


def of_a_pair(frame: Frame, read: Callable[[Frame], Sequence[Found]], tables: FormationTables, grammar: Grammar) -> list[Found]:
    """ "Anna and Paul got divorced": what each of them is to the other; empty where the clause tells nothing of the kind."""
    match = _PAIR.match(frame.text)
    names = [match["a"], match["b"]] if match else []
    if match is None or not all(name[:1].isupper() for name in names) or grammar.has("speaker", match["b"].lower()):
        return []
    if match.group().strip().casefold() != frame.subject.subject and names[0].casefold() != frame.subject.subject:
        return []
    found: list[Found] = []
    for one, other in ((match["a"], match["b"]), (match["b"], match["a"])):
        beside = [
            f"{reading.rstrip('.!')} {form.format(other)}" for form in _BESIDE[grammar.code] for reading in frame.readings
        ]
        alone = replace(
            frame, subject=Party(name=one), text=f"{one} {frame.text[match.end() :]}", readings=[*beside, *frame.readings]
        )
        found += [
            replace(told, value=other)
            for told in read(alone)
            if (known := tables.predicates.get(told.predicate)) and known.relation and told.subject == one.casefold()
        ]
    return found


def gapped(left: str, right: str, grammar: Grammar) -> str:
    """The verb that `right` leaves out ("… lives in Porto and my father in Lisbon"), as the clause with it; else empty.

    Both sides must name somebody and go on in the same way: with the same preposition, or both with a number.
    """
    one, other = person_at_start(left, grammar), person_at_start(right, grammar)
    if one is None or other is None:
        return ""
    verb, *rest = one[1]
    first, theirs = (rest or [""])[0], other[1]
    same = first.lower() in grammar.words["prepositions"] and first.lower() == theirs[0].lower() and len(theirs) > 1
    counted = _counts(first, grammar) and _counts(theirs[0], grammar)
    if not (same or counted) or grammar.tenses.get(theirs[0].lower()) in ("past", "third", "present", "participle"):
        return ""
    return " ".join([*other[0], verb, *theirs])


def _counts(word: str, grammar: Grammar) -> bool:
    low = word.lower().strip(".,!")
    return low.isdigit() or (low in grammar.calendar.numbers and low not in grammar.words["determiners"])


def person_at_start(text: str, grammar: Grammar) -> tuple[list[str], list[str]] | None:
    """The words that name somebody at the start of a clause, and those behind them; None where it starts otherwise."""
    words = text.split()
    if len(words) < 2:
        return None
    if words[0].lower() in grammar.words["own"]:
        end = 2 if words[1].lower().strip(",") in grammar.relations else 0
        end += 1 if end and len(words) > end and words[end][:1].isupper() and words[end].isalpha() else 0
    else:
        named = words[0][:1].isupper() and words[0].isalpha()
        end = (
            1
            if named and not any(words[0].lower() in grammar.words[group] for group in ("subjects", "determiners", "adverbs"))
            else 0
        )
    return (words[:end], words[end:]) if end and words[end:] else None
