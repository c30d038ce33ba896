"""Learn the weights of the reader from the development streams of `aico-memory bench facts`.

    python scripts/train_reader.py [--out config/reader.yaml]

Every stream is told whole, with messages hidden from the rules, and among messages of other streams, and asked for what
was never said in it. A quarter of the
files is kept out for the score that is written beside the weights; these are then learned from all. Takes ten minutes.
"""

from __future__ import annotations

import argparse
import sys
import zlib
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import yaml

from aico_memory.bench.facts.learning import Fitting, fit, shares
from aico_memory.bench.facts.reading import HIDDEN, Sample, Sampler, table_of
from aico_memory.bench.facts.run import Vectoriser
from aico_memory.bench.facts.streams import load_streams
from aico_memory.domain.recall.answer import RecallFigures
from aico_memory.domain.recall.reading.reader import ReaderWeights
from aico_memory.models.fact_tables import load_formation_tables
from aico_memory.models.load import load_embedder
from aico_memory.paths import find_home
from aico_memory.settings.models import ModelSettings

HEADER = """\
# Learned weights of the reader (scale, direct weight, weights of the hidden units by clue). Made by scripts/train_reader.py.
"""
# How much a stream counts as it stands; with hidden messages it counts 1.
WHOLE = 0.3
# One file in so many is kept out for the score.
FOLDS = 4


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> None:
    """Sample, score on files that were kept out, learn from all, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("config/reader.yaml"))
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    home = find_home()
    embedder, model = load_embedder(ModelSettings(), home.model)
    spoken = RecallFigures().embedded_languages
    streams = load_streams()
    sampler = Sampler(load_formation_tables(home), Vectoriser(embedder), spoken, given.seed)
    samples: list[Sample] = []
    for number, sample in enumerate(sampler.samples(streams)):
        samples.append(sample)
        if number % 2000 == 0:
            say(f"{number} samples")
    fitting = Fitting()
    out_of = [zlib.crc32(one.stream.rsplit("-", 1)[0].encode()) % FOLDS == 0 for one in samples]
    kept = [one for one, out in zip(samples, out_of, strict=True) if out]
    rest = [one for one, out in zip(samples, out_of, strict=True) if not out]
    names = tuple(sampler.names)
    unseen = _fitted(rest, names, fitting, given.seed)
    scores = {
        f"{variant}_{tense}": shares([one for one in kept if (one.variant, one.tense) == (variant, tense)], unseen)
        for variant in ("whole", "hidden", "mixed", "unsaid")
        for tense in ("now", "then")
        if (variant, tense) != ("unsaid", "then")
    }
    for name, share in scores.items():
        say(f"{name}: {share}")
    provenance = {
        "data": f"{len(streams)} development streams, {len(samples)} samples", "hidden_from_the_rules": list(HIDDEN),
        "split": f"scores: files kept out (one in {FOLDS}); weights: all files", "scores": scores,
        "embedding": model.model, "date": datetime.now(UTC).date().isoformat(), "seed": given.seed,
    }  # fmt: skip
    write(replace(_fitted(samples, names, fitting, given.seed), provenance=provenance), given.out)
    say(f"written to {given.out}")


def _fitted(samples: list[Sample], names: tuple[str, ...], fitting: Fitting, seed: int) -> ReaderWeights:
    weights = np.array([WHOLE if one.variant == "whole" else 1.0 for one in samples], dtype=np.float32)
    return fit(table_of(samples, names), weights, fitting, np.random.default_rng(seed))


def write(weights: ReaderWeights, path: Path) -> None:
    """As YAML, one line a clue."""
    lines = [
        f"  {name}: [{', '.join(f'{value:.4g}' for value in (scale, direct, *hidden))}]"
        for name, scale, direct, hidden in zip(weights.names, weights.scale, weights.direct, weights.hidden, strict=True)
    ]
    rest = yaml.safe_dump(
        {
            "trust": weights.trust, "bias": [float(f"{value:.4g}") for value in weights.bias],
            "out": [float(f"{value:.4g}") for value in weights.out], "provenance": dict(weights.provenance),
        }, sort_keys=False, width=120,
    )  # fmt: skip
    path.write_text(HEADER + rest + "clues:\n" + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
