"""German clauses: verb second, verb last, separable verbs, brackets of auxiliary and participle."""

from __future__ import annotations

import re

from aico_memory.domain.formation.frames import HOLDER, Frame, Party, take_times
from aico_memory.domain.formation.german_clauses import (
    BE,
    HAVE,
    INSTEAD,
    MODALS,
    PREFIXES,
    SUBORDINATE,
    WILL,
    clauses,
    is_finite,
)  # fmt: skip
from aico_memory.domain.formation.german_subjects import noun_phrase, subject_of
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.wording import COMMA, lower, squeeze, trim

__all__ = ["PARTICIPLE", "clauses", "expand", "parse"]
# "… eine Katze adoptiert, Luna": the name belongs to the noun.
_OWNED = re.compile(
    r"((?:haben|habe|hat|besitze|besitzen) (?:jetzt |auch |noch |nun |inzwischen )*(?:eine?n?|zwei|drei|vier) [\w ]+), ([A-ZÄÖÜ][\w.]+(?: und [A-ZÄÖÜ]\w+| [A-ZÄÖÜ][\w.]+)*)$"  # noqa: E501
)
_APPOSITION = re.compile(
    r"\b(eine?[nrs]? [\w ]+?) (gekauft|adoptiert|bekommen|geholt|angeschafft|zugelegt|aufgenommen), (?:eine?n? )?([A-ZÄÖÜ][\w -]*)$"  # noqa: E501
)
PARTICIPLE = re.compile(
    r"^(?:(?:an|auf|aus|ab|ein|um|zu|vor|nach|hin|her|weg|mit|los|bei|zurück)?ge\w{3,}(?:t|en)|(?:an|auf|aus|ab|ein|um)?ver\w{3,}t|\w{3,}iert)$"
)
# "von 2009 bis 2014": the word before a time belongs to it.
_FROM_WHEN = re.compile(r"\b[Vv]on (?=§\d)")
# What a form of a verb that no table knows looks like.
_FINITE = re.compile("^[a-zäöüß]{3,}(?:e|t|en)$")
_FIRST_PERSON = frozenset(["bin", "hab", "habe", "will", "muss", "kann", "mag", "darf", "weiß"])
_ALSO_PREPOSITIONS = frozenset({"als", "während", "da"})
# What leads since when, why and beside what something is so.
_CIRCUMSTANCES = frozenset({"seit", "während", "trotz", "wegen"})
_PARTS_OF_DAY = frozenset({"morgens", "mittags", "abends", "nachts", "vormittags", "nachmittags"})
_UNREAL = frozenset(["könnte", "könnten", "würde", "würden", "sollte", "sollten", "müsste", "wäre", "hätte", "dürfte"])
# "Statt am Dienstag ist das Training jetzt am Mittwoch": what is put aside, and what is told.
_PUT_ASIDE = re.compile(
    r"(?:(?P<opens>^|(?<=[.!?] ))|(?<=[\w,] ))(?:[Ss]tatt|[Aa]nstatt|[Aa]nstelle von) "
    r"(?P<old>(?:(?:am|um|im|in|bei|beim|mit|nach|von|vom|zum|zur|auf|an) )?"
    r"(?:(?:der|die|das|dem|den|einem|einer|eine?n?|mein\w*) )?"
    r"(?:[a-zäöü]+tags\b|mittwochs\b|\d[\d:.]*(?: Uhr)?|[A-ZÄÖÜ][\w-]+)(?: [A-ZÄÖÜ][\w-]+)*) "
    r"(?P<rest>(?!(?:und|oder|aber|sondern|weil|denn|dass) )[a-zäöü](?:(?! (?:und|aber) [a-zäöü])"
    r"(?:[^,.;!?]|[.,](?=\d)|(?<=\d)\.(?= (?:[a-zäöü]|Jan|Jän|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez))))*)"
)
# "Weise" itself is a noun, or somebody wise; "ausnahmsweise" is how.
_ADVERBIAL = 8
_NEGATIONS = frozenset(["nicht", "kein", "keine", "keinen", "keinem", "keiner", "keines", "nie", "niemals"])


def expand(text: str) -> str:
    """Nothing is contracted in German that matters here, save 's."""
    text = _OWNED.sub(r"\1 namens \2", _PUT_ASIDE.sub(_told_first, text))
    return squeeze(_APPOSITION.sub(r"\1 namens \3 \2", re.sub(r"(?<=\w)'s\b", " es", text)))


def _told_first(match: re.Match[str]) -> str:
    """What is told before what it is told instead of: "jetzt trinkt sie Tee statt Kaffee"."""
    now = "" if match["opens"] is None else "jetzt "
    return f"{now}{match['rest']} statt {match['old']}"


