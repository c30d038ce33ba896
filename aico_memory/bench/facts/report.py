"""The tallies as JSON and as text."""

from __future__ import annotations

from collections.abc import Mapping

from aico_memory.bench.facts.tally import Tally

BARS = {"now": 0.85, "then": 0.88, "error": 0.01}
COLUMNS = ("recall", "exact", "latest", "similar")
Tallies = Mapping[tuple[str, str], Tally]


def as_json(machine: Mapping[str, object], tallies: Tallies, model: str, way: str) -> dict[str, object]:
    """Shares by language and half, with what was asked."""
    rows = [
        {
            "language": language, "half": half, "asked_now": tally.asked["now"], "asked_then": tally.asked["then"],
            **{f"{name}_{tense}": round(tally.share(name, tense), 3) for name in tally.right for tense in ("now", "then")},
            **{f"exact_{tense}": round(tally.exact[tense] / max(1, tally.asked[tense]), 3) for tense in ("now", "then")},
            "false_invalidations": _rate(tally.invalidated, tally.values), "false_merges": _rate(tally.merged, tally.stated),
            "values": tally.values,
        }
        for (language, half), tally in sorted({**tallies, **_sums(tallies)}.items())
    ]  # fmt: skip
    return {"benchmark": "facts", "way": way, "machine": dict(machine), "model": model, "bars": BARS, "rows": rows}


def as_text(result: Mapping[str, object]) -> str:
    """One line a language and half: recall, and the baselines, current and point in time."""
    heads = "  ".join(f"{name:>11}" for name in COLUMNS)
    lines = [f"{'language':9} {'half':9} {'asked':>9}  {heads}  {'merged':>7} {'ended':>7}"]
    rows = result["rows"]
    assert isinstance(rows, list)
    for row in rows:
        pairs = "  ".join(
            f"{row[f'{name}_now']:5.3f}/{row[f'{name}_then']:5.3f}" for name in ("recall", "exact", "latest", "similar")
        )
        asked = f"{row['asked_now']}/{row['asked_then']}"
        lines.append(
            f"{row['language']:9} {row['half']:9} {asked:>9}  {pairs}  {row['false_merges']:7.3f} {row['false_invalidations']:7.3f}"  # noqa: E501
        )
    return "\n".join(
        [*lines, f"bars: current ≥ {BARS['now']}, point in time ≥ {BARS['then']}, false merges and invalidations < 1 %"]
    )


def _rate(count: int, of: int) -> float:
    return round(count / max(1, of), 4)


def _sums(tallies: Tallies) -> dict[tuple[str, str], Tally]:
    sums: dict[tuple[str, str], Tally] = {}
    for (_, half), tally in tallies.items():
        total = sums.setdefault(("~all", half), Tally())
        for tense in ("now", "then"):
            total.asked[tense] += tally.asked[tense]
            total.exact[tense] += tally.exact[tense]
            for name, right in tally.right.items():
                total.right[name][tense] += right[tense]
        total.values += tally.values
        total.merged += tally.merged
        total.stated += tally.stated
        total.invalidated += tally.invalidated
    return sums
