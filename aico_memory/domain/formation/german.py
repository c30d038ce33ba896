"""German clauses: verb second, verb last, separable verbs, brackets of auxiliary and participle."""

from __future__ import annotations

import re

from aico_memory.domain.formation.frames import Frame, Party, take_times
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.parties import read_party
from aico_memory.domain.formation.together import gapped
from aico_memory.domain.formation.wording import COMMA, lower, squeeze, trim

_CONNECTIVE = re.compile(
    r",? (?:und|aber|denn|sondern|doch|oder|sowie|deshalb|deswegen|also) |, (?:weil|dass|da|obwohl|wobei|nachdem|bevor|als|wo|während|seit|damit) |, |; |: | weil "  # noqa: E501
)
# "… eine Katze adoptiert, Luna": the name belongs to the noun.
_OWNED = re.compile(
    r"((?:haben|habe|hat|besitze|besitzen) (?:jetzt |auch )?(?:eine?n?|zwei|drei|vier) [\w ]+), ([A-ZÄÖÜ][\w.]+(?: und [A-ZÄÖÜ]\w+| [A-ZÄÖÜ][\w.]+)*)$"  # noqa: E501
)
_APPOSITION = re.compile(
    r"\b(eine?[nrs]? [\w ]+?) (gekauft|adoptiert|bekommen|geholt|angeschafft|zugelegt|aufgenommen), (?:eine?n? )?([A-ZÄÖÜ][\w -]*)$"  # noqa: E501
)
PARTICIPLE = re.compile(
    r"^(?:(?:an|auf|aus|ab|ein|um|zu|vor|nach|hin|her|weg|mit|los|bei|zurück)?ge\w{3,}(?:t|en)|(?:an|auf|aus|ab|ein|um)?ver\w{3,}t|\w{3,}iert)$"
)
# What a form of a verb that no table knows looks like.
_FINITE = re.compile("^[a-zäöüß]{3,}(?:e|t|en)$")
_SUBORDINATE = frozenset(
    ["weil", "dass", "da", "obwohl", "wobei", "nachdem", "bevor", "als", "wo", "während", "damit", "ob", "wenn"]
)
_FIRST_PERSON = frozenset(["bin", "hab", "habe", "will", "muss", "kann", "mag", "darf", "weiß"])
_ALSO_PREPOSITIONS = frozenset({"als", "während", "da"})
_BE, _HAVE, _WILL = "sein", "haben", "werden"
_MODALS = frozenset(["wollen", "möchten", "können", "müssen", "sollen", "dürfen", "mögen"])
_UNREAL = frozenset(["könnte", "könnten", "würde", "würden", "sollte", "sollten", "müsste", "wäre", "hätte", "dürfte"])
_PREFIXES = frozenset(
    [
        "statt", "teil", "zusammen", "heim", "raus", "rein", "weiter", "her", "fort", "los", "nieder", "um", "an", "aus", "auf",
        "ab", "ein", "mit", "weg", "zu", "zurück", "vor", "hin", "nach", "fest", "bei", "frei", "durch",
    ]
)  # fmt: skip
_NEGATIONS = frozenset(["nicht", "kein", "keine", "keinen", "keinem", "keiner", "keines", "nie", "niemals"])


def expand(text: str) -> str:
    """Nothing is contracted in German that matters here, save 's."""
    text = _OWNED.sub(r"\1 namens \2", text)
    return squeeze(_APPOSITION.sub(r"\1 namens \3 \2", re.sub(r"(?<=\w)'s\b", " es", text)))


def clauses(sentence: str, grammar: Grammar) -> list[str]:
    """The sentence cut where both sides have a verb of their own."""
    parts: list[str] = []
    start = 0
    for match in _CONNECTIVE.finditer(sentence):
        if match.start() <= start:
            continue
        left, right = sentence[start : match.start()], sentence[match.end() :]
        if match.group().strip(" ,") == "und" and (whole := gapped(left, right, grammar)):
            return [*parts, left, whole]
        told = _finite(left, grammar) or _third(left, grammar)
        closed = any(grammar.verbs.get(lower(trim(word))) in (_HAVE, _BE, _WILL) for word in left.split())
        after = _up_to_connective(right)
        third = _opens_with_third(after, grammar) or (not closed and _third(after, grammar))
        if told and (_finite(after, grammar) or third):
            parts.append(left)
            word = match.group().strip(" ,;")
            start = match.end() - (len(word) + 1 if word in _SUBORDINATE else 0)
    return [*parts, sentence[start:]]


