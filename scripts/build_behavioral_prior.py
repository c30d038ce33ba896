"""Make config/behavioral_prior.yaml: `python scripts/build_behavioral_prior.py [--check]`.

No person's data are in it. Two sources, both written down in it:
* judgements of this project's authors on what most people tend to like of an assistant's answers, as signs and sizes
  per style dimension (the table below), small beside what one person strays;
* the means and the spread that the code starts from where it has nothing but the base skills.
With `--check` nothing is written and a difference fails.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from dataclasses import asdict
from pathlib import Path

import yaml

from aico_memory.domain.behavioral.prior import Spread
from aico_memory.stores.behavioral.skill_file import load_skills

ROOT = Path(__file__).resolve().parent.parent
SKILLS = ROOT / "config" / "behavioral_skills.yaml"
TARGET = ROOT / "config" / "behavioral_prior.yaml"
# Sizes from the middle of a dimension to its upper end, in steps; what one step adds to the chance of a thumb up.
STEP = 0.02
EVERYWHERE: dict[str, float] = {
    "verbosity": -1, "directness": 1.5, "structure": 1, "example_usage": 1, "patience": 0.5, "question_asking": -1,
    "formality": -0.5, "explanation_depth": 0.5,
}  # fmt: skip
BY_INTENT: dict[str, dict[str, float]] = {
    "emotional": {"emotional_expression": 2, "reassurance_level": 2, "structure": -1.5, "technical_depth": -1, "patience": 1,
                  "directness": -1},
    "casual": {"formality": -2, "structure": -2, "enthusiasm": 1.5, "emotional_expression": 1},
    "statement": {"verbosity": -1, "emotional_expression": 1},
    "question": {"directness": 1, "verbosity": -1, "example_usage": 1},
    "request": {"directness": 1, "proactivity": 0.5, "structure": 1},
    "technical": {"technical_depth": 3, "structure": 1, "example_usage": 1.5},
    "code_review": {"technical_depth": 2, "directness": 1, "structure": 1.5},
    "learning": {"explanation_depth": 2.5, "example_usage": 2.5, "patience": 2},
    "summary": {"verbosity": -2, "structure": 2.5},
    "creative": {"creativity": 3, "enthusiasm": 1},
    "planning": {"structure": 2, "proactivity": 2},
    "decision": {"structure": 1.5, "directness": 2, "proactivity": 1},
}  # fmt: skip
HEAD = """# The population prior that everybody starts from until one has been learned from people.
# Made by scripts/build_behavioral_prior.py; change it there. No person's data are in it: `judgement` says whose
# guess it is. Vectors name what the expected chance of a thumb up gains from a dimension's middle to its upper end.
"""


def content() -> str:
    """The file."""
    skills = load_skills(SKILLS)
    digest = hashlib.sha256(SKILLS.read_bytes()).hexdigest()[:16]
    data = {
        "provenance": {
            "made_by": "scripts/build_behavioral_prior.py",
            "judgement": "the authors' own, signs and sizes per style dimension; no user data, no published figures",
            "base_skills": {"count": len(skills), "sha256": digest},
        },
        "prior": {
            "version": "shipped-1",
            "users": 0,
            "taste": {name: round(STEP * size, 4) for name, size in EVERYWHERE.items()},
            "taste_by_intent": {
                intent: {name: round(STEP * size, 4) for name, size in sizes.items()} for intent, sizes in BY_INTENT.items()
            },
            "spread": asdict(Spread()),
        },
    }
    return HEAD + yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120)


def main() -> int:
    """Write or check the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    wanted = content()
    if parser.parse_args().check:
        return 0 if TARGET.read_text(encoding="utf-8") == wanted else 1
    TARGET.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
