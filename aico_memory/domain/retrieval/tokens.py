"""From text to the tokens of the text index: words, stems, and bigrams where a script does not space words.

Tokens consist of letters, marks and digits only, so that any tokenizer that
splits at ASCII punctuation leaves them whole.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Set
from functools import cache, lru_cache

import snowballstemmer

STEMMERS = {
    "ar": "arabic", "de": "german", "el": "greek", "en": "english", "es": "spanish", "fr": "french",
    "hi": "hindi", "it": "italian", "nl": "dutch", "pt": "portuguese", "ro": "romanian", "ru": "russian", "tr": "turkish",
}  # fmt: skip
MAX_TOKEN_LENGTH = 64
_STEM_CACHE = 1 << 16
# Turkic alphabets pair I with dotless ı, and İ with i.
_DOTTED = str.maketrans({"I": "ı", "İ": "i"})
_DOTTED_LANGUAGES = frozenset({"tr", "az"})
_SIGNS = ((re.compile(r"\b([A-Za-z])\+\+"), r"\1plusplus"), (re.compile(r"\b([A-Za-z])#(?!\w)"), r"\1sharp"))
_APOSTROPHES = "'’ʼ＇"
# Thai, Lao, Myanmar, Khmer, kana, Han; and Hangul, whose words carry their particles.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005\u3041-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9d\U00020000-\U0003134f"
)
_SPLIT = re.compile(f"[{_APOSTROPHES}]")
_ASCII_WORD = re.compile("[a-z0-9]+(?:'[a-z0-9]+)*")
_RUNS = re.compile(f"[{_UNSPACED}]+|[^{_UNSPACED}]+")
_UNSPACED_LETTER = re.compile(f"[{_UNSPACED}]")
# Arabic writes the same word with or without vowel signs and kashida, and alef in several shapes.
_ARABIC_SIGNS = re.compile("[\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed]")
_ARABIC_SHAPES = str.maketrans("أإآٱیک", "اااايك")
# Endings that a stemmer needs to see as they are.
_ARABIC_ENDINGS = str.maketrans("ىة", "يه")
_ARABIC = re.compile("[\u0600-\u06ff]")
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]")


def index_tokens(text: str, language: str = "") -> list[str]:
    """The tokens under which a text of this language is found, in order, with repetitions.

    Han characters stand by themselves too, so that a question of one character finds them.
    """
    return list(_tokens(text, language, single_characters=True))


def query_tokens(text: str, languages: tuple[str, ...], ignored: Set[str] = frozenset()) -> list[str]:
    """The tokens to look for, each once: stems under each language that is likely, and the bare words.

    Words in `ignored` (function words, which stand in nearly every text) count only where there is nothing else.
    """
    found: dict[str, None] = {}
    for language in (*languages, ""):
        found.update(dict.fromkeys(_tokens(text, language, single_characters=False, ignored=ignored)))
    return list(found) if found or not ignored else query_tokens(text, languages)


def words(text: str, language: str = "") -> list[str]:
    """The words as they stand, folded, in order; pairs of characters where a script does not space words."""
    found: list[str] = []
    if "+" in text or "#" in text:
        for pattern, spelled in _SIGNS:
            text = pattern.sub(spelled, text)
    if text.isascii() and language not in _DOTTED_LANGUAGES:
        # The same rules, where no letter needs folding; most chats of some languages are nothing else.
        for word in _ASCII_WORD.findall(text.lower().replace("_", " ")):
            parts = word.split("'")
            found.extend(part[:MAX_TOKEN_LENGTH] for part in parts if len(part) > 1 or (part and len(parts) == 1))
        return found
    for word in _words().findall(fold(text, language).replace("_", " ")):
        parts = _SPLIT.split(word)
        for part in parts:
            # "don't", "l'homme", "Alice's": a letter alone beside an apostrophe is grammar.
            if not part or (len(parts) > 1 and len(part) == 1):
                continue
            found.extend(run[:MAX_TOKEN_LENGTH] for run in runs_of(part))
    return found


def runs_of(word: str) -> list[str]:
    """The word; where a script does not space words, its pairs of characters and what stands between them."""
    if word.isascii() or not _UNSPACED_LETTER.search(word):
        return [word]
    return [part for run in _RUNS.findall(word) for part in (bigrams(run) if _UNSPACED_LETTER.match(run) else (run,))]


def character_grams(word: str, size: int = 4) -> list[str]:
    """Overlapping runs of `size` characters of a word with its edges marked; of unspaced writing the pair and each of it."""
    if _UNSPACED_LETTER.match(word):
        return [word, *word] if len(word) > 1 else [word]
    edged = f"_{word.translate(_ARABIC_ENDINGS)}_"
    return [edged[at : at + size] for at in range(max(1, len(edged) - size + 1))]


def stem_key(word: str, language: str) -> str:
    """Under what all forms of a word meet: its stem, dotless i as i, so that a question typed without it finds it."""
    return stem(word, language).replace("ı", "i").translate(_ARABIC_ENDINGS)


def fold(text: str, language: str = "") -> str:
    """NFKC and case folded, the dotted and dotless i of Turkic languages kept apart, the shapes of Arabic letters as one."""
    normal = unicodedata.normalize("NFKC", text)
    if _ARABIC.search(normal):
        normal = _ARABIC_SIGNS.sub("", normal).translate(_ARABIC_SHAPES)
    if language in _DOTTED_LANGUAGES:
        normal = normal.translate(_DOTTED)
    return unicodedata.normalize("NFKC", normal.casefold()).replace("i\u0307", "i")


def bigrams(run: str) -> list[str]:
    """Overlapping pairs of characters; the character itself where there is only one."""
    return [run[at : at + 2] for at in range(len(run) - 1)] if len(run) > 1 else [run]


def stem(word: str, language: str) -> str:
    """The Snowball stem where the language has one, else the word; never empty."""
    algorithm = STEMMERS.get(language)
    return _stem(algorithm, word) if algorithm else word


def _tokens(text: str, language: str, single_characters: bool, ignored: Set[str] = frozenset()) -> Iterator[str]:
    for pattern, spelled in _SIGNS:
        text = pattern.sub(spelled, text)
    for word in _words().findall(fold(text, language).replace("_", " ")):
        parts = _SPLIT.split(word)
        for part in parts:
            # "don't", "l'homme", "Alice's": a letter alone beside an apostrophe is grammar.
            if part and (len(parts) == 1 or len(part) > 1) and part not in ignored:
                yield from _of_word(part, language, single_characters)


def _of_word(word: str, language: str, single_characters: bool) -> Iterator[str]:
    if word.isascii():
        yield stem(word[:MAX_TOKEN_LENGTH], language)
        return
    for run in _RUNS.findall(word):
        if _UNSPACED_LETTER.match(run):
            yield from bigrams(run)
            if single_characters and len(run) > 1:
                yield from _HAN.findall(run)
        else:
            # Dotless ı joins i only after stemming, so that a question typed without it still meets the word.
            yield stem(run[:MAX_TOKEN_LENGTH], language).replace("ı", "i")


@lru_cache(maxsize=_STEM_CACHE)
def _stem(algorithm: str, word: str) -> str:
    # A stemmer keeps its word in itself, so threads must not share one; making one takes microseconds.
    return str(snowballstemmer.stemmer(algorithm).stemWord(word)) or word


@cache
def _words() -> re.Pattern[str]:
    # Python's \w has no combining marks, without which words of Indic scripts fall apart.
    marks = [chr(code) for code in range(0x300, 0x1E950) if unicodedata.category(chr(code))[0] == "M"]
    letter = f"[\\w{re.escape(''.join(marks))}]"
    return re.compile(f"{letter}+(?:[{_APOSTROPHES}]{letter}+)*")
