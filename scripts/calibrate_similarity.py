"""Calibrate the gate for an embedding model: `python scripts/calibrate_similarity.py [--home HOME] [--check]`.

Embeds the statements of `config/calibration/pairs.yaml` with the model of the settings and writes the thresholds that
follow into `config/calibration` of the code, or with `--home` into that of a home. With `--check` nothing is written
and a difference fails.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
from pathlib import Path

import yaml

from aico_memory.models.calibration import FOLDER, calibrate_model, file_name, load_sets, pairs_file, write_calibration
from aico_memory.models.fact_tables import load_formation_tables
from aico_memory.models.load import load_embedder
from aico_memory.paths import Home, find_home, shipped_config
from aico_memory.settings.load import load_settings

# Between two machines the last digits of a similarity differ.
TOLERANCE = 0.01


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, help="calibrate the model of this home, for this home")
    parser.add_argument("--check", action="store_true", help="compare only, exit 1 on a difference")
    options = parser.parse_args()
    home = Home(options.home) if options.home else find_home()
    settings = load_settings(home, {} if options.home is None else None)
    folder = (home.config if options.home else shipped_config()) / FOLDER
    with tempfile.TemporaryDirectory() as spare:
        embedder, account = load_embedder(settings.models, home.model if options.home else Path(spare))
        negations = frozenset[str]().union(*(one.negations for one in load_formation_tables(home).signals.values()))
        figures = settings.write_path.prediction_error
        calibration, held_out = calibrate_model(load_sets(pairs_file()), embedder.embed, negations, figures)
        embedder.close()
    if options.check:
        return _compare(folder / file_name(account.fingerprint), calibration.thresholds.model_dump())
    provenance = {
        "made_by": "scripts/calibrate_similarity.py",
        "model": account.model,
        "served_by": account.served_by,
        "statements": f"{FOLDER}/pairs.yaml",
        "statements_sha256": hashlib.sha256(pairs_file().read_bytes()).hexdigest(),
        "allowed_mistakes": str(figures.calibration.model_dump()),
    }
    path = write_calibration(folder, account.fingerprint, calibration, held_out, provenance)
    sys.stdout.write(f"{path}\n{calibration.thresholds.model_dump()}\nmistakes on held-out halves: {held_out}\n")
    return 0


def _compare(path: Path, thresholds: dict[str, float]) -> int:
    if not path.exists():
        sys.stderr.write(f"there is no {path}; run scripts/calibrate_similarity.py\n")
        return 1
    kept = yaml.safe_load(path.read_text(encoding="utf-8"))["thresholds"]
    apart = [name for name, value in thresholds.items() if abs(kept[name] - value) > TOLERANCE]
    for name in apart:
        sys.stderr.write(f"{name} is {thresholds[name]}, in {path} stands {kept[name]}\n")
    return 1 if apart else 0


if __name__ == "__main__":
    raise SystemExit(main())
