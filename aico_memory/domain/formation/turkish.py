"""Turkish clauses: the predicate comes last, cases do what prepositions do elsewhere, the subject is often an ending."""

from __future__ import annotations

import re
from dataclasses import replace

from aico_memory.domain.formation.frames import HOLDER, Frame, Party, take_times
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.turkish_nominal import COPULA, EXIST, denied, existential, nominal, settle
from aico_memory.domain.formation.turkish_order import companions, in_order
from aico_memory.domain.formation.turkish_phrases import (
    known_verbs,
    low_tr,
    of_a_thing,
    of_province,
    own_noun,
    readings_of,
    subject_of,
    verb_of,
)
from aico_memory.domain.formation.turkish_places import put_somewhere
from aico_memory.domain.formation.turkish_words import Verb, genitive, maybe_cases, read_verb, split_case
from aico_memory.domain.formation.wording import COMMA, squeeze, trim

_CONNECTIVE = re.compile(r",? (?:ve|ama|fakat|ancak|çünkü|yani|hem de|o yüzden|bu yüzden) |, |; |: ")
_BUT = frozenset({"ama", "fakat", "ancak"})
_COMMAS = re.compile(r", |; |: ")
# An unknown verb of a third person ("havalar ısındı").
_TOLD = re.compile("^.{3,}[dt][ıiuü]$")
_CONVERB = re.compile(r"(?<=\w)(?:y?[ıiuü]p) ")
# What an amount is told in.
_UNITS = frozenset({"lira", "tl", "euro", "dolar", "mg", "mcg", "ml", "kilo", "kg"})
_NEVER = re.compile(r"\bhiçbir zaman\b", re.IGNORECASE)
# "Yeni bir telefon aldım, Pixel 9": the name belongs to the noun.
_BOUGHT = re.compile(
    r"^((?:yeni |ikinci )?(?:bir )?\w+) (aldım|aldık|sahiplendim|sahiplendik|edindim|edindik), (\w[\w -]*)$", re.IGNORECASE
)


def expand(text: str) -> str:
    """Nothing is contracted in writing."""
    text = _BOUGHT.sub(r"\3 adında \1 \2", _NEVER.sub("hiç", text))
    return squeeze(text)


def clauses(sentence: str, grammar: Grammar) -> list[str]:
    """The sentence cut where what stands before ends with a predicate."""
    parts, start = [], 0
    for match in _CONNECTIVE.finditer(sentence):
        left, right = sentence[start : match.start()], sentence[match.end() :]
        if match.start() <= start or not _predicate(left, grammar):
            continue
        if match.group() == " ve " and low_tr(left.rpartition(" ")[2]) in grammar.words["not_named"]:
            # "Annem İtalyanca ve Rusça biliyor"
            continue
        if _predicate(_first_part(right), grammar) or _predicate(_COMMAS.split(right)[0], grammar):
            parts.append(left)
            start = match.end()
        elif match.group().startswith(",") and not any(_predicate(part, grammar) for part in _CONNECTIVE.split(right)):
            # The predicate comes last: what follows it is said beside it ("…, bir konferans için").
            return [*parts, left]
        elif match.group().strip(", ") in _BUT and _finite(left, grammar) and not _predicate(right, grammar):
            # "Oğlum İngilizce kursuna gidiyor ama aklı topta"
            return [*parts, left]
    return [*parts, sentence[start:]]


def _finite(text: str, grammar: Grammar) -> bool:
    return verb_of(low_tr(trim(text.rsplit(maxsplit=1)[-1])), grammar) is not None


def _first_part(text: str) -> str:
    return _CONNECTIVE.split(text)[0]


def _predicate(text: str, grammar: Grammar) -> bool:
    words = [trim(word) for word in text.split() if not HOLDER.fullmatch(trim(word))]
    words = [word for word in words if word and low_tr(word) not in grammar.words["adverbs"]]
    if not words:
        return False
    last = low_tr(words[-1])
    if last in EXIST or last == "değil" or verb_of(last, grammar) is not None:
        return True
    if len(words) >= 3 and last in _UNITS and words[-2][:1].isdigit():
        # "…, aidat 900 lira"
        return True
    if len(words) >= 2 and {last, last[:-1]} & grammar.words["professions"]:
        # "…, şimdi limanda vinç operatörü"
        return True
    if len(words) >= 3 and of_a_thing([low_tr(word) for word in words], 0, grammar):
        # "…, okulun müdürü Tahsin Bey"
        return True
    if len(words) >= 2 and (low_tr(words[0]) in grammar.words["name_nouns"] or _TOLD.search(last)):
        return True
    if len(words) >= 2 and any(own_noun(low_tr(word), grammar) or genitive(word) for word in words[:-1]):
        return True
    return bool(COPULA.match(last)) and len(last) > 5


