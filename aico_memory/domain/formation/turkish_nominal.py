"""Turkish clauses without a verb: what somebody or something is, has, or is called."""

from __future__ import annotations

import re

from aico_memory.domain.formation.formed import SPEAKER
from aico_memory.domain.formation.frames import Frame, Party
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
from aico_memory.domain.formation.turkish_places import place_named, place_start
from aico_memory.domain.formation.turkish_words import genitive, harden, maybe_cases, split_case, third_possessed
from aico_memory.domain.formation.wording import COMMA, squeeze

# "öğretmenim", "öğretmeniz"; "şekersiz" and "temiz" are whole.
COPULA = re.compile(
    r"^(?!(?:.*s[ıiuü]z|gündüz|temiz|.*deniz|yalnız|ucuz|domuz|.*yıldız|omuz|filiz|ingiliz|cılız|topuz|karpuz|havuz|baldız)$)"
    r"(.{3,}?)(?:y?[ıiuü]m|y?[ıiuü]z)$"
)
# "vereyim", "gideyim": what somebody offers to do.
_OFFER = re.compile(r"^(.{2,}?)y?[ae]y[ıi]m$")
_HERE = re.compile(r"^.{2,}[dt][ae]y[ıi][mz]$")
# "Gent'teydim", "Gent'teydik": where one was.
_WAS_HERE = re.compile(r"^(.{2,}[dt][ae])yd[ıi]([mk])$")
_IS = re.compile(r"[dt][ıiuü]r$")
# "kırmızıydı", "Nalan Hanım'dı": what it was. Behind a consonant an unknown verb may end like that, too.
_WAS = re.compile(r"'y?[dt][ıiuü]$|(?<=[aeıioöuü])yd[ıiuü]$")
_MAY_HAVE_BEEN = re.compile(r"(?<=\w{3})[dt][ıiuü]$")
# "negatifmiş"
_SAID_TO_BE = re.compile(r"(?<=\w{4})y?m[ıiuü]ş$")
# Who is somebody's something, by the end of the noun ("piyano hocası").
_SOMEBODY = re.compile(
    r"(?:hoca|öğretmen|doktor|hekim|danışman|müdür|antrenör|koç|avukat|bakıcı|kuaför|berber|terapist|psikolog|diyetisyen|şef|başkan"
    r"|kaptan|usta|komşu|arkadaş|dişçi|asistan|ortak|temsilci|muhasebeci|kiracı|kapıcı|eğitmen|müdire|hanım|bey|sahibi)(?:s?[ıiuü])?$"
)
_TITLES = frozenset({"hanım", "bey", "hoca", "usta", "abla", "abi", "amca", "teyze"})
EXIST = frozenset({"var", "yok", "vardı", "yoktu", "varmış", "yokmuş"})


def denied(frame: Frame, words: list[str], last: str, grammar: Grammar) -> Frame:
    """ "… değilim": what the speaker is not."""
    settle(frame)
    frame.past = last.endswith(("dim", "dik"))
    frame.verb, frame.rest = "be", " ".join(words)
    frame.readings = readings_of("be", [word for word in words if low_tr(word) not in grammar.words["speaker"]], grammar)
    return frame


def settle(frame: Frame) -> None:
    """`artık` ends only what is denied; else it is no more than "now"."""
    frame.ended = frame.ended and frame.negated


