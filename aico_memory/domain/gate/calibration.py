"""The gate's thresholds for one embedding model, from the similarities that it gives to statements whose relation is known.

Each threshold is a quantile of the statements that must stay below it (or reach it), so that the share of mistakes
is what the settings allow. A contradiction that the wording alone gives away is left out: the gate sees it before it
looks at any similarity.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from aico_memory.settings.write_path import CalibrationSettings, ThresholdSettings

# same: the same said otherwise · more: the same and something beside · other: another fact about the same matter
# contrary: cannot be true together · unrelated
RELATIONS: Final = ("same", "more", "other", "contrary", "unrelated")
QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)
# No two different texts are the same to every model, and rounding must not make them so.
_HIGHEST: Final = 0.99
_LOWEST: Final = 0.05
_STEP: Final = 0.005


class Measured(NamedTuple):
    """The cosine similarity of two statements; `seen`: their wording tells that they contradict each other."""

    language: str
    relation: str
    similarity: float
    seen: bool = False


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds, and how the similarities lie: relation -> quantile -> similarity, all languages alike."""

    thresholds: ThresholdSettings
    quantiles: Mapping[str, Mapping[float, float]]
    pairs: Mapping[str, int]


def calibrate(measured: Sequence[Measured], allowed: CalibrationSettings, base: ThresholdSettings) -> Calibration:
    """The thresholds that make no more mistakes than is allowed. What has no similarity is taken from `base`.

    ValueError where a relation has no pairs.
    """
    of = {relation: _of(measured, relation) for relation in RELATIONS}
    if missing := [relation for relation, found in of.items() if not found]:
        raise ValueError(f"no pairs of {', '.join(missing)}")
    hidden = [one for one in measured if one.relation in {"more", "contrary"} and not one.seen]
    reinforce = max(_LOWEST, min(_HIGHEST, quantile([one.similarity for one in hidden], 1 - allowed.wrong_reinforce)))
    update = min(quantile(of["other"], 1 - allowed.wrong_update), reinforce - _STEP)
    create = min(quantile(of["other"], 1 - allowed.wrong_doubt), update)
    # Whatever is missed among rewordings, what is unrelated is no echo.
    echo = max(quantile(of["same"], allowed.missed_echo), quantile(of["unrelated"], 0.99))
    thresholds = ThresholdSettings(
        reinforce=_rounded_up(reinforce), update=_rounded_up(update), create=_rounded_up(create),
        echo=min(max(math.floor(echo * 1000) / 1000, 0.01), 1.0),
        create_importance=base.create_importance,
    )  # fmt: skip
    table = {relation: {share: round(quantile(found, share), 3) for share in QUANTILES} for relation, found in of.items()}
    return Calibration(thresholds, table, {relation: len(found) for relation, found in of.items()})


def mistakes(measured: Sequence[Measured], thresholds: ThresholdSettings) -> dict[str, float]:
    """Share of each mistake under these thresholds; on statements that were not used to find them it is the honest one."""
    hidden = [one.similarity for one in measured if one.relation in {"more", "contrary"} and not one.seen]
    other, same = _of(measured, "other"), _of(measured, "same")
    return {
        "wrong_reinforce": _share(one > thresholds.reinforce for one in hidden),
        "wrong_update": _share(one >= thresholds.update for one in other),
        "wrong_doubt": _share(one >= thresholds.create for one in other),
        "missed_echo": _share(one < thresholds.echo for one in same),
        "missed_same": _share(one < thresholds.update for one in same),
        "unrelated_above_create": _share(one >= thresholds.create for one in _of(measured, "unrelated")),
    }


def quantile(values: Sequence[float], share: float) -> float:
    """By linear interpolation between the ordered values (type 7 of Hyndman & Fan 1996)."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def _of(measured: Sequence[Measured], relation: str) -> list[float]:
    return [one.similarity for one in measured if one.relation == relation]


def _share(found: Iterable[bool]) -> float:
    every = list(found)
    return round(sum(every) / len(every), 3) if every else 0.0


def _rounded_up(value: float) -> float:
    """To three digits, never below what the statements ask for."""
    return min(max(math.ceil(value * 1000) / 1000, 0.01), 1.0)
