"""Where a German sentence is cut: between clauses that have a verb of their own."""

from __future__ import annotations

import re

from aico_memory.domain.formation.german_gaps import gapped_german
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.wording import lower, trim

BE, HAVE, WILL = "sein", "haben", "werden"
MODALS = frozenset(["wollen", "möchten", "können", "müssen", "sollen", "dürfen", "mögen"])
PREFIXES = frozenset(
    [
        "statt", "teil", "zusammen", "heim", "raus", "rein", "weiter", "her", "fort", "los", "nieder", "um", "an", "aus", "auf",
        "ab", "ein", "mit", "weg", "zu", "zurück", "vor", "hin", "nach", "fest", "bei", "frei", "durch",
    ]
)  # fmt: skip
# What stands before what something is put aside for.
INSTEAD = frozenset({"statt", "anstatt", "anstelle"})
# What may join a clause that leaves out its verb: a comma alone is one of them.
_BEFORE_A_GAP = frozenset({"und", "aber", ""})
_CONNECTIVE = re.compile(
    r",? (?:und|aber|denn|sondern|doch|oder|sowie|deshalb|deswegen|also) |, (?:weil|dass|da|obwohl|wobei|nachdem|bevor|als|wo|während|seit|damit) |, |; |: | weil "  # noqa: E501
)
_SPOKEN_ALONE = re.compile(
    r"(?P<a>[^,;:§]{2,60}), (?=(?:ich|wir) [a-zäöüß]+ |(?:[Dd]er|[Dd]ie|[Dd]as) [A-ZÄÖÜ][\w-]+ (?:ist|sind|wurde|hat) |"
    r"(?:mein|unser|Mein|Unser)\w* (?:[a-zäöü]+ )?[A-ZÄÖÜ][\w-]+(?: [A-ZÄÖÜ]\w+)? "
    r"(?:ist|sind|heißt|lautet|hat|haben|wohnt|arbeitet|kommt) )"
)
# Words of what stands before a colon and has no verb.
_HEADING = 6
SUBORDINATE = frozenset(
    ["weil", "dass", "da", "obwohl", "wobei", "nachdem", "bevor", "als", "wo", "während", "damit", "ob", "wenn"]
)


def clauses(sentence: str, grammar: Grammar) -> list[str]:
    """The sentence cut where both sides have a verb of their own."""
    parts: list[str] = []
    start = 0
    if (opened := _SPOKEN_ALONE.match(sentence)) and not (_finite(opened["a"], grammar) or _third(opened["a"], grammar)):
        # "Keine Zeit mehr, ich habe …": what is said without a verb is not said of the rest.
        start = opened.end()
    for match in _CONNECTIVE.finditer(sentence):
        if match.start() <= start:
            continue
        left, right = sentence[start : match.start()], sentence[match.end() :]
        after = _up_to_connective(right)
        if match.group().strip(" ,") in _BEFORE_A_GAP and (whole := gapped_german(left, after, grammar)):
            # "Mia ist 8, Ben 6 und Tom 3": what goes on without a verb may go on once more.
            return [*parts, left, *clauses(whole + right[len(after) :], grammar)]
        told = _finite(left, grammar) or _third(left, grammar)
        if match.group() == ": " and not told and len(left.split()) <= _HEADING and _is_told(right, grammar):
            # "Post vom Vermieter: Ab April …"
            start = match.end()
            continue
        closed = any(grammar.verbs.get(lower(trim(word))) in (HAVE, BE, WILL) for word in left.split())
        third = _opens_with_third(after, grammar) or (not closed and _third(after, grammar))
        if told and (_finite(after, grammar) or third):
            parts.append(left)
            word = match.group().strip(" ,;")
            start = match.end() - (len(word) + 1 if word in SUBORDINATE else 0)
    return [*parts, sentence[start:]]


def _is_told(text: str, grammar: Grammar) -> bool:
    """Whether a sentence begins here: what opens with its verb asks, orders or lists."""
    words = [trim(word) for word in text.split() if trim(word)]
    return len(words) > 2 and not is_finite(words[0], grammar) and _finite(text, grammar)


def _up_to_connective(text: str) -> str:
    cut = re.search(r", | und | aber ", text)
    return text[: cut.start()] if cut else text


def _finite(text: str, grammar: Grammar) -> bool:
    return any(is_finite(trim(word), grammar) or _zu_infinitive(text, trim(word), grammar) for word in text.split())


def _zu_infinitive(text: str, word: str, grammar: Grammar) -> bool:
    return grammar.tenses.get(word) in ("infinitive", "both", "two") and f"zu {word}" in text


def _third(text: str, grammar: Grammar) -> bool:
    """Whether a form stands in it that is the third person and the participle ("studiert")."""
    return any(word[:1].islower() and grammar.tenses.get(trim(word)) == "two" for word in text.split())


def _opens_with_third(text: str, grammar: Grammar) -> bool:
    """ "… und (er) studiert jetzt Soziologie": a participle would stand last."""
    words = text.split()
    words = words[1:] if words and lower(words[0]) in grammar.words["subjects"] else words
    return len(words) > 1 and grammar.tenses.get(trim(words[0])) == "two"


def is_finite(word: str, grammar: Grammar) -> bool:
    if lower(word) in grammar.words["possessives"]:
        # "meine", "sein": whose, not a verb.
        return False
    return grammar.tenses.get(lower(word)) in ("present", "past", "both") and (
        word[:1].islower() or lower(word) in grammar.words["first_verbs"]
    )
