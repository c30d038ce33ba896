"""Train the feedback classifier for an embedding model.

`python scripts/train_feedback.py [--home HOME | --precision P] [--check]`

Embeds the phrases of `config/feedback` with the model of the settings, chooses by cross-validation how spelling and
embedding are weighed and from which chance on a complaint counts, and writes weights and threshold into
`config/feedback/trained` of the code, or with `--home` into that of a home. With `--check` nothing is written, and
weights that were trained on other phrases fail.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from aico_memory.domain.feedback.phrases import CATEGORIES
from aico_memory.domain.feedback.validation import ALIKE, FOLDS, calibrate, choose, cross_validate, train, truth_of
from aico_memory.models.calibration import file_name
from aico_memory.models.config_files import read_mapping
from aico_memory.models.feedback_tables import TRAINED, digest_of, load_phrases, write_meaning
from aico_memory.models.load import load_embedder
from aico_memory.paths import Home, find_home, shipped_config
from aico_memory.settings.load import ENVIRONMENT_PREFIX, load_settings


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, help="train for the model and phrases of this home, for this home")
    parser.add_argument("--precision", choices=["int8", "float32"], default="int8", help="of the model, without --home")
    parser.add_argument("--check", action="store_true", help="compare the phrases only, exit 1 where they differ")
    options = parser.parse_args()
    home = Home(options.home) if options.home else find_home()
    folder = (home.config if options.home else shipped_config()) / TRAINED
    phrases = load_phrases(home)
    if options.check:
        return _check(folder, digest_of(phrases))
    chosen = {f"{ENVIRONMENT_PREFIX}models__precision": options.precision}
    settings = load_settings(home, None if options.home else chosen)
    figures = settings.behavioral.feedback_text
    with tempfile.TemporaryDirectory() as spare:
        embedder, account = load_embedder(settings.models, home.model if options.home else Path(spare))
        vectors = embedder.embed([phrase.text for phrase in phrases])
        languages = embedder.languages
        embedder.close()
    crossed = cross_validate(phrases, vectors, languages, figures.penalty, figures.meaning_penalty)
    meaning, reached = train(phrases, vectors, crossed, account.fingerprint, account.model, languages, figures.meaning_penalty)
    meaning, acted, held_out = calibrate(phrases, crossed, meaning, figures.precision)
    _, sharpness, alone = choose(crossed.spelling, 0 * crossed.spelling, truth_of(phrases))
    provenance = {
        "made_by": "scripts/train_feedback.py",
        "served_by": account.served_by,
        "phrases": len(phrases),
        "phrases_sha256": digest_of(phrases),
        "cross_validation": f"{FOLDS} parts, phrases whose spelling has a cosine above {ALIKE} never apart",
        "penalties": {"spelling": figures.penalty, "meaning": figures.meaning_penalty},
        "categories": list(CATEGORIES),
        "threshold": {
            "wanted_precision": figures.precision,
            "on_phrases_left_out": asdict(acted),
            "by_the_other_half": asdict(held_out),
        },
        "left_out": {name: asdict(one) for name, one in reached.items()} | {"spelling_alone": asdict(alone)},
    }
    path = folder / file_name(account.fingerprint)
    write_meaning(path, meaning, provenance)
    sys.stdout.write(
        f"{path}\n{provenance['left_out']}\n{provenance['threshold']}\nsharpness of the spelling alone: {sharpness}\n"
    )
    return 0


def _check(folder: Path, digest: str) -> int:
    stale = [path for path in sorted(folder.glob("*.yaml")) if read_mapping(path)["provenance"]["phrases_sha256"] != digest]
    for path in stale:
        sys.stderr.write(f"{path} was trained on other phrases; run scripts/train_feedback.py\n")
    return 1 if stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
