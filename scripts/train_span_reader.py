"""Train the span reader: the embedded model's encoder, read on to say which words of what was told answer a question.

    python scripts/train_span_reader.py [--out config/span_reader] [--epochs 4] [--start READER] [--keep-out READER]

Every stream of `aico-memory bench facts` is told whole, with messages hidden from the rules, among messages of other
streams, and asked for what was never said in it. One stream in eight, or what another reader did not learn from, is kept out
for the score that is written beside the weights and for the training of the trust; streams that nobody has read are left
alone. An epoch of all streams takes some two hours on two cores; `--share` takes fewer of them, for a try.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import zlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch
from span_network import PAIR, SpanReader, blocks_of, export, exported_weights
from transformers import AutoModel

from aico_memory.bench.facts.passages import HIDDEN, MIXED, UNSAID, WHOLE, PassageSample, PassageSampler
from aico_memory.bench.facts.run import Vectoriser
from aico_memory.bench.facts.streams import LEARN, UNREAD, Stream, load_streams
from aico_memory.bench.facts.tally import answers
from aico_memory.domain.recall.reading.passage import MARKS
from aico_memory.domain.recall.reading.picking import cut_of, pick_values, spans
from aico_memory.models.fact_tables import load_formation_tables
from aico_memory.models.load import load_embedder
from aico_memory.models.span_reader import MODEL_FILE, Encoded, encode, open_tokenizer, reading_of, recipe_of
from aico_memory.models.weights import TOKENIZER_FILE, embedded_weights
from aico_memory.paths import find_home
from aico_memory.settings.models import ModelSettings

# Tokens of a batch, padding among them.
BATCH_TOKENS = 1000
# Chances of the ways in which a stream is told: of those that were written to learn from, and of those from which the rules
# were made, which answer nearly all of them.
OF_LEARN = {WHOLE: 1.0, HIDDEN: 0.5, MIXED: 0.25, UNSAID: 0.3}
OF_OTHERS = {WHOLE: 0.3, HIDDEN: 0.5, MIXED: 0.12, UNSAID: 0.15}
# How much a sample counts whose answer the rules were made for.
KNOWN_WHOLE = 0.5
KEPT_OUT = 8
# Share of the steps in which the rate rises.
WARM = 0.06


def say(text: str) -> None:
    sys.stdout.write(f"{time.strftime('%H:%M:%S')} {text}\n")
    sys.stdout.flush()


@dataclass(frozen=True, slots=True)
class Example:
    """A sample ready for the network: its tokens, first and last token of every run, and the runs of each value."""

    sample: PassageSample
    encoded: Encoded
    begin: Any
    finish: Any
    gold: tuple[Any, ...]
    wrong: Any
    # Those of the wrong runs that share no word with a right one: what does is left out beside it when values are picked.
    apart: Any
    # Last tokens of the values' runs, and how many letters of an ending each has; Turkish alone.
    ends: Any
    cuts: Any

    @property
    def size(self) -> int:
        return len(self.encoded.tokens)


def example_of(sample: PassageSample, tokenizer: Any) -> Example:
    encoded = encode(sample.passage, tokenizer)
    starts, ends = spans(sample.passage)
    place = {(int(start), int(end)): at for at, (start, end) in enumerate(zip(starts, ends, strict=True))}
    gold = [[place[run] for run in runs if run in place] for runs in sample.gold]
    wrong = torch.ones(len(starts), dtype=torch.bool)
    apart = torch.ones(len(starts), dtype=torch.bool)
    for at in sorted({at for runs in gold for at in runs}):
        wrong[at] = False
        apart &= torch.from_numpy((ends < starts[at]) | (starts > ends[at]))
    endings = [
        (int(encoded.last[run[1]]), cut_of(sample.passage.words[run[0] : run[1] + 1], value))
        for runs, value in zip(sample.gold, sample.expected, strict=True)
        for run in runs
        if sample.language == "tr"
    ]
    return Example(
        sample, encoded, torch.from_numpy(encoded.first[starts]), torch.from_numpy(encoded.last[ends]),
        tuple(torch.tensor(runs) for runs in gold if runs), torch.nonzero(wrong)[:, 0], torch.nonzero(apart)[:, 0],
        torch.tensor([at for at, _ in endings], dtype=torch.long), torch.tensor([cut for _, cut in endings], dtype=torch.long),
    )  # fmt: skip


def loss_of(scores: Any, one: Example) -> Any:
    """Of whether anything answers; and where something does, of each value among the runs of none, and of the threshold."""
    answers = torch.nn.functional.softplus(-scores[0, -1] if one.gold else scores[0, -1])
    if not one.gold:
        return answers
    first, last = scores[one.begin], scores[one.finish]
    margins = first[:, 0] + last[:, 1] + (first[:, 2 : 2 + PAIR] * last[:, 2 + PAIR : 2 + 2 * PAIR]).sum(dim=1)
    threshold = scores[0, -2]
    wrong = torch.logsumexp(margins[one.wrong], 0) if len(one.wrong) else threshold - 20
    mine = torch.stack([torch.logsumexp(margins[runs], 0) for runs in one.gold])
    among = torch.nn.functional.softplus(wrong - mine).mean()
    above = torch.nn.functional.softplus(threshold - mine).mean()
    if len(one.apart):
        above = above + torch.nn.functional.softplus(torch.logsumexp(margins[one.apart], 0) - threshold)
    cuts = torch.nn.functional.cross_entropy(scores[one.ends, 2 + 2 * PAIR : -3], one.cuts) if len(one.ends) else 0.0
    several = torch.nn.functional.softplus(-scores[0, -3] if len(one.gold) > 1 else scores[0, -3])
    return answers + among + (1.0 if len(one.gold) > 1 else 0.3) * above + 0.3 * (cuts + several)


def batches(samples: Sequence[Example], rng: np.random.Generator | None) -> Iterable[list[int]]:
    """Places of samples of like length; in random order."""
    noise = rng.normal(0, 6, len(samples)) if rng is not None else np.zeros(len(samples))
    order = np.argsort([one.size + extra for one, extra in zip(samples, noise, strict=True)], kind="stable")
    found: list[list[int]] = [[]]
    widest = 0
    for at in order:
        widest = max(widest, samples[at].size)
        if found[-1] and (len(found[-1]) + 1) * widest > BATCH_TOKENS:
            found.append([])
            widest = samples[at].size
        found[-1].append(int(at))
    if rng is not None:
        rng.shuffle(found)
    return found


def run(model: Any, batch: Sequence[Encoded]) -> Any:
    width = max(len(one.tokens) for one in batch)
    tokens, mask = torch.zeros((len(batch), width), dtype=torch.long), torch.zeros((len(batch), width), dtype=torch.long)
    marks = torch.zeros((len(batch), width, len(MARKS)), dtype=torch.long)
    for row, one in enumerate(batch):
        tokens[row, : len(one.tokens)] = torch.from_numpy(one.tokens)
        mask[row, : len(one.tokens)] = 1
        marks[row, : len(one.tokens)] = torch.from_numpy(one.marks)
    return model(tokens, mask, marks)


def scored(model: Any, samples: Sequence[Example], grammars: Any) -> dict[str, dict[str, float]]:
    """Right answers of rules and reader, by language, variant and tense."""
    model.eval()
    right: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    with torch.no_grad():
        for batch in batches(samples, None):
            out = run(model, [samples[at].encoded for at in batch]).numpy()
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


def train(samples: Sequence[Example], given: Any, model: Any, after: Any) -> None:
    rng = np.random.default_rng(given.seed)
    torch.manual_seed(given.seed)
    slow = [value for name, value in model.named_parameters() if name.startswith("encoder") and "word_embeddings" not in name]
    fast = [value for name, value in model.named_parameters() if not name.startswith("encoder")]
    words = model.encoder.embeddings.word_embeddings.weight
    words.requires_grad_(given.words_rate > 0)
    # Pieces of words are seldom seen: they go faster, and what is not seen stays as it is.
    of_words = {"params": [words], "lr": given.words_rate, "weight_decay": 0.0}
    groups = [{"params": slow, "lr": given.rate}, {"params": fast, "lr": 1e-3}, *([of_words] if given.words_rate > 0 else [])]
    optimiser = torch.optim.AdamW(groups, weight_decay=0.01, fused=True)
    steps = given.epochs * len(list(batches(samples, rng)))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min((step + 1) / (WARM * steps), (1 - step / steps) / (1 - WARM))
    )
    for epoch in range(given.epochs):
        model.train()
        total, count, started = 0.0, 0, time.monotonic()
        for batch in batches(samples, rng):
            # Half as wide numbers in the products of matrices alone: half as fast again where the processor has them.
            with torch.autocast("cpu", torch.bfloat16, enabled=given.bfloat16):
                out = run(model, [samples[at].encoded for at in batch])
            out = out.float()
            losses = [weight_of(samples[at].sample) * loss_of(out[row], samples[at]) for row, at in enumerate(batch)]
            loss = torch.stack(losses).mean()
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            if schedule.last_epoch < steps - 1:
                schedule.step()
            total, count = total + float(loss.detach()) * len(batch), count + len(batch)
            if schedule.last_epoch % 200 == 0:
                say(f"step {schedule.last_epoch} of {steps}: loss {total / count:.4f}")
        say(f"epoch {epoch + 1}: loss {total / count:.4f}, {count / (time.monotonic() - started):.1f} samples a second")
        after(epoch)


def weight_of(sample: PassageSample) -> float:
    """How much it counts: less where the rules were made for it, more where nothing answers though much was told of it."""
    if sample.variant != WHOLE:
        return 1.0
    # The files of streams to learn from are called so.
    return KNOWN_WHOLE if f"-{LEARN}-" not in sample.stream else 1.0 if sample.expected else 1.5


def reader_of(folder: Path, start: Path | None, blocks: int = 0) -> SpanReader:
    """The network around an encoder's weights, or with those of a checkpoint or of an exported reader and further blocks."""
    encoder = AutoModel.from_pretrained(str(folder), attn_implementation="sdpa", add_pooling_layer=False)
    weights: dict[str, Any] = {}
    if start is not None:
        weights = exported_weights(start / MODEL_FILE) if start.is_dir() else torch.load(start)
    model = SpanReader(encoder, max(blocks, blocks_of(weights)))
    # What it has beyond them is new.
    model.load_state_dict({**model.state_dict(), **weights})
    return model


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
    parser.add_argument("--rate", type=float, default=1e-4, help="learning rate of the encoder")
    parser.add_argument("--words-rate", type=float, default=3e-4, help="of the embeddings of words; 0: they stay as they are")
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

    def after(epoch: int) -> None:
        scores.update(scored(model, out, tables.grammars))
        say(f"kept out: {json.dumps(scores)}")
        if given.checkpoint:
            torch.save(model.state_dict(), given.checkpoint)

    train(learned, given, model, after)
    export(model, given.out, folder / TOKENIZER_FILE, {
        "data": f"{len(streams)} streams, {len(learned)} samples", "epochs": given.epochs, "seed": given.seed,
        "languages": sorted({stream.language for stream in streams}), "encoder": encoder.model,
        "split": f"scores: {len(kept)} of the streams written to learn from", "scores": scores,
        "date": datetime.now(UTC).date().isoformat(),
    }, sorted(kept))  # fmt: skip
    say(f"written to {given.out}")


if __name__ == "__main__":
    main()
