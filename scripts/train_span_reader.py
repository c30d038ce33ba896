"""Train the span reader: the embedded model's encoder, read on to say which words of what was told answer a question.

    python scripts/train_span_reader.py [--out config/span_reader] [--epochs 4] [--start READER] [--keep-out READER]

Every stream of `aico-memory bench facts` is told whole, with messages hidden from the rules, among messages of other
streams, and asked for what was never said in it. One stream in eight, or what another reader did not learn from, is kept out
for the score that is written beside the weights and for the training of the trust; streams that nobody has read are left
alone. An epoch of all streams takes some twenty minutes on two cores with `--bfloat16`, where the processor multiplies 16-bit
matrices; `--share` takes fewer of them, for a try.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import zlib
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch
from span_network import PAIR, SpanReader, blocks_of, export, exported_weights
from span_training import Example, Optimiser, Rates, batches, example_of, run, with_dropout
from span_varying import Variations
from transformers import AutoModel

from aico_memory.bench.facts.passages import HIDDEN, MIXED, UNSAID, WHOLE, PassageSample, PassageSampler
from aico_memory.bench.facts.run import Vectoriser
from aico_memory.bench.facts.streams import LEARN, UNREAD, Stream, load_streams
from aico_memory.bench.facts.tally import answers
from aico_memory.domain.recall.reading.picking import pick_values
from aico_memory.models.fact_tables import load_formation_tables
from aico_memory.models.load import load_embedder
from aico_memory.models.span_reader import MODEL_FILE, open_tokenizer, reading_of, recipe_of
from aico_memory.models.weights import TOKENIZER_FILE, embedded_weights
from aico_memory.paths import find_home
from aico_memory.settings.models import ModelSettings

# Chances of the ways in which a stream is told: of those that were written to learn from, and of those from which the rules
# were made, which answer nearly all of them.
OF_LEARN = {WHOLE: 1.0, HIDDEN: 0.5, MIXED: 0.25, UNSAID: 0.3}
OF_OTHERS = {WHOLE: 0.3, HIDDEN: 0.5, MIXED: 0.12, UNSAID: 0.15}
KEPT_OUT = 8
# Learning rates, as shares of the encoder's: of the blocks behind it, of what reads its vectors, of the embeddings of words.
BLOCKS, HEADS, WORDS = 2.5, 4.0, 2.0
# Tokens that stand for no word.
SPECIAL = ("[CLS]", "[SEP]", "[PAD]")


def say(text: str) -> None:
    sys.stdout.write(f"{time.strftime('%H:%M:%S')} {text}\n")
    sys.stdout.flush()


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


def train(samples: Sequence[Example], given: argparse.Namespace, model: Any, vary: Variations | None, after: Any) -> None:
    rng = np.random.default_rng(given.seed)
    torch.manual_seed(given.seed)
    epochs = [batches(samples, rng) for _ in range(given.epochs)]
    steps = sum(len(epoch) for epoch in epochs)
    rate = given.rate
    rates = Rates(rate, BLOCKS * rate, HEADS * rate, 0.0 if given.words_stay else WORDS * rate, given.bfloat16)
    optimiser = Optimiser(with_dropout(model, given.dropout, given.seed), rates, steps)
    done = 0
    for number, epoch in enumerate(epochs, 1):
        total, count, started = 0.0, 0, time.monotonic()
        for batch in epoch:
            told = [samples[at] if vary is None else vary.of(samples[at]) for at in batch]
            total += optimiser.step(told) * len(batch)
            count, done = count + len(batch), done + 1
            if done % 100 == 0:
                speed = count / (time.monotonic() - started)
                say(f"step {done} of {steps}: loss {total / count:.4f}, {speed:.1f} samples a second")
        say(f"epoch {number}: loss {total / max(1, count):.4f}")
        after()
    model.encoder.embeddings.word_embeddings.sparse = False


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


def variations(samples: Sequence[Example], model: Any, tokenizer: Any, seed: int) -> Variations:
    """Other tellings of the samples, with each other's values."""
    words = model.encoder.embeddings.word_embeddings.weight.detach().numpy().copy()
    vary = Variations(words, tokenizer.token_to_id("[MASK]"), [tokenizer.token_to_id(one) for one in SPECIAL], seed)
    vary.learn(samples)
    return vary


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


def main() -> None:
    """Sample, train, score on what was kept out, export."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("config/span_reader"))
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--rate", type=float, default=2e-4, help="learning rate of the encoder")
    parser.add_argument("--words-stay", action="store_true", help="leave the embeddings of words as they are")
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument(
        "--as-told", action="store_true", help="show samples as they are, not with other values and words left out"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep-out", type=Path, help="folder of a reader: keep out what it did not learn from either")
    parser.add_argument("--start", type=Path, help="weights to go on from: a checkpoint, or the folder of a reader")
    parser.add_argument("--blocks", type=int, default=0, help="blocks behind the encoder, where they are to be more")
    parser.add_argument("--checkpoint", type=Path, help="where the weights of each epoch are kept")
    parser.add_argument("--share", type=float, default=1.0, help="of the streams")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--bfloat16", action="store_true", help="multiply in 16 bits, where the processor can")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    home = find_home()
    embedder, _ = load_embedder(ModelSettings(), home.model)
    encoder = embedded_weights("the encoder of the span reader")
    folder = encoder.folder
    tables = load_formation_tables(home)
    tokenizer = open_tokenizer(folder / TOKENIZER_FILE)
    read = [stream for stream in load_streams(learned=True) if stream.half != UNREAD]
    streams = [stream for stream in read if zlib.crc32(stream.id.encode()) % 1000 < given.share * 1000]
    kept = kept_out_of([stream for stream in streams if stream.half == LEARN], given.keep_out)
    samples: list[PassageSample] = []
    sampler = PassageSampler(tables, Vectoriser(embedder), given.seed)
    for learn, variants in ((True, OF_LEARN), (False, OF_OTHERS)):
        mine = [stream for stream in streams if (stream.half == LEARN) == learn]
        for sample in sampler.samples(mine, variants, streams):
            samples.append(sample)
            if len(samples) % 2000 == 0:
                say(f"{len(samples)} samples")
    out = [example_of(one, tokenizer) for one in samples if one.stream in kept and one.variant == WHOLE]
    learned = [example_of(one, tokenizer) for one in samples if one.stream not in kept and all(one.gold)]
    say(f"{len(learned)} samples to learn from, {len(out)} kept out")
    model = reader_of(folder, given.start, given.blocks)
    scores: dict[str, Any] = {}

    def after() -> None:
        scores.update(scored(model, out, tables.grammars))
        say(f"kept out: {json.dumps(scores)}")
        if given.checkpoint:
            torch.save(model.state_dict(), given.checkpoint)

    vary = None if given.as_told else variations(learned, model, tokenizer, given.seed)
    train(learned, given, model, vary, after)
    export(model, given.out, folder / TOKENIZER_FILE, {
        "data": f"{len(streams)} streams, {len(learned)} samples", "epochs": given.epochs, "seed": given.seed,
        "languages": sorted({stream.language for stream in streams}), "encoder": encoder.model,
        "split": f"scores: {len(kept)} of the streams written to learn from", "scores": scores,
        "date": datetime.now(UTC).date().isoformat(),
    }, sorted(kept))  # fmt: skip
    say(f"written to {given.out}")


if __name__ == "__main__":
    main()
