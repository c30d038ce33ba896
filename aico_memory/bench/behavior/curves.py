"""Learning curves as pictures; needs matplotlib (`pip install aico-memory[bench]`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from aico_memory.bench.behavior.report import BAR, QUANTILE
from aico_memory.bench.behavior.run import OURS, Outcome
from aico_memory.bench.drawing import new_figure


def draw(outcomes: Sequence[Outcome], folder: Path, name: str) -> list[Path]:
    """One PNG a world and share of feedback: mean true P(thumb up) by interaction, with its 95 % band for ours.

    Raises ConfigurationInvalid without matplotlib.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for world, feedback in sorted({(one.world, one.feedback) for one in outcomes}):
        figure = new_figure(9, 5)
        axes = figure.subplots()
        for one in (found for found in outcomes if (found.world, found.feedback) == (world, feedback)):
            steps = np.arange(1, one.reached.shape[1] + 1)
            mean = one.reached.mean(0)
            is_ours = one.algorithm in OURS
            axes.plot(steps, mean, label=one.algorithm, linewidth=2.0 if is_ours else 0.9, alpha=1.0 if is_ours else 0.7)
            if is_ours:
                half = QUANTILE * one.reached.std(0, ddof=1) / np.sqrt(len(one.reached))
                axes.fill_between(steps, mean - half, mean + half, alpha=0.15)
        axes.axhline(BAR, color="black", linewidth=0.8, linestyle="--")
        axes.set(title=f"{world}, {feedback:.0%} feedback", xlabel="interaction", ylabel="mean true P(thumb up)")
        axes.legend(fontsize="small", loc="lower right")
        path = folder / f"behavior-{name}-{world}-{feedback:.0%}.png".replace("%", "pct")
        figure.savefig(path, dpi=120)
        written.append(path)
    return written
