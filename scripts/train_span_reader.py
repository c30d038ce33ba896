"""Train the span reader: the embedded model's encoder, read on to say which words of what was told answer a question.

    python scripts/train_span_reader.py [--out config/span_reader] [--minutes 80] [--start READER] [--keep-out READER]

Every stream of `aico-memory bench facts` is told whole, with messages hidden from the rules, among messages of other
streams, and asked for what was never said in it (scripts/span_samples.py, whose samples are made where they are missing). One
stream in eight, or what another reader did not learn from, is kept out for the score that is written beside the weights and
for the training of the trust; streams that nobody has read are left alone. Two cores learn from some fifteen to thirty
samples a second with `--bfloat16`, where the processor multiplies 16-bit matrices; those shown least come next, and more of
the files that `--weigh` names. Training ends after so many samples or minutes, its rate falling to 0 by then; with
`--keep-share` the weights are the mean of those learned and those begun with (Wortsman et al. 2022).
"""

from __future__ import annotations

import argparse
import json
import math
import time
import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch
from span_network import PAIR, SpanReader, blocks_of, export, exported_weights
from span_samples import FOLDER, Shown, learnable, make, read_all, say, weight_of
from span_training import Example, Optimiser, Rates, batches, example_of, run, with_dropout
from span_varying import Variations
from transformers import AutoModel

from aico_memory.bench.facts.passages import WHOLE, PassageSample
from aico_memory.bench.facts.streams import LEARN, Stream
from aico_memory.bench.facts.tally import answers
from aico_memory.domain.recall.reading.picking import pick_values
from aico_memory.models.fact_tables import load_formation_tables
from aico_memory.models.span_reader import MODEL_FILE, open_tokenizer, reading_of, recipe_of
from aico_memory.models.weights import TOKENIZER_FILE, embedded_weights
from aico_memory.paths import find_home

KEPT_OUT = 8
# Samples that are made ready together, and after how many the loss is told.
CHUNK, TOLD_EVERY = 5000, 1000
# Learning rates, as shares of the encoder's: of the blocks behind it, of what reads its vectors, of the embeddings of words.
BLOCKS, HEADS, WORDS = 2.5, 4.0, 2.0
# Tokens that stand for no word.
SPECIAL = ("[CLS]", "[SEP]", "[PAD]")


def scored(model: Any, samples: Sequence[Example], grammars: Any) -> dict[str, dict[str, float]]:
    """Right answers of rules and reader, by language, variant and tense."""
    model.eval()
    right: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    with torch.no_grad():
        for batch in batches(samples, None):
            out = run(model, [samples[at].encoded for at in batch]).float().numpy()
            for row, at in enumerate(batch):
                sample, encoded = samples[at].sample, samples[at].encoded
                reading = reading_of(sample.passage, encoded, out[row], PAIR)
                picked = pick_values(sample.passage, reading.runs, grammars[sample.language])
                hit = answers([one.value for one in picked], sample.expected)
                for name in (f"{sample.language} {sample.variant} {sample.tense}", f"all {sample.variant} {sample.tense}"):
                    right[name].append((sample.ruled_right, hit))
    return {
        name: {
            "questions": len(found), "rules": round(sum(ruled for ruled, _ in found) / len(found), 4),
            "reader": round(sum(hit for _, hit in found) / len(found), 4),
        }
        for name, found in sorted(right.items())
    }  # fmt: skip


def train(learned: Sequence[PassageSample], given: argparse.Namespace, model: Any, tokenizer: Any, after: Any) -> int:
    """Shows the samples until enough were shown or the time is over; how many it were. `after`: called now and then."""
    rng = np.random.default_rng(given.seed)
    torch.manual_seed(given.seed)
    weights = {pattern: float(weight) for pattern, _, weight in (one.rpartition("=") for one in given.weigh)}
    shown = Shown([weight_of(one.stream.rpartition("-")[0], weights) for one in learned], rng)
    rates = Rates(
        given.rate, BLOCKS * given.rate, HEADS * given.rate, 0.0 if given.words_stay else WORDS * given.rate, given.bfloat16
    )
    optimiser = Optimiser(with_dropout(model, given.dropout, given.seed), rates)
    vary: Variations | None = None
    started, count, told_at, done = time.monotonic(), 0, 0, 0.0
    total, since = 0.0, 0
    while done < 1:
        drawn = [example_of(learned[place], tokenizer) for place in shown.draw(min(CHUNK, given.shown - count))]
        if not given.as_told:
            vary = vary or variations(model, tokenizer, given.seed)
            vary.learn(drawn)
        for batch in batches(drawn, rng):
            total += optimiser.step([drawn[at] if vary is None else vary.of(drawn[at]) for at in batch], done) * len(batch)
            count, since = count + len(batch), since + len(batch)
            minutes = (time.monotonic() - started) / 60
            done = max(count / given.shown, minutes / given.minutes)
            if since >= TOLD_EVERY:
                say(f"{done:.0%}: {count} samples, {count / minutes / 60:.1f} a second, loss {total / since:.4f}")
                total, since = 0.0, 0
            if done >= 1:
                break
        if count - told_at >= given.score_every and done < 1:
            told_at = count
            after()
    model.encoder.embeddings.word_embeddings.sparse = False
    return count