def _up_to_connective(text: str) -> str:
    cut = re.search(r", | und | aber ", text)
    return text[: cut.start()] if cut else text


def _finite(text: str, grammar: Grammar) -> bool:
    return any(_is_finite(trim(word), grammar) or _zu_infinitive(text, trim(word), grammar) for word in text.split())


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


def _is_finite(word: str, grammar: Grammar) -> bool:
    if lower(word) in grammar.words["possessives"]:
        # "meine", "sein": whose, not a verb.
        return False
    return grammar.tenses.get(lower(word)) in ("present", "past", "both") and (
        word[:1].islower() or lower(word) in grammar.words["first_verbs"]
    )


def parse(clause: str, grammar: Grammar, party: Party | None, before: Frame | None) -> Frame | None:
    """The clause as a frame."""
    tokens, times = take_times(clause.replace(", ", f" {COMMA} ").split())
    words = [trim(token) for token in tokens if trim(token)]
    lowered = [lower(word) for word in words]
    while lowered and (lowered[0] in grammar.words["openers"]) and not _is_finite(words[0], grammar):
        words, lowered = words[1:], lowered[1:]
    if not lowered:
        return None
    frame = Frame(Party(), "", times=times, text=clause)
    # "Als Browser nutze ich …" has its verb in the second place, "als ich umzog" at the end.
    subordinate = lowered[0] in _SUBORDINATE and (lowered[0] not in _ALSO_PREPOSITIONS or _is_finite(words[-1], grammar))
    if subordinate:
        words, lowered = words[1:], lowered[1:]
    words = _clean(frame, words, grammar)
    if not words:
        return None
    lowered = [lower(word) for word in words]
    words, lowered = _closed(words, lowered, grammar)
    finite = _place_of_verb(words, lowered, subordinate, grammar)
    if before is not None and len(words) > 2 and lowered[-2] == "zu" and finite == len(words) - 1:
        # "…, Finnisch zu lernen"
        finite = -1
    if finite < 0 and COMMA in words[1:]:
        # What is told stands first; the rest is said beside it.
        words = words[: words.index(COMMA, 1)]
        lowered = lowered[: len(words)]
    if finite < 0 and len(words) > 1 and words[-1][:1].islower() and grammar.tenses.get(lowered[-1]) in ("participle", "two"):
        # "Heute bei Celonis angefangen": who speaks did.
        frame.subject, frame.inherited = (before.subject, True) if before else (Party(), False)
        _complete(frame, _HAVE, words, grammar)
        return frame if frame.verb else None
    if finite < 0:
        return _infinitive(frame, words, lowered, grammar, before)
    form = lowered[finite]
    lemma = grammar.verbs.get(form, form)
    front, middle = words[:finite], words[finite + 1 :]
    subject, rest = _subject(front, middle, grammar, party, before, subordinate)
    if subject is None and (form in _FIRST_PERSON or (form.endswith("e") and grammar.tenses.get(form) == "present")):
        # "…, habe mir ein Rad geholt": the ending names the speaker.
        subject = Party()
    frame.inherited = subject is None
    frame.subject = subject if subject is not None else (before.subject if before else Party())
    frame.past = grammar.tenses.get(form) == "past"
    frame.unreal = form in _UNREAL
    if lemma == "tun" and rest and lower(rest[0]) in grammar.verbs:
        # "Wohnen tue ich in …"
        lemma, rest = grammar.verbs[lower(rest[0])], rest[1:]
    _complete(frame, lemma, rest, grammar)
    return frame if frame.verb else None


def _closed(words: list[str], lowered: list[str], grammar: Grammar) -> tuple[list[str], list[str]]:
    """Without what is said behind a closed bracket of auxiliary and participle ("… habe ich aufgehört, viel zu schwer")."""
    for at, word in enumerate(words):
        closed = word == COMMA and at > 1 and grammar.tenses.get(lowered[at - 1]) in ("participle", "two")
        if closed and any(_is_finite(before, grammar) for before in words[: at - 1]):
            return words[:at], lowered[:at]
    return words, lowered