def parse(clause: str, grammar: Grammar, party: Party | None, before: Frame | None) -> Frame | None:
    """The clause as a frame."""
    tokens, times = take_times(clause.replace(", ", f" {COMMA} ").split())
    words = [trim(token) for token in tokens if trim(token)]
    words, denied_both = _neither(words)
    words = in_order(words, grammar)
    named = bool(words) and low_tr(words[0]) in grammar.words["not_cased"]
    if words and not named and "'" not in words[0] and split_case(words[0])[0] in ("@den", "@de"):
        # "Hukuktan …": a name would have an apostrophe, but for that of a city, of which many leave it out.
        words[0] = words[0] if of_province(words[0], grammar) else low_tr(words[0])
    elif "'" in "".join(words[1:2]) and words[1][:1].isupper() and not named and _is_common(words[0], grammar):
        # "Tatile Kaş'a gidiyoruz": no part of the name behind it.
        words[0] = low_tr(words[0])
    frame = Frame(Party(), "", times=times, text=clause, negated=denied_both)
    kept: list[str] = []
    for word in words:
        low = low_tr(word)
        if low in grammar.words["once"]:
            frame.once = True
        elif low == "artık":
            frame.ended = True
        elif low in {"hiç", "asla"}:
            frame.never = True
        elif low not in grammar.words["adverbs"] and not (not kept and low in grammar.words["openers"]):
            kept.append(word)
    if not kept:
        return None
    last = low_tr(kept[-1])
    if last.startswith("değil"):
        frame.negated = True
        kept.pop()
        if last != "değil" and kept:
            return denied(frame, kept, last, grammar)
        return nominal(frame, kept, grammar, party, before) if kept else None
    # "Takımımızın adı Çok Bilmişler": no verb has a capital inside a sentence.
    titled = len(kept) > 1 and kept[-1][:1].isupper() and kept[0][:1].isupper() and not kept[-1].isupper()
    # "toplantım": a meeting of one's own, though "toplandım" sounds like it.
    event = own_noun(last, grammar) in grammar.words["events"] and not last.endswith("ndım")
    verb = verb_of(last, grammar) if last not in EXIST and not titled and not event else None
    if verb is None and (turned := _verb_last(kept, grammar)):
        kept, verb = turned, verb_of(low_tr(turned[-1]), grammar)
    if verb is None or low_tr(kept[-1])[:-2] in grammar.words["professions"]:
        return nominal(frame, kept, grammar, party, before)
    return _verbal(frame, kept[:-1], verb, grammar, party, before)


def _is_common(word: str, grammar: Grammar) -> bool:
    """Whether a first word is a known noun with an ending of case, which a name would have an apostrophe for."""
    known = grammar.words["nouns"] | grammar.words["events"]
    return any(low_tr(stem) in known for case, stem in maybe_cases(word) if case != "@le")


def _neither(words: list[str]) -> tuple[list[str], bool]:
    """ "Ne çay ne kahve severim": the words as a list, and that neither is so."""
    places = [at for at, word in enumerate(words) if low_tr(word) == "ne"]
    if len(places) != 2 or places[1] - places[0] < 2 or (places[1] + 2 >= len(words) and places[1] - places[0] < 3):
        return words, False
    first, second = places
    if second + 3 > len(words):
        # "Ne çay içiyorum ne kahve"
        words = [*words[: second - 1], *words[second:], words[second - 1]]
        second -= 1
    behind = second + (2 if low_tr(words[second + 1]) in ("de", "da") else 1)
    joined = [*words[:first], *words[first + 1 : second], "ve", *words[behind:]]
    return [*joined[:-1], "yok" if low_tr(joined[-1]) == "var" else joined[-1]], True


def _verb_last(words: list[str], grammar: Grammar) -> list[str]:
    """ "Metroyla gidiyorum işe": the words with their verb at the end; empty where no verb of the speaker stands inside."""
    for at, word in enumerate(words[:-1]):
        verb = read_verb(low_tr(word), known_verbs(grammar)) if at else None
        if verb is not None and verb.first_person and verb.tense in ("progressive", "past", "future") and word[:1].islower():
            return [*words[at + 1 :], *words[:at], word]
    return []


