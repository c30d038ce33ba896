"""Turkish noun phrases: whose, which case, which of them is the subject."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from functools import lru_cache

from aico_memory.domain.formation.frames import Party
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.turkish_words import (
    Verb,
    genitive,
    harden,
    maybe_cases,
    open_stem,
    read_verb,
    split_case,
    third_possessed,
    unpossessed,
    with_its_n,
)
from aico_memory.domain.formation.wording import COMMA, lower_in, squeeze

# "hesabımı": a thing of one's own with an ending of case, never part of a name.
# "toplantısı"
_OWNED = re.compile("s[ıiuü]$")
_OF_A_PLACE = re.compile(
    "(?:okulu|lisesi|üniversitesi|koleji|hastanesi|bankası|belediyesi|şirketi|fakültesi|müzesi|kulübü|kursu)$"
)
_MINE_CASED = re.compile("m(?:[ıiuü]z)?[ıiuüae]$")
# Cases in which two names with "ve" between them are one list; who is at one place and another may tell two things.
_LISTED = ("@e", "@i")


def low_tr(word: str) -> str:
    """Lower case by the Turkish alphabet."""
    return lower_in(word, "tr")


def of_province(word: str, grammar: Grammar) -> bool:
    """Whether it names a province, with an ending of case or without: "İzmirde"."""
    return low_tr(split_case(word)[1]) in grammar.words["provinces"]


def uncased(word: str, grammar: Grammar) -> str:
    """The word without its case; a name without an apostrophe is whole ("Honda"), save a place that is known as one."""
    low, stem = low_tr(word), split_case(word)[1]
    known = grammar.words["provinces"] | grammar.calendar.weekdays.keys() | grammar.calendar.months.keys()
    named = word[:1].isupper() and "'" not in word and low_tr(stem) not in known | grammar.calendar.numbers.keys()
    return word if named or low in grammar.words["not_cased"] else stem


# What has a name in front of it.
_OF_A_NAME = re.compile(r"^(?:proje|ekib|takım|bölüm|kampanya|uygulama)\w+")


@lru_cache(maxsize=8)
def known_verbs(grammar: Grammar) -> frozenset[str]:
    """The verbs that the language's file knows, made once."""
    return frozenset(grammar.verbs)


def verb_of(word: str, grammar: Grammar) -> Verb | None:
    """A lower-case word as a finite verb, known or by its ending alone; None where it is none."""
    return read_verb(word, known_verbs(grammar)) or open_stem(word)


def own_noun(word: str, grammar: Grammar) -> str:
    """The noun of "my …" or "our …"; empty where the word is none."""
    if word in grammar.words["own"] or word in grammar.words["adverbs"] or word in grammar.words["not_possessed"]:
        return ""
    return unpossessed(word, grammar.words["nouns"] | frozenset(grammar.relations))


def one_of_kin(word: str, grammar: Grammar) -> str:
    """The noun of somebody's "kızı", "kızları", "kedisi", of which people have several; other words as they are."""
    if not third_possessed(word) or word in grammar.relations:
        return word
    # Children, siblings, animals; a teacher one has one of at a time.
    several = frozenset().union(*grammar.collectives.values())
    bare = re.sub("(?:l[ae]r[ıi]|s?[ıiuü])$", "", word)
    # oğlu: its vowel comes back.
    found = next((one for one in (bare, harden(bare), f"{bare[:-1]}u{bare[-1:]}") if one in several), "")
    return found or word


def of_a_thing(low: list[str], at: int, grammar: Grammar) -> str:
    """The owner in "evin şifresi …": a genitive that only the possessed noun behind it gives away."""
    match = re.match("^(.{2,}?)(?:n)?[ıiuü]n$", low[at])
    if match is None or len(low) < at + 3 or low[at] in grammar.words["adverbs"]:
        return ""
    return (
        with_its_n(match[1])
        if any(
            word in grammar.words["time_nouns"] or (third_possessed(word) and word not in grammar.words["adverbs"])
            for word in low[at + 1 : at + 3]
        )
        else ""
    )


def possessed_end(low: list[str], start: int, stop: int, otherwise: int) -> int:
    """Where a possessed noun phrase ends: at the last "…si", or else at the first that may be possessed."""
    sure = [at for at in range(start, stop) if low[at].endswith(("sı", "si", "su", "sü")) and len(low[at]) > 3]
    return sure[0] if sure else next((at for at in range(start, stop) if third_possessed(low[at])), otherwise)


