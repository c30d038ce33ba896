"""Learn for each language how texts are spelled that try to give orders to the memory.

`python scripts/train_injection.py [--out config/injection] [--check]`

Learns from the texts of `aico_memory/bench/injection/texts`, a file a hand, and from ordinary messages of the streams of
facts. Each hand is scored by a rule that has not seen it: from these scores the threshold is taken at which as many ordinary
wishes are mistaken as `MISTAKEN` allows. With `--check` nothing is written, and a rule that was learned from other texts fails.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

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
from aico_memory.models.injection_tables import FOLDER, write_injection_rule
from aico_memory.paths import shipped_config

# Share of the ordinary wishes, all written to be mistaken, that may be taken for attempts.
MISTAKEN = 0.06


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=shipped_config() / FOLDER, help="folder of the rules")
    parser.add_argument("--check", action="store_true", help="compare the texts only, exit 1 where they differ")
    options = parser.parse_args()
    written = load_texts()
    if options.check:
        return _check(options.out, written)
    ordinary = ordinary_messages()
    for language, texts in written.items():
        beside = [Text(text, False, "") for text in ordinary.get(language, ())[:ORDINARY]]
        scores = unseen_scores([*texts, *beside])
        of_hands = [one for one in texts if one.hand]
        attempts = np.array([one.attempt for one in of_hands])
        threshold = threshold_of(scores, attempts.tolist(), MISTAKEN)
        rule = replace(learned([*texts, *beside]), threshold=threshold)
        hands = sorted({one.hand for one in of_hands})
        found = {hand: float(np.mean([score >= threshold for score, one in zip(scores, of_hands, strict=True)
                                      if one.hand == hand and one.attempt])) for hand in hands}  # fmt: skip
        rest = ordinary.get(language, ())[ORDINARY : 2 * ORDINARY]
        provenance = {
            "made_by": "scripts/train_injection.py",
            "texts": len(texts), "hands": hands, "texts_sha256": digest_of(texts), "ordinary_messages": len(beside),
            "figures": {"least_texts": LEAST_TEXTS, "kept_runs": KEPT_RUNS, "penalty": PENALTY, "mistaken": MISTAKEN},
            "by_rules_that_have_not_seen_the_hand": {hand: round(share, 3) for hand, share in found.items()},
            "ordinary_messages_mistaken": round(float(np.mean([rule.score(text) >= threshold for text in rest])), 4),
        }  # fmt: skip
        write_injection_rule(options.out / f"{language}.yaml", rule, provenance)
        sys.stdout.write(f"{language}: threshold {threshold:.3f}, found {np.mean(scores[attempts] >= threshold):.3f} "
                         f"{provenance['by_rules_that_have_not_seen_the_hand']}, "
                         f"ordinary mistaken {provenance['ordinary_messages_mistaken']}\n")  # fmt: skip
    return 0


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
