"""Turkish sentences that leave out what the messages before them named: "babamınki de 3 Haziran", "yerine Aylin geldi"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from aico_memory.domain.formation.turkish_apart import harmony_of, told_one_by_one
from aico_memory.domain.formation.turkish_doses import doses_named
from aico_memory.domain.formation.turkish_words import with_its_n
from aico_memory.domain.formation.wording import lower_in

# Messages before this one that are looked at, and letters of each.
RECENT, _READ = 6, 1_000
_UPPER = "A-ZÇĞİÖŞÜ"
_SOMEBODY = rf"[{_UPPER}][\wçğıöşü]+(?: (?:[Hh]anım|[Bb]ey|[Hh]oca|[Uu]sta|[{_UPPER}][\wçğıöşü]+))?"
_TITLED = rf"[{_UPPER}][\wçğıöşü]+ (?:[Hh]anım|[Bb]ey|[Hh]oca|[Uu]sta)"
_DOSE = r"\d[\d.,]* ?(?:mg|gr|gram|ml|mcg|miligram|damla|ünite|puf)"
_BEGINS = r"(?:^|(?<=[.!?] )|(?<=, ))"

# "Babamınki de 3 Haziran", behind "annemin doğum günü 14 Kasım".
_THEIRS = re.compile(
    rf"(?i){_BEGINS}(?P<k>[^\W\d]+?m[ıiuü]n|(?-i:[{_UPPER}])[^\W\d]+'n?[ıiuü]n)ki(?:si)? (?:de |da |ise )?(?=\S)"
)
_WHOSE = re.compile(
    rf"(?i)\b(?:[^\W\d]+m|(?-i:[{_UPPER}])[^\W\d]+'n?)[ıiuü]n (?P<n>(?:[^\W\d]+ )?[^\W\d]{{2,}}[ıiuü]) (?=\d|(?-i:[{_UPPER}]))"
)
# "Adını değiştirdik", behind "bebeğimizin adını Umut koyduk".
_A_NAME = re.compile(r"^(?P<n>(?i:adını|ismini) (?=(?:değiştirdi|[A-ZÇĞİÖŞÜ][^.,;!?]{0,40} (?:olarak|koydu|yaptı))))")
_NAME_OF = re.compile(
    r"(?i)\b(?P<o>[^\W\d]+m(?:[ıiuü]z)?[ıiuü]n|[^\W\d]+'n?[ıiuü]n) (?:adı|ismi|adını|ismini) (?=(?-i:[A-ZÇĞİÖŞÜ]))"
)
# "Benimki Honda", behind "eşimin arabası Fiat".
_OWN = re.compile(rf"{_BEGINS}[Bb]enimki (?:de |da |ise )?(?=\S)")
_POSSESSED = re.compile(r"(?<=[aeoö])s[ıiuü]$")
# "Motosikletim Yamaha", "doğum günüm 3 Ekim": one's own.
_MINE = re.compile(
    rf"(?i)(?:^|(?<=[.!?,;] ))(?:benim )?(?P<n>(?:[^\W\d]+ )?[^\W\d]{{2,}}[aeıioöuü])m(?:[ıiuü]z)? (?=\d|(?-i:[{_UPPER}]))"
)

# "Yerine Aylin Hanım geldi", behind "Selim Bey emekli oldu".
_SUCCESSOR = re.compile(
    rf"{_BEGINS}(?:[Aa]rtık |[Şş]imdi )?(?:[Oo]nun )?[Yy]erine (?:de )?(?:artık |şimdi |yeni |birisi,? )*(?P<v>{_SOMEBODY})"
    r"(?: adında \w+| diye \w+)? (?:geldi|getirildi|atandı|geçti|başladı|bakıyor|bakacak|gelecek|geliyor|alındı|seçildi)"
)
_TAKES_OVER = re.compile(
    rf"{_BEGINS}(?:[Dd]ersleri|[Dd]ersi|[İi]şleri|[İi]şlerini|[Gg]örevi|[Yy]erini|[Ss]ınıfı|[Tt]akımı|[Ee]kibi) "
    rf"(?:artık |şimdi |bundan sonra )*(?P<v>{_SOMEBODY}) "
    r"(?:veriyor|aldı|devraldı|yürütüyor|alacak|verecek|üstlendi|çalıştırıyor)"
    rf"|{_BEGINS}(?:[Tt]akımın|[Ee]kibin|[Ss]ınıfın|[Gg]rubun) başına (?:artık )?(?P<w>{_SOMEBODY}) (?:geçti|geldi|atandı)"
    rf"|{_BEGINS}(?:[^\W\d]+ )?[Dd]ers(?:lerine|imize|ine) (?:artık |şimdi )*(?P<y>{_SOMEBODY}) (?:giriyor|girecek)"
    rf"|{_BEGINS}[Aa]rtık (?:D[rt]\. |Doktor )?(?P<x>{_TITLED})'[yn]?[ae] (?:gidiyoru[mz]|götürüyoru[mz]|görünüyoru[mz])"
)
# Whom one goes to, as somebody named them: "diyetisyenim Ebru Hanım".
_SERVED_BY = re.compile(
    r"(?i)\b(?P<k>(?:[^\W\d]+ )?(?:diyetisyen|dişçi|hekim|psikolog|psikiyatrist|terapist|kuaför|berber|doktor|avukat|koç"
    r"|fizyoterapist|antrenör|eğitmen|hoca"
    r"|öğretmen|muhasebeci|veteriner|danışman|ortodontist|dermatolog|kardiyolog|jinekolog)[ıiuü]?m(?:[ıiuü]z)?) "
    rf"(?:artık |yine |hâlâ )?(?-i:{_SOMEBODY})"
)
_CHANGED = re.compile(r"(?i)m(?:[ıiuü]z)?[ıiuü] (?:[^\W\d]+ )?değiştirdi[mk]")
_LEFT = re.compile(
    rf"(?P<o>{_SOMEBODY})(?:'n?[ıiuü]n)? [^.!?]*?\b(?:emekli|ayrıl\w+|istifa|son gün\w*|tayin\w*|gitti|gidiyor|taşın\w+|öldü"
    r"|vefat|kapat\w+|dönmü\w+|izne|izni\w*|terfi|kovul\w+|bırak\w+|başka [^\W\d]+ geçti|geçti|çıkarıldı)\b"
)

# "İlacı bugünden itibaren 10 mg alacağım", "7,5 mg'a indirdi doktor", behind what the medicine is for.
_MEDICINE = re.compile(
    r"(?i)\b(?:(?P<for>[^\W\d]+?)(?:[ıiuü]m|m)? için (?:bana )?(?:bir )?ilaç|(?P<kind>[^\W\d]{3,}) ilac[ıi])\b|"
    rf"{_DOSE} (?P<drug>[^\W\d]{{4,}}) (?:al|kullan|iç)[ıiuü]yor"
)
_DOSE_TAKEN = re.compile(
    rf"(?i){_BEGINS}(?:artık )?(?:ilac[ıi](?:m[ıi])?|doz(?:u|um|umu|unu)?|ilac[ıi]m[ıi]n dozu(?:nu)?) "
    rf"(?P<t>[^.!?\d,]*itibaren )?(?:artık |günde |bugün )*(?P<v>{_DOSE})[^.!?]*"
)
_DOSE_MOVED = re.compile(
    rf"(?i){_BEGINS}[^.!?]{{0,60}}?(?<![\d.,])(?P<v>{_DOSE})'?[ae]? "
    r"(?:indir|çıkar|düşür|yükselt|artır|çek|geç|çık|in)\w*[^.!?]*"
)

# "Yeni kod 9052", behind "apartmanın şifresi 4471".
_NEW_CODE = re.compile(r"(?i)\byeni (?:kod|şifre|parola|pin)(?:u|ü|si|sı|um|m|umuz|miz)? (?:artık |ise )?(?P<v>[a-z]*\d\w*)")
_OF_IT = {"şifre": "şifresi", "kod": "kodu", "parola": "parolası", "pin": "pini"}
_CODE_OF = re.compile(
    r"(?i)\b(?P<n>[^\W\d]{3,}?)(?:n?[ıiuü]n|s[ıi]n[ıi]n)? (?:giriş )?(?P<c>şifre|kod|parola|pin)"
    r"(?:su|u|si|i|sı|unu|sini|sını)\b"
)


def spelled(text: str, recent: Sequence[str]) -> str:
    """The text with what it leaves out put in, as the newest message before it that names such a thing has it."""
    before = [one[:_READ] for one in reversed(recent[-RECENT:])]
    for resolve in (_renamed, _theirs, _in_the_place, _doses, doses_named, _codes):
        text = resolve(text, before)
    return told_one_by_one(text)


def _theirs(text: str, before: Sequence[str]) -> str:
    if said := _THEIRS.search(text):
        earlier = text[: said.start()]
        noun = next((owned for one in (earlier, *before) if (owned := _noun_owned(one))), "")
        # A sentence of its own: what stands before it has a subject.
        until = f"{earlier[:-2]}. " if earlier.endswith(", ") else earlier
        text = until + _THEIRS.sub(rf"\g<k> {noun} ", text[said.start() :]) if noun else text
    if (mine := _OWN.search(text)) is None:
        return text
    theirs = next((found["n"] for one in (text[: mine.start()], *before) if (found := _WHOSE.search(one))), "")
    told = f"benim {_POSSESSED.sub('', theirs)}m "
    return f"{text[: mine.start()].rstrip(', ')}. {told}{text[mine.end() :]}".removeprefix(". ") if theirs else text


def _renamed(text: str, before: Sequence[str]) -> str:
    """ "Adını değiştirdik, Kaan koyduk": whose name it is, the newest message that names somebody's name tells."""
    if not _A_NAME.search(text):
        return text
    owner = next((found["o"] for one in before if (found := _NAME_OF.search(one))), "")
    return _A_NAME.sub(rf"{owner} \g<n>", text, count=1) if owner else text


