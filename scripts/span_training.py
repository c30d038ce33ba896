"""What the span reader learns from: examples, batches of them, the loss of a batch, and its optimiser.

Training on a processor is bound by memory, not by multiplications: weights are multiplied as 16-bit numbers and kept as
32-bit ones beside them, word pieces that a batch does not hold are left alone, and a batch's runs are scored together.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from span_network import PAIR

from aico_memory.bench.facts.passages import WHOLE, PassageSample
from aico_memory.bench.facts.streams import LEARN
from aico_memory.domain.recall.reading.passage import MARKS
from aico_memory.domain.recall.reading.picking import cut_of, spans
from aico_memory.models.span_reader import Encoded, encode

# Tokens of a batch, padding among them.
BATCH_TOKENS = 3000
# How much a sample counts whose answer the rules were made for.
KNOWN_WHOLE = 0.5
# Of a threshold that nothing is held against.
FAR = 20.0
_LEAST = 1e-30
# Numbers of the noise that dropout draws from.
NOISE = 1 << 24
# Share of the training in which the rate rises.
WARM = 0.06

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Rates:
    """Learning rates of the parts of the network; 0 for `words`: they stay as they are. `half`: 16-bit numbers do the work."""

    encoder: float
    blocks: float
    heads: float
    words: float
    half: bool


@dataclass(frozen=True, slots=True)
class Example:
    """A sample ready for the network: its tokens, first and last token of every run, and the runs of each value."""

    sample: PassageSample
    encoded: Encoded
    begin: Numbers
    finish: Numbers
    gold: tuple[Numbers, ...]
    wrong: Numbers
    # Those of the wrong runs that share no word with a right one: what does is left out beside it when values are picked.
    apart: Numbers
    # Last tokens of the values' runs, and how many letters of an ending each has; Turkish alone.
    ends: Numbers
    cuts: Numbers

    @property
    def size(self) -> int:
        return len(self.encoded.tokens)

    @property
    def weight(self) -> float:
        """How much it counts: less where the rules were made for it, more where nothing answers though much was told of it."""
        if self.sample.variant != WHOLE:
            return 1.0
        # The files of streams to learn from are called so.
        return KNOWN_WHOLE if f"-{LEARN}-" not in self.sample.stream else 1.0 if self.sample.expected else 1.5


def example_of(sample: PassageSample, tokenizer: Any) -> Example:
    encoded = encode(sample.passage, tokenizer)
    starts, ends = spans(sample.passage)
    place = {(int(start), int(end)): at for at, (start, end) in enumerate(zip(starts, ends, strict=True))}
    gold = [[place[run] for run in runs if run in place] for runs in sample.gold]
    right = np.zeros(len(starts), dtype=bool)
    touched = np.zeros(len(starts), dtype=bool)
    for at in sorted({at for runs in gold for at in runs}):
        right[at] = True
        touched |= (ends >= starts[at]) & (starts <= ends[at])
    endings = [
        (int(encoded.last[run[1]]), cut_of(sample.passage.words[run[0] : run[1] + 1], value))
        for runs, value in zip(sample.gold, sample.expected, strict=True)
        for run in runs
        if sample.language == "tr"
    ]
    return Example(
        sample, encoded, np.asarray(encoded.first)[starts], np.asarray(encoded.last)[ends],
        tuple(_numbers(runs) for runs in gold if runs), np.flatnonzero(~right), np.flatnonzero(~touched),
        _numbers([at for at, _ in endings]), _numbers([cut for _, cut in endings]),
    )  # fmt: skip


def batches(samples: Sequence[Example], rng: np.random.Generator | None) -> list[list[int]]:
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
    """Scores of a batch, shape (passages, tokens, outputs)."""
    width = max(len(one.tokens) for one in batch)
    tokens, mask = np.zeros((len(batch), width), dtype=np.int64), np.zeros((len(batch), width), dtype=np.int64)
    marks = np.zeros((len(batch), width, len(MARKS)), dtype=np.int64)
    for row, one in enumerate(batch):
        tokens[row, : len(one.tokens)] = one.tokens
        mask[row, : len(one.tokens)] = 1
        marks[row, : len(one.tokens)] = one.marks
    return model(torch.from_numpy(tokens), torch.from_numpy(mask), torch.from_numpy(marks))


def loss_of(scores: Any, batch: Sequence[Example]) -> Any:
    """Mean over passages of: whether anything answers; and where something does, each value among the runs of none, the
    threshold between those, how many, and where a Turkish value ends.
    """
    width = scores.shape[1]
    flat = scores.reshape(-1, scores.shape[2])
    first = torch.arange(len(batch)) * width
    heads = flat[first]
    answered = torch.tensor([bool(one.gold) for one in batch])
    weights = torch.tensor([one.weight for one in batch])
    total = (weights * _above(heads[:, -1], answered)).sum()
    told = [(row, one) for row, one in enumerate(batch) if one.gold]
    if not told:
        return total / len(batch)
    rows = torch.tensor([row for row, _ in told])
    threshold, weight = heads[rows, -2], weights[rows]
    margins = _margins(
        flat[_joined([row * width + one.begin for row, one in told])],
        flat[_joined([row * width + one.finish for row, one in told])],
    )
    before = np.cumsum([0, *(len(one.begin) for _, one in told)])
    values = [before[at] + runs for at, (_, one) in enumerate(told) for runs in one.gold]
    mine = _together(margins, values)
    owner = torch.tensor([at for at, (_, one) in enumerate(told) for _ in one.gold])
    many = torch.tensor([float(len(one.gold)) for _, one in told])
    others = [before[at] + one.wrong for at, (_, one) in enumerate(told)]
    wrong = _or_far(_together(margins, others), others, threshold)
    beside = [before[at] + one.apart for at, (_, one) in enumerate(told)]
    apart = _or_far(_together(margins, beside), beside, threshold)
    softplus = torch.nn.functional.softplus
    among = _sums(softplus(wrong[owner] - mine), owner, len(told)) / many
    above = _sums(softplus(threshold[owner] - mine), owner, len(told)) / many + softplus(apart - threshold)
    several = _above(heads[rows, -3], many > 1)
    parts = among + torch.where(many > 1, 1.0, 0.3) * above + 0.3 * several
    ending = [(at, row, one) for at, (row, one) in enumerate(told) if len(one.ends)]
    if ending:
        at = torch.tensor([at for at, _, one in ending for _ in one.ends])
        places = _joined([row * width + one.ends for _, row, one in ending])
        cuts = torch.from_numpy(np.concatenate([one.cuts for _, _, one in ending]))
        lost = torch.nn.functional.cross_entropy(flat[places, 2 + 2 * PAIR : -3], cuts, reduction="none")
        counts = torch.tensor([float(max(1, len(one.ends))) for _, one in told])
        parts = parts + 0.3 * _sums(lost, at, len(told)) / counts
    return (total + (weight * parts).sum()) / len(batch)


def _margins(first: Any, last: Any) -> Any:
    return first[:, 0] + last[:, 1] + (first[:, 2 : 2 + PAIR] * last[:, 2 + PAIR : 2 + 2 * PAIR]).sum(dim=1)


def _above(score: Any, wanted: Any) -> Any:
    """Logistic loss of a score that is to be above zero where that is wanted."""
    return torch.nn.functional.softplus(torch.where(wanted, -score, score))


def _together(margins: Any, groups: Sequence[Numbers]) -> Any:
    """Logarithm of the sum of exponentials of each group's margins; of an empty one something far below."""
    places = _joined(groups)
    group = torch.from_numpy(np.repeat(np.arange(len(groups)), [len(one) for one in groups]))
    values = margins[places]
    most = torch.full((len(groups),), -FAR).scatter_reduce(0, group, values.detach(), "amax")
    return most + _sums(torch.exp(values - most[group]), group, len(groups)).clamp(min=_LEAST).log()


