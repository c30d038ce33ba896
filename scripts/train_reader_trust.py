"""Learn whom to believe, the span reader or the rules: the weights beside the reader.

    python scripts/train_reader_trust.py [--out config/span_reader/trust.yaml]

Learns from the streams that the reader has not learned from (`kept_out` in its recipe), all that are written as
evaluations ask; from the same asked for what was never told in them, and from those that the rules were made for, so that it
knows all of these; streams that nobody has read are left alone. The figures written beside the weights are of
questions that were left out, a fifth at a time.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import zlib
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import yaml

from aico_memory.bench.facts.passages import PassageSampler
from aico_memory.bench.facts.run import Vectoriser
from aico_memory.bench.facts.streams import LEARN, UNREAD, Stream, load_streams
from aico_memory.bench.facts.trusting import TrustCase, Weighings, chosen, fit_trust, weighings
from aico_memory.domain.recall.reading.trust import READ, RULES, Trust
from aico_memory.models.fact_tables import load_formation_tables
from aico_memory.models.load import load_embedder
from aico_memory.models.reader_trust import TRUST_FILE
from aico_memory.models.span_reader import FOLDER, load_span_reader
from aico_memory.paths import config_file, find_home
from aico_memory.settings.models import ModelSettings

HEADER = "# Whom to believe, the reader or the rules. Made by scripts/train_reader_trust.py; do not edit.\n"
FOLDS = 5
# One in so many of the streams that the rules were made for.
OF_OTHERS = 3
# Streams that the reader has not learned from, written as evaluations ask or otherwise; the same with questions of others; and
# those that the rules were made for. What the latter weigh together, as a share of the first two: how often something is asked
# that was never told is set by hand, and lies near what evaluations ask.
PLAIN, KEPT, VAIN, RULED = "kept out, plain", "kept out", "asked in vain", "rules"
SHARE = {VAIN: 0.3, RULED: 0.25}
# From which files on streams are written as evaluations ask, by language.
PLAIN_FROM = {"de": 28, "en": 28, "tr": 33}
SEED = 5


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> None:
    """Weigh, learn, score, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--penalty", type=float, default=3.0)
    parser.add_argument("--of-kept-out", type=int, default=4, help="one in so many of the other streams kept out")
    given = parser.parse_args()
    home = find_home()
    reader = load_span_reader(home)
    embedder, _ = load_embedder(ModelSettings(), home.model)
    kept_out = frozenset(reader.recipe.kept_out)
    streams = [one for one in load_streams(learned=True) if one.half != UNREAD]
    left_out = [one for one in streams if one.id in kept_out or one.file in kept_out]
    groups = {
        PLAIN: [one for one in left_out if is_plain(one)],
        KEPT: [one for one in left_out if not is_plain(one)][:: given.of_kept_out],
        RULED: [one for one in streams if one.half != LEARN][::OF_OTHERS],
    }
    tables, vectoriser = load_formation_tables(home), Vectoriser(embedder)
    groups[VAIN] = in_vain([*groups[PLAIN], *groups[KEPT]], PassageSampler(tables, vectoriser, SEED))
    weighed = {}
    for name, mine in groups.items():
        weighed[name] = weighings(mine, tables, vectoriser, reader)
        say(f"{name}: {len(mine)} streams, {len(weighed[name].cases)} questions on which rules and reader differ")
    scores = {name: figures(name, weighed, given.penalty) for name in groups}
    for name, score in scores.items():
        say(f"{name}: {score}")
    cases = [case for one in weighed.values() for case in one.cases]
    weights = fit_trust(*weighted(weighed), given.penalty)
    content = {
        "provenance": {
            "reader": reader.recipe.name, "date": datetime.now(UTC).date().isoformat(), "penalty": given.penalty,
            "data": f"{len(groups[PLAIN])} and {len(groups[KEPT])} streams kept out of the reader's training, the former "
            f"written as evaluations ask, {len(groups[VAIN])} of both asked in vain too, and one in {OF_OTHERS} of those that "
            f"the rules were made for: {len(cases)} questions on which they differ",
            "split": f"scores: each fifth of the streams by weights from the others ({FOLDS} folds)", "scores": scores,
        },
        "options": {option: {key: round(value, 4) for key, value in mine.items()} for option, mine in weights.items()},
    }  # fmt: skip
    out = given.out or config_file(home, FOLDER) / TRUST_FILE
    out.write_text(HEADER + yaml.safe_dump(content, sort_keys=False, width=120), encoding="utf-8")
    say(f"written to {out}")


def is_plain(stream: Stream) -> bool:
    """Whether it is written as evaluations ask."""
    number = re.match(r"\d+", stream.file.rpartition("-")[2])
    return number is not None and int(number.group()) >= PLAIN_FROM[stream.language]


def in_vain(streams: Sequence[Stream], sampler: PassageSampler) -> list[Stream]:
    """Every other of the streams, asked for what was told in others."""
    by_language: dict[str, list[Stream]] = defaultdict(list)
    for one in streams:
        by_language[one.language].append(one)
    asked = [
        sampler.asked_in_vain(one, by_language[one.language], random.Random(zlib.crc32(f"{one.id} {SEED}".encode())))
        for one in streams[::2]
    ]
    return [one for one in asked if one.asked]


def figures(name: str, weighed: dict[str, Weighings], penalty: float) -> dict[str, float]:
    """Shares of right answers of a group: of the rules, of the reader, and of whom is believed."""
    right: dict[str, float] = defaultdict(float)
    mine = weighed[name]
    for _, _, hit in mine.agreed:
        for who in ("rules", "reader", "both"):
            right[who] += hit
    for fold in range(FOLDS):
        trust = Trust(fit_trust(*weighted(weighed, fold), penalty))
        for case in (case for case in mine.cases if fold_of(case) == fold):
            right["rules"] += case.right[RULES]
            right["reader"] += case.right.get(READ, case.right[RULES])
            right["both"] += case.right[chosen(case, trust)]
    count = len(mine.agreed) + len(mine.cases)
    return {"questions": count, **{who: round(hits / count, 4) for who, hits in right.items()}}


def weighted(weighed: dict[str, Weighings], left_out: int | None = None) -> tuple[list[TrustCase], list[float]]:
    """The cases of the other folds and how much each counts, whatever their number."""
    others = {name: [case for case in one.cases if fold_of(case) != left_out] for name, one in weighed.items()}
    kept = len(others[PLAIN]) + len(others[KEPT])
    counts = {name: SHARE[name] * kept / max(1, len(mine)) if name in SHARE else 1.0 for name, mine in others.items()}
    return [case for mine in others.values() for case in mine], [counts[name] for name, mine in others.items() for _ in mine]


def fold_of(case: TrustCase) -> int:
    return zlib.crc32(case.stream.encode()) % FOLDS


if __name__ == "__main__":
    main()
