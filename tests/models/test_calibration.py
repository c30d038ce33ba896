"""Thresholds of the gate per embedding model: from similarities to figures, files, and which of them holds."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from aico_memory.domain.gate.calibration import RELATIONS, Measured, calibrate, mistakes, quantile
from aico_memory.errors import ConfigurationInvalid
from aico_memory.models.calibration import (
    FOLDER,
    Chosen,
    calibrate_model,
    calibrated,
    file_name,
    load_calibrations,
    load_sets,
    measure,
    pairs_file,
    thresholds_of,
    write_calibration,
)
from aico_memory.models.load import load_embedder
from aico_memory.models.twin import HashedEmbedder
from aico_memory.paths import Home
from aico_memory.settings.models import ModelSettings
from aico_memory.settings.root import Settings
from aico_memory.settings.write_path import CalibrationSettings, PredictionErrorSettings, ThresholdSettings
from tests.support.exports import export_folder

FIGURES = PredictionErrorSettings()
_similarities = st.lists(st.floats(-1, 1), min_size=1, max_size=30)


@example({relation: [0.3125] for relation in RELATIONS}, 0.25)
@given(st.fixed_dictionaries(dict.fromkeys(RELATIONS, _similarities)), st.floats(0.01, 0.4))
def test_whatever_a_model_measures_the_thresholds_are_in_order_and_a_mistake_is_as_rare_as_allowed(
    of: dict[str, list[float]], allowed: float
) -> None:
    measured = [Measured("en", relation, one) for relation, found in of.items() for one in found]
    settings = CalibrationSettings(wrong_reinforce=allowed, wrong_update=allowed, wrong_doubt=allowed, missed_echo=allowed)
    found = calibrate(measured, settings, ThresholdSettings()).thresholds
    assert found.create <= found.update < found.reinforce
    hidden = [one.similarity for one in measured if one.relation in {"more", "contrary"}]
    # Interpolation may leave one value of the ordered ones above; so may the highest threshold that there is.
    if max(hidden) < 0.98 and found.reinforce > 0.05:
        assert mistakes(measured, found)["wrong_reinforce"] <= allowed + 1 / len(hidden)


def test_a_contradiction_that_the_wording_gives_away_raises_no_threshold() -> None:
    plain = [Measured("en", relation, 0.5) for relation in RELATIONS]
    seen = [*plain, *(Measured("en", "contrary", 0.98, seen=True) for _ in range(9))]
    hidden = [*plain, *(Measured("en", "contrary", 0.98) for _ in range(9))]
    one, other = (calibrate(found, CalibrationSettings(), ThresholdSettings()).thresholds for found in (seen, hidden))
    assert one.reinforce == 0.5
    assert other.reinforce > 0.9


def test_a_relation_without_pairs_is_an_error_that_names_it() -> None:
    with pytest.raises(ValueError, match="unrelated"):
        calibrate([Measured("en", one, 0.5) for one in RELATIONS[:-1]], CalibrationSettings(), ThresholdSettings())


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=20), st.floats(0, 1))
def test_a_quantile_lies_between_the_values_and_grows(values: list[float], share: float) -> None:
    assert min(values) <= quantile(values, share) <= max(values)
    assert quantile(values, share) <= quantile(values, 1)


def test_the_statements_cover_five_languages_and_five_relations_with_300_pairs() -> None:
    sets = load_sets(pairs_file())
    embedder = HashedEmbedder()
    measured = measure(sets, embedder.embed, frozenset({"not", "no"}), FIGURES.same_wording)
    assert set(sets) == {"en", "de", "tr", "es", "fr"}
    assert len(measured) == 300
    assert {one.relation for one in measured} == set(RELATIONS)
    texts = [text for rows in sets.values() for row in rows for text in row.values()]
    assert len(set(texts)) == len(texts)


def test_the_kept_calibration_is_the_one_that_the_embedded_model_gives(tmp_path: Path) -> None:
    embedder, account = load_embedder(ModelSettings(export_folder=str(export_folder())), tmp_path)
    try:
        found, held_out = calibrate_model(load_sets(pairs_file()), embedder.embed, frozenset({"not", "no", "nicht"}), FIGURES)
    finally:
        embedder.close()
    kept = load_calibrations(Home(tmp_path))[account.fingerprint]
    assert kept.source == file_name(account.fingerprint)
    assert kept.thresholds.update == pytest.approx(found.thresholds.update, abs=0.01)
    assert kept.thresholds.echo == pytest.approx(found.thresholds.echo, abs=0.01)
    assert held_out["wrong_update"] < 0.15


def test_a_home_has_its_own_calibration_and_settings_win_over_both(tmp_path: Path) -> None:
    home = Home(tmp_path)
    measured = [Measured("en", relation, 0.1 * place) for place, relation in enumerate(RELATIONS)]
    made = calibrate(measured, CalibrationSettings(), ThresholdSettings())
    path = write_calibration(home.config / FOLDER, "m|384|abc", made, {"wrong_update": 0.0}, {"model": "m"})
    assert yaml.safe_load(path.read_text())["provenance"] == {"model": "m"}
    assert load_calibrations(home)["m|384|abc"] == Chosen(made.thresholds, path.name)
    settings = calibrated(Settings(), home).write_path.prediction_error
    assert thresholds_of("m|384|abc", settings) == Chosen(made.thresholds, "calibrated")
    own = ThresholdSettings(reinforce=0.99)
    given = Settings.model_validate({"write_path": {"prediction_error": {"calibrated": {"m|384|abc": own.model_dump()}}}})
    assert thresholds_of("m|384|abc", calibrated(given, home).write_path.prediction_error).thresholds == own


def test_a_model_that_nobody_calibrated_takes_the_default_and_says_so(tmp_path: Path) -> None:
    chosen = thresholds_of("unknown|1|x", calibrated(Settings(), Home(tmp_path)).write_path.prediction_error)
    assert (chosen.thresholds, chosen.source) == (ThresholdSettings(), "default: this model is not calibrated")


@pytest.mark.parametrize("content", ["[]", "fingerprint: x\n", "fingerprint: x\nthresholds: {update: 0.99, reinforce: 0.5}\n"])
def test_a_file_that_is_no_calibration_is_named(content: str, tmp_path: Path) -> None:
    folder = Home(tmp_path).config / FOLDER
    folder.mkdir(parents=True)
    (folder / "broken.yaml").write_text(content)
    with pytest.raises(ConfigurationInvalid, match=r"broken\.yaml"):
        load_calibrations(Home(tmp_path))