def _or_far(found: Any, groups: Sequence[Numbers], threshold: Any) -> Any:
    return torch.where(torch.tensor([len(one) > 0 for one in groups]), found, threshold - FAR)


def _sums(values: Any, group: Any, count: int) -> Any:
    return torch.zeros(count).index_add(0, group, values)


def _joined(parts: Iterable[Numbers]) -> Any:
    return torch.from_numpy(np.concatenate(list(parts)))


def _numbers(values: Sequence[int]) -> Numbers:
    return np.asarray(values, dtype=np.int64)


class Dropout(torch.nn.Module):  # type: ignore[misc]  # torch is untyped here
    """Leaves out numbers as `torch.nn.Dropout` does, by a place at random in noise made once: drawing it takes far longer."""

    def __init__(self, chance: float, noise: Any, rng: np.random.Generator) -> None:
        super().__init__()
        self._chance, self._noise, self._rng = chance, _Shared(noise), _Shared(rng)

    def forward(self, vectors: Any) -> Any:
        if not self.training or self._chance == 0:
            return vectors
        noise = self._noise.it
        begin = int(self._rng.it.integers(0, len(noise) - vectors.numel()))
        return vectors * noise[begin : begin + vectors.numel()].view(vectors.shape).to(vectors.dtype)


class _Shared:
    """Something that copies of its holder share."""

    def __init__(self, it: Any) -> None:
        self.it = it

    def __deepcopy__(self, _: dict[int, Any]) -> _Shared:
        return self


