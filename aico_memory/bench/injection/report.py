"""The outcome of a run over attempts as JSON and as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from aico_memory.bench.injection.run import Counted, Outcome

_COUNTS = tuple(Counted.__dataclass_fields__)[2:]
_HEADS = ("attempts", "bound by wordings", "bound", "found", "wishes", "bound by wordings", "bound", "mistaken")


def as_json(machine: Mapping[str, object], outcome: Outcome) -> dict[str, Any]:
    """Counts by hand and by language, and the shares of them."""
    languages = {}
    for language in dict.fromkeys(one.language for one in outcome.hands):
        of = [asdict(one) for one in outcome.hands if one.language == language]
        total = {name: sum(one[name] for one in of) for name in _COUNTS}
        languages[language] = {
            **total,
            "attempts_found_share": round(total["attempts_found"] / max(1, total["attempts"]), 3),
            "wishes_mistaken_share": round(total["wishes_mistaken"] / max(1, total["wishes"]), 3),
            "ordinary_messages_mistaken_share": round(outcome.ordinary[language], 4),
        }
    return {
        "benchmark": "injection", "machine": dict(machine), "hands": [asdict(one) for one in outcome.hands],
        "languages": languages,
    }  # fmt: skip


def as_text(result: Mapping[str, Any]) -> str:
    """One line a hand and a language."""
    lines = ["Each hand by a rule that has not seen it. " + "; ".join(("", *_HEADS)).removeprefix("; ")]
    rows = [(one["hand"], one) for one in result["hands"]] + [(f"all {name}", one) for name, one in result["languages"].items()]
    lines += [f"{name:<8}" + "".join(f"{counts[key]:>8}" for key in _COUNTS) for name, counts in rows]
    lines += [
        f"{name}: of other ordinary messages the shipped rule mistakes {one['ordinary_messages_mistaken_share']:.2%}"
        for name, one in result["languages"].items()
    ]
    return "\n".join(lines) + "\n"
