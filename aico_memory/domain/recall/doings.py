"""What a question asks to be done: "what do I like to read?" is not answered with what is liked to be eaten."""

from __future__ import annotations

from collections.abc import Iterable

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


def asks_for_work(question: Question, predicate: str, tables: FormationTables) -> bool:
    """Whether it asks "what do I work as?": what one studies or plays is no answer, where "what do I do?" takes either."""
    grammar = tables.grammars[question.language]
    return predicate == ROLE and any(grammar.verbs.get(word, word) in grammar.words["earns"] for word in question.words)


def _doings(words: Iterable[str], grammar: Grammar) -> set[str]:
    """What is done with what is liked, by the verbs among the words."""
    low = (lower_in(trim(word), grammar.code) for word in words)
    return {grammar.verbs.get(word, word) for word in low} & grammar.words["doings"]
