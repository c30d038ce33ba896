"""The outcome of a feedback run as JSON and as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aico_memory.bench.feedback.run import Outcome, Tally
from aico_memory.domain.feedback.phrases import CATEGORIES

CHANCE = round(1 / len(CATEGORIES), 3)
BARS = {"en": 0.70, "others": 0.60}


def as_json(machine: Mapping[str, object], outcome: Outcome, model: str, part: str, left_out: int) -> dict[str, Any]:
    """Accuracy by way, language and category; confusion; bars."""
    main = outcome.tallies["classifier"]
    languages = sorted({language for language, _ in main.asked})
    ways = {name: _accuracies(tally, languages) for name, tally in outcome.tallies.items()}
    reached = ways["classifier"]
    bars = [
        {"name": name, "bar": bar, "value": reached[name], "held": reached[name] >= bar}
        for name, bar in BARS.items()
        if name in reached
    ]
    return {
        "benchmark": "feedback", "machine": dict(machine), "model": model, "part": part or "all", "chance": CHANCE,
        "sentences": sum(main.asked.values()), "left_out": left_out, "ways": ways,
        "best_threshold_of_the_centroid": outcome.best_threshold,
        "languages_told": round(outcome.told_languages, 3),
        "acted_on": {"precision": round(outcome.precision, 3), "reached": round(outcome.reached, 3)},
        "by_category": {
            language: {name: round(main.accuracy(language, name), 3) for name in CATEGORIES} for language in languages
        },
        "confusion": {"en": _confusion(main, ["en"]), "others": _confusion(main, [one for one in languages if one != "en"])},
        "bars": bars,
    }  # fmt: skip


def as_text(result: Mapping[str, Any]) -> str:
    """Tables of ways by language, of categories by language, and what was taken for what."""
    languages = list(result["by_category"])
    lines = [
        f"{result['sentences']} sentences ({result['part']}; {result['left_out']} left out that stand among the phrases), "
        f"model {result['model']}, chance {result['chance']}",
        _row("accuracy", ["others", *languages]),
    ]
    for name, found in result["ways"].items():
        lines.append(_row(name, [_share(found.get(one)) for one in ("others", *languages)]))
    lines += ["", _row("of the classifier", ["", *languages])]
    for name in CATEGORIES:
        lines.append(_row(name, ["", *(_share(result["by_category"][one][name]) for one in languages)]))
    for group, table in result["confusion"].items():
        lines += ["", _row(f"{group}: said, heard as", [name[:9] for name in CATEGORIES])]
        lines += [_row(name, [str(table[name][answer]) for answer in CATEGORIES]) for name in CATEGORIES]
    acted = result["acted_on"]
    lines += [
        "",
        f"language told rightly {result['languages_told']}; acted on: precision {acted['precision']}, "
        f"complaints reached {acted['reached']}; the centroid is at its best from {result['best_threshold_of_the_centroid']}",
    ]
    lines += [
        f"{bar['name']}: {bar['value']} (bar {bar['bar']}) {'held' if bar['held'] else 'missed'}" for bar in result["bars"]
    ]
    return "\n".join(lines)


def _accuracies(tally: Tally, languages: list[str]) -> dict[str, float]:
    found = {language: round(tally.accuracy(language), 3) for language in languages}
    others = [tally.accuracy(language) for language in languages if language != "en"]
    return found | ({"others": round(sum(others) / len(others), 3)} if others else {})


def _confusion(tally: Tally, languages: list[str]) -> dict[str, dict[str, int]]:
    return {
        said: {heard: sum(tally.answers[language, said, heard] for language in languages) for heard in CATEGORIES}
        for said in CATEGORIES
    }


def _row(name: str, cells: list[str]) -> str:
    return f"{name:32}" + "".join(f"{cell:>10}" for cell in cells)


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
