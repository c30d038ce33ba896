"""Learn the weights of the default ranking profile from a folder of evaluation data.

    python scripts/train_fusion.py --data PATH [--out config/ranking/default.yaml]

Learns from every conversation of LoCoMo under PATH, and writes beside the weights where they come from and the score
that weights of the same kind reach on conversations that they have not seen (each left out once). No text is kept.
"""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path

import yaml

from aico_memory.bench.retrieval.data import load_conversations
from aico_memory.bench.retrieval.learned import LEARNED, learned_profile, leave_one_out, samples_of
from aico_memory.bench.retrieval.local import open_workshop, ranked, tabulated
from aico_memory.bench.retrieval.scoring import DEPTH, Scores, mean, score
from aico_memory.paths import find_home

HEADER = """\
# Learned weights: what one unit of a feature adds to the log-odds (times scale). Made by scripts/train_fusion.py; do not edit.
"""
SCORED = "1234"


def say(text: str) -> None:
    """One line of progress."""
    sys.stderr.write(f"{text}\n")


def main() -> None:
    """Read, learn, judge, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("config/ranking/default.yaml"))
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    workshop = open_workshop(find_home())
    collections = load_conversations(options.data)
    entries, samples, ids = {}, {}, {}
    for collection in collections:
        shelf = workshop.shelf(collection)
        entries[collection.name] = tabulated(collection, shelf, workshop.figures)
        samples[collection.name] = samples_of(entries[collection.name], options.seed)
        ids[collection.name] = shelf.ids
    profiles = leave_one_out(samples, say)
    found: list[Scores] = []
    for name, own in entries.items():
        for entry in (one for one in own if one.category in SCORED):
            gold = [ids[name][place] for place in entry.gold]
            found.append(score(ranked(entry, profiles[name], ids[name], DEPTH), gold))
    unseen = mean(found)
    final = learned_profile("default", [sample for own in samples.values() for sample in own])
    content = {
        "scale": round(final.scale, 6),
        "offset": round(final.offset, 6),
        "weights": {name: round(final.weights[name], 5) for name in LEARNED},
        "provenance": {
            "kind": "learned",
            "model": "listwise logistic regression, weights of evidence not negative",
            "data": f"LoCoMo, {len(collections)} conversations, turns as messages",
            "questions": sum(len(own) for own in samples.values()),
            "split": "weights: all conversations; scores: each conversation by weights that have not seen it",
            "embedding": workshop.model,
            "date": datetime.now(UTC).date(),
            "seed": options.seed,
            "unseen_categories_1_to_4": unseen.rounded(),
        },
    }
    options.out.write_text(HEADER + yaml.safe_dump(content, sort_keys=False, allow_unicode=True), encoding="utf-8")
    say(f"{options.out}: unseen {unseen.rounded()}")


if __name__ == "__main__":
    main()
