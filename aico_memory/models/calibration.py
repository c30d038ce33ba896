"""Calibrations on disk: the statements they are made of, the files they are kept in, and which one holds for a model."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml
from pydantic import ValidationError

from aico_memory.domain.gate.calibration import Calibration, Measured, calibrate, mistakes
from aico_memory.domain.gate.comparing import wording_contradicts
from aico_memory.errors import ConfigurationInvalid
from aico_memory.models.config_files import read_mapping
from aico_memory.models.embedder import Vectors
from aico_memory.paths import Home, shipped_config
from aico_memory.settings.root import Settings
from aico_memory.settings.write_path import PredictionErrorSettings, ThresholdSettings

FOLDER = "calibration"
PAIRS = "pairs.yaml"
_WRITTEN = ("same", "more", "other", "contrary")
Embed = Callable[[Sequence[str]], Vectors]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The thresholds of a model and where they come from: a file of that name, calibrated at all, or the default."""

    thresholds: ThresholdSettings
    source: str


def pairs_file() -> Path:
    """The statements that come with the code."""
    return shipped_config() / FOLDER / PAIRS


def load_sets(path: Path) -> dict[str, list[dict[str, str]]]:
    """Language -> sets of statements about one matter each. ConfigurationInvalid names the set that is wrong."""
    content = read_mapping(path)
    for language, sets in content.items():
        for place, one in enumerate(sets):
            if set(one) != {"base", *_WRITTEN}:
                raise ConfigurationInvalid(f"{path}: {language} {place}: a set has base, {', '.join(_WRITTEN)}")
    return content


def measure(
    sets: Mapping[str, Sequence[Mapping[str, str]]], embed: Embed, negations: frozenset[str], same_wording: float
) -> list[Measured]:
    """Similarities of all pairs: those that are written, and each base with the next of its language, which is unrelated."""
    found: list[Measured] = []
    for language, rows in sets.items():
        bases = embed([row["base"] for row in rows])
        for relation in _WRITTEN:
            cosines = np.sum(bases * embed([row[relation] for row in rows]), axis=1)
            for row, cosine in zip(rows, cosines, strict=True):
                seen = bool(wording_contradicts(row[relation], row["base"], negations, same_wording))
                found.append(Measured(language, relation, float(cosine), seen))
        # As many unrelated pairs as there are of any other relation, so that no language counts for more.
        found += [
            Measured(language, "unrelated", float(bases[place] @ bases[(place + 1) % len(rows)])) for place in range(len(rows))
        ]
    return found


def calibrate_model(
    sets: Mapping[str, Sequence[Mapping[str, str]]], embed: Embed, negations: frozenset[str], figures: PredictionErrorSettings
) -> tuple[Calibration, dict[str, float]]:
    """The calibration on all sets, and the mistakes on each half by the thresholds of the other half."""
    measured = measure(sets, embed, negations, figures.same_wording)
    halves = [
        measure({name: rows[half::2] for name, rows in sets.items()}, embed, negations, figures.same_wording) for half in (0, 1)
    ]
    crossed = [
        mistakes(halves[1 - half], calibrate(halves[half], figures.calibration, figures.default).thresholds) for half in (0, 1)
    ]
    held_out = {name: round((crossed[0][name] + crossed[1][name]) / 2, 3) for name in crossed[0]}
    return calibrate(measured, figures.calibration, figures.default), held_out


def write_calibration(
    folder: Path, fingerprint: str, calibration: Calibration, held_out: Mapping[str, float], provenance: Mapping[str, str]
) -> Path:
    """Keep it under the model's fingerprint; what was there before is replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / file_name(fingerprint)
    content = {
        "fingerprint": fingerprint,
        "thresholds": calibration.thresholds.model_dump(),
        "provenance": dict(provenance),
        "pairs": dict(calibration.pairs),
        "held_out_mistakes": dict(held_out),
        "quantiles": {name: dict(table) for name, table in calibration.quantiles.items()},
    }
    text = "# Made by scripts/calibrate_similarity.py; similarities of this model and the gate's thresholds that follow.\n"
    path.write_text(text + yaml.safe_dump(content, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return path


def file_name(fingerprint: str) -> str:
    """A name for a file; the fingerprint itself stands inside."""
    model, _, rest = fingerprint.partition("|")
    short = "".join(letter if letter.isalnum() or letter in "-." else "-" for letter in model.rsplit("/", 1)[-1].lower())
    if not rest:
        return f"{short[:60]}-{_digest(fingerprint)}.yaml"
    weights, _, serving = rest.rsplit("|", 1)[-1].partition("-")
    return f"{short[:60]}-{weights[:12]}{f'-{serving}' if serving else ''}.yaml"


def load_calibrations(home: Home) -> dict[str, Chosen]:
    """Fingerprint -> thresholds, the home's own files before the shipped ones. ConfigurationInvalid names file and key."""
    found: dict[str, Chosen] = {}
    for folder in (shipped_config() / FOLDER, home.config / FOLDER):
        for path in sorted(folder.glob("*.yaml")):
            if path.name == PAIRS:
                continue
            content = read_mapping(path)
            try:
                found[str(content["fingerprint"])] = Chosen(ThresholdSettings.model_validate(content["thresholds"]), path.name)
            except (KeyError, ValidationError) as error:
                raise ConfigurationInvalid(f"{path} is no calibration: {error}") from error
    return found


def calibrated(settings: Settings, home: Home) -> Settings:
    """The settings with what the files say of models of which they say nothing themselves."""
    error = settings.write_path.prediction_error
    found = {fingerprint: chosen.thresholds for fingerprint, chosen in load_calibrations(home).items()}
    merged = error.model_copy(update={"calibrated": {**found, **error.calibrated}})
    write_path = settings.write_path.model_copy(update={"prediction_error": merged})
    return settings.model_copy(update={"write_path": write_path})


def thresholds_of(fingerprint: str, figures: PredictionErrorSettings) -> Chosen:
    """The thresholds of a model and where they are from, so that nobody takes the default for a calibration."""
    if fingerprint in figures.calibrated:
        return Chosen(figures.calibrated[fingerprint], "calibrated")
    return Chosen(figures.default, "default: this model is not calibrated")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
