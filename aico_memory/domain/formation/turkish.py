"""Turkish clauses: the predicate comes last, cases do what prepositions do elsewhere, the subject is often an ending."""

from __future__ import annotations

import re

from aico_memory.domain.formation.frames import HOLDER, Frame, Party, take_times
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.turkish_phrases import (
    chunks_of,
    low_tr,
    of_a_thing,
    own_noun,
    possessed_end,
    readings_of,
    subject_of,
)
from aico_memory.domain.formation.turkish_words import (
    Verb,
    genitive,
    harden,
    maybe_cases,
    open_stem,
    read_verb,
    split_case,
    third_possessed,
)  # fmt: skip
from aico_memory.domain.formation.wording import squeeze, trim

_CONNECTIVE = re.compile(r",? (?:ve|ama|fakat|ancak|çünkü|yani|hem de|o yüzden|bu yüzden) |, |; |: ")
_CONVERB = re.compile(r"(?<=\w)(?:y?[ıiuü]p) ")
_COPULA = re.compile(r"^(.{3,}?)(?:y?[ıiuü]m|y?[ıiuü]z)$")
_NEVER = re.compile(r"\bhiçbir zaman\b", re.IGNORECASE)
# "Yeni bir telefon aldım, Pixel 9": the name belongs to the noun.
_BOUGHT = re.compile(
    r"^((?:yeni |ikinci )?(?:bir )?\w+) (aldım|aldık|sahiplendim|sahiplendik|edindim|edindik), (\w[\w -]*)$", re.IGNORECASE
)
_HERE = re.compile(r"^.{2,}[dt][ae]y[ıi][mz]$")
_IS = re.compile(r"[dt][ıiuü]r$")
_EXIST = frozenset({"var", "yok", "vardı", "yoktu", "varmış", "yokmuş"})


def expand(text: str) -> str:
    """Nothing is contracted in writing."""
    text = _BOUGHT.sub(r"\3 adında \1 \2", _NEVER.sub("hiç", text))
    return squeeze(text)


def clauses(sentence: str, grammar: Grammar) -> list[str]:
    """The sentence cut where what stands before ends with a predicate."""
    parts, start = [], 0
    for match in _CONNECTIVE.finditer(sentence):
        left, right = sentence[start : match.start()], sentence[match.end() :]
        if match.start() > start and _predicate(left, grammar) and _predicate(_first_part(right), grammar):
            parts.append(left)
            start = match.end()
    return [*parts, sentence[start:]]


def _first_part(text: str) -> str:
    return _CONNECTIVE.split(text)[0]


def _predicate(text: str, grammar: Grammar) -> bool:
    words = [trim(word) for word in text.split() if not HOLDER.fullmatch(trim(word))]
    words = [word for word in words if word and low_tr(word) not in grammar.words["adverbs"]]
    if not words:
        return False
    last = low_tr(words[-1])
    if last in _EXIST or last == "değil" or _verb(last, grammar) is not None:
        return True
    if len(words) >= 2 and low_tr(words[0]) in grammar.words["name_nouns"]:
        return True
    if len(words) >= 2 and any(own_noun(low_tr(word), grammar) or genitive(word) for word in words[:-1]):
        return True
    return bool(_COPULA.match(last)) and len(last) > 5


def _verb(word: str, grammar: Grammar) -> Verb | None:
    return read_verb(word, frozenset(grammar.verbs)) or open_stem(word)


def parse(clause: str, grammar: Grammar, party: Party | None, before: Frame | None) -> Frame | None:
    """The clause as a frame."""
    tokens, times = take_times(clause.replace(", ", " ve ").split())
    words = [trim(token) for token in tokens if trim(token)]
    frame = Frame(Party(), "", times=times, text=clause)
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
            return _denied(frame, kept, last, grammar)
        return _nominal(frame, kept, grammar, party, before) if kept else None
    verb = _verb(last, grammar) if last not in _EXIST else None
    if verb is None or low_tr(kept[-1])[:-2] in grammar.words["professions"]:
        return _nominal(frame, kept, grammar, party, before)
    return _verbal(frame, kept[:-1], verb, grammar, party, before)


