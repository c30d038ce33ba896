"""Two people told of at once, and clauses that leave out what the one before has said."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from aico_memory.domain.formation.attributes import Found
from aico_memory.domain.formation.frames import HOLDER, Frame, Party
from aico_memory.domain.formation.grammar import FormationTables, Grammar

# What is done to somebody with something ("I bought Tom a book").
_TO_SOMEBODY = frozenset(
    {"buy", "get", "send", "give", "make", "cook", "bring", "show", "tell", "lend", "pay", "offer", "teach"}
)
_COPULAS = frozenset({"is", "are", "was", "were", "am", "has", "have", "had"})
_VERBAL = ("past", "third", "present", "participle")
# Words of what is done.
_LONG = 3
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


def gapped(left: str, right: str, grammar: Grammar, joining: str = "and") -> str:
    """The verb that `right` leaves out ("… lives in Porto and my father in Lisbon"), as the clause with it; else empty.

    Both sides must name somebody and go on in the same way: with the same preposition, both with a number, both with what is
    done ("my mum drinks tea and my dad coffee"), or with another time of the same ("… and my daughter on Tuesdays").
    """
    one, other = person_at_start(left, grammar), person_at_start(right, grammar)
    spoken = left.split()[:1]
    if one is None and spoken and spoken[0].lower() in ("i", "we"):
        one = spoken, left.split()[1:]
    if one is None or other is None or not one[1]:
        return ""
    verb, *rest = one[1]
    if grammar.tenses.get(other[1][0].lower()) in _VERBAL or any(word.lower() in _COPULAS for word in other[1]):
        return ""
    if rest and grammar.tenses.get(rest[0].lower()) in ("past", "participle", "progressive"):
        # "Harriet has left, my boss is Declan now."
        return ""
    first, theirs = (rest or [""])[0], other[1]
    same = first.lower() in grammar.words["prepositions"] and first.lower() == theirs[0].lower() and len(theirs) > 1
    counted = _counts(first, grammar) and _counts(theirs[0], grammar)
    kin = other[0][0].lower() in grammar.words["own"] and one[0][0].lower() in grammar.words["own"]
    mine = one[0][0].lower() in ("i", "we")
    if (same or counted) and (joining == "and" or kin) and not mine:
        return " ".join([*other[0], verb, *theirs])
    if grammar.parser != "english" or (not kin and other[0][0].lower() in grammar.words["tongues"]):
        # "I love ramen and Thai food": nobody is called so.
        return ""
    third = _third(verb, grammar) if mine else verb
    if not third or not rest or grammar.verbs.get(verb.lower()) in _TO_SOMEBODY:
        return ""
    held = [word for word in rest if not HOLDER.search(word)]
    if all(HOLDER.search(word) for word in theirs):
        if rest and HOLDER.search(rest[0]) and kin:
            # "My passport expires in October, my ID card in May."
            return " ".join([*other[0], third, *theirs])
        # "My son does judo on Mondays and my daughter on Tuesdays", never "I see Tom on Mondays and my aunt on Tuesdays".
        people = any(word[:1].isupper() or word.lower() in grammar.relations for word in held)
        return " ".join([*other[0], third, *held, *theirs]) if held and len(held) < len(rest) and not people else ""
    if mine and not kin and theirs[0].lower() not in grammar.words["determiners"]:
        # "I love jazz and Bach cantatas": no Bach who loves them.
        return ""
    return " ".join([*other[0], third, *theirs]) if _two_objects(rest, other, joining, grammar) else ""


def _two_objects(rest: Sequence[str], other: tuple[list[str], list[str]], joining: str, grammar: Grammar) -> bool:
    """Whether what stands behind the verb and what stands behind the second person are things of which the same is said."""
    who, theirs = other
    joined = next((at for at, word in enumerate(theirs) if word.lower() == "and"), len(theirs))
    end = next((at for at, word in enumerate(theirs[:joined], 1) if not word[-1].isalnum()), joined)
    said = [word.lower().strip(".,;!") for word in theirs[:end] if not HOLDER.search(word)]
    if not 0 < len(said) <= _LONG or any(grammar.tenses.get(word) in _VERBAL for word in said):
        return False
    no_thing = ("prepositions", "adverbs", "pronouns", "particles", "own", "negates")
    if any(said[0] in grammar.words[group] or rest[0].lower() in grammar.words[group] for group in no_thing):
        return False
    named, definite = rest[0][:1].isupper(), said[0] in grammar.words["determiners"]
    if who[0].lower() in grammar.words["own"]:
        # "I told Tom and my boss the news."
        return not (named and definite) and (joining == "and" or not definite)
    # "Ella loves Tom and Ben very much", "Ben has a dog, Rex the beagle": no clause of its own.
    return not named and not (joining != "and" and definite) and len(said) <= 1 + definite


def _third(verb: str, grammar: Grammar) -> str:
    """The form of a verb that goes with somebody else than the speaker; empty where none is known."""
    low = verb.lower()
    if low in ("have", "do") or grammar.tenses.get(low) == "past":
        return {"have": "has", "do": "does"}.get(low, verb)
    lemma = grammar.verbs.get(low)
    forms = (form for form, known in grammar.verbs.items() if known == lemma and grammar.tenses.get(form) == "third")
    return next(forms, "") if lemma else ""


def _counts(word: str, grammar: Grammar) -> bool:
    low = word.lower().strip(".,!")
    return low.isdigit() or (low in grammar.calendar.numbers and low not in grammar.words["determiners"])


def _thing(words: Sequence[str], grammar: Grammar) -> int:
    """Where a thing of the speaker's ends that is followed at once by a time, or by a verb and a time; 0 where none is."""
    at = next((at for at, word in enumerate(words[: _LONG + 2]) if HOLDER.search(word)), 0)
    before = words[1:at]
    if before and grammar.tenses.get(before[-1].lower()) == "third":
        at, before = at - 1, before[:-1]
    plain = before and not any(grammar.tenses.get(word.lower()) in _VERBAL or word.lower() in _COPULAS for word in before)
    return at if plain else 0


def person_at_start(text: str, grammar: Grammar) -> tuple[list[str], list[str]] | None:
    """The words that name somebody at the start of a clause, and those behind them; None where it starts otherwise."""
    words = text.split()
    if len(words) < 2:
        return None
    if words[0].lower() in grammar.words["own"]:
        noun = words[1].lower().strip(",")
        folks = noun in grammar.relations or noun in grammar.words["people"]
        end = 2 if folks else _thing(words, grammar)
        named = len(words) > end and words[end][:1].isupper() and words[end].isalpha()
        # "My brother German", behind "I speak French"
        end += 1 if folks and named and words[end].lower() not in grammar.words["tongues"] else 0
    else:
        named = words[0][:1].isupper() and words[0].isalpha()
        end = (
            1
            if named and not any(words[0].lower() in grammar.words[group] for group in ("subjects", "determiners", "adverbs"))
            else 0
        )
    return (words[:end], words[end:]) if end and words[end:] else None
