"""What an answer says to the person: "You live in Rome" read as the person would have said it, "I live in Rome".

Statements are read from what a person says of themselves. An answer says the same with the persons the other way round,
so these are turned, and it is read by the same rules. Only sentences that address the person are read, no questions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from aico_memory.domain.formation.form import form
from aico_memory.domain.formation.formed import FormedFact
from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.formation.language_choice import choose_grammar
from aico_memory.domain.formation.turkish_phrases import known_verbs
from aico_memory.domain.formation.turkish_words import read_verb, unpossessed
from aico_memory.domain.formation.wording import lower_in, own_words, readable, sentences

# An answer may be long; what it uses of the person it mostly says early.
MOST_SENTENCES: Final = 20
_WORD: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_ENGLISH: Final = {
    "i": "you", "me": "you", "my": "your", "mine": "yours", "myself": "yourself", "i'm": "you're", "i've": "you've",
    "i'd": "you'd", "i'll": "you'll", "your": "my", "yours": "mine", "yourself": "myself", "you're": "I'm", "you've": "I've",
    "you'd": "I'd", "you'll": "I'll",
}  # fmt: skip
_HELPING: Final = frozenset(
    {"are", "were", "have", "had", "do", "did", "can", "could", "will", "would", "should", "must", "don't", "didn't", "aren't"}
)
_GERMAN: Final = {
    "ich": "du", "mich": "dich", "mir": "dir", "du": "ich", "dich": "mich", "dir": "mir",
    "bist": "bin", "hast": "habe", "magst": "mag", "willst": "will", "kannst": "kann", "musst": "muss", "darfst": "darf",
    "sollst": "soll", "weißt": "weiß", "wirst": "werde", "warst": "war", "hattest": "hatte",
}  # fmt: skip
_TURKISH: Final = {
    "sen": "ben", "senin": "benim", "sana": "bana", "seni": "beni", "sende": "bende", "senden": "benden", "seninle": "benimle",
    "siz": "ben", "sizin": "benim", "size": "bana", "sizi": "beni", "sizde": "bende", "sizden": "benden", "sizinle": "benimle",
    "ben": "sen", "benim": "senin", "bana": "sana", "beni": "seni", "bende": "sende", "benden": "senden", "benimle": "seninle",
}  # fmt: skip
# "As far as I know, you …", "You told me that you …": that it is so is said all the same.
_OPENINGS: Final = {
    "english": re.compile(
        r"(?i)^(?:(?:as far as i know|from what i know|if i remember (?:correctly|right)|as i recall|according to my notes),? "
        r"|(?:i (?:know|remember|recall|think|believe)|you(?:'ve| have)? (?:told me|said|mentioned)),? (?:that )?)(?=you)"
    ),
    "german": re.compile(
        r"(?i)^(?:(?:soweit|soviel) ich weiß,? |wenn ich mich (?:recht|richtig) erinnere,? "
        r"|(?:ich weiß|du (?:hast (?:mir )?(?:gesagt|erzählt|erwähnt)|sagtest|meintest)), dass (?=du))"
    ),
    "turkish": re.compile(r"(?i)^(?:bildiğim kadarıyla|hatırladığım kadarıyla|söylediğine göre),? "),
}
# What may be doubted or asked in the words before ("I doubt that you …"), or is by the last one ("…, right").
_SUPPOSED: Final = {
    "english": re.compile(
        r"(?i)\b(?:if|unless|whether|maybe|perhaps|possibly|suppose|supposing|assuming|imagine|doubt|that you)\b"
        r"|, (?:right|correct|don't you|aren't you|isn't it)\W*$"
    ),
    "german": re.compile(
        r"(?i)\b(?:wenn|falls|ob|vielleicht|womöglich|möglicherweise|eventuell|angenommen|stell|dass)\b"
        r"|, (?:oder|nicht wahr|richtig|stimmt's|ja)\W*$"
    ),
    "turkish": re.compile(r"(?i)\b(?:eğer|belki|galiba|muhtemelen|varsayalım|diyelim)\b"),
}
_ADDRESSED: Final = {
    "english": re.compile(r"(?i)\byou(?:r|rs|rself)?\b"),
    "german": re.compile(r"(?i)\b(?:du|dich|dir|dein(?:e[mnrs]?)?)\b"),
    # There the verb alone, or the ending of a noun, says whom it is about.
    "turkish": re.compile(r"(?i)n(?:[ıiuü]z)?(?:\b|[dt][ae]|[ıiuüae])|\b(?:sana|seni|sende|size|sizde)\b"),
}
_MY: Final = re.compile(r"(?P<w>[md])ein(?P<e>(?:e[mnrs]?)?)")
_PERSON: Final = re.compile(r"(?P<s>.{2,})s(?P<v>[ıiuü])n(?:[ıiuü]z)?")
_PAST: Final = re.compile(r"(?P<s>.{2,}[dt][ıiuü])n(?:[ıiuü]z)?")
_PARTICIPLE: Final = re.compile(r"(?P<s>.+[dt][ıiuü]ğ[ıiuü])n(?:[ıiuü]z)?(?P<e>.{0,3})")
_OWNED: Final = re.compile(r"(?P<s>.+?[aeıioöuü])n(?P<p>[ıiuü]z)?(?P<e>[ıiuü]n|[dt][ae]n?|[ıiuüae])?")
_TO_COME: Final = re.compile(r"[ae]c[ae]k$")


def told_back(text: str, tables: FormationTables, said_at_us: int, zone: str = "UTC") -> tuple[FormedFact, ...]:
    """What an answer says is so, as the person would say it of themselves; `said_at_us` in Unix microseconds.

    Neither what it asks, denies, corrects or only supposes, nor what it says is over.
    """
    said = own_words(readable(text))
    grammar = choose_grammar(said, (), tables)
    # "Doktorsun.": where no word tells the language, the one that the turned text is of.
    for one in tables.grammars.values() if grammar is None else (grammar,):
        turned = "\n".join(f"{sentence}." for sentence in _turned(said, one))
        if turned and (grammar or choose_grammar(turned, (), tables) is one):
            return _stated(turned, one, tables, said_at_us, zone)
    return ()


def _stated(turned: str, grammar: Grammar, tables: FormationTables, said_at_us: int, zone: str) -> tuple[FormedFact, ...]:
    read = form(
        turned, role="user", speaker="", said_at_us=said_at_us, zone=zone, recent=(), tables=tables, language=grammar.code
    )  # fmt: skip
    return tuple(fact for fact in read.facts if fact.act == "assert" and fact.valid_from_us <= said_at_us < fact.valid_until_us)


def _turned(text: str, grammar: Grammar) -> Iterator[str]:
    found = 0
    for sentence in sentences(text, grammar.marks["opens_sentence"]):
        told = _OPENINGS[grammar.parser].sub("", sentence)
        if "?" in told or not _ADDRESSED[grammar.parser].search(told) or _SUPPOSED[grammar.parser].search(told):
            continue
        found += 1
        if found > MOST_SENTENCES:
            return
        yield _TURNING[grammar.parser](told, grammar)


def _english(sentence: str, grammar: Grammar) -> str:
    words = list(_WORD.finditer(sentence))
    lows = [word.group().lower() for word in words]
    said: list[str] = []
    for at, low in enumerate(lows):
        before, after = lows[at - 1] if at else "", lows[at + 1] if at + 1 < len(lows) else ""
        if low == "you":
            ends = not after or not sentence[words[at].end() :].startswith(" ")
            does = after in grammar.tenses or after in _HELPING
            said.append("me" if at and (ends or (grammar.has("prepositions", before) and not does)) else "I")
        elif low in ("are", "were") and "you" in (before, after):
            said.append("am" if low == "are" else "was")
        elif low in ("am", "was") and "i" in (before, after):
            said.append("are" if low == "am" else "were")
        else:
            said.append(_ENGLISH.get(low, words[at].group()))
    return _put(sentence, words, said)


def _german(sentence: str, grammar: Grammar) -> str:
    words = list(_WORD.finditer(sentence))
    lows = [word.group().lower() for word in words]
    addressed, said = "du" in lows, list[str]()
    for at, (word, low) in enumerate(zip(words, lows, strict=True)):
        if match := _MY.fullmatch(low):
            said.append(f"{'d' if match['w'] == 'm' else 'm'}ein{match['e']}")
        elif low in ("ich", "mich", "mir", "du", "dich", "dir") or (addressed and low in _GERMAN):
            said.append(_GERMAN[low])
        else:
            beside = "du" in lows[max(0, at - 1) : at + 2]
            turns = beside or (addressed and word.group() == low)
            said.append(_of_me(low, beside, grammar) if turns else word.group())
    return _put(sentence, words, said)


def _of_me(verb: str, beside: bool, grammar: Grammar) -> str:
    """ "wohnst" -> "wohne", "sprichst" -> "spreche"; other words as they are.

    "Heißt" is also what a cat does: it is the person's where it stands `beside` "du".
    """
    if not verb.endswith(("st", "ßt", "zt")):
        return verb
    stem, present = verb.removesuffix("st"), grammar.tenses.get(verb) == "present"
    if present and not beside:
        return verb
    for form_of in (stem, f"{stem}e"):
        if not present and form_of != verb and form_of.endswith("e") and grammar.tenses.get(form_of) in ("present", "past"):
            return form_of
    lemma = next((grammar.verbs[one] for one in (verb, f"{stem}t") if grammar.tenses.get(one) == "present"), "")
    return lemma.removesuffix("n") if lemma.endswith("en") else verb


def _turkish(sentence: str, grammar: Grammar) -> str:
    words = list(_WORD.finditer(sentence))
    said = [_turkish_word(word.group(), not at, grammar) for at, word in enumerate(words)]
    return _put(sentence, words, said)


def _turkish_word(word: str, opens: bool, grammar: Grammar) -> str:
    low = lower_in(word, grammar.code)
    if low in _TURKISH:
        return _TURKISH[low]
    nouns = grammar.words["nouns"]
    if "'" in word or low in nouns or (word[:1] != low[:1] and not opens):
        return word
    if match := _PARTICIPLE.fullmatch(low):
        return f"{match['s']}m{match['e']}"
    if (match := _PAST.fullmatch(low)) and read_verb(f"{match['s']}m", known_verbs(grammar)):
        return f"{match['s']}m"
    if (match := _OWNED.fullmatch(low)) and unpossessed(f"{match['s']}m", nouns) in nouns:
        return f"{match['s']}m{match['e'] or ''}"
    if match := _PERSON.fullmatch(low):
        stem, vowel = match["s"], match["v"]
        if _TO_COME.search(stem):
            stem = f"{stem[:-1]}ğ"
        return f"{stem}{'y' if stem[-1] in 'aeıioöuü' else ''}{vowel}m"
    return word


def _put(sentence: str, words: list[re.Match[str]], said: list[str]) -> str:
    """The sentence with these words in place of its own."""
    parts, at = [], 0
    for word, other in zip(words, said, strict=True):
        parts += [sentence[at : word.start()], other]
        at = word.end()
    turned = "".join([*parts, sentence[at:]])
    return turned[:1].upper() + turned[1:]


_TURNING: Final[Mapping[str, Callable[[str, Grammar], str]]] = {"english": _english, "german": _german, "turkish": _turkish}