def _verbal(
    frame: Frame, rest: list[str], verb: Verb, grammar: Grammar, party: Party | None, before: Frame | None
) -> Frame | None:
    frame.negated = frame.negated or verb.negated
    frame.past = verb.tense in ("past", "told", "was", "once")
    frame.once = frame.once or verb.tense in ("once",)
    frame.future = verb.tense == "future"
    frame.unreal = verb.tense in ("wish",)
    frame.perfect = verb.tense in ("told",)
    lemma, carried = verb.lemma, list[str]()
    if (
        lemma in ("et", "edil", "yap", "ol", "al", "ver", "geç", "gör", "çık", "kal", "oyna", "iste", "planla", "düşün")
        and rest
    ):
        compound = f"{low_tr(rest[-1])} {lemma}"
        if compound in grammar.verbs:
            # "Yoga yapıyorum": what is done is a thing, too.
            carried = [f"yap {rest[-1]}"] if lemma == "yap" and verb.tense == "progressive" else []
            lemma, rest = compound, rest[:-1]
    if lemma in ("iste", "planla", "düşün", "planlıyor") and rest and (inner := _infinitive(low_tr(rest[-1]), grammar)):
        lemma, rest, frame.intended = inner, rest[:-1], True
        # "Fethiye'ye gitmek istiyorduk": and what came of it is not said.
        frame.unreal = verb.tense == "was"
    elif lemma in ("bırak", "kes", "başla") and rest and (inner := _infinitive(low_tr(rest[-1]), grammar)):
        frame.begun, frame.ended = lemma == "başla", lemma != "başla"
        frame.negated = frame.negated or frame.ended
        thing = re.sub("(?<=m[ae])(?:y[ıi]|y[ae])$", "", low_tr(rest[-1]))
        carried = [f"uğraş @le {squeeze(' '.join([*rest[:-1], thing]))}"] if verb.first_person else []
        lemma, rest = inner, rest[:-1]
    if lemma in ("ol", "kal") and not verb.first_person and rest and own_noun(low_tr(rest[-1]), grammar) and frame.negated:
        # "Netflix aboneliğim kalmadı": there is none any more.
        frame.ended = frame.ended or lemma == "kal"
        return existential(frame, rest, grammar)
    if verb.first_person:
        rest = [word for word in rest if low_tr(word) not in grammar.words["speaker"]]
        frame.subject = Party()
    else:
        beside = companions(rest, grammar)
        length, found = subject_of(rest[beside:], grammar, party)
        if found is not None and found.noun and found.name and length == len(rest) and lemma in grammar.words["takes_object"]:
            # "Oğlum Minecraft oynuyor", "Oğlum Can Fifa oynuyor": what is played, and not who plays.
            called = found.name.split()[:-1]
            length, found = length - 1, replace(found, name=" ".join(called))
        goes_on = lemma in grammar.words["over"] or lemma in grammar.words["goes_on"]
        if found is None and rest and goes_on and not any(split_case(word)[0] for word in rest):
            # "Tutunamayanlar bitti"
            length, found = len(rest), Party(noun=low_tr(" ".join(rest)), possessed=True)
        frame.inherited = found is None
        if found is None and before is None and party is not None and party.name and _lasting(lemma, grammar):
            # "Çizim kursuna gidiyor": who was spoken of.
            found = party
        frame.subject = found or (before.subject if before else Party(owner=""))
        rest = [*rest[:beside], *rest[beside + length :]]
    settle(frame)
    frame.verb, frame.rest = lemma, " ".join(rest)
    if lemma in grammar.words["puts"] and verb.first_person and (put := put_somewhere(rest, grammar)):
        frame.readings = [f"{lemma} {put}"]
        return frame
    # "Ahşap boyamayı bıraktım": what one did is itself the thing.
    frame.readings = readings_of(lemma, rest, grammar) + carried
    return frame


def drops_subject(text: str, grammar: Grammar) -> bool:
    """Whether somebody is told to do something lasting and nobody is named: whoever was spoken of before."""
    words = [trim(word) for word in text.split()]
    if any(word[:1].isupper() and "'" not in word for word in words[1:]) or any(
        own_noun(low_tr(word), grammar) for word in words
    ):
        return False
    verbs = [verb for word in words if (verb := read_verb(low_tr(word), known_verbs(grammar)))]
    return bool(verbs) and not any(verb.first_person for verb in verbs) and _lasting(verbs[-1].lemma, grammar)


def _lasting(lemma: str, grammar: Grammar) -> bool:
    return lemma in grammar.words["states"] | grammar.words["announced"] and lemma not in (
        "be",
        "var",
        "bekle",
        "çık",
        "geç",
        "iste",
    )


def _infinitive(word: str, grammar: Grammar) -> str:
    match = re.match(r"^(.+?)(?:m[ae](?:k|y[ıi]|y[ae]|ğ[ıi])?|mekten|maktan)$", word)
    if match is None:
        return ""
    return match[1] if match[1] in grammar.verbs else ""