def _denied(frame: Frame, words: list[str], last: str, grammar: Grammar) -> Frame:
    """ "… değilim": what the speaker is not."""
    _settle(frame)
    frame.past = last.endswith(("dim", "dik"))
    frame.verb, frame.rest = "be", " ".join(words)
    frame.readings = readings_of("be", [word for word in words if low_tr(word) not in grammar.words["speaker"]], grammar)
    return frame


def _settle(frame: Frame) -> None:
    """`artık` ends only what is denied; else it is no more than "now"."""
    frame.ended = frame.ended and frame.negated


def _verbal(
    frame: Frame, rest: list[str], verb: Verb, grammar: Grammar, party: Party | None, before: Frame | None
) -> Frame | None:
    frame.negated = verb.negated
    frame.past = verb.tense in ("past", "told", "was", "once")
    frame.once = frame.once or verb.tense in ("once",)
    frame.future = verb.tense == "future"
    frame.unreal = verb.tense in ("wish",)
    frame.perfect = verb.tense in ("told",)
    lemma = verb.lemma
    if (
        lemma in ("et", "edil", "yap", "ol", "al", "ver", "geç", "gör", "çık", "kal", "oyna", "iste", "planla", "düşün")
        and rest
    ):
        compound = f"{low_tr(rest[-1])} {lemma}"
        if compound in grammar.verbs:
            lemma, rest = compound, rest[:-1]
    if lemma in ("iste", "planla", "düşün", "planlıyor") and rest and (inner := _infinitive(low_tr(rest[-1]), grammar)):
        lemma, rest, frame.intended = inner, rest[:-1], True
    elif lemma in ("bırak", "kes", "başla") and rest and (inner := _infinitive(low_tr(rest[-1]), grammar)):
        frame.begun, frame.ended = lemma == "başla", lemma != "başla"
        frame.negated = frame.negated or frame.ended
        lemma, rest = inner, rest[:-1]
    if lemma == "ol" and not verb.first_person and rest and own_noun(low_tr(rest[-1]), grammar) and frame.negated:
        return _existential(frame, rest, grammar)
    if verb.first_person:
        rest = [word for word in rest if low_tr(word) not in grammar.words["speaker"]]
        frame.subject = Party()
    else:
        length, found = subject_of(rest, grammar, party)
        frame.inherited = found is None
        frame.subject = found or (before.subject if before else Party(owner=""))
        rest = rest[length:]
    _settle(frame)
    frame.verb, frame.rest = lemma, " ".join(rest)
    frame.readings = readings_of(lemma, rest, grammar)
    return frame


def _infinitive(word: str, grammar: Grammar) -> str:
    match = re.match(r"^(.+?)(?:m[ae](?:k|y[ıi]|y[ae]|ğ[ıi])?|mekten|maktan)$", word)
    if match is None:
        return ""
    return match[1] if match[1] in grammar.verbs else ""