def with_dropout(model: Any, chance: float, seed: int) -> Any:
    """The network leaving out that share of what its layers give, whatever share it was made with."""
    noise = torch.rand(NOISE, generator=torch.Generator().manual_seed(seed))
    kept = ((noise >= chance).float() / (1 - chance)).bfloat16()
    rng = np.random.default_rng(seed)
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if not isinstance(child, torch.nn.Dropout):
                continue
            if hasattr(module, "query"):
                # Of what attention looks at nothing is left out: drawing it would take as long as the attention.
                child.p = 0.0
            else:
                setattr(module, name, Dropout(chance, kept, rng))
    return model


class Narrow(torch.nn.Module):  # type: ignore[misc]
    """Embeddings whose sums are handed on as 16-bit numbers."""

    def __init__(self, embeddings: Any) -> None:
        super().__init__()
        self.wide = embeddings
        self.word_embeddings = embeddings.word_embeddings

    def forward(self, **given: Any) -> Any:
        return self.wide(**given).bfloat16()


def pace(done: float) -> float:
    """Share of the learning rate when that share of the training is done: rising for a little while, then falling to 0."""
    return done / WARM if done < WARM else max(0.0, 1 - done) / (1 - WARM)


class Optimiser:
    """AdamW over 32-bit weights, of which a 16-bit copy does the work; lazily of the embeddings of words.

    `model` holds the weights, the copy is run and differentiated. Both share the tables of words, places and marks: the
    gradient of a row is a sum over all tokens that have it, which 16 bits lose.
    """

    def __init__(self, model: Any, rates: Rates) -> None:
        self._model = self._worker = model
        words = model.encoder.embeddings.word_embeddings
        words.sparse = True
        words.weight.requires_grad_(rates.words > 0)
        named = {name: value for name, value in model.named_parameters() if value is not words.weight}
        self._held, self._used = list(named.values()), list(named.values())
        if rates.half:
            self._worker = copy.deepcopy(model).bfloat16()
            copied = dict(self._worker.named_parameters())
            shared = ("encoder.embeddings", "marks")
            self._used = [value if name.startswith(shared) else copied[name] for name, value in named.items()]
            self._worker.marks, self._worker.encoder.embeddings = model.marks, Narrow(model.encoder.embeddings)
        encoder = [value for name, value in named.items() if name.startswith("encoder")]
        blocks = [value for name, value in named.items() if name.startswith("blocks")]
        heads = [value for name, value in named.items() if not name.startswith(("encoder", "blocks"))]
        groups = [
            {"params": of, "lr": rate, "highest": rate}
            for of, rate in ((encoder, rates.encoder), (blocks, rates.blocks), (heads, rates.heads))
            if of
        ]
        self._each = [torch.optim.AdamW(groups, weight_decay=0.01, fused=True)]
        if rates.words > 0:
            # Pieces of words are seldom seen: they go faster, and what a batch does not hold stays as it is.
            self._each.append(torch.optim.SparseAdam([{"params": [words.weight], "highest": rates.words}], lr=rates.words))

    def step(self, batch: Sequence[Example], done: float) -> float:
        """Learns from a batch, at the rate of when that share of the training is done; its loss before."""
        self._worker.train()
        loss = loss_of(run(self._worker, [one.encoded for one in batch]).float(), batch)
        self._model.zero_grad()
        self._worker.zero_grad()
        loss.backward()
        copies = [(held, used) for held, used in zip(self._held, self._used, strict=True) if held is not used]
        for held, used in copies:
            held.grad = None if used.grad is None else used.grad.float()
        torch.nn.utils.clip_grad_norm_([value for value in self._held if value.grad is not None], 1.0)
        for one in self._each:
            for group in one.param_groups:
                group["lr"] = group["highest"] * pace(done)
            one.step()
        if copies:
            with torch.no_grad():
                torch._foreach_copy_([used for _, used in copies], [held for held, _ in copies])
        return float(loss.detach())
