"""Turkish words taken apart: finite verbs, case endings, possessives. Suffixes only, no dictionary of nouns."""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass
from functools import lru_cache

from aico_memory.domain.formation.wording import lower_in

_H, _A, _V = "[ıiuü]", "[ae]", "[aeıioöuü]"
_PERSON_Z = f"(?P<p>y?{_H}m|s{_H}n(?:{_H}z)?|y?{_H}z|l{_A}r)?"
_PERSON_K = f"(?P<p>m|n(?:{_H}z)?|k|l{_A}r)?"
# Longest first; each gives stem, negation, tense and person.
_FORMS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (tense, re.compile(pattern))
    for tense, pattern in (
        ("was", rf"^(?P<s>.+?)(?P<n>m)?{_H}yordu{_PERSON_K}$"),
        ("progressive", rf"^(?P<s>.+?)(?P<n>m)?{_H}yor(?P<p>um|sun(?:uz)?|uz|lar)?$"),
        ("future", rf"^(?P<s>.+?)(?P<n>m{_A})?y?(?:ac[aı]|ec[ei])(?:ğ(?P<p1>{_H}m|{_H}z)|k(?P<p2>s{_H}n|l{_A}r)?)$"),
        ("wish", rf"^(?P<s>.+?)(?P<n>m{_A})?m{_A}l[ıi]{_PERSON_Z}$"),
        ("unable", rf"^(?P<s>.+?)y?{_A}(?P<n>m)(?:{_H}yor(?:um|uz|lar)?|{_A}m|{_A}y{_H}z|{_A}z(?:l{_A}r)?)$"),
        ("once", rf"^(?P<s>.+?)(?:{_A}|{_H})?(?:r|(?P<n>m{_A}z))[dt]{_H}{_PERSON_K}$"),
        ("past", rf"^(?P<s>.+?)(?P<n>m{_A})?[dt]{_H}{_PERSON_K}$"),
        ("told", rf"^(?P<s>.+?)(?P<n>m{_A})?m{_H}ş{_PERSON_Z}$"),
        ("aorist", rf"^(?P<s>.+?)(?P<n>m{_A})(?P<p>m|y{_H}z|z(?:s{_H}n)?|zl{_A}r)$"),
        ("aorist", rf"^(?P<s>.+?)(?:{_A}|{_H})?r{_PERSON_Z}$"),
    )
)
_FIRST = re.compile(f"^(?:y?{_H}m|um|m|y?{_H}z|uz|k)$")
_CASES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (case, re.compile(pattern))
    for case, pattern in (
        ("@den", f"^n?[dt]{_A}n$"),
        ("@de", f"^n?[dt]{_A}(?:ki|y{_H}m|y{_H}z|ydi|yd[ıi]m)?$"),
        ("@gen", f"^n?{_H}n$"),
        ("@le", f"^y?l{_A}$"),
        ("@e", f"^[yn]?{_A}$"),
        ("@i", f"^[yn]?{_H}$"),
    )
)
# Words and names that end like a case.
_WHOLE = re.compile(
    "adelaide|amanda|asude|beden|beste|brenda|cadde|candan|carsten|cavide|costa|erden|fayda|ferda|ferhunde|"
    "feride|fidan|fiesta|florida|frida|friede|funda|gerda|granada|gövde|gözde|gülden|gülzade|gıda|hafta|hamide|"
    "handan|hande|hanzade|hasta|heide|hilda|hollanda|iade|ifade|ilda|irade|irlanda|izlanda|kaftan|kanada|"
    "kaptan|karsten|kirsten|kristen|köfte|lada|linda|liste|macide|madde|maden|magda|manda|mathilde|matilda|mazda|"
    "melda|merdan|meydan|mide|miranda|moda|müjde|nafta|nahide|nazende|neden|nevada|nevide|neşide|nida|nurdan|"
    "ostende|pagoda|panda|pasta|perde|pide|posta|prada|ruanda|sade|saide|seda|selda|serdan|siesta|skoda|soda|"
    "softa|torsten|tristan|uganda|usta|vade|vahide|vicdan|vildan|vista|wanda|yolanda|zahide|zelda|zindan|zübeyde|"
    "şehzade"
)
# "konuşabiliyorum": who can, does.
_ABLE = re.compile(f"y?{_A}bil(?={_H}(?:r|yor))")
# "evdeydik": where somebody was, no verb.
_WAS_AT = re.compile(f"[dt]{_A}yd[ıi](?:m|k|l{_A}r)?$")
# Nouns whose n is their own: zeytin-den, but evi-n-den.
_WITH_N = frozenset(
    {
        "zeytin", "oyun", "koyun", "kadın", "tütün", "yayın", "basın", "düğün", "sabun", "bütün", "kayın", "apartman", "dükkan",
        "kantin", "vitrin", "benzin", "kanun", "odun", "altın", "yarın", "gelin", "torun", "kurşun", "magazin",
        "dükkân", "ekran", "salon", "telefon", "istasyon", "vagon", "plan", "balkon", "televizyon", "kamyon", "tavan", "vatan",
    }
)  # fmt: skip
_SHORT = frozenset({"suya", "çaya", "köye"})
_VOICELESS = "fstkçşhp"
_HARD = {"ğ": "k", "b": "p", "c": "ç"}
# Two syllables at least, and a d that was a t.
_SOFT_T = re.compile(r"(?i)^(?!.*soyad$|madrid$)[^\W\d]*[aeıioöuü][^\W\daeıioöuü]+[aeıioöuü]r?d$")