def _noun_owned(text: str) -> str:
    """What somebody is told to have ("doğum günü" of "annemin doğum günü 14 Kasım"); of one's own as it is of others."""
    if found := _WHOSE.search(text):
        return found["n"]
    if not (found := _MINE.search(text)):
        return ""
    noun = lower_in(found["n"], "tr")
    # "arabam", "arabası"; "motosikletim", "motosikleti".
    return f"{noun}s{harmony_of(noun)}" if noun[-1:] in "aeoö" else noun


def _in_the_place(text: str, before: Sequence[str]) -> str:
    match = _SUCCESSOR.search(text) or _TAKES_OVER.search(text)
    if match is None:
        return text
    goes_to = bool(match.groupdict().get("x"))
    if goes_to and _CHANGED.search(text):
        # "Diyetisyenimi değiştirdim, artık Tolga Bey'e gidiyorum" says itself whom.
        return text
    left, served = "", ""
    for one in (text[: match.start()], *before):
        left = found["o"] if (found := _LEFT.search(one)) else ""
        served = found["k"] if goes_to and (found := _SERVED_BY.search(one)) else ""
        if left or served:
            break
    others = {found["k"].casefold() for one in before for found in _SERVED_BY.finditer(one)} if served else set()
    if len(others) > 1:
        # Which of them the speaker goes to now is not said.
        return text
    new = next(found for found in match.groups() if found)
    # A sentence of its own: who left is the subject of what stands before it.
    until = f"{text[: match.start()].rstrip(', ')}. " if text[: match.start()].endswith(", ") else text[: match.start()]
    if served:
        return f"{until}{served} artık {new}{text[match.end() :]}"
    return f"{until}{left} yerine {new} var{text[match.end() :]}" if left not in ("", new) else text


def _doses(text: str, before: Sequence[str]) -> str:
    match = _DOSE_TAKEN.search(text) or _DOSE_MOVED.search(text)
    if match is None or _MEDICINE.search(text):
        return text
    known = next((found for one in before if (found := _MEDICINE.search(one))), None)
    if known is None:
        return text
    since = match.groupdict().get("t") or ""
    told = (
        f"artık {match['v']} {known['drug']} alıyorum"
        if known["drug"]
        else f"{known['for'] or known['kind']} ilacımın dozu {match['v']}"
    )
    return f"{text[: match.start()]}{since}{told}{text[match.end() :]}"


def _codes(text: str, before: Sequence[str]) -> str:
    match = _NEW_CODE.search(text)
    known = next((found for one in before if (found := _CODE_OF.search(one))), None) if match else None
    if match is None or known is None or known["n"].casefold() in ("yeni", "bir"):
        return text
    return f"{text[: match.start()]}{with_its_n(known['n'])} {_OF_IT[known['c'].casefold()]} {match['v']}{text[match.end() :]}"
