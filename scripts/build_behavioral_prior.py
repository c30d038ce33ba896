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
# What the expected chance of a thumb up gains from the middle of a dimension to its upper end.
EVERYWHERE = {
    "verbosity": -0.01, "directness": 0.015, "structure": 0.01, "example_usage": 0.01, "patience": 0.005,
    "question_asking": -0.01, "formality": -0.005, "emotional_expression": 0.0, "explanation_depth": 0.005,
}  # fmt: skip
BY_INTENT = {
    "emotional": {"emotional_expression": 0.03, "reassurance_level": 0.03, "structure": -0.02, "technical_depth": -0.02,
                  "patience": 0.02, "directness": -0.01},
    "casual": {"formality": -0.02, "structure": -0.02, "enthusiasm": 0.02, "emotional_expression": 0.01},
    "technical": {"technical_depth": 0.03, "structure": 0.01, "example_usage": 0.015},
    "code_review": {"technical_depth": 0.03, "directness": 0.01, "structure": 0.015},
    "learning": {"explanation_depth": 0.025, "example_usage": 0.025, "patience": 0.015},
    "summary": {"verbosity": -0.025, "structure": 0.025},
    "creative": {"creativity": 0.035, "enthusiasm": 0.01},
    "planning": {"structure": 0.025, "proactivity": 0.02},
    "decision": {"structure": 0.015, "directness": 0.02, "proactivity": 0.01},
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
            "taste": EVERYWHERE,
            "taste_by_intent": BY_INTENT,
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