@dataclass(frozen=True, slots=True)
class Verb:
    """A finite verb: lemma (its stem), tense, negation, and whether the speaker is the subject."""

    lemma: str
    tense: str
    negated: bool
    first_person: bool


@lru_cache(maxsize=8192)
def read_verb(word: str, known: frozenset[str]) -> Verb | None:
    """The word as a finite verb, None where no reading has a known stem."""
    word = _ABLE.sub("", word)
    for tense, form in _FORMS:
        match = form.match(word)
        if match is None:
            continue
        groups = match.groupdict()
        stem = _known_stem(groups["s"], known)
        if not stem:
            continue
        person = groups.get("p") or groups.get("p1") or groups.get("p2") or ""
        first = bool(_FIRST.match(person)) or (tense == "unable" and word.endswith(("um", "uz", "am", "em")))
        return Verb(stem, tense, bool(groups.get("n")), first)
    return None


# "geldim", "koştuk": t behind a voiceless sound only, so that "matematik" is none.
_PAST = re.compile(f"(?:[aeıioöuülnrzy]d|[şktç]t){_H}[mk]$")


def looks_finite(word: str) -> bool:
    """Whether an unknown word has the ending of a finite verb beyond doubt."""
    return bool(re.search(f"{_H}yor(?:du)?(?:um|sun|uz|lar|m|k)?$|[ae]c[ae][kğ](?:[ıi]m|[ıi]z)?$", word)) or bool(
        _PAST.search(word) and len(word) > 4
    )


def open_stem(word: str) -> Verb | None:
    """An unknown finite verb; its stem is the same in every tense because the last vowel is dropped."""
    if not looks_finite(word) or _WAS_AT.search(word):
        return None
    for tense, form in _FORMS[:3] + _FORMS[6:7]:
        if match := form.match(word):
            stem = re.sub(f"{_V}$", "", match["s"])
            person = match.groupdict().get("p") or match.groupdict().get("p1") or ""
            if len(stem) >= 2:
                return Verb(stem, tense, bool(match.groupdict().get("n")), bool(_FIRST.match(person)))
    return None


def _known_stem(stem: str, known: Set[str]) -> str:
    candidates = [stem, stem + "a", stem + "e", stem + "ı", stem + "i", stem + "u", stem + "ü"]
    if stem.endswith("d"):
        candidates.append(stem[:-1] + "t")
    if stem == "d":
        candidates.append("de")
    if stem.endswith(("ın", "in")):
        candidates.append(stem)
    return next((candidate for candidate in candidates if candidate in known), "")


def split_case(word: str, sure: bool = True) -> tuple[str, str]:
    """(case, stem) of a word; without an apostrophe only endings that are hardly ever part of a stem, unless not `sure`."""
    if "'" in word:
        stem, _, suffix = word.partition("'")
        for case, pattern in _CASES:
            if pattern.match(lower_in(suffix, "tr")):
                return case, stem
        return "", stem
    low = lower_in(word, "tr")
    if _WHOLE.fullmatch(low):
        return "", word
    owned = re.match(f"^(.{{2,}}?{_H})n([dt]{_A}n?)$", low)
    if (match := owned) and word[:1].islower() and len(match[1]) > 3 and f"{match[1]}n" not in _WITH_N:
        return ("@den" if match[2].endswith("n") else "@de"), word[: len(match[1])]
    if (match := re.match(f"^(.{{2,}})([dt]{_A}n)$", low)) and _agrees(match[1], match[2]):
        return "@den", word[: len(match[1])]
    if len(word) > 3 and (match := re.match(f"^(.{{2,}})([dt]{_A})(?:y{_H}[mz])?$", low)) and _agrees(match[1], match[2]):
        return "@de", word[: len(match[1])]
    return "", word


