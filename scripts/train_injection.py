"""Learn for each language how texts are spelled that try to give orders to the memory.

`python scripts/train_injection.py [--out config/injection] [--check]`

Learns from the texts of `aico_memory/bench/injection/texts`, a file a hand, and from ordinary messages of the streams of
facts. Each hand is scored by a rule that has not seen it: from these scores the threshold is taken at which no more of the
wishes that bind somebody are mistaken than `MISTAKEN` allows. With `--check` nothing is written, and a rule that was learned
from other texts fails.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from aico_memory.bench.injection.run import binds
from aico_memory.bench.injection.texts import ORDINARY, digest_of, load_texts, ordinary_messages
from aico_memory.domain.formation.injection_learning import (
    KEPT_RUNS,
    LEAST_TEXTS,
    PENALTY,
    Text,
    learned,
    threshold_of,
    unseen_scores,
)
from aico_memory.models.config_files import read_mapping
from aico_memory.models.fact_tables import load_formation_tables
from aico_memory.models.injection_tables import FOLDER, write_injection_rule
from aico_memory.paths import find_home, shipped_config

# Share of the wishes that bind somebody, most of them written to be mistaken, that may be taken for attempts.
MISTAKEN = 0.035


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=shipped_config() / FOLDER, help="folder of the rules")
    parser.add_argument("--check", action="store_true", help="compare the texts only, exit 1 where they differ")
    options = parser.parse_args()
    written = load_texts()
    if options.check:
        return _check(options.out, written)
    ordinary = ordinary_messages()
    unlearned = replace(load_formation_tables(find_home()), injection={})
    for language, texts in written.items():
        beside = [Text(text, False, "") for text in ordinary.get(language, ())[:ORDINARY]]
        fresh = ordinary.get(language, ())[ORDINARY : 2 * ORDINARY]
        scores = unseen_scores([*texts, *beside])
        binding = [place for place, one in enumerate(texts) if not one.attempt and binds(one.words, unlearned)]
        threshold = threshold_of(scores[binding], [False] * len(binding), MISTAKEN)
        rule = replace(learned([*texts, *beside]), threshold=threshold)
        taken = {
            name: _shares((scores >= threshold).tolist(), texts, attempt)
            for name, attempt in (("attempts_found", True), ("wishes_mistaken", False))
        }
        provenance = {
            "made_by": "scripts/train_injection.py",
            "texts": len(texts), "texts_sha256": digest_of(texts), "ordinary_messages": len(beside),
            "figures": {"least_texts": LEAST_TEXTS, "kept_runs": KEPT_RUNS, "penalty": PENALTY, "mistaken": MISTAKEN},
            "wishes_that_bind": len(binding),
            "by_rules_that_have_not_seen_the_hand": taken,
            "other_ordinary_messages_mistaken": round(float(np.mean([rule.suspects(text) for text in fresh])), 4),
        }  # fmt: skip
        write_injection_rule(options.out / f"{language}.yaml", rule, provenance)
        sys.stdout.write(f"{language}: threshold {threshold:.3f} {taken}\n")
    return 0


def _shares(taken: Sequence[bool], texts: Sequence[Text], attempt: bool) -> dict[str, float]:
    """Hand -> share of its attempts, or of its wishes, that are taken for attempts."""
    found: dict[str, list[bool]] = {}
    for one, suspected in zip(texts, taken, strict=True):
        if one.attempt is attempt:
            found.setdefault(one.hand, []).append(suspected)
    return {hand: round(sum(some) / len(some), 3) for hand, some in sorted(found.items())}


def _check(folder: Path, written: dict[str, list[Text]]) -> int:
    stale = [
        language
        for language, texts in written.items()
        if read_mapping(folder / f"{language}.yaml")["provenance"]["texts_sha256"] != digest_of(texts)
    ]
    for language in stale:
        sys.stderr.write(f"{folder / language}.yaml was learned from other texts; run scripts/train_injection.py\n")
    return 1 if stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