def nominal(frame: Frame, words: list[str], grammar: Grammar, party: Party | None, before: Frame | None) -> Frame | None:  # noqa: PLR0912, PLR0915
    while len(words) > 2 and low_tr(words[0]) in grammar.words["empty"]:
        words = words[1:]
    low = [low_tr(word) for word in words]
    if low[-1] in EXIST:
        frame.negated = frame.negated or low[-1].startswith("yok")
        frame.past = low[-1].endswith("dı") or low[-1].endswith("tu")
        return existential(frame, words[:-1], grammar)
    if (offer := _OFFER.match(low[-1])) and offer[1] in grammar.verbs:
        return None
    if there := _was_there(words[-1]):
        words, low, frame.past = [*words[:-1], there], [*low[:-1], low_tr(there)], True
    whose_it_is = any(own_noun(word, grammar) for word in low[:-1]) or any(genitive(word) for word in words[:-1])
    if whose_it_is and (bare := _without_past(words[-1], grammar)):
        # "Kuaförüm Nalan Hanım'dı": till now, and no longer; of a garden it says how it looked.
        words, frame.past, frame.once = [*words[:-1], bare], True, True
        low = [low_tr(word) for word in words]
    settle(frame)
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
            if length + 1 < len(words) and third_possessed(low[length]) and words[length][:1].islower():
                length += 1
            frame.subject = Party(noun=" ".join(low[:length]), possessed=True)
            return _with_value(frame, words[length:])
        if favourite:
            # "pizza en sevdiğim yemek"
            frame.subject, frame.rest = Party(name=" ".join(words[:at])), f"benim {' '.join(low[at:])}"
            frame.readings = [f"be {frame.rest}"]
            return frame
        thing = at == 0 and "".join(words[1:2])[:1].islower()
        if (whose := genitive(words[at]) or (of_a_thing(low, at, grammar) if thing else "")) and at + 1 < len(words):
            owner = own_noun(low_tr(whose), grammar) or whose.casefold()
            owner = " ".join([*low[:at], owner])
            if best := _best_liked(low[at + 1 :], grammar):
                # "Eşimin en sevdiği yemek mantı"
                frame.subject = Party(owner=owner, noun=best[1], possessed=True)
                return _with_value(frame, words[at + 1 + best[0] :])
            reach = len(words) if frame.times else len(words) - 1
            end = possessed_end(low, at + 1, min(at + 4, reach), at + 1)
            noun, rest = " ".join(low[at + 1 : end + 1]), words[end + 1 :]
            told = len(rest) > 1 and (rest[1][:1].islower() or "'" in rest[1])
            name = rest[0] if told and rest[0][:1].isupper() and "'" not in rest[0] else ""
            kin = next((one for one in (noun[:-2], noun[:-1]) if one in grammar.relations), "")
            if name and kin:
                # "Ablamın kocası Serdar tesisatçı"
                frame.subject = Party(owner=owner, noun=kin, name=name, possessed=True)
                return _with_value(frame, rest[1:])
            frame.subject = Party(owner=owner, noun=noun, possessed=True)
            return _with_value(frame, rest)
        last = at == len(words) - 1
        if last and (low[at] in grammar.words["not_possessed"] or not frame.times):
            continue
        if noun := own_noun(low[at], grammar):
            known = noun in grammar.words["nouns"] | grammar.words["events"] or noun in grammar.relations
            if last and not known and not re.search("m[ıiuü]z$", low[at]):
                continue
            if at and words[0][:1].isupper() and noun in grammar.relations and last:
                continue
            return _owner_of(frame, words, at, " ".join([*low[:at], noun]), grammar)
    if relation := _named_relation(words, low, grammar):
        frame.subject, frame.rest = relation
        frame.readings = [f"be {frame.rest}"]
        return frame
    if (COPULA.match(low[-1]) or _HERE.match(low[-1])) and not (len(words) == 1 and low[-1] in grammar.words["not_possessed"]):
        return _copula(frame, words, grammar)
    if whole := _named_thing(words, low, grammar):
        frame.subject = Party(noun=" ".join(low[:whole]), possessed=True)
        return _with_value(frame, words[whole:])
    if start := place_start(words, grammar):
        # "Yedek anahtar mavi saksının altında"
        frame.subject = Party(noun=" ".join(low[:start]), possessed=True)
        frame.rest = f"@de {place_named(words[start:])}"
        frame.readings = [f"be {frame.rest}"]
        return frame
    length, found = subject_of(words, grammar, party)
    if found is None and frame.times and words:
        length, found = len(words), Party(noun=" ".join(low), possessed=True)
    if found is None:
        return None
    frame.subject = found
    return _with_value(frame, words[length:])


