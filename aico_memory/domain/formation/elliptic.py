"""A correction that names nothing but its value ("No, I meant Thursday", "Milan*"): of what, tells the kind of the value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from aico_memory.domain.formation.acts import Speech
from aico_memory.domain.formation.attributes import ATTRIBUTE
from aico_memory.domain.formation.earlier import Earlier
from aico_memory.domain.formation.formed import FormedFact
from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.formation.judging import MAX_TEXT, bare, unsettled
from aico_memory.domain.formation.kinds_of_things import same_words
from aico_memory.domain.formation.naming import object_key
from aico_memory.domain.formation.same_kind import HARDLY, SURELY, Heard, opens_with, replaces
from aico_memory.domain.formation.values import other_number
from aico_memory.domain.formation.wording import even, lower_in, squeeze, trim

# Characters of a whole message that is a correction, and words of a value.
_BRIEF, _LONGEST = 80, 6
# Forms of whole messages, and how well their value has to fit: what is said of anything else as well ("I mean …"), best.
_MARKS = (("brief", HARDLY), ("brief_known", SURELY))


def briefly(text: str, earlier: Earlier, grammar: Grammar, tables: FormationTables, said_at_us: int) -> list[FormedFact]:
    """ "Milan*", "Edit: Milan", "Not Rome. Milan.": what a whole message corrects that is written so; empty where it is not.

    People write so of anything ("*laughs*", "Edit: done", "Not now. Later."), so the value has to be of the kind of what was
    told, and what is denied has to have been told.
    """
    said = squeeze(even(text)).strip()
    if len(said) > _BRIEF or "\n" in text.strip():
        return []
    nobody = grammar.words["subjects"] | grammar.words["pronouns"]
    for mark, least in ((mark, least) for name, least in _MARKS for mark in grammar.marks[name]):
        match = mark.match(said)
        if match is None:
            continue
        value = trim(match["v"])
        if not value or lower_in(value.split(maxsplit=1)[0], grammar.code) in nobody:
            # "Not Anna. She was away."
            continue
        denied = trim(match.groupdict().get("old") or "")
        speech = Speech(said, act="correct", elliptic=value, corrected=denied, contrasted=bool(denied))
        found = elliptic(speech, earlier, grammar, tables, said_at_us, said, least, whole=True)
        if any(fact.predicate for fact in found):
            return found
    return []


def elliptic(
    speech: Speech, earlier: Earlier, grammar: Grammar, tables: FormationTables, said_at_us: int, sentence: str,
    least: int = HARDLY, whole: bool = False,
) -> list[FormedFact]:  # fmt: skip
    """ "No, I meant Thursday": the newest of the statements before it that could have this value, with it; else nothing.

    `least`: how well the value has to fit; `whole`: the message is nothing but the correction.
    """
    value = bare(speech.elliptic or speech.text, grammar)
    # A whole message that is nothing but a correction has no verb.
    value = value if whole else _said(value, grammar)
    said = lower_in(speech.elliptic or speech.text, grammar.code)
    if said.startswith("no ") and grammar.parser == "english":
        # "No, no pets right now" names nothing in its place.
        return []
    if not value or len(value.split()) > _LONGEST or lower_in(value, grammar.code) in grammar.words["asking"]:
        return []
    old = object_key(bare(speech.corrected, grammar), grammar) if speech.corrected else ""
    sure = bool(old) or any(mark.search(sentence) for mark in grammar.marks["meaning"])
    heard = Heard(sure, opens_with(value, sentence))
    told = list(earlier())
    denied = [[one for one in facts if same_words(old, one.object_key)] for facts in told]
    meant = _fitting(denied, value, heard, least, grammar, tables)
    if not meant and old and (speech.contrasted or not told):
        # "Tacos for lunch. Fine, not great": what is denied was never told, and what it would be of only the store can know.
        return _of_what_is_held(speech, value, old, grammar, tables, said_at_us, sentence)
    meant = meant or _fitting(told, value, heard, least, grammar, tables)
    if not meant:
        return _of_what_is_held(speech, value, old, grammar, tables, said_at_us, sentence) if old else []
    return [_corrected(one, value, old, grammar, said_at_us, sentence) for one in meant]


def _corrected(fact: FormedFact, value: str, old: str, grammar: Grammar, said_at_us: int, sentence: str) -> FormedFact:
    value = _of(fact, value, grammar)
    return replace(
        fact, value=value, object_key=object_key(value, grammar), act="correct", corrected=old or fact.object_key,
        text=squeeze(fact.text.replace(fact.value, value))[:MAX_TEXT], excerpt=sentence[:300], valid_from_us=said_at_us,
    )  # fmt: skip


def _fitting(
    told: Iterable[Sequence[FormedFact]], value: str, heard: Heard, least: int, grammar: Grammar, tables: FormationTables
) -> list[FormedFact]:
    """The newest of the facts that the value fits best, and what its message tells by the same value."""
    best: list[FormedFact] = []
    fit = least - 1
    for facts in told:
        for one in reversed(facts):
            fits = replaces(one, _of(one, value, grammar), heard, tables, grammar)
            if fits > fit:
                # "2 cats": how many there are, and what one has.
                best = [other for other in facts if other is one or _told_alike(other, one)]
                fit = fits
    return [one for one in best if replaces(one, _of(one, value, grammar), heard, tables, grammar)]


def _told_alike(one: FormedFact, other: FormedFact) -> bool:
    """Whether two facts of a message have the same value, or one has the number of the other."""
    number = one.object_key.split()[:1] == other.object_key.split()[:1] and one.object_key[:1].isdigit()
    return one.subject == other.subject and (one.object_key == other.object_key or number)


def _of_what_is_held(
    speech: Speech, value: str, old: str, grammar: Grammar, tables: FormationTables, said_at_us: int, sentence: str
) -> list[FormedFact]:
    """What is denied and was not told lately, in favour of what could be of its kind: the store knows of what."""
    # "Today, not tomorrow"
    denied = unsettled("correct", bare(speech.corrected, grammar), "", grammar, said_at_us, sentence)
    passing = any(lower_in(one, grammar.code) in grammar.calendar.days for one in (denied.value, value))
    if (
        passing
        or sentence.endswith("?")
        or not replaces(denied, value, Heard(True, opens_with(value, sentence)), tables, grammar)
    ):
        return []
    return [unsettled("correct", value, old, grammar, said_at_us, sentence)]


def _said(value: str, grammar: Grammar) -> str:
    """ "Is 1,350 dollars", "name is Karla": what stands beside the verb that says it."""
    found = (match["v"] for mark in grammar.marks["says_value"] if (match := mark.match(value)))
    return next((bare(one, grammar) for one in found), value)


def _of(fact: FormedFact, value: str, grammar: Grammar) -> str:
    """The value as it is of that fact: a number alone within the words about the one it replaces, no noun of the fact's."""
    return other_number(fact.value, value) or _without_noun(value, fact.predicate, grammar)


def _without_noun(value: str, predicate: str, grammar: Grammar) -> str:
    """ "Size 43", "size L" of a shoe or shirt size: without the noun that says what it is one of."""
    first, _, rest = value.partition(" ")
    noun = lower_in(first, grammar.code)
    named = noun.isalpha() and bool(rest) and predicate.startswith(ATTRIBUTE) and predicate.endswith(noun)
    return rest if named else value