def parse(clause: str, grammar: Grammar, party: Party | None, before: Frame | None) -> Frame | None:
    """The clause as a frame."""
    tokens, times = take_times(_FROM_WHEN.sub("", clause).replace(", ", f" {COMMA} ").split())
    words = [trim(token) for token in tokens if trim(token)]
    lowered = [lower(word) for word in words]
    while lowered and (lowered[0] in grammar.words["openers"]) and not is_finite(words[0], grammar):
        words, lowered = words[1:], lowered[1:]
    if not lowered:
        return None
    frame = Frame(Party(), "", times=times, text=clause)
    # "Als Browser nutze ich …" has its verb in the second place, "als ich umzog" at the end.
    subordinate = lowered[0] in SUBORDINATE and (lowered[0] not in _ALSO_PREPOSITIONS or is_finite(words[-1], grammar))
    if subordinate:
        words, lowered = words[1:], lowered[1:]
    # "Dafür wohnt jetzt Nele …": behind an adverb and the verb stands who does it, and nobody is taken from before.
    inverted = len(words) > 1 and lowered[0] in grammar.words["adverbs"] and is_finite(words[1], grammar)
    # "…, seit Mittwoch ist der Antrag genehmigt"
    timed = HOLDER.match(clause.lstrip()) is not None and len(words) > 2 and is_finite(words[0], grammar)
    inverted = inverted or (timed and lowered[1] in ("der", "die", "das", *grammar.words["possessives"]))
    words = _clean(frame, words, grammar)
    if not words:
        return None
    lowered = [lower(word) for word in words]
    words, lowered = _closed(words, lowered, grammar)
    finite = _place_of_verb(words, lowered, subordinate, frame.ended, grammar)
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
        _complete(frame, HAVE, words, grammar)
        return frame if frame.verb else None
    if finite < 0:
        return _infinitive(frame, words, lowered, grammar, before)
    form = lowered[finite]
    lemma = grammar.verbs.get(form, form)
    front, middle = words[:finite], words[finite + 1 :]
    low_front = lowered[0]
    subject, rest = subject_of(front, middle, lemma, grammar, party, None if inverted else before, subordinate)
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
    elif (
        lemma in (HAVE, BE) and len(front) == 1 and len(rest) > 1 and rest[0] == front[0] and _is_participle(low_front, grammar)
    ):
        # "Abonniert habe ich …"
        rest = [*rest[1:], low_front]
    _complete(frame, lemma, rest, grammar, len(front) if rest[: len(front)] == front else 0)
    return frame if frame.verb else None


def _is_participle(word: str, grammar: Grammar) -> bool:
    return grammar.tenses.get(word) in ("participle", "two")


def _closed(words: list[str], lowered: list[str], grammar: Grammar) -> tuple[list[str], list[str]]:
    """Without what is said behind a closed bracket ("… habe ich aufgehört, viel zu schwer", "… muss ich nehmen, wegen …")."""
    for at, word in enumerate(words):
        modal = any(grammar.verbs.get(before) in MODALS for before in lowered[: at - 1])
        ends = ("participle", "two", "infinitive", "both") if modal else ("participle", "two")
        closed = word == COMMA and at > 1 and words[at - 1][:1].islower() and grammar.tenses.get(lowered[at - 1]) in ends
        if closed and any(is_finite(before, grammar) for before in words[: at - 1]):
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
            (low in grammar.words["adverbs"] or (low.endswith("weise") and len(low) > _ADVERBIAL))
            and (at == 0 or word[:1].islower())
            and not (low in PREFIXES and at == len(words) - 1)
        ):
            continue
        kept.append(word)
    return kept


def _place_of_verb(words: list[str], lowered: list[str], subordinate: bool, ended: bool, grammar: Grammar) -> int:
    places = [at for at, word in enumerate(words) if is_finite(word, grammar)]
    # "Nele studiert Jura": the form is that of the participle, too.
    places = places or [
        at
        for at, word in enumerate(words)
        if grammar.tenses.get(lowered[at]) == "two" and word[:1].islower() and (subordinate or at < len(words) - 1)
    ]
    if not places and len(words) > 1 and grammar.tenses.get(lowered[-1]) == "two" and words[-1][:1].islower():
        # "Thilo studiert nicht mehr", "meine Frau unterrichtet": nothing but who does it stands before.
        somebody = ended or lowered[0] in grammar.words["subjects"] or lowered[len(words) - 2] in grammar.relations
        places = [len(words) - 1] if somebody and noun_phrase(words, grammar) == len(words) - 1 else []
    if not places:
        return -1 if subordinate else _unknown_verb(words, lowered, grammar)
    if subordinate:
        return places[-1]
    # "wohnen" is both infinitive and plural: the first form that is clearly finite counts.
    return next((at for at in places if grammar.tenses.get(lowered[at]) != "both" or at <= 3), places[0])