def _was_there(word: str) -> str:
    """ "Gent'teydim" as "Gent'teyim", in the same person; empty where the word tells of no place in the past."""
    match = _WAS_HERE.match(low_tr(word))
    if match is None:
        return ""
    vowel = "ı" if match[1].endswith("a") else "i"
    return f"{word[: match.end(1)]}y{vowel}{'m' if match[2] == 'm' else 'z'}"


def _best_liked(low: list[str], grammar: Grammar) -> tuple[int, str] | None:
    """How many words name what somebody else likes best, and that as one's own is named ("en sevdiği renk", "favori rengi")."""
    said = " ".join(low) + " "
    for favourite in sorted(grammar.words["favourites"], key=len, reverse=True):
        theirs = favourite.removesuffix("m") if favourite.endswith("ğim") else favourite
        if said.startswith(f"{theirs} ") and (noun := said[len(theirs) + 1 :].partition(" ")[0]):
            bare = noun if theirs != favourite else harden(re.sub("(?<=.{2})(?:(?<=[aeıioöuü])s)?[ıiuü]$", "", noun))
            return len(theirs.split()) + 1, f"{favourite} {bare}"
    return None


def _without_past(word: str, grammar: Grammar) -> str:
    """The word without the past of its copula ("kırmızıydı"); empty where it has none."""
    if match := _WAS.search(low_tr(word)):
        return word[: match.start()]
    bare = _MAY_HAVE_BEEN.sub("", low_tr(word))
    known = grammar.words["professions"] | grammar.words["qualities"] | grammar.words["nominative"] | grammar.relations.keys()
    return word[: len(bare)] if bare != low_tr(word) and bare in known else ""


def _named_thing(words: list[str], low: list[str], grammar: Grammar) -> int:
    """How many words name a thing in "wifi şifresi mavi77": up to a possessed noun that has a value behind it."""
    for end in range(1, min(3, len(low) - 1)):
        inner = re.sub("s?[ıiuü]$", "", low[end])
        known = (inner != low[end] and harden(inner) in grammar.words["nouns"]) or low[end].endswith(("sı", "si", "su", "sü"))
        if known and len(low[end]) > 3 and all(word[:1].islower() or not at for at, word in enumerate(words[: end + 1])):
            return end + 1
    return 0


def _owner_of(frame: Frame, words: list[str], at: int, noun: str, grammar: Grammar) -> Frame | None:
    """ "Patronum Hülya Hanım" says who she is, "eşim Deniz doktor" says what Deniz is."""
    rest = words[at + 1 :]
    names = 0
    while names < len(rest) and rest[names][:1].isupper() and "'" not in rest[names]:
        if low_tr(rest[names]) in grammar.words["not_named"]:
            break
        names += 1
    name = ""
    listed = names < len(rest) and rest[names] in ("ve", COMMA)
    if noun in grammar.relations and 0 < names < len(rest) and not listed:
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
    if words and low_tr(words[0]) in EXIST:
        # "İki alerjim var: polen ve fıstık" lists them, "Pınar'ın üç kedisi var: biri sarı" names none.
        listed = len(words) == 2 or bool({"ve", COMMA} & set(words))
        words = words[1:] if frame.subject.owner == SPEAKER and listed else []
    if not words and not frame.times:
        return None
    words = words[: _name_alone(words)] if _SOMEBODY.search(frame.subject.noun) else words
    if words:
        # A name without an apostrophe is whole ("Hillside").
        plain_name = words[-1][:1].isupper() and "'" not in words[-1]
        case, stem = ("", words[-1]) if plain_name else split_case(words[-1])
        if not case and len(words[-1]) > 5 and words[-1][:1].islower():
            # "pizzadır"
            words = [*words[:-1], _IS.sub("", words[-1])]
            words = [*words[:-1], _SAID_TO_BE.sub("", words[-1])]
        value = " ".join([*words[:-1], stem if case in ("@de", "@den") or "'" in words[-1] else words[-1]])
        frame.rest = f"{case} {value}" if case in ("@de", "@den", "@e") else value
        beside = next((i for i, word in enumerate(words[:-1]) if "'" in word and split_case(word)[0] == "@le"), -1)
        if beside >= 0 and not case:
            # "Mehmet'le evli"
            frame.rest = " ".join(words[beside + 1 :])
            frame.readings = [f"be {frame.rest} @le {' '.join([*words[:beside], split_case(words[beside])[1]])}"]
            return frame
        at = next((i for i, word in enumerate(words[:-1]) if "'" in word and split_case(word)[0] == "@de"), -1)
        if at >= 0 and not case:
            # "THY'de pilot"
            frame.rest = " ".join(words[at + 1 :])
            frame.readings = [f"be {frame.rest} @de {' '.join([*words[:at], split_case(words[at])[1]])}"]
            return frame
    frame.readings = [squeeze(f"be {frame.rest}")]
    return frame


