"""Forms of verbs from their principal parts, so that a table names a verb once."""

from __future__ import annotations

from collections.abc import Iterable

Forms = dict[str, tuple[str, str]]
_VOWELS = "aeiou"


def english_forms(entries: Iterable[str]) -> Forms:
    """form -> (lemma, tense) of `live` and `go:went:gone`."""
    forms: Forms = {}
    for entry in entries:
        lemma, *parts = entry.split(":")
        past = parts[0] if parts else _ed(lemma)
        participle = parts[1] if len(parts) > 1 else past
        for form, tense in (
            (_ing(lemma), "progressive"), (participle, "participle"), (past, "past"), (_s(lemma), "third"), (lemma, "infinitive"),  # noqa: E501
        ):  # fmt: skip
            forms[form] = (lemma, tense)
            if form.endswith("lled") or form.endswith("lling"):
                forms[form.replace("lled", "led").replace("lling", "ling")] = (lemma, tense)
    return forms


def _ed(lemma: str) -> str:
    if lemma.endswith("e"):
        return lemma + "d"
    if lemma.endswith("y") and lemma[-2] not in _VOWELS:
        return lemma[:-1] + "ied"
    return _doubled(lemma) + "ed"


def _ing(lemma: str) -> str:
    if lemma in ("die", "lie"):
        return lemma[:-2] + "ying"
    if lemma.endswith("e") and not lemma.endswith(("ee", "ye", "oe")):
        return lemma[:-1] + "ing"
    return _doubled(lemma) + "ing"


def english_third(lemma: str) -> str:
    """play → plays, carry → carries."""
    return _s(lemma)


def _s(lemma: str) -> str:
    if lemma.endswith("y") and lemma[-2] not in _VOWELS:
        return lemma[:-1] + "ies"
    return lemma + ("es" if lemma.endswith(("s", "x", "z", "ch", "sh", "o")) else "s")


def _doubled(lemma: str) -> str:
    short = len(lemma) >= 3 and lemma[-1] in "bdglmnprt" and lemma[-2] in _VOWELS and lemma[-3] not in _VOWELS
    one_syllable = sum(letter in _VOWELS for letter in lemma) == 1 or lemma in (
        "cancel",
        "travel",
        "enrol",
        "prefer",
        "begin",
        "forget",
        "transfer",
    )
    return lemma + lemma[-1] if short and one_syllable else lemma


def german_forms(entries: Iterable[str]) -> Forms:
    """form -> (lemma, tense) of `wohnen`, `ziehen:zieht:zog:gezogen` and `um|ziehen:…`."""
    forms: Forms = {}
    for entry in entries:
        head, *parts = entry.split(":")
        prefix, _, base = head.rpartition("|")
        stem = base[:-2] if base.endswith("en") else base[:-1]
        link = "e" if stem.endswith(("t", "d")) or base in ("öffnen", "trocknen") else ""
        third = parts[0] if parts else stem + link + "t"
        past = parts[1] if len(parts) > 1 else stem + link + "te"
        begins = not base.startswith(
            ("be", "ge", "er", "ver", "zer", "ent", "emp", "miss", "über", "unter")
        ) and not base.endswith("ieren")
        participle = parts[2] if len(parts) > 2 else ("ge" if begins else "") + stem + link + "t"
        lemma = prefix + base
        first = {"sein": "bin", "werden": "werde", "haben": "habe", "wissen": "weiß", "können": "kann", "wollen": "will", "mögen": "mag",  # noqa: E501
                 "müssen": "muss", "sollen": "soll", "dürfen": "darf", "möchten": "möchte", "wechseln": "wechsle", "sammeln": "sammle",  # noqa: E501
                 "angeln": "angle"}.get(base, base[:-3] + "le" if base.endswith("eln") else stem + "e")  # fmt: skip
        plural_past = past + ("n" if past.endswith("e") else "en")
        finite = {first: "present", third: "present", past: "past", plural_past: "past", base: "both"}
        finite.setdefault(stem, "present") if not prefix and base in ("wohnen", "haben", "arbeiten") else None
        if base == "sein":
            finite.update({"ist": "present", "sind": "present", "bist": "present", "seid": "present"})
        if base == "haben":
            finite.update({"hab": "present"})
        for form, tense in finite.items():
            forms.setdefault(prefix + form, (lemma, tense))
            if prefix:
                forms.setdefault(form, (base, tense))
        joined = prefix + participle
        tense = "two" if joined in forms else "participle"
        forms[joined] = (lemma, tense if forms.get(joined, (lemma, ""))[1] != "both" else "two")
        if prefix:
            forms[f"{prefix}zu{base}"] = (lemma, "infinitive")
            forms.setdefault(participle, (base, "participle"))
    return forms


def turkish_stems(entries: Iterable[str]) -> Forms:
    """stem -> (stem, infinitive); `emekli_ol` is a verb of two words."""
    return {entry.replace("_", " "): (entry.replace("_", " "), "infinitive") for entry in entries}
