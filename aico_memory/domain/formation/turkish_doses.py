"""How much of which medicine, in one wording: "günde 5 mg alıyorum", "Delix dozu 10 mg'a çıktı" -> "Delix dozum 10 mg"."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NAME = r"[A-ZÇĞİÖŞÜ][\wçğıöşü-]{2,}"
# What is weighed and is no medicine, and what names none.
_DRUG = r"(?!(?:ilaç|ilacı|hap|protein\w*|şeker\w*|tuz|kafein|lif|yağ|su|vitamin\w*|takviye\w*)\b)[a-zçğıöşü]{4,}"
_DOSE = r"\d[\d.,]* ?(?:mg|gr|gram|ml|mcg|miligram|mikrogram|damla|ünite|puf)(?![^\W\d_])"
_BEGINS = r"(?:^|(?<=[.!?;] )|(?<=, )|(?<=: ))"
_OFTEN = r"(?:(?i:artık|günde|sabahları|akşamları|geceleri|sabah akşam|her (?:gün|sabah|akşam|gece)|şimdi|şimdilik|bir|tek) )*"
_WHEN = (
    "artık|günde|bugün|dün|şimdi|şimdilik|hâlâ|hala|her|sabah|akşam|gece|öğlen|sabahları|akşamları|geceleri|öğlenleri"
    "|doktor|haftada|ayda|toplam|yaklaşık|sadece|yalnızca|ben|biz"
)
_TAKES = r"(?:alıyor|kullanıyor|içiyor)"
_KIN = r"(?i:annem|babam|eşim|kızım|oğlum|ablam|abim|kardeşim|dedem|anneannem|babaannem|teyzem|halam|amcam|dayım|kocam|karım)"

# "Delix dozum artık 10 mg oldu", "Euthyrox'un dozu 125 mcg'ye çıktı", "annemin Delix dozunu 10 mg yaptılar".
_DOSE_OF = re.compile(
    rf"(?:(?P<w>[^\W\d_]+m[ıiuü]n )|(?P<k>{_KIN}) |(?:[Dd]oktor|[Hh]ekim|[^\W\d_]{{3,}}[ıiuü]m) )?\b"
    r"(?P<n>(?![İiIı]la[cç]|[Gg]ünlük|[Yy]eni)[^\W\d_]{4,})(?:'?n?[ıiuü]n)? "
    r"doz(?:umuz|um|u)(?:n?[ıiuü])? "
    rf"{_OFTEN}(?:doktor(?:um)? )?(?:{_DOSE}'?[dt][ae]n )?{_OFTEN}(?P<v>{_DOSE})(?:'?y?[ae])?(?: olarak)?"
    r"(?: (?:ol|çık|in|düş|yüksel|art|yap|indir|düşür|ayarla|çek|getir|değiş|güncelle|belirle)[^\W\d_]*)?"
)
# "Günde 50 mg Levotiron alıyorum", "annem 5 mg Norvasc kullanıyor".
_DOSE_TAKEN = re.compile(
    rf"(?:(?P<k>{_KIN}) )?{_OFTEN}(?P<v>{_DOSE}) (?P<n>{_NAME}|{_DRUG}) {_OFTEN}(?P<t>{_TAKES})(?P<e>u[mz])?"
)
# "Relpax'ı artık 80 mg alıyorum".
_TAKEN_AT = re.compile(
    rf"(?:(?P<k>{_KIN}) )?{_OFTEN}(?P<n>{_NAME})(?:'[yn]?[ıiuü]|'[dt][ae]n) {_OFTEN}(?P<v>{_DOSE})(?: olarak)? "
    rf"(?P<t>{_TAKES})(?P<e>u[mz])?"
)
# "Norvasc 5 mg kullanıyorum": no word of how often or when is a medicine.
_TAKEN_PLAINLY = re.compile(
    rf"(?:(?P<k>{_KIN}) )?(?P<n>(?!(?i:{_WHEN})\b){_NAME}) {_OFTEN}(?P<v>{_DOSE})(?: olarak)? "
    rf"{_OFTEN}(?P<t>{_TAKES})(?P<e>u[mz])?"
)
# "Doktor Norvasc'ı 10 mg'a çıkardı".
_DOSE_SET = re.compile(
    rf"(?:\b(?i:doktor|hekim)\w* )?\b(?P<n>{_NAME})'[yn]?[ıiuü] {_OFTEN}(?:{_DOSE}'?[dt][ae]n )?(?P<v>{_DOSE})'?y?[ae] "
    r"(?:çıkar|düşür|indir|yükselt|artır|arttır|azalt|çek)(?:dı|di|du|dü|tı|ti|tu|tü|mış|miş|muş|müş)\w*"
)
# "Relpax kullanıyorum, günde 40 mg".
_TAKEN_BESIDE = re.compile(rf"(?P<n>{_NAME}) (?P<t>{_TAKES})(?P<e>u[mz]), {_OFTEN}(?P<v>{_DOSE})(?=[.,!]|$)")
# "…, günde 5 mg alıyorum", behind "Delix yazdı".
_BARE = re.compile(rf"{_BEGINS}{_OFTEN}(?P<v>{_DOSE}) (?:alıyoru[mz]|kullanıyoru[mz]|içiyoru[mz])")
_GIVEN = re.compile(
    rf"(?P<n>{_NAME})(?:'[yn]?[ae])? (?:yazdı|verdi|başlattı|başladı[mk]?|önerdi|kullanıyoru[mz]|alıyoru[mz]|içiyoru[mz])\b"
)


def doses_named(text: str, before: Sequence[str]) -> str:
    """The text with every dose told of the medicine by name; `before` are the messages before it, the newest first."""
    if not any(letter.isdigit() for letter in text):
        return text
    text = _DOSE_OF.sub(_of, text)
    text = _DOSE_TAKEN.sub(_taken, text)
    text = _TAKEN_AT.sub(_taken, text)
    text = _TAKEN_PLAINLY.sub(_taken, text)
    text = _DOSE_SET.sub(lambda match: f"{match['n']} dozum {match['v']}", text)
    text = _TAKEN_BESIDE.sub(_taken, text)
    if bare := _BARE.search(text):
        known = next((found[-1]["n"] for one in (text[: bare.start()], *before) if (found := list(_GIVEN.finditer(one)))), "")
        text = _BARE.sub(lambda match: f"{known} dozum {match['v']}", text) if known else text
    return text


def _of(match: re.Match[str]) -> str:
    whose = match["w"] or (f"{match['k']}in " if match["k"] else "")
    return f"{whose}{match['n']} dozu {match['v']}" if whose else f"{match['n']} dozum {match['v']}"


def _taken(match: re.Match[str]) -> str:
    who = match.groupdict().get("k")
    if who:
        return f"{who} {match['n']} kullanıyor. {who}in {match['n']} dozu {match['v']}"
    if not match["e"]:
        # Somebody's whom the sentence does not name here.
        return match.group()
    return f"{match['n']} kullanıyorum. {match['n']} dozum {match['v']}"