def subject_of(words: list[str], grammar: Grammar, party: Party | None) -> tuple[int, Party | None]:  # noqa: PLR0912
    """How many words at the start name the subject of a third person, and whom they name."""
    if not words:
        return 0, None
    low = [low_tr(word) for word in words]
    if low[0] in grammar.words["pronouns"]:
        return 1, party
    events = grammar.words["events"]
    event = next((at for at, word in enumerate(low[:5]) if {word, word[:-1], _OWNED.sub("", word)} & events), -1)
    if event >= 0 and not any("'" in word for word in words[: event + 1]):
        last = own_noun(low[event], grammar) or next(
            (one for one in (_OWNED.sub("", low[event]), low[event]) if one in events), low[event]
        )
        # "babamın ameliyatı": whose it is without its ending, as where no verb follows.
        whose_is = [own_noun(genitive(word), grammar) or word if genitive(word) else word for word in low[:event]]
        return event + 1, Party(noun=" ".join([*whose_is, last]), possessed=True)
    for at in range(min(4, len(words))):
        thing = at == 0 and "".join(words[1:2])[:1].islower()
        if (whose := genitive(words[at]) or (of_a_thing(low, at, grammar) if thing else "")) and at + 1 < len(words):
            owner = own_noun(low_tr(whose), grammar) or whose.casefold()
            end = possessed_end(low, at + 1, min(at + 4, len(words)), -1)
            if end > 0:
                return end + 1, Party(owner=owner, noun=" ".join(low[at + 1 : end + 1]), possessed=True)
        if noun := own_noun(low[at], grammar):
            names = 0
            while at + 1 + names < len(words) and words[at + 1 + names][:1].isupper() and "'" not in words[at + 1 + names]:
                if low[at + 1 + names] in grammar.words["not_named"] or of_province(words[at + 1 + names], grammar):
                    # "Oğlum İngilizce kursuna gidiyor", "Annem İstanbulda yaşıyor"
                    break
                names += 1
            if names > 1 and _case_follows(words, at + 1 + names):
                # "Oğlum Kerem Atatürk İlkokulu'na gidiyor"
                names = 1
            elif names == 1 and _case_follows(words, at + 2) and _OF_A_PLACE.search(low[at + 2].partition("'")[0]):
                # "Oğlum Bahçeşehir Koleji'ne başladı": the name is the school's.
                names = 0
            full = " ".join([*low[:at], noun])
            related = noun in grammar.relations or full in grammar.relations
            name = " ".join(words[at + 1 : at + 1 + names]) if related else ""
            return at + 1 + (names if related else 0), Party(noun=full, name=name, possessed=True)
    names = 0
    while (
        names < len(words)
        and words[names][:1].isupper()
        and "'" not in words[names]
        and not (names and low[names] in grammar.words["not_named"])
        and (low[names] in grammar.words["not_cased"] or not split_case(words[names])[0])
    ):
        names += 1
    if names > 1 and (_case_follows(words, names) or (names < len(words) and _OF_A_NAME.match(low[names]))):
        # "Pınar Orion projesini yönetiyor"
        names = 1
    if names == 1 and len(words) > 1 and _OF_A_PLACE.search(low[1].partition("'")[0]) and "'" in words[1]:
        # "Cumhuriyet Ortaokulu'na gidiyor": the first word is of the place, whoever goes there.
        return 0, None
    if names and (names > 1 or words[0].casefold() not in grammar.words["nouns"]):
        common = low[0] in grammar.words["events"] or low[-1] in grammar.words["events"]
        if not common:
            return names, Party(name=" ".join(words[:names]))
    end = next((i for i, word in enumerate(words) if split_case(word)[0] or low[i] in ("saat", "her")), len(words))
    if end and end < len(words) and low[0] not in ("bir", "yeni"):
        return end, Party(noun=" ".join(low[:end]), possessed=True)
    if low[0] in grammar.words["events"]:
        return 1, Party(noun=low[0], possessed=True)
    if len(words) in (2, 3) and third_possessed(low[-1]) and low[-1].endswith(("sı", "si", "su", "sü")):
        # "site projesi (devam ediyor)"
        return len(words), Party(noun=" ".join(low), possessed=True)
    return 0, None


def _case_follows(words: list[str], at: int) -> bool:
    """Whether a capital name with an ending stands there: the words before it are rather its own."""
    return at < len(words) and words[at][:1].isupper() and "'" in words[at]


def chunks_of(words: list[str], grammar: Grammar, whole_names: bool = False) -> list[tuple[str, list[str]]]:
    """Phrases with what marks them: a case, a postposition, or nothing (the last one)."""
    found: list[tuple[str, list[str]]] = []
    current: list[str] = []
    for word, behind in zip(words, [*words[1:], ""], strict=False):
        low = low_tr(word)
        if low in grammar.words["postpositions"] and current:
            found.append(("@le" if low == "ile" else low, current))
            current = []
            continue
        case, stem = split_case(word)
        if low in grammar.words["not_cased"] | grammar.words["nominative"] or (
            whole_names and word[:1].isupper() and "'" not in word
        ):
            case, stem = "", word
        if low_tr(behind) == "olarak" and "'" not in word:
            # "Barista olarak": what stands before it has no ending, whatever it looks like.
            case, stem = "", word
        if case and case != "@gen":
            if "'" in word:
                start = _name_starts(current)
                joins = bool(found) and found[-1][0] == case in _LISTED
                if joins and current in (["ve"], [COMMA]):
                    # "İspanya'ya ve Portekiz'e": one list.
                    found[-1] = (case, [*found[-1][1], *current, stem])
                    current = []
                    continue
                if current[:start]:
                    found.append(("", current[:start]))
                current = current[start:]
            found.append((case, [*current, stem]))
            current = []
        else:
            current.append(word)
    if current:
        found.append(("", current))
    return found