def reader_of(folder: Path, start: Path | None, blocks: int = 0) -> SpanReader:
    """The network around an encoder's weights, or with those of a checkpoint or of an exported reader and further blocks."""
    encoder = AutoModel.from_pretrained(str(folder), attn_implementation="eager", add_pooling_layer=False)
    weights: dict[str, Any] = {}
    if start is not None:
        weights = exported_weights(start / MODEL_FILE) if start.is_dir() else torch.load(start)
    model = SpanReader(encoder, max(blocks, blocks_of(weights)))
    # What it has beyond them is new.
    model.load_state_dict({**model.state_dict(), **weights})
    return model


def variations(model: Any, tokenizer: Any, seed: int) -> Variations:
    """Other tellings of samples, with each other's values."""
    words = model.encoder.embeddings.word_embeddings.weight.detach().numpy().copy()
    return Variations(words, tokenizer.token_to_id("[MASK]"), [tokenizer.token_to_id(one) for one in SPECIAL], seed)


def kept_out_of(streams: Sequence[Stream], recipe: Path | None) -> set[str]:
    """Those that another reader did not learn from either; of files that it did not know, and without one, one in KEPT_OUT."""
    named = frozenset(recipe_of(recipe).kept_out) if recipe is not None else frozenset()
    known = {stream.file for stream in streams if stream.id in named or stream.file in named}
    return {
        stream.id
        for stream in streams
        if stream.id in named or stream.file in named
        or (stream.file not in known and zlib.crc32(stream.id.encode()) % KEPT_OUT == 0)
    }  # fmt: skip


def mean_of(before: Mapping[str, Any], after: Mapping[str, Any], share: float) -> dict[str, Any]:
    """That share of the weights of before and the rest of those of after."""
    return {name: torch.lerp(value.float(), before[name].float(), share) for name, value in after.items()}


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("config/span_reader"))
    parser.add_argument("--samples", type=Path, default=FOLDER, help="where samples are kept")
    parser.add_argument("--shown", type=int, default=400_000, help="samples that are shown")
    parser.add_argument("--minutes", type=float, default=math.inf, help="time after which no more are shown")
    parser.add_argument("--weigh", action="append", default=[], metavar="PATTERN=WEIGHT", help="of files of streams; else 1")
    parser.add_argument("--rate", type=float, default=1e-4, help="learning rate of the encoder")
    parser.add_argument("--words-stay", action="store_true", help="leave the embeddings of words as they are")
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument(
        "--as-told", action="store_true", help="show samples as they are, not with other values and words left out"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep-out", type=Path, help="folder of a reader: keep out what it did not learn from either")
    parser.add_argument("--start", type=Path, help="weights to go on from: a checkpoint, or the folder of a reader")
    parser.add_argument("--keep-share", type=float, default=0.0, help="share of the weights begun with in those written")
    parser.add_argument("--blocks", type=int, default=0, help="blocks behind the encoder, where they are to be more")
    parser.add_argument("--checkpoint", type=Path, help="where the weights are kept at each score")
    parser.add_argument("--score-every", type=int, default=50_000, help="samples between scores")
    parser.add_argument("--score-share", type=float, default=0.2, help="of the questions kept out, in scores on the way")
    parser.add_argument("--share", type=float, default=1.0, help="of the streams, for a try")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--bfloat16", action="store_true", help="multiply in 16 bits, where the processor can")
    given = parser.parse_args()
    if given.keep_share and given.start is None:
        parser.error("--keep-share needs --start: the weights of which a share is kept")
    return given


def main() -> None:
    """Sample, train, score on what was kept out, export."""
    given = options()
    torch.set_num_threads(given.threads)
    encoder = embedded_weights("the encoder of the span reader")
    folder = encoder.folder
    grammars = load_formation_tables(find_home()).grammars
    tokenizer = open_tokenizer(folder / TOKENIZER_FILE)
    streams = [stream for stream in learnable() if zlib.crc32(stream.id.encode()) % 1000 < given.share * 1000]
    kept = kept_out_of([stream for stream in streams if stream.half == LEARN], given.keep_out)
    make(streams, given.samples, given.seed, given.threads)
    samples = list(read_all(streams, given.samples, given.seed))
    out = [example_of(one, tokenizer) for one in samples if one.stream in kept and one.variant == WHOLE]
    learned = [one for one in samples if one.stream not in kept and all(one.gold)]
    say(f"{len(learned)} samples to learn from, {len(out)} questions kept out")
    model = reader_of(folder, given.start, given.blocks)
    begun = {name: value.clone() for name, value in model.state_dict().items()}

    def after() -> None:
        say(f"kept out: {json.dumps(scored(model, out[:: max(1, round(1 / given.score_share))], grammars))}")
        if given.checkpoint:
            torch.save(model.state_dict(), given.checkpoint)

    shown = train(learned, given, model, tokenizer, after)
    if given.keep_share:
        model.load_state_dict(mean_of(begun, model.state_dict(), given.keep_share))
    scores = scored(model, out, grammars)
    say(f"kept out: {json.dumps(scores)}")
    if given.checkpoint:
        torch.save(model.state_dict(), given.checkpoint)
    export(model, given.out, folder / TOKENIZER_FILE, {
        "data": f"{len(streams)} streams, {len(learned)} samples, of which {shown} were shown", "seed": given.seed,
        "start": str(given.start), "keep share": given.keep_share, "rate": given.rate, "weights": list(given.weigh),
        "languages": sorted({stream.language for stream in streams}), "encoder": encoder.model,
        "split": f"scores: {len(kept)} of the streams written to learn from", "scores": scores,
        "date": datetime.now(UTC).date().isoformat(),
    }, sorted(kept))  # fmt: skip
    say(f"written to {given.out}")


if __name__ == "__main__":
    main()
