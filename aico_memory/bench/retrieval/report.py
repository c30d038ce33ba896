"""What the benchmark prints, and the bars it is held against."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aico_memory.bench.retrieval.run import LEARNED_NAME, Outcome, Plan
from aico_memory.bench.retrieval.scoring import Scores

READING = (
    "Unit: one turn, one message; recall: mean share of a question's right turns in the first k; no language model. "
    "Evidence ids such as `D1:3; D1:5`, `D1:05`, `D:1:5` are read as the turns they name; questions that name no turn "
    "that exists are left out. Weights are learned on the other conversations."
)
LANGUAGE_BARS = {"tr": 0.915, "de": 0.91, "ar": 0.90, "zh": 0.94}


def as_json(machine: dict[str, object], plan: Plan, outcome: Outcome, model: str) -> dict[str, Any]:
    """Everything that was measured."""
    return {
        "benchmark": "retrieval", "machine": machine, "model": model,
        "way": "in process" if plan.in_process else "through the bus", "reading": READING, "questions": outcome.questions,
        "conversations": _rounded(outcome.conversations), "ablation": _rounded(outcome.ablation),
        "languages": _rounded(outcome.languages), "preferences": _rounded({"": outcome.preferences})[""],
        "degraded_answers": outcome.degraded,
        "bars": [{"bar": name, "wanted": wanted, "reached": round(reached, 4), "held": reached >= wanted}
                 for name, wanted, reached in bars(outcome)],
    }  # fmt: skip


def bars(outcome: Outcome) -> list[tuple[str, float, float]]:
    """What is wanted and what was reached, of the parts that were measured."""
    found = []
    learned = outcome.conversations.get(LEARNED_NAME)
    if learned:
        found += [("R@10, categories 1-4", 0.80, learned["all"].recall_10), ("nDCG@10", 0.63, learned["all"].ndcg_10)]
        found += [("R@10, category 5", 0.90, learned["5"].recall_10)] if "5" in learned else []
    for language, scores in outcome.languages.items():
        wanted = max(LANGUAGE_BARS.get(language, 0.0), scores["lexical"].recall_1)
        found.append((f"R@1 {language}, and not below lexical", wanted, scores["hybrid"].recall_1))
    if outcome.preferences:
        found.append(("R@10 of preferences", 0.371, outcome.preferences["hybrid"].recall_10))
    return found


def as_text(data: Mapping[str, Any]) -> str:
    """Tables for a reader."""
    lines = [f"retrieval {data['way']}, {data['model']}", data["reading"], f"questions scored: {data['questions']}", ""]
    header = f"{'':34} {'R@5':>6} {'R@10':>6} {'R@20':>6} {'MRR':>6} {'nDCG':>6}"
    for title, rows in (("conversations", data["conversations"]), ("ablation", data["ablation"])):
        if not rows:
            continue
        lines += [f"{title}, categories 1-4; R@10 of each category", header]
        for name, categories in rows.items():
            every = " ".join(f"{key}:{value['recall_10']:.3f}" for key, value in categories.items() if key != "all")
            lines.append(f"{name:34} {_line(categories['all'])}   {every}")
        lines.append("")
    for language, kinds in data["languages"].items():
        lines.append(f"{language}: " + "  ".join(f"{kind} R@1 {scores['recall_1']:.3f}" for kind, scores in kinds.items()))
    for kind, scores in data["preferences"].items():
        lines.append(f"preferences, {kind}: R@10 {scores['recall_10']:.3f}")
    lines += ["", *(f"{'held  ' if one['held'] else 'MISSED'} {one['bar']}: {one['reached']:.3f} (wanted {one['wanted']:.3f})"
                    for one in data["bars"])]  # fmt: skip
    return "\n".join(lines)


def _line(scores: Mapping[str, float]) -> str:
    return " ".join(f"{scores[name]:6.3f}" for name in ("recall_5", "recall_10", "recall_20", "mrr", "ndcg_10"))


def _rounded(rows: Mapping[str, Mapping[str, Scores]]) -> dict[str, dict[str, dict[str, float]]]:
    return {name: {key: scores.rounded() for key, scores in parts.items()} for name, parts in rows.items()}
