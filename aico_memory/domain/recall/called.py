"""What somebody is called, asked by what they are to somebody: "Wie heißt mein Bruder?"."""

from __future__ import annotations

from collections.abc import Sequence

from aico_memory.domain.formation.german_clauses import BE
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.recall.question import Question
from aico_memory.domain.recall.segments import Word

# What tells a name outright.
_NAMING = frozenset({"heißen", "nennen", "taufen"})
_NAMED = "namens"
# Words of such a question that ask for nothing else.
_PASSED = (
    "speaker", "pronouns", "possessives", "determiners", "prepositions", "adverbs", "openers", "empty", "own", "now", "asking",
    "name_nouns", "naming_verbs", "copulas",
)  # fmt: skip


def asks_only_a_name(question: Question, grammar: Grammar) -> bool:
    """Whether a German question asks what somebody is called, and for nothing of theirs (no firm of his)."""
    if grammar.parser != "german" or not question.naming or not question.relations:
        return False
    naming = grammar.words["naming_verbs"] | {BE}
    return all(
        word in grammar.relations
        or word in grammar.synonyms
        or grammar.verbs.get(word) in naming
        or any(word in grammar.words[name] for name in _PASSED)
        for word in question.words
    )


def where_names_stand(
    spans: Sequence[tuple[int, int]], words: Sequence[Word], taken: frozenset[int], grammar: Grammar
) -> list[tuple[int, int]]:
    """Those of the places where a name would stand: beside a verb of naming, behind the noun, or as what somebody is."""
    lemmas = [grammar.verbs.get(word.low, word.low) for word in words]
    if any(lemma in _NAMING or lemma == _NAMED for lemma in lemmas):
        return list(spans)
    return [span for span in spans if _is_name_there(span, words, lemmas, taken, grammar)]


def _is_name_there(
    span: tuple[int, int], words: Sequence[Word], lemmas: Sequence[str], taken: frozenset[int], grammar: Grammar
) -> bool:
    before, after = span[0] - 1, span[1]
    if before in taken:
        # "Mein Bruder Tim …", "… mit meinem Bruder Tim"
        opens = before <= 1 or words[before - 2].low in grammar.words["prepositions"]
        return opens or (after < len(words) and BE not in lemmas)
    while before >= 0 and (words[before].low in grammar.words["adverbs"] or words[before].low in grammar.words["determiners"]):
        before -= 1
    while after < len(words) and (words[after].low in grammar.words["possessives"] or lemmas[after] == BE):
        after += 1
    # "Mein Bruder ist (der) Tim", "Tim ist mein Bruder"
    return (before >= 0 and lemmas[before] == BE) or (after > span[1] and after in taken)
