"""What a question asks to be done: "what do I like to read?" is not answered with what is liked to be eaten."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.formation.wording import lower_in, trim
from aico_memory.domain.recall.question import Question
from aico_memory.domain.recall.timeline import Held

TASTES = frozenset({"likes", "dislikes"})
ROLE = "role"


def liked_to_do(answer: list[Held], question: Question, tables: FormationTables) -> list[Held]:
    """What is liked, without what was told to be liked in doing something else; all of it where nothing would be left."""
    grammar = tables.grammars[question.language]
    asked = _doings(question.words, grammar)
    if not asked or not answer or answer[0].predicate not in TASTES:
        return answer
    told = [(one, _doings(one.fact.excerpt.split(), tables.grammars.get(one.fact.language, grammar))) for one in answer]
    same = question.language
    return [one for one, doings in told if one.fact.language != same or not doings or doings & asked] or answer


def still_done(answer: list[Held], question: Question, held: Sequence[Held], at_us: int) -> list[Held]:
    """Without what one liked to do and does no longer: what the same message told under another predicate that the question
    means ("Was trinke ich gern?", of who drinks no coffee any more)."""

    def over(one: Held) -> bool:
        return any(
            other.until_us <= at_us
            and not other.invalid
            and other.predicate != one.predicate
            and other.predicate in question.predicates
            and other.statement.said_at_us == one.statement.said_at_us
            and (other.subject, other.fact.object_key) == (one.subject, one.fact.object_key)
            for other in held
        )

    return [one for one in answer if one.predicate not in TASTES or not over(one)]


def uncontradicted(answer: list[Held], held: Sequence[Held], at_us: int, tables: FormationTables) -> list[Held]:
    """Without that of which the contrary was told later: who hates mushrooms and loves mushrooms, loves them."""

    def contrary(one: Held) -> bool:
        known = tables.predicates.get(one.predicate)
        opposite = known.opposite if known is not None else ""
        return bool(opposite) and any(
            (other.subject, other.predicate, other.fact.object_key) == (one.subject, opposite, one.fact.object_key)
            and other.holds_at(at_us)
            and other.statement.said_at_us > one.statement.said_at_us
            for other in held
        )

    return [one for one in answer if not contrary(one)]


def asks_for_work(question: Question, predicate: str, tables: FormationTables) -> bool:
    """Whether it asks "what do I work as?": what one studies or plays is no answer, where "what do I do?" takes either."""
    grammar = tables.grammars[question.language]
    return predicate == ROLE and any(grammar.verbs.get(word, word) in grammar.words["earns"] for word in question.words)


def _doings(words: Iterable[str], grammar: Grammar) -> set[str]:
    """What is done with what is liked, by the verbs among the words."""
    low = (lower_in(trim(word), grammar.code) for word in words)
    return {grammar.verbs.get(word, word) for word in low} & grammar.words["doings"]
