"""Make the samples that the span reader learns from, and keep them: a file of samples for each file of streams.

    python scripts/span_samples.py [--samples FOLDER] [--seed N] [--processes 2] [FILE ...]

Telling a stream among others, with messages hidden from the rules, takes as long as learning from it; what was made stays
until its streams or the seed change. Remove the folder where the rules have changed: they answer in the samples.
"""

from __future__ import annotations

import argparse
import os
import pickle
import re
import sys
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from aico_memory.bench.facts.passages import HIDDEN, MIXED, UNSAID, WHOLE, PassageSample, PassageSampler
from aico_memory.bench.facts.run import Vectoriser
from aico_memory.bench.facts.streams import LEARN, UNREAD, Stream, load_streams
from aico_memory.models.fact_tables import load_formation_tables
from aico_memory.models.load import load_embedder
from aico_memory.paths import find_home
from aico_memory.settings.models import ModelSettings

FOLDER = Path("build/span_samples")
# Chances of the ways in which a stream is told: of those that were written to learn from, and of those from which the rules
# were made, which answer nearly all of them.
OF_LEARN = {WHOLE: 1.0, HIDDEN: 0.5, MIXED: 0.25, UNSAID: 0.3}
OF_OTHERS = {WHOLE: 0.3, HIDDEN: 0.5, MIXED: 0.12, UNSAID: 0.15}

# What a process that samples holds, once: the sampler, and all streams, whose talk is mixed in and asked for in vain.
_sampling: list[tuple[PassageSampler, Sequence[Stream]]] = []


def say(text: str) -> None:
    sys.stdout.write(f"{time.strftime('%H:%M:%S')} {text}\n")
    sys.stdout.flush()


def learnable() -> list[Stream]:
    """All streams but those that nobody has read."""
    return [stream for stream in load_streams(learned=True) if stream.half != UNREAD]


def by_file(streams: Sequence[Stream]) -> dict[str, list[Stream]]:
    """The streams by the file that holds them."""
    found: dict[str, list[Stream]] = {}
    for stream in streams:
        found.setdefault(stream.file, []).append(stream)
    return found


class Samples:
    """A folder of samples: one file for each file of streams, named by what the streams are and by the seed."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder, self._seed = folder, seed

    def has(self, file: str, streams: Sequence[Stream]) -> bool:
        """Whether these very streams were sampled."""
        return self._path(file, streams).exists()

    def write(self, file: str, streams: Sequence[Stream], samples: Sequence[PassageSample]) -> None:
        """Keeps the samples of a file of streams, whole or not at all."""
        path = self._path(file, streams)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}")
        part.write_bytes(pickle.dumps(list(samples), protocol=pickle.HIGHEST_PROTOCOL))
        part.replace(path)

    def read(self, file: str, streams: Sequence[Stream]) -> list[PassageSample]:
        """What was kept. Raises FileNotFoundError."""
        # Nobody else writes there.
        found: list[PassageSample] = pickle.loads(self._path(file, streams).read_bytes())
        return found

    def _path(self, file: str, streams: Sequence[Stream]) -> Path:
        return self._folder / f"{file}-{zlib.crc32(repr(streams).encode()):08x}-{self._seed}.pickle"


class Shown:
    """Which samples are shown next: those that were shown less often, of weightier files more likely."""

    def __init__(self, weights: Sequence[float], rng: np.random.Generator) -> None:
        self._weights, self._rng = np.asarray(weights, dtype=np.float64), rng
        self._times = np.zeros(len(self._weights), dtype=np.int64)

    def draw(self, count: int) -> NDArray[np.int64]:
        """Places of so many samples, each once; without replacement by weight (Efraimidis and Spirakis 2006)."""
        keys = self._rng.exponential(size=len(self._weights)) * (1 + self._times) ** 2 / self._weights
        drawn = np.argsort(keys, kind="stable")[:count]
        self._times[drawn] += 1
        return drawn


def weight_of(file: str, weights: Mapping[str, float]) -> float:
    """The weight of a file of streams: of the first pattern that it begins with; 1 where none does."""
    return next((weight for pattern, weight in weights.items() if re.match(pattern, file)), 1.0)


def make(streams: Sequence[Stream], into: Path, seed: int, processes: int, files: Sequence[str] = ()) -> None:
    """Samples the files that were not sampled yet, `files` or all, and says how far it is."""
    samples, groups = Samples(into, seed), by_file(streams)
    wanted = [name for name in (files or groups) if not samples.has(name, groups[name])]
    if not wanted:
        return
    started, count = time.monotonic(), 0
    with ProcessPoolExecutor(processes, initializer=_begin, initargs=(list(streams), seed)) as pool:
        for done, (name, found) in enumerate(zip(wanted, pool.map(_sample, [groups[name] for name in wanted]), strict=True), 1):
            samples.write(name, groups[name], found)
            count += len(found)
            speed = count / (time.monotonic() - started)
            say(f"{done} of {len(wanted)} files: {name}, {len(found)} samples, {speed:.0f} a second")


def _begin(streams: Sequence[Stream], seed: int) -> None:
    home = find_home()
    embedder, _ = load_embedder(ModelSettings(), home.model)
    _sampling.append((PassageSampler(load_formation_tables(home), Vectoriser(embedder), seed), streams))


def _sample(streams: Sequence[Stream]) -> list[PassageSample]:
    sampler, others = _sampling[0]
    variants = OF_LEARN if streams[0].half == LEARN else OF_OTHERS
    return list(sampler.samples(streams, variants, others))


def read_all(streams: Sequence[Stream], folder: Path, seed: int) -> Iterator[PassageSample]:
    """All samples of the streams. Raises FileNotFoundError where some were not made."""
    samples = Samples(folder, seed)
    for name, mine in by_file(streams).items():
        yield from samples.read(name, mine)


def main() -> None:
    """Make what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE", help="names of files of streams, without their ending; all else")
    parser.add_argument("--samples", type=Path, default=FOLDER, help="where they are kept")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    streams = learnable()
    if unknown := sorted(set(given.files) - {stream.file for stream in streams}):
        parser.error(f"no such file of streams: {', '.join(unknown)}; they are called like {streams[0].file}")
    make(streams, given.samples, given.seed, given.processes, given.files)


if __name__ == "__main__":
    main()
