"""Named patterns of a profile. The rules are data: config/outcome_patterns.yaml."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from aico_memory.domain.advisor.outcome import words_of
from aico_memory.domain.advisor.profile import Profile, TypeCount

YES: Final = "yes"
CAUTION: Final = "caution"
NO: Final = "no"
ADVICE = (YES, CAUTION, NO)
EACH_TYPE = "each_type"
ALL = "all"
MEASURES: Mapping[str, str] = {"acceptance": "accepted of decided", "answered": "decided of decided and expired"}


@dataclass(frozen=True, slots=True)
class PatternRule:
    """One rule: of which suggestions it speaks, from how many on, and within which rates it holds.

    `of` is each_type, all, or names of classes of types, whose counts are added up. With `than` the rate of `of`
    must lie at least `margin` above that of these other classes, which must have enough suggestions too.
    """

    name: str
    of: tuple[str, ...]
    least: int
    measure: str = "acceptance"
    low: float = 0.0
    high: float = 1.0
    than: tuple[str, ...] = ()
    margin: float = 0.0
    # What it says of a next suggestion: of the type or the classes it speaks of, or of `covers` where that is stated.
    advice: str = CAUTION
    covers: tuple[str, ...] = ()
    description: str = ""

    def named(self, type_name: str, count: TypeCount | None = None) -> str:
        """The name of what it finds in suggestions of a type."""
        return self.name.format(**_told(type_name, count or TypeCount()))


@dataclass(frozen=True, slots=True)
class PatternRules:
    """All rules, and the words by which a type belongs to a class."""

    rules: Sequence[PatternRule]
    classes: Mapping[str, frozenset[str]]

    def class_of(self, type_name: str) -> str:
        """The class that the first telling word of a type names, "" where none does."""
        for word in words_of(type_name):
            for name, words in self.classes.items():
                if word in words:
                    return name
        return ""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A rule that holds, with the counts behind it."""

    name: str
    # The one type it is about, else "".
    type: str
    advice: str
    description: str
    count: TypeCount
    # Classes of types it speaks of; ("all",): every type.
    covers: tuple[str, ...] = ()

    def speaks_of(self, type_name: str, class_name: str) -> bool:
        """Whether it says something about a suggestion of this type."""
        if self.type:
            return self.type == type_name
        return ALL in self.covers or bool(class_name and class_name in self.covers)


def patterns_of(profile: Profile, rules: PatternRules) -> list[Pattern]:
    """The patterns that hold, sorted by name."""
    found = [pattern for rule in rules.rules for pattern in _held(rule, profile, rules)]
    return sorted(found, key=lambda pattern: (pattern.name, pattern.type))


def _held(rule: PatternRule, profile: Profile, rules: PatternRules) -> Iterator[Pattern]:
    if EACH_TYPE in rule.of:
        for name, count in profile.types.items():
            if _fits(rule, count):
                yield _pattern(rule, count, name)
        return
    count = _sum(profile, rules, rule.of)
    if not _fits(rule, count):
        return
    if rule.than:
        other = _sum(profile, rules, rule.than)
        if _size(rule, other) < rule.least or _rate(rule, count) - _rate(rule, other) < rule.margin:
            return
    yield _pattern(rule, count, "")


def _fits(rule: PatternRule, count: TypeCount) -> bool:
    return _size(rule, count) >= rule.least and rule.low <= _rate(rule, count) <= rule.high


def _size(rule: PatternRule, count: TypeCount) -> int:
    return count.decided if rule.measure == "acceptance" else count.decided + count.expired


def _rate(rule: PatternRule, count: TypeCount) -> float:
    return count.rate if rule.measure == "acceptance" else count.answered


def _sum(profile: Profile, rules: PatternRules, classes: tuple[str, ...]) -> TypeCount:
    total = TypeCount()
    for name, count in profile.types.items():
        if ALL in classes or rules.class_of(name) in classes:
            total = total.and_also(count)
    return total


def _pattern(rule: PatternRule, count: TypeCount, type_name: str) -> Pattern:
    covers = () if type_name else rule.covers or rule.of
    description = rule.description.format(**_told(type_name, count))
    return Pattern(rule.named(type_name, count), type_name, rule.advice, description, count, covers)


def _told(type_name: str, count: TypeCount) -> dict[str, object]:
    return {"type": type_name, "accepted": count.accepted, "decided": count.decided, "expired": count.expired}
