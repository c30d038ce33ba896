"""Reading the rules of patterns in what a person does with suggestions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from aico_memory.domain.advisor.patterns import ADVICE, ALL, EACH_TYPE, MEASURES, PatternRule, PatternRules
from aico_memory.errors import ConfigurationInvalid

FILE = "outcome_patterns.yaml"
_FIELDS = {"name", "of", "least", "measure", "low", "high", "than", "margin", "advice", "covers", "description"}


def load_patterns(path: Path) -> PatternRules:
    """The rules; ConfigurationInvalid names the file, the rule and what is wrong with it."""
    try:
        stated = yaml.safe_load(path.read_text(encoding="utf-8"))
        classes = {str(name): frozenset(map(str, words)) for name, words in stated["classes"].items()}
        rules = [_rule(entry, set(classes)) for entry in stated["patterns"]]
    except OSError as error:
        raise ConfigurationInvalid(f"{path} cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise ConfigurationInvalid(f"{path}: {error}") from error
    names = [rule.name for rule in rules]
    if doubled := next((name for name in names if names.count(name) > 1), ""):
        raise ConfigurationInvalid(f"{path}: the pattern {doubled} is stated twice")
    return PatternRules(rules, classes)


def _rule(entry: Mapping[str, Any], classes: set[str]) -> PatternRule:
    name = str(entry["name"])
    if unknown := sorted(set(entry) - _FIELDS):
        raise ValueError(f"the pattern {name} has an unknown field {unknown[0]!r}")
    rule = PatternRule(
        name=name,
        of=_classes(entry["of"]),
        least=int(entry["least"]),
        measure=str(entry.get("measure", "acceptance")),
        low=float(entry.get("low", 0.0)),
        high=float(entry.get("high", 1.0)),
        than=_classes(entry.get("than", ())),
        margin=float(entry.get("margin", 0.0)),
        advice=str(entry.get("advice", "caution")),
        covers=_classes(entry.get("covers", ())),
        description=str(entry.get("description", "")),
    )
    known = classes | {ALL, EACH_TYPE}
    if unknown_class := next((one for one in (*rule.of, *rule.than, *rule.covers) if one not in known), ""):
        raise ValueError(f"the pattern {name} names the class {unknown_class!r}, which there is not")
    if rule.advice not in ADVICE:
        raise ValueError(f"the pattern {name} advises {rule.advice!r}; allowed are {', '.join(ADVICE)}")
    if rule.measure not in MEASURES:
        raise ValueError(f"the pattern {name} measures {rule.measure!r}; allowed are {', '.join(MEASURES)}")
    if rule.least < 1 or not 0 <= rule.low <= rule.high <= 1:
        raise ValueError(f"the pattern {name} needs `least` from 1 and 0 <= low <= high <= 1")
    try:
        f"{rule.name}{rule.description}".format(type="", accepted=0, decided=0, expired=0)
    except (KeyError, IndexError) as error:
        raise ValueError(f"the pattern {name} fills in {error}, which there is not") from error
    return rule


def _classes(stated: Any) -> tuple[str, ...]:
    return (stated,) if isinstance(stated, str) else tuple(map(str, stated))