def _maybe(word: str, compound: bool, grammar: Grammar) -> list[tuple[str, str]]:
    """The cases a word may stand in; the end of a compound ("elma suyu") is hardly an accusative."""
    found = maybe_cases(word, grammar.words["nominative"], compound)
    return [(case, stem) for case, stem in found if not (compound and case == "@i" and not word[:1].isupper())]


def readings_of(lemma: str, words: list[str], grammar: Grammar) -> list[str]:
    """`<verb> <phrases>` in every reading that the endings allow."""
    found = _read_with(lemma, words, grammar, whole_names=False)
    if any(word[:1].isupper() and "'" not in word and split_case(word)[0] for word in words):
        # "Toyota kullanıyorum": the end of a name may look like a case.
        found += _read_with(lemma, words, grammar, whole_names=True)
    return found


def _name_starts(words: Sequence[str]) -> int:
    """Where the names begin that a name behind these words takes along: "Ankara ve Konya'ya"."""
    start = len(words)
    while start:
        word = words[start - 1]
        if word in ("ve", COMMA):
            if start < 2 or not words[start - 2][:1].isupper():
                break
        elif not any(letter.isupper() for letter in word) or _MINE_CASED.search(low_tr(word)):
            break
        start -= 1
    return start


def _each(words: list[str], case: str, known: Set[str]) -> list[str]:
    """ "penisiline ve kediye": every member of the list stands in that case, or only the last."""
    found = list(words)
    for at, word in enumerate(words):
        if at + 1 == len(words) or words[at + 1] not in ("ve", COMMA):
            continue
        compound = at > 0 and words[at - 1] not in ("ve", COMMA)
        stem = dict(maybe_cases(word, known, compound=compound)).get(case, "")
        if not stem:
            return words
        found[at] = stem
    return found


def _of_compound(words: list[str], at: int) -> bool:
    """Whether "zehrine" in "arı zehrine alerjim": its n joins an ending to what is possessed."""
    return at > 0 and words[at - 1] not in ("ve", COMMA) and low_tr(words[at])[-2:-1] == "n"


def _read_with(lemma: str, words: list[str], grammar: Grammar, whole_names: bool) -> list[str]:
    chunks = chunks_of(words, grammar, whole_names)
    marked = [f"{case} {' '.join(part)}" for case, part in chunks if case]
    bare = [word for case, part in chunks if not case for word in part]
    heads = [" ".join(bare)]
    known = grammar.words["nominative"]
    if bare:
        if "ve" in bare or COMMA in bare:
            # "yürüyüşü ve çömlekçiliği": every member of the list has the ending, or it is none.
            listed = [
                word
                if word in ("ve", COMMA)
                else next((stem for case, stem in _maybe(word, False, grammar) if case == "@i"), word)
                for word in bare
            ]
            ends = [at for at in range(len(bare)) if at + 1 == len(bare) or bare[at + 1] in ("ve", COMMA)]
            if all(listed[at] != bare[at] for at in ends):
                heads.append(f"@i {' '.join(listed)}")
        heads += [
            f"{case} {' '.join([*_each(bare[:-1], case, known), stem])}"
            for case, stem in _maybe(bare[-1], len(bare) > 1 and bare[-2] not in ("ve", COMMA), grammar)
        ]
        if len(bare) > 1:
            # A marked phrase in front of a bare object: "Ankara'ya taşındım" needs none, "fıstığa alerjim var" does.
            heads += [
                f"{' '.join(bare[at + 1 :])} {case} {' '.join([*_each(bare[:at], case, known), stem])}"
                for at in range(len(bare) - 1)
                for case, stem in _maybe(bare[at], _of_compound(bare, at), grammar)
                if case != "@le"
            ]
        if len(bare) > 1:
            each = [next(iter(_maybe(word, False, grammar)), ("", word)) for word in bare]
            alone = not {"ve", COMMA}.intersection(bare)
            # Before a word without an ending another one has none: "kırmızı et".
            if (each[-1][0] and alone) or not any(case for case, _ in each):
                heads.append(" ".join(squeeze(f"{case} {stem}") for case, stem in each))
    return [squeeze(" ".join([lemma, head, *marked])) for head in heads]