def _clean(frame: Frame, words: list[str], grammar: Grammar) -> list[str]:
    """Takes negation, adverbs and reflexive pronouns out and notes what they said."""
    kept = []
    for at, word in enumerate(words):
        low = lower(word)
        if low in _NEGATIONS:
            frame.negated = True
            frame.never = frame.never or low in ("nie", "niemals")
            continue
        if low in grammar.words["once"]:
            frame.once = True
            continue
        if low == "mehr" and frame.negated:
            frame.ended = True
            continue
        if (
            low in grammar.words["adverbs"]
            and (at == 0 or word[:1].islower())
            and not (low in _PREFIXES and at == len(words) - 1)
        ):
            continue
        kept.append(word)
    return kept


def _place_of_verb(words: list[str], lowered: list[str], subordinate: bool, grammar: Grammar) -> int:
    places = [at for at, word in enumerate(words) if _is_finite(word, grammar)]
    # "Nele studiert Jura": the form is that of the participle, too.
    places = places or [
        at
        for at, word in enumerate(words)
        if grammar.tenses.get(lowered[at]) == "two" and word[:1].islower() and (subordinate or at < len(words) - 1)
    ]
    if not places:
        return -1 if subordinate else _unknown_verb(words, lowered, grammar)
    if subordinate:
        return places[-1]
    # "wohnen" is both infinitive and plural: the first form that is clearly finite counts.
    return next((at for at in places if grammar.tenses.get(lowered[at]) != "both" or at <= 3), places[0])


def _unknown_verb(words: list[str], lowered: list[str], grammar: Grammar) -> int:
    """ "Mein Nachbar Frank gießt …": the second place is the verb's, whichever it is."""
    at = _noun_phrase(words, grammar)
    person = lowered[0] in grammar.words["subjects"] or any(word in grammar.relations for word in lowered[:at])
    if not at or not person or at >= len(words) - 1 or not _FINITE.match(words[at]):
        return -1
    known = ("prepositions", "determiners", "possessives", "subjects", "adverbs", "openers")
    return -1 if any(lowered[at] in grammar.words[name] for name in known) or lowered[at] in grammar.tenses else at


def _subject(
    front: list[str], middle: list[str], grammar: Grammar, party: Party | None, before: Frame | None, subordinate: bool
) -> tuple[Party | None, list[str]]:
    if subordinate:
        length = _noun_phrase(front, grammar)
        return (read_party(" ".join(front[:length]), grammar, party) if length else None), front[length:] + middle
    pronoun_first = bool(front) and lower(front[0]) in grammar.words["subjects"] and len(front) == 1
    article = len(middle) > 1 and lower(middle[0]) == "das" and middle[1][:1].isupper()
    if middle and lower(middle[0]) in grammar.words["subjects"] and not pronoun_first and not article:
        return read_party(middle[0], grammar, party), front + middle[1:]
    if front:
        low = lower(front[0])
        if len(front) > 2 and [lower(word) for word in front[-2:]] == ["und", "ich"]:
            # "Tom und ich haben geheiratet".
            return Party(), ["mit", *front[:-2], *middle]
        if low in grammar.words["subjects"] and (len(front) == 1 or not front[1][:1].isupper()):
            return read_party(front[0], grammar, party), front[1:] + middle
        if low not in grammar.words["prepositions"]:
            return read_party(" ".join(front), grammar, party), middle
        length = _noun_phrase(middle, grammar)
        if length:
            return read_party(" ".join(middle[:length]), grammar, party), front + middle[length:]
        return None, front + middle
    length = _noun_phrase(middle, grammar)
    if (
        length
        and lower(middle[0]) in grammar.words["possessives"] | {"die", "der", "das", "unser", "unsere"}
        and before is None
    ):
        return read_party(" ".join(middle[:length]), grammar, party), middle[length:]
    if length and middle[0][:1].isupper() and before is None and len(middle) > length:
        return read_party(" ".join(middle[:length]), grammar, party), middle[length:]
    return None, middle


def _noun_phrase(words: list[str], grammar: Grammar) -> int:
    """Words that make a noun phrase at the start: determiner, adjectives, noun, name."""
    if not words:
        return 0
    article = len(words) > 1 and lower(words[0]) == "das" and words[1][:1].isupper()
    if lower(words[0]) in grammar.words["subjects"] and not article:
        return 1
    at = 0
    if lower(words[0]) in grammar.words["possessives"] or lower(words[0]) in grammar.words["determiners"]:
        at = 1
        while at < len(words) - 1 and words[at][:1].islower() and words[at].endswith(("e", "en", "er", "es")):
            at += 1
    if at < len(words) and words[at][:1].isupper():
        relation = lower(words[at]) in grammar.relations
        at += 1
        if relation and at < len(words) and words[at][:1].isupper():
            at += 1
        return at
    return 0