def _nominal(frame: Frame, words: list[str], grammar: Grammar, party: Party | None, before: Frame | None) -> Frame | None:  # noqa: PLR0912
    while len(words) > 2 and low_tr(words[0]) in grammar.words["empty"]:
        words = words[1:]
    low = [low_tr(word) for word in words]
    if low[-1] in _EXIST:
        frame.negated = frame.negated or low[-1].startswith("yok")
        frame.past = low[-1].endswith("dı") or low[-1].endswith("tu")
        return _existential(frame, words[:-1], grammar)
    _settle(frame)
    frame.verb = "be"
    if low[0] in grammar.words["speaker"]:
        words, low = words[1:], low[1:]
        if not words:
            return None
        return _copula(frame, words, grammar)
    if low[0] in grammar.words["name_nouns"] and len(words) > 1 and party is not None and party.noun:
        # "Bir köpeğim var, adı Karabaş."
        frame.subject = Party(owner=party.subject, noun=low[0], possessed=True)
        return _with_value(frame, words[1:])
    if _HERE.match(low[-1]):
        # "izindeyim", "Gent'teyim".
        return _copula(frame, words, grammar)
    for at in range(len(words)):
        favourite = next(
            (f for f in sorted(grammar.words["favourites"], key=len, reverse=True) if " ".join(low[at:]).startswith(f + " ")),
            "",
        )
        if favourite and at == 0:
            length = len(favourite.split()) + 1
            low[length - 1] = own_noun(low[length - 1], grammar) or low[length - 1]
            if length < len(words) and third_possessed(low[length]) and length + 1 < len(words):
                length += 1
            frame.subject = Party(noun=" ".join(low[:length]), possessed=True)
            return _with_value(frame, words[length:])
        if favourite:
            # "pizza en sevdiğim yemek"
            frame.subject, frame.rest = Party(name=" ".join(words[:at])), f"benim {' '.join(low[at:])}"
            frame.readings = [f"be {frame.rest}"]
            return frame
        if (whose := genitive(words[at]) or (of_a_thing(low, at, grammar) if at == 0 else "")) and at + 1 < len(words):
            owner = own_noun(low_tr(whose), grammar) or whose.casefold()
            owner = " ".join([*low[:at], owner])
            reach = len(words) if frame.times else len(words) - 1
            end = possessed_end(low, at + 1, min(at + 4, reach), at + 1)
            frame.subject = Party(owner=owner, noun=" ".join(low[at + 1 : end + 1]), possessed=True)
            return _with_value(frame, words[end + 1 :])
        last = at == len(words) - 1
        if last and (low[at] in grammar.words["not_possessed"] or not frame.times):
            continue
        if noun := own_noun(low[at], grammar):
            if last and noun not in grammar.words["nouns"] | grammar.words["events"] and noun not in grammar.relations:
                continue
            if at and words[0][:1].isupper() and noun in grammar.relations and last:
                continue
            return _owner_of(frame, words, at, " ".join([*low[:at], noun]), grammar)
    if relation := _named_relation(words, low, grammar):
        frame.subject, frame.rest = relation
        frame.readings = [f"be {frame.rest}"]
        return frame
    if (_COPULA.match(low[-1]) or _HERE.match(low[-1])) and not (len(words) == 1 and low[-1] in grammar.words["not_possessed"]):
        return _copula(frame, words, grammar)
    if whole := _named_thing(words, low, grammar):
        frame.subject = Party(noun=" ".join(low[:whole]), possessed=True)
        return _with_value(frame, words[whole:])
    length, found = subject_of(words, grammar, party)
    if found is None and frame.times and words:
        length, found = len(words), Party(noun=" ".join(low), possessed=True)
    if found is None:
        return None
    frame.subject = found
    return _with_value(frame, words[length:])


def _named_thing(words: list[str], low: list[str], grammar: Grammar) -> int:
    """How many words name a thing in "wifi şifresi mavi77": up to a possessed noun that has a value behind it."""
    for end in range(1, min(3, len(low) - 1)):
        inner = re.sub("s?[ıiuü]$", "", low[end])
        known = harden(inner) in grammar.words["nouns"] or low[end].endswith(("sı", "si", "su", "sü"))
        if known and len(low[end]) > 3 and all(word[:1].islower() or not at for at, word in enumerate(words[: end + 1])):
            return end + 1
    return 0


