"""One language's table: data that `config/language/<code>.yaml` holds, folded for comparison."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

INTENTS = (
    "question", "request", "learning", "casual", "technical", "code_review", "emotional", "planning",
    "creative", "decision", "summary", "statement",
)  # fmt: skip
SENTIMENTS = ("positive", "neutral", "negative")
# What a message is that no table and no example speaks for.
FALLBACK_INTENT = "statement"
FALLBACK_SENTIMENT = "neutral"
_PUNCTUATION = re.compile(r"[^\w\s'/+#-]|_")


@dataclass(frozen=True, slots=True)
class PhraseTable:
    """What one language contributes; every phrase is folded."""

    code: str
    name: str
    # False for scripts that do not put spaces between words.
    spaced: bool
    greetings: frozenset[str]
    acknowledgements: frozenset[str]
    # label -> words or phrases that speak for it
    intent_cues: Mapping[str, tuple[str, ...]]
    sentiment_cues: Mapping[str, tuple[str, ...]]
    # Words that turn the feeling of what stands near them.
    negations: frozenset[str]
    # What whoever speaks in a prompt is called; before a colon they are disarmed in what is remembered. Not folded.
    roles: tuple[str, ...]
    # label -> whole sentences as people say them, not folded
    intent_examples: Mapping[str, tuple[str, ...]]
    sentiment_examples: Mapping[str, tuple[str, ...]]


def fold(text: str) -> str:
    """Comparable form: NFKC, case folded, apostrophes alike, other punctuation and doubled spaces gone."""
    normal = unicodedata.normalize("NFKC", text).replace("’", "'").casefold().replace("i\u0307", "i")
    return " ".join(_PUNCTUATION.sub(" ", normal).split())


def table_of(code: str, content: Mapping[str, object]) -> PhraseTable:
    """A table from its file's content; ValueError names the key that is wrong."""
    # `facts`, `predicates`, `tellings` and `signals` are read by the fact rules.
    known = {
        "name",
        "spaced",
        "greetings",
        "acknowledgements",
        "negations",
        "roles",
        "intents",
        "sentiments",
        "facts",
        "predicates",
        "tellings",
        "plausible",
        "signals",
    }
    if unknown := set(content) - known:
        raise ValueError(f"unknown key {sorted(unknown)[0]!r}")
    intents, sentiments = _labels(content, "intents", INTENTS), _labels(content, "sentiments", SENTIMENTS)
    return PhraseTable(
        code=code,
        name=str(content.get("name", code)),
        spaced=bool(content.get("spaced", True)),
        greetings=frozenset(map(fold, _texts(content.get("greetings"), "greetings"))),
        acknowledgements=frozenset(map(fold, _texts(content.get("acknowledgements"), "acknowledgements"))),
        negations=frozenset(map(fold, _texts(content.get("negations"), "negations"))),
        roles=_texts(content.get("roles"), "roles"),
        intent_cues={label: _folded(part, "cues", label) for label, part in intents.items()},
        sentiment_cues={label: _folded(part, "cues", label) for label, part in sentiments.items()},
        intent_examples={label: _texts(part.get("examples"), f"{label}.examples") for label, part in intents.items()},
        sentiment_examples={label: _texts(part.get("examples"), f"{label}.examples") for label, part in sentiments.items()},
    )


def _labels(content: Mapping[str, object], key: str, allowed: Sequence[str]) -> dict[str, Mapping[str, object]]:
    part = content.get(key, {})
    if not isinstance(part, Mapping):
        raise ValueError(f"{key} must be a mapping")  # noqa: TRY004  # one error kind for the reader of the file
    for label, entry in part.items():
        if label not in allowed:
            raise ValueError(f"{key} has the unknown label {label!r}")
        if not isinstance(entry, Mapping) or set(entry) - {"cues", "examples"}:
            raise ValueError(f"{key}.{label} may hold cues and examples")
    return dict(part)


def _folded(part: Mapping[str, object], key: str, label: str) -> tuple[str, ...]:
    return tuple(fold(text) for text in _texts(part.get(key), f"{label}.{key}"))


def _texts(value: object, key: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, Iterable) or isinstance(value, str) or not all(isinstance(text, str) for text in value):
        raise ValueError(f"{key} must be a list of texts (put words like `no` in quotes)")
    return tuple(value)