def _complete(frame: Frame, lemma: str, rest: list[str], grammar: Grammar) -> None:  # noqa: PLR0912
    """The verb at the end of the bracket: participle, infinitive or prefix."""
    last = lower(rest[-1]) if rest else ""
    tense = grammar.tenses.get(last, "")
    unknown = lemma in (_HAVE, _BE) and not tense and len(rest) > 1 and rest[-1][:1].islower() and PARTICIPLE.match(last)
    if lemma in (_HAVE, _BE, _WILL) and tense in ("participle", "two") and (rest[-1][:1].islower()):
        frame.perfect, frame.past = True, True
        if lemma == _WILL:
            frame.past = False
        lemma, rest = grammar.verbs[last], rest[:-1]
        if lemma in (_BE, _WILL) and len(rest) > 1 and grammar.tenses.get(lower(rest[-1])) == "participle":
            lemma, rest = grammar.verbs[lower(rest[-1])], rest[:-1]
    elif lemma in _MODALS | {_WILL} and tense in ("infinitive", "both", "two") and rest[-1][:1].islower():
        frame.future = lemma == _WILL
        frame.intended = lemma in ("wollen", "möchten")
        frame.unreal = frame.unreal or lemma in ("sollen", "dürfen") or (lemma == "müssen" and not frame.past)
        lemma, rest = grammar.verbs.get(last, last), rest[:-1]
        if frame.unreal and lemma == _WILL:
            frame.unreal = False
    elif last in _PREFIXES and f"{last}{lemma}" in grammar.verbs:
        lemma, rest = f"{last}{lemma}", rest[:-1]
    if lemma in ("planen", "vorhaben", "vornehmen", "überlegen"):
        frame.intended = True
    if lemma in {"aufhören", "anfangen"}:
        if lemma == "aufhören" and rest and lower(rest[-1]) in grammar.verbs:
            frame.ended = frame.negated = True
        frame.begun = lemma == "anfangen"
        if rest and lower(rest[-1]) in grammar.verbs and grammar.tenses.get(lower(rest[-1])) in ("infinitive", "both"):
            lemma, rest = (
                grammar.verbs[lower(rest[-1])],
                [word for word in rest[:-1] if lower(word) not in ("zu", "mit", "damit", "dem", "das")],
            )
    frame.verb = lemma
    frame.rest = squeeze(" ".join(word for word in rest if lower(word) not in grammar.words["reflexives"]))
    words = frame.rest.split()
    frame.readings = [squeeze(f"{lemma} {frame.rest}")]
    if unknown:
        # A verb that no table knows: its participle stands for it, too.
        frame.readings.append(squeeze(f"{last} {' '.join(words[:-1])}"))
        frame.past = frame.perfect = True
    if frame.ended or frame.begun:
        # "… mit dem Joggen aufgehört": what one did is itself the thing.
        frame.readings += [f"{carrier} {lemma}" for carrier in ("gehen", "machen")]
    if len(words) > 1 and words[-1][:1].islower() and words[-1] not in grammar.words["prepositions"]:
        # "gegen Nüsse allergisch": what belongs to the verb may stand last.
        frame.readings.append(" ".join([lemma, words[-1], *words[:-1]]))


def _infinitive(frame: Frame, words: list[str], lowered: list[str], grammar: Grammar, before: Frame | None) -> Frame | None:
    """ "…, nach Graz zu ziehen": the infinitive with `zu` of the clause before."""
    last = lowered[-1]
    if len(words) > 1 and lowered[-2] == "zu" and grammar.tenses.get(last) in ("infinitive", "both"):
        frame.verb, frame.rest = grammar.verbs[last], " ".join(words[:-2])
    elif "zu" in last and last.replace("zu", "", 1) in grammar.verbs:
        frame.verb, frame.rest = last.replace("zu", "", 1), " ".join(words[:-1])
    else:
        return None
    frame.subject = before.subject if before else Party()
    frame.inherited = True
    if before is not None:
        frame.ended = before.ended or before.verb == "aufhören"
        frame.begun = before.verb == "anfangen"
        frame.intended = not (frame.ended or frame.begun)
    frame.readings = [f"{frame.verb} {frame.rest}"]
    return frame