def _owner_of(frame: Frame, words: list[str], at: int, noun: str, grammar: Grammar) -> Frame | None:
    """ "Patronum Hülya Hanım" says who she is, "eşim Deniz doktor" says what Deniz is."""
    rest = words[at + 1 :]
    names = 0
    while names < len(rest) and rest[names][:1].isupper() and "'" not in rest[names]:
        names += 1
    name = ""
    if noun in grammar.relations and 0 < names < len(rest):
        name, rest = " ".join(rest[:names]), rest[names:]
    frame.subject = Party(noun=grammar.synonyms.get(noun, noun), name=name, possessed=True)
    return _with_value(frame, rest)


def _named_relation(words: list[str], low: list[str], grammar: Grammar) -> tuple[Party, str] | None:
    """ "Lena benim kız kardeşim", "Petra patronum": who that is."""
    names = 0
    while names < len(words) and words[names][:1].isupper() and "'" not in words[names]:
        names += 1
    rest = [word for word in low[names:] if word not in grammar.words["own"]]
    if not names or not rest or not (noun := own_noun(rest[-1], grammar)):
        return None
    full = " ".join([*rest[:-1], noun])
    if full not in grammar.relations and noun not in grammar.relations:
        return None
    return Party(name=" ".join(words[:names])), f"benim {full}"


def _with_value(frame: Frame, words: list[str]) -> Frame | None:
    if not words and not frame.times:
        return None
    if words:
        # A name without an apostrophe is whole ("Hillside").
        plain_name = words[-1][:1].isupper() and "'" not in words[-1]
        case, stem = ("", words[-1]) if plain_name else split_case(words[-1])
        if not case and len(words[-1]) > 5 and words[-1][:1].islower():
            # "pizzadır"
            words = [*words[:-1], _IS.sub("", words[-1])]
        value = " ".join([*words[:-1], stem if case in ("@de", "@den") or "'" in words[-1] else words[-1]])
        frame.rest = f"{case} {value}" if case in ("@de", "@den", "@e") else value
    frame.readings = [squeeze(f"be {frame.rest}")]
    return frame


def _copula(frame: Frame, words: list[str], grammar: Grammar) -> Frame | None:
    """ "… hemşireyim", "… Gent'teyim": what or where the speaker is."""
    last = words[-1]
    if "'" in last:
        case, stem = split_case(last)
    else:
        match = _COPULA.match(low_tr(last))
        ending = last[: len(match[1])] if match else last
        case, stem = split_case(ending)
        stem = harden(stem) if not case and match else stem
    if low_tr(last) in ("birlikteyim", "birlikteyiz"):
        case, stem = "", "birlikte"
    frame.verb = "be"
    chunks = chunks_of(words[:-1], grammar)
    bare = next((part for mark, part in chunks[-1:] if not mark), [])
    if "'" in last:
        start = len(bare)
        while start and bare[start - 1][:1].isupper():
            start -= 1
        bare = bare[start:]
    value = " ".join([*bare, stem])
    marked = [f"{mark} {' '.join(part)}" for mark, part in chunks if mark]
    frame.rest = f"{case} {value}" if case else value
    frame.readings = [squeeze(" ".join(["be", frame.rest, *marked]))]
    if not case and bare and (maybe := maybe_cases(bare[-1])):
        frame.readings += [f"be {stem} {mark} {' '.join([*bare[:-1], inner])}" for mark, inner in maybe]
    return frame


def _existential(frame: Frame, words: list[str], grammar: Grammar) -> Frame | None:
    _settle(frame)
    frame.verb = "var"
    if not words:
        return None
    words = [word for word in words if low_tr(word) not in grammar.words["speaker"]]
    last = low_tr(words[-1]) if words else ""
    noun = own_noun(last, grammar)
    if whose := next((genitive(word) for word in words if genitive(word)), ""):
        frame.subject = Party(owner=own_noun(low_tr(whose), grammar) or whose.casefold()) if whose else Party()
        words = [word for word in words if not genitive(word)]
    body = [*words[:-1], noun or words[-1].split("'")[0]] if words else []
    frame.rest = " ".join(body)
    frame.readings = readings_of("var", body, grammar)
    return frame
