"""Whether a few words that correct something could be a value of the same thing: of the kind of the value they replace.

"Sorry, Milan" and "Sorry, thanks" are said alike. What tells them apart is what both values look like (a time, an amount, a
code, a name, a thing), what the predicate is told of, and words that people say for themselves and never as a value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from aico_memory.domain.formation.attributes import ATTRIBUTE
from aico_memory.domain.formation.formed import FormedFact
from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.formation.kinds_of_things import is_a
from aico_memory.domain.formation.naming import object_key
from aico_memory.domain.formation.same_amount import is_amount, same_amount
from aico_memory.domain.formation.same_time import is_time, same_time
from aico_memory.domain.formation.wording import lower_in, trim

# Kinds of things that are written with a capital and are no place and nobody.
_BRANDS = frozenset(["streaming", "browser", "editor", "operating system", "code", "phone", "computer", "camera"])
_TONGUES = frozenset(["language", "nationality"])
# Predicates whose values are of a kind that is known whole, or by its endings.
_CLOSED = {"role": "profession", "language": "language", "nationality": "nationality", "diet": "diet"}
# Groups of words of which two are of one kind, whatever else they are said for.
_KINDS = ("colours", "drinks", "vehicles")
_FOOD = frozenset({"fare", "drink", "drinks"})
# Of these nothing is a value whose kind is not known ("Make that blue").
_APART = frozenset({"colours", "vehicles", "language", "nationality", "ordinal", "workmode", "leave"})
# How well a value fits: what it replaces is of a known kind and it is not; both look alike; both are known to be alike.
NOT, HARDLY, LIKELY, SURELY = range(4)
# Groups whose words are no value; words that may stand inside one.
_NO_VALUES = (
    "asides", "adverbs", "pronouns", "subjects", "speaker", "no_values", "asking", "possessives", "negates", "only", "also",
    "particles",
)  # fmt: skip
_WITHIN = ("prepositions", "determiners")
_MOST_NAMED, _MOST_THING = 5, 3
_CODE = re.compile(r"(?=\S*\d)(?=\S*[^\W\d_])\S+")
_OPENS = re.compile(r"(?:^|[.!?:*\n])[\s\"'(*]*$")
_ACRONYM = 2
# Letters of a word that both values may have.
_TELLING = 4


class Heard(NamedTuple):
    """How a value was said: behind words that announce one or name what it replaces, at the beginning of a sentence."""

    sure: bool
    # There a capital says nothing.
    opens: bool


def opens_with(value: str, sentence: str) -> bool:
    """Whether the value stands at the beginning of a sentence."""
    at = sentence.find(value)
    return at < 0 or bool(_OPENS.search(sentence[:at]))


def replaces(fact: FormedFact, value: str, heard: Heard, tables: FormationTables, grammar: Grammar) -> int:
    """How well the value stands in the place of that of the fact: NOT, HARDLY, LIKELY or SURELY."""
    old = fact.value
    if not old or fact.act not in ("assert", "correct") or object_key(value, grammar) == fact.object_key:
        return NOT
    if _is_code(fact, grammar):
        return SURELY if _same_code(old, value, heard, grammar) else NOT
    of_time = is_time(old, grammar) or _is_temporal(fact, tables)
    if of_time or (is_time(value, grammar) and not _is_number(value) and not _is_month_called(fact, value, tables, grammar)):
        return SURELY if of_time and same_time(old, value, grammar) else NOT
    if is_amount(old, grammar):
        return SURELY if same_amount(old, value, heard.sure, fact.predicate == "age", grammar) else NOT
    if _has_figures(old) != _has_figures(value) or (is_amount(value, grammar) and not _has_figures(old)):
        return NOT
    if _CODE.fullmatch(old) and _CODE.fullmatch(value):
        return SURELY
    return _same_word(fact, value, heard, tables, grammar)


def _same_word(fact: FormedFact, value: str, heard: Heard, tables: FormationTables, grammar: Grammar) -> int:
    groups = _kinds(fact.value, tables, grammar), _kinds(value, tables, grammar)
    words = [word for word in map(trim, value.split()) if word]
    joins = {lower_in(word, grammar.code) for word in value.split()} & grammar.words["listing"]
    if joins - set(lower_in(fact.value, grammar.code).split()) and not heard.sure:
        # "Milk and eggs": a list is in the place of a list.
        return NOT
    if _tells(words, fact.value, bool(groups[1]), grammar):
        return NOT
    if groups[0] & groups[1] and not any(_is_in(word, _NO_VALUES, grammar) for word in words[:-1]):
        return SURELY
    if len(words) <= _MOST_THING and _shares_a_word(fact.value, value, grammar):
        return LIKELY
    if _says_nothing(words, heard, grammar):
        return NOT
    names = names_of(fact, tables, grammar)
    if names or (grammar.parser != "german" and fact.value[:1].isupper()):
        return LIKELY if _same_name(fact.value, names, words, groups, heard, grammar) else NOT
    if all(groups) or (groups[1] & _APART and not heard.sure):
        # Both are known, and to be of different kinds.
        return NOT
    closed = _CLOSED.get(fact.predicate, "")
    if closed and not heard.sure:
        known = is_a(value, closed, tables, grammar) or _is_in(words[-1], ("callings",), grammar)
        return SURELY if known else NOT
    named = grammar.parser != "german" and value[:1].isupper() and not heard.opens
    fits = (heard.sure or not named) and len(words) <= _MOST_THING
    return (HARDLY if groups[0] else LIKELY) if fits else NOT


def names_of(fact: FormedFact, tables: FormationTables, grammar: Grammar) -> str:
    """What the value of a predicate is a name of: place, person, organisation; empty where it is none."""
    known = tables.predicates.get(fact.predicate)
    if known is not None and (known.names or known.relation):
        return known.names or "person"
    noun = fact.predicate.removeprefix(ATTRIBUTE) if fact.predicate.startswith(ATTRIBUTE) else ""
    heads = {noun, *noun.split()[-1:]} - {""}
    if heads and (
        any(one in grammar.relations for one in heads) or heads & (grammar.words["called_by_name"] | grammar.words["people"])
    ):
        return "person"
    return ""


def _shares_a_word(old: str, value: str, grammar: Grammar) -> bool:
    """ "The right knee" for "left knee"."""
    was, now = (set(lower_in(one, grammar.code).split()) for one in (old, value))
    # "Anna is right" has all of "Anna".
    both = was & now if was - now else set()
    return any(len(word) >= _TELLING and not _is_in(word, (*_NO_VALUES, *_WITHIN), grammar) for word in both)


def _same_name(
    old: str, names: str, words: Sequence[str], kinds: tuple[frozenset[str], frozenset[str]], heard: Heard, grammar: Grammar
) -> bool:
    """Whether the words may name something as the old value does; `kinds`: what both are known to be."""
    said = " ".join(words)
    if len(words) > _MOST_NAMED or kinds[1] & (_TONGUES if names == "organisation" else _BRANDS | _TONGUES):
        return False
    if not names and all(kinds):
        return False
    if names != "organisation" and said.isupper() and len(said) >= _ACRONYM and not old.isupper():
        # "LOL", "PDF"
        return False
    telling = [word for word in words if not _is_in(word, _WITHIN, grammar)]
    capital = bool(telling) and words[0] == telling[0] and all(word[:1].isupper() or word[:1].isdigit() for word in telling)
    if capital and (not heard.opens or (heard.sure and len(words) > 1)):
        return True
    # Nothing but the words themselves tells: no verb, nothing that is usually said in small letters.
    mixed = not capital and any(word[:1].isupper() for word in telling[heard.opens :])
    ordinary = mixed or any(_is_verb(word, grammar) for word in telling) or bool(kinds[1])
    small = heard.sure or old[:1].islower() or capital
    return bool(telling) and words[0] == telling[0] and small and not ordinary


def _tells(words: Sequence[str], old: str, known: bool, grammar: Grammar) -> bool:
    """Whether there is a verb among the words, where the old value ends with none and they are not known to be a thing."""
    done = (known and len(words) == 1) or any(_is_verb(word, grammar) for word in old.split()[-1:])
    return not done and any(word[:1].islower() and _is_verb(word, grammar) for word in words)


def _says_nothing(words: Sequence[str], heard: Heard, grammar: Grammar) -> bool:
    """Whether the words are such as people say for themselves ("thanks", "long day")."""
    low = [lower_in(word, grammar.code) for word in words]
    if not low or " ".join(low) in grammar.words["asides"]:
        return True
    capitals = len(words) > 1 and all(word[:1].isupper() for word in words)
    # German has a capital for every noun ("Bad").
    named = capitals and (heard.sure or (not heard.opens and grammar.parser != "german"))
    within = [_is_in(word, _WITHIN, grammar) for word in low]
    if within[0] or within[-1] or _is_in(low[0], ("openers", "speaker"), grammar):
        return True
    empty = [
        not inside and (_is_in(word, _NO_VALUES, grammar) or word in grammar.beliefs.opinions | grammar.beliefs.degrees)
        for word, inside in zip(low, within, strict=True)
    ]
    # Behind words that announce a value, one that has more than such words is one ("Correction: zero positive").
    return not named and (all(empty) if heard.sure and not any(within) else any(empty))


def _is_verb(word: str, grammar: Grammar) -> bool:
    low = lower_in(word, grammar.code)
    return low in grammar.tenses or any(mark.search(low) for mark in grammar.marks["verbal"])


def _is_in(word: str, groups: Sequence[str], grammar: Grammar) -> bool:
    low = lower_in(word, grammar.code)
    return any(low in grammar.words[group] for group in groups)


def _kinds(value: str, tables: FormationTables, grammar: Grammar) -> frozenset[str]:
    """Of what kinds something is known to be, as a whole or by its last word; what is eaten and what is drunk is one kind."""
    low = lower_in(value, grammar.code)
    last = low.split()[-1:]
    known = {kind for kind, members in tables.types.items() if low in members or any(word in members for word in last)}
    if any(word in grammar.words["honours"] for word in (*low.split()[:1], *last)) and " " in low:
        known.add("honours")
    known |= {group for group in _KINDS if any(_ends_in(word, grammar.words[group], grammar) for word in last)}
    return frozenset("food" if kind in _FOOD else kind for kind in known)


def _ends_in(word: str, known: frozenset[str], grammar: Grammar) -> bool:
    """ "Dunkelgrün" is of the colours, too."""
    return word in known or (grammar.parser == "german" and bool(known) and word.endswith(tuple(known)))


def _has_figures(value: str) -> bool:
    return any(letter.isdigit() for letter in value)


def _is_number(value: str) -> bool:
    return value.replace(" ", "").isdigit()


def _is_temporal(fact: FormedFact, tables: FormationTables) -> bool:
    known = tables.predicates.get(fact.predicate)
    return known is not None and known.temporal


def _is_month_called(fact: FormedFact, value: str, tables: FormationTables, grammar: Grammar) -> bool:
    """ "April", "May" of somebody."""
    return names_of(fact, tables, grammar) == "person" and lower_in(value, grammar.code) in grammar.calendar.months


def _is_code(fact: FormedFact, grammar: Grammar) -> bool:
    noun = fact.predicate.removeprefix(ATTRIBUTE)
    last = noun.split()[-1:]
    ends = grammar.parser == "german" and noun.endswith(tuple(grammar.words["codes"]))
    return fact.predicate == "phone_number" or any(word in grammar.words["codes"] for word in last) or ends


def _same_code(old: str, value: str, heard: Heard, grammar: Grammar) -> bool:
    """Passwords, numbers: of the same make, and no word that people say for themselves."""
    figures, other = ("".join(filter(str.isalnum, one)) for one in (old, value))
    if figures.isdigit() or other.isdigit():
        return figures.isdigit() and other.isdigit() and (heard.sure or abs(len(figures) - len(other)) <= _ACRONYM)
    if any(letter.isdigit() for letter in figures) and not heard.sure:
        return " " not in value.strip() and any(letter.isdigit() for letter in other)
    return not _says_nothing(value.split(), heard, grammar) and len(value.split()) <= len(old.split())
