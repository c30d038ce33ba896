"""Feedback categories on disk: phrases by language, and the weights that were trained for an embedding model."""

from __future__ import annotations

import binascii
import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml

from aico_memory.domain.feedback.classifier import FeedbackClassifier
from aico_memory.domain.feedback.length import Length, length_of
from aico_memory.domain.feedback.meaning import Linear, Meaning, Voice
from aico_memory.domain.feedback.negation import Negation, negation_of
from aico_memory.domain.feedback.phrases import CATEGORIES, Phrase, phrases_of
from aico_memory.domain.feedback.spelling import Spelling
from aico_memory.errors import ConfigurationInvalid
from aico_memory.models.config_files import files_of, read_mapping
from aico_memory.models.half_floats import packed, unpacked
from aico_memory.paths import Home
from aico_memory.settings.behavioral import FeedbackTextSettings

Rule = TypeVar("Rule")
FOLDER = "feedback"
TRAINED = "feedback/trained"


def load_phrases(home: Home) -> tuple[Phrase, ...]:
    """The phrases of all languages, sorted by language; ConfigurationInvalid names the file and what is wrong with it."""
    found: list[Phrase] = []
    for language, path in sorted(files_of(home, FOLDER).items()):
        try:
            found += phrases_of(language, read_mapping(path))
        except ValueError as error:
            raise ConfigurationInvalid(f"{path}: {error}") from error
    return tuple(found)


def load_classifier(home: Home, settings: FeedbackTextSettings) -> FeedbackClassifier:
    """The classifier of a home; takes a second or two, since the spelling is learned from the phrases each time."""
    spelling = Spelling(load_phrases(home), settings.penalty)
    return FeedbackClassifier(spelling, load_meanings(home), settings.sharpness, load_negations(home), load_lengths(home))


def load_negations(home: Home) -> dict[str, Negation]:
    """Language -> how it denies a complaint; a language whose file does not say is left out."""
    return _rules(home, negation_of)


def load_lengths(home: Home) -> dict[str, Length]:
    """Language -> how it says which way it wants the length; a language whose file does not say is left out."""
    return _rules(home, length_of)


def _rules(home: Home, rule_of: Callable[[Mapping[str, object]], Rule | None]) -> dict[str, Rule]:
    found: dict[str, Rule] = {}
    for language, path in files_of(home, FOLDER).items():
        try:
            rule = rule_of(read_mapping(path))
        except ValueError as error:
            raise ConfigurationInvalid(f"{path}: {error}") from error
        if rule is not None:
            found[language] = rule
    return found


def load_meanings(home: Home) -> dict[str, Meaning]:
    """Fingerprint -> trained weights, the home's own files before the shipped ones of the same name."""
    found: dict[str, Meaning] = {}
    for path in files_of(home, TRAINED).values():
        content = read_mapping(path)
        try:
            meaning = _meaning_of(content)
        except (KeyError, TypeError, ValueError, binascii.Error) as error:
            raise ConfigurationInvalid(f"{path} holds no trained weights: {error}") from error
        found[meaning.fingerprint] = meaning
    return found


def write_meaning(path: Path, meaning: Meaning, provenance: Mapping[str, Any]) -> None:
    """Keep it; what was there before is replaced."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "fingerprint": meaning.fingerprint,
        "model": meaning.model,
        "languages": list(meaning.languages),
        "threshold": meaning.threshold,
        "provenance": dict(provenance),
        "spoken": _voice_data(meaning.spoken),
        "foreign": None if meaning.foreign is None else _voice_data(meaning.foreign),
    }
    text = "# Made by scripts/train_feedback.py. Weights are little-endian 16-bit floats, a row a dimension, in base64.\n"
    path.write_text(text + yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=120), encoding="utf-8")


def digest_of(phrases: Sequence[Phrase]) -> str:
    """SHA-256 over all phrases, in hexadecimal: what weights were trained on."""
    joined = "\n".join(f"{phrase.language}\t{phrase.category}\t{phrase.text}" for phrase in phrases)
    return hashlib.sha256(joined.encode()).hexdigest()


def _meaning_of(content: Mapping[str, Any]) -> Meaning:
    foreign, threshold = content["foreign"], content.get("threshold")
    if threshold is not None and not 0.0 <= float(threshold) <= 1.0:
        raise ValueError(f"threshold is {threshold}; it is a chance of 0 to 1")
    return Meaning(
        fingerprint=str(content["fingerprint"]),
        model=str(content["model"]),
        languages=tuple(map(str, content["languages"])),
        spoken=_voice_of(content["spoken"]),
        foreign=None if foreign is None else _voice_of(foreign),
        threshold=None if threshold is None else float(threshold),
    )


def _voice_of(data: Mapping[str, Any]) -> Voice:
    weights = unpacked(data["weights"]).reshape(-1, len(CATEGORIES))
    return Voice(Linear(weights, unpacked(data["mean"])), float(data["share"]), float(data["sharpness"]))


def _voice_data(voice: Voice) -> dict[str, object]:
    return {
        "share": voice.share,
        "sharpness": voice.sharpness,
        "mean": packed(voice.linear.mean),
        "weights": packed(voice.linear.weights),
    }