def _unknown_verb(words: list[str], lowered: list[str], grammar: Grammar) -> int:
    """ "Mein Nachbar Frank gießt …": the second place is the verb's, whichever it is."""
    at = noun_phrase(words, grammar)
    person = lowered[0] in grammar.words["subjects"] or any(word in grammar.relations for word in lowered[:at])
    if not at or not person or at >= len(words) - 1 or not _FINITE.match(words[at]):
        return -1
    known = ("prepositions", "determiners", "possessives", "subjects", "adverbs", "openers")
    return -1 if any(lowered[at] in grammar.words[name] for name in known) or lowered[at] in grammar.tenses else at


def _complete(frame: Frame, lemma: str, rest: list[str], grammar: Grammar, opened: int = 0) -> None:  # noqa: PLR0912, PLR0915
    """The verb at the end of the bracket: participle, infinitive or prefix; `opened`: how many words stand before the verb."""
    last = lower(rest[-1]) if rest else ""
    tense = grammar.tenses.get(last, "")
    unknown = lemma in (HAVE, BE) and not tense and len(rest) > 1 and rest[-1][:1].islower() and PARTICIPLE.match(last)
    if lemma in (HAVE, BE, WILL) and tense in ("participle", "two") and (rest[-1][:1].islower()):
        frame.perfect, frame.past = True, True
        if lemma == WILL:
            frame.past = False
        lemma, rest = grammar.verbs[last], rest[:-1]
        if lemma in (BE, WILL) and len(rest) > 1 and grammar.tenses.get(lower(rest[-1])) == "participle":
            lemma, rest = grammar.verbs[lower(rest[-1])], rest[:-1]
    elif lemma in MODALS | {WILL} and tense in ("infinitive", "both", "two") and rest[-1][:1].islower():
        frame.future = lemma == WILL
        frame.intended = lemma in ("wollen", "möchten")
        # "Darf ich nicht mehr essen": not to be done is no longer done.
        barred = lemma in ("sollen", "dürfen")
        told, frame.ended = frame.negated and frame.ended, frame.ended and not barred
        frame.unreal = frame.unreal or (barred and not told) or (lemma == "müssen" and not frame.past)
        lemma, rest = grammar.verbs.get(last, last), rest[:-1]
        if frame.unreal and lemma == WILL:
            frame.unreal = False
    elif last in PREFIXES and f"{last}{lemma}" in grammar.verbs:
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
    rest = _how_last(rest, grammar)
    frame.verb = lemma
    frame.rest = squeeze(" ".join(word for word in rest if lower(word) not in grammar.words["reflexives"]))
    words = frame.rest.split()
    frame.readings = [squeeze(f"{lemma} {frame.rest}")]
    if unknown:
        # A verb that no table knows: its participle stands for it, too.
        frame.readings.append(squeeze(f"{last} {' '.join(words[:-1])}"))
        frame.done = lemma == BE
        frame.past = frame.perfect = True
    if frame.ended or frame.begun:
        # "… mit dem Joggen aufgehört": what one did is itself the thing.
        frame.readings += [f"{carrier} {lemma}" for carrier in ("gehen", "machen")]
    parts = [word for word in words if word not in _PARTS_OF_DAY]
    beside = noun_phrase(parts[1:], grammar) + 1 if parts and lower(parts[0]) in grammar.words["prepositions"] else 0
    joined = grammar.words["prepositions"] | grammar.words["listing"] | {COMMA}
    if (0 < beside < len(parts) and parts[beside] not in joined) or (not beside and len(parts) < len(words)):
        # "Gegen den Blutdruck nehme ich morgens …": the object by itself, and what it is for behind it.
        frame.readings.append(" ".join([lemma, *parts[beside:], *parts[:beside]]))
        thing = (
            beside
            and parts[0] not in ("Von", "Vom")
            and (beside == opened or lower(parts[beside]) in grammar.words["determiners"])
        )
        if parts and (lower(parts[0]) in INSTEAD or thing):
            # "Im Garten haben wir Bohnen angepflanzt": what is done, and where behind it.
            frame.rest = " ".join([*parts[beside:], *parts[:beside]])
    if len(words) > 1 and words[-1][:1].islower() and words[-1] not in grammar.words["prepositions"]:
        # "gegen Nüsse allergisch": what belongs to the verb may stand last.
        frame.readings.append(" ".join([lemma, words[-1], *words[:-1]]))


def _how_last(rest: list[str], grammar: Grammar) -> list[str]:
    """ "Am liebsten gehe ich ins Kino", "seit der Scheidung wohnt sie bei mir": how and since when, and no place."""
    led = noun_phrase(rest[1:], grammar) + 1 if rest and lower(rest[0]) in _CIRCUMSTANCES else 0
    if 1 < led < len(rest):
        return [*rest[led:], *rest[:led]]
    how = len(rest) > 2 and lower(rest[0]) == "am" and rest[1][:1].islower() and rest[1].endswith("sten")
    return [*rest[2:], "am", rest[1]] if how else rest


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
