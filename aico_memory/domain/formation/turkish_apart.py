"""Turkish sentences that share a head, a subject or a verb, told one by one: "satranç ve resim kursuna gidiyor"."""

from __future__ import annotations

import re

_UPPER = "A-ZÇĞİÖŞÜ"
_WORD = r"[^\W\d_]+"
_NAME = rf"[{_UPPER}][\wçğıöşü]+"
_BEGINS = r"(?:^|(?<=[.!?;] )|(?<=, ))"
# "Kızım", "Oğlum Can", "Elif": whoever does it. One's own end in a vowel and m.
_WHO = rf"(?:(?i:{_WORD}[aeıioöuü]m(?:[ıiuü]z)?)(?: {_NAME})?|{_NAME})"
_STILL = r"(?:(?:artık|hem|şimdi|bu yıl|bu sene|bu dönem|hâlâ|hala|her hafta|hafta sonları) )*"

# "Satranç, resim ve yüzme kurslarına gidiyor": one course each.
_COURSES = re.compile(
    rf"{_BEGINS}(?P<s>{_WHO} )?(?P<t>{_STILL})(?P<l>{_WORD}(?:, {_WORD}){{0,3}} ve {_WORD})"
    r" (?:(?P<n>kurs|ders|kulüb|kulüp|atölye|antrenman)(?:s?[ıiuü]|l[ae]r[ıi])n[ae](?: da| de)?"
    r"|(?:dersleri|dersi|konuları) için (?P<m>kurs|ders|dershane)(?:y?[ae]|l[ae]r[ae])) (?P<v>[^\W\d_]+)"
)
_HEADS = {"kurs": "kursuna", "ders": "dersine", "kulüb": "kulübüne", "kulüp": "kulübüne", "atölye": "atölyesine",
          "antrenman": "antrenmanına", "dershane": "kursuna"}  # fmt: skip

# "Burak'ın iki kızı var: Elif ve Duru", "Burak Samsun'da yaşıyor, iki kızı var: Elif ve Duru".
_COUNT = r"(?:iki|üç|dört|beş|altı|\d)"
_KIN = (
    "kızı", "oğlu", "çocuğu", "torunu", "kedisi", "köpeği", "kuşu", "kardeşi", "ablası", "abisi", "yeğeni", "kuzeni", "tavşanı",
)  # fmt: skip
_LISTED = re.compile(
    rf"{_BEGINS}(?:(?P<k>{_WORD}[aeıioöuü]m(?:[ıiuü]z)?) (?={_NAME}'))?"
    rf"(?:(?P<o>{_WORD}(?:'n?[ıiuü]n|[aeıioöuü]m(?:[ıiuü]z)?[ıiuü]n)) )?"
    rf"(?P<c>{_COUNT}) (?P<n>{'|'.join(_KIN)}) var ?[:,.] "
    rf"(?:adları |isimleri )?(?P<l>{_NAME}(?:, {_NAME})*,? ve {_NAME})(?=[.!]|$)"
)
_SUBJECT = re.compile(rf"^(?:{_WORD}[ıiuü]m )?(?P<n>{_NAME})(?='| )|^(?P<k>(?i:{_WORD}[aeıioöuü]m(?:[ıiuü]z)?))(?= )")
_SPLIT = re.compile(r",? ve |, ")
_HARMONY = {"a": "ı", "ı": "ı", "e": "i", "i": "i", "o": "u", "u": "u", "ö": "ü", "ü": "ü"}


def told_one_by_one(text: str) -> str:
    """The text with what shares a head or an owner told in sentences of their own."""
    if " ve " in text:
        text = _COURSES.sub(_each_course, text)
        text = _LISTED.sub(lambda match: _each_name(match, text), text)
    return text


def _each_course(match: re.Match[str]) -> str:
    head = _HEADS[match["n"] or match["m"]]
    who = (match["s"] or "") + (match["t"] or "")
    return ". ".join(f"{who}{one} {head} {match['v']}" for one in _SPLIT.split(match["l"]))


def _each_name(match: re.Match[str], text: str) -> str:
    owner = match["o"] or _owner_before(text[: match.start()])
    if not owner:
        return match.group()
    named = ". ".join(f"{owner} {match['n']} {one}" for one in _SPLIT.split(match["l"]))
    kin = f"{match['k']} " if match["k"] else ""
    return f"{kin}{owner} {match['c']} {match['n']} var. {named}"


def _owner_before(before: str) -> str:
    """Whose they are, by the subject of the sentence that goes on ("Burak Samsun'da yaşıyor, …"), in the genitive."""
    sentence = re.split(r"[.!?;] ", before)[-1]
    found = _SUBJECT.match(sentence.strip())
    if found is None:
        return ""
    return genitive_of(found["n"] or found["k"], bool(found["n"]))


def harmony_of(word: str) -> str:
    """The high vowel that an ending of the word has."""
    vowels = [letter for letter in word.lower() if letter in _HARMONY]
    return _HARMONY[vowels[-1]] if vowels else "i"


def genitive_of(word: str, name: bool) -> str:
    """The word with the ending of whose something is ("Burak'ın", "kızımın")."""
    ending = harmony_of(word)
    joined = "n" if word[-1:].lower() in _HARMONY else ""
    return f"{word}{chr(39) if name else ''}{joined}{ending}n"