def _agrees(stem: str, ending: str) -> bool:
    """Whether t or d of an ending fits the stem ("katta" has its t after a voiceless sound)."""
    return (stem[-1] in _VOICELESS) == ending.startswith("t")


def maybe_cases(word: str, known: Set[str] = frozenset(), compound: bool = False) -> list[tuple[str, str]]:
    """Readings of a word without apostrophe as dative, accusative or instrumental; a known word has only the last."""
    if "'" in word or len(word) < 3:
        return []
    low, found = lower_in(word, "tr"), []
    for case, pattern in (
        ("@le", f"^(.{{2,}}?)y?l{_A}$"),
        ("@e", f"^(.{{2,}}?)([yn]?){_A}$"),
        ("@i", f"^(.{{2,}}?)([yn]?){_H}$"),
    ):
        match = re.match(pattern, low)
        if match and case != "@le" and match[2] == "n" and not compound:
            # "n" joins an ending only to a possessive: penisilin-e, but evi-n-e.
            match = re.match(pattern.replace("?)([yn]", ")([yn]"), low)
        if match and (compounded := re.match(f"^(.+(?:s{_H}|okulu|yurdu|evi))n[aeıi]$", low)) and case != "@le":
            # "arı sokmasına"
            found.append((case, word[: len(compounded[1])]))
            continue
        if match and len(match[1]) >= (3 if case == "@e" and match[2] == "y" and low not in _SHORT else 2):
            stem = word[: len(match[1])]
            if case in ("@i", "@e") and low in known:
                continue
            if low[len(stem) : len(stem) + 1] == "y" and f"{lower_in(stem, 'tr')}y" in known:
                # çay, köy: the y is the word's own.
                stem = word[: len(match[1]) + 1]
            found.append((case, harden(stem)))
    return found


def harden(stem: str) -> str:
    """köpeğ → köpek, kitab → kitap, reng → renk, simid → simit."""
    if len(stem) > 3 and stem.endswith("ng"):
        return f"{stem[:-1]}k"
    if _SOFT_T.match(stem):
        return f"{stem[:-1]}t"
    return stem[:-1] + _HARD[stem[-1]] if len(stem) > 3 and stem[-1:] in _HARD else stem


def unpossessed(word: str, known: Set[str]) -> str:
    """The noun of "…im" (mine) and "…imiz" (ours); empty where the word is no such form."""
    match = re.match(f"^(.+?)(?:m|m{_H}z)$", word)
    if match is None or not re.search(f"{_V}$", match[1]) or len(match[1]) < 2:
        return ""
    base = match[1]
    shorter = base[:-1]
    candidates = [
        base,
        harden(shorter) if len(shorter) > 2 else shorter,
        shorter,
        shorter + "ı",
        shorter[:-1] + "u" + shorter[-1:],
        shorter[:-1] + "ı" + shorter[-1:],
    ]
    if len(shorter) > 3 and shorter.endswith("d"):
        # "kilidim": kilit.
        candidates.append(f"{shorter[:-1]}t")
    if len(shorter) > 2 and shorter[-1] == shorter[-2]:
        # "hattım": hat.
        candidates.append(shorter[:-1])
    if base[:-1].endswith(("lar", "ler")) and len(base) > 5:
        # "hobilerim": of many.
        candidates.append(base[:-4])
    for candidate in candidates:
        if candidate in known:
            return candidate
    if base[-1] in "aeoö":
        return base
    return harden(shorter) if len(shorter) > 2 and not re.search(f"{_V}$", shorter) else base


def with_its_n(stem: str) -> str:
    """The stem with an n that is its own and no ending's ("apartma", of "apartmanın"); others as they are."""
    return f"{stem}n" if f"{lower_in(stem, 'tr')}n" in _WITH_N else stem


def genitive(word: str) -> str:
    """The word without its genitive ("köpeğimin" → "köpeğim", "Lena'nın" → "Lena"); empty where it has none."""
    if "'" in word:
        case, stem = split_case(word)
        return stem if case == "@gen" else ""
    match = re.match(f"^(.+?(?:{_H}m{_H}z|{_V}m{_H}z|{_H}m|{_V}m|{_V}))(?:n?{_H}n)$", word)
    return match[1] if match and len(match[1]) > 2 and re.search("m(?:[ıiuü]z)?$", match[1]) else ""


def third_possessed(word: str) -> bool:
    """Whether it may be "his/her/its …" ("adı", "mesleği", "günü")."""
    return bool(re.search(f"(?:s{_H}|[^aeıioöuü]{_H})$", word)) and len(word) >= 3