def _name_alone(words: list[str]) -> int:
    """Where the name of somebody ends that more is said of ("Feride Hanım sabırlı bir kadın"); all words where none does."""
    names = 0
    while names < len(words) and words[names][:1].isupper() and "'" not in words[names]:
        names += 1
    titled = 0 < names < len(words) and low_tr(words[names]) in _TITLES
    names += titled
    return names if 0 < names < len(words) and words[names] not in ("ve", "ile", COMMA) else len(words)


def _copula(frame: Frame, words: list[str], grammar: Grammar) -> Frame | None:
    """ "… hemşireyim", "… Gent'teyim": what or where the speaker is."""
    last = words[-1]
    if "'" in last:
        case, stem = split_case(last)
    else:
        match = COPULA.match(low_tr(last))
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


def _longer(grammar: Grammar) -> dict[str, str]:
    """Relations of two words, by what is left of them where they are one's own ("ev arkadaş")."""
    return {one.removesuffix("ı"): one for one in grammar.relations if " " in one} | {
        one: one for one in grammar.relations if " " in one
    }


def existential(frame: Frame, words: list[str], grammar: Grammar) -> Frame | None:
    settle(frame)
    frame.verb = "var"
    if not words:
        return None
    words = [word for word in words if low_tr(word) not in grammar.words["speaker"]]
    last = low_tr(words[-1]) if words else ""
    if frame.negated and frame.times and not frame.ended and words and words[0][:1].isupper() and last in _TITLES:
        # "Selma Hanım bu hafta yok": away, and who she is she stays.
        return None
    noun = own_noun(last, grammar)
    if whose := next((genitive(word) for word in words if genitive(word)), ""):
        frame.subject = Party(owner=own_noun(low_tr(whose), grammar) or whose.casefold()) if whose else Party()
        kin = own_noun(low_tr(words[0]), grammar) if genitive(words[1 if len(words) > 1 else 0]) else ""
        if kin in grammar.relations and whose[:1].isupper():
            # "Oğlum Can'ın …": who he is, beside what he has.
            frame.subject, words = Party(noun=kin, name=whose, possessed=True), words[1:]
        at = next(i for i, word in enumerate(words) if genitive(word))
        if (
            at
            and frame.subject.owner in grammar.relations
            and f"{low_tr(words[at - 1])} {frame.subject.owner}" in _longer(grammar)
        ):
            # "ev arkadaşımın", "kız kardeşimin": all of who that is.
            frame.subject = Party(owner=_longer(grammar)[f"{low_tr(words[at - 1])} {frame.subject.owner}"])
            words = words[: at - 1] + words[at:]
        words = [word for word in words if not genitive(word)]
    if whose and not noun and (bare := harden(re.sub("s?[ıiuü]$", "", last))) in grammar.words["nouns"]:
        # "kuzenimin Exxen aboneliği"
        noun = bare
    body = [*words[:-1], words[-1].split("'")[0] if "'" in words[-1] else noun or words[-1]] if words else []
    frame.rest = " ".join(body)
    frame.readings = readings_of("var", body, grammar)
    return frame
