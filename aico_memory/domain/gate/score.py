"""How important a statement is, and how much it is believed, when it is written (specification 3, "Score")."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from aico_memory.domain.formation.formed import FormedFact
from aico_memory.domain.strength.confidence import written_confidence
from aico_memory.domain.strength.importance import Channels, importance_of
from aico_memory.settings.memory_model import MemoryModelSettings
from aico_memory.settings.write_path import ScoreSettings

# A sentence up to its question mark, in the scripts that have one of their own, too.
_QUESTION = re.compile(r"[^.!?\u3002\uff01\uff1f\u061f\n]+[?\uff1f\u061f]")


class Similar(NamedTuple):
    """An item near the new one: its similarity, its utility, and the mean utility of skills used with it (or none)."""

    similarity: float
    utility: float
    skill_utility: float | None = None


class Score(NamedTuple):
    """What the gate and the item take from it."""

    channels: Channels
    importance: float
    confidence: float
    flashbulb: bool


def novelty(similar: Sequence[Similar]) -> float:
    """1 − similarity to the closest item; 1 where nothing is known."""
    return _unit(1.0 - max((one.similarity for one in similar), default=0.0))


def excitement(arousal: float, urgency_words: int, figures: ScoreSettings) -> float:
    """Arousal of the emotion and of words of urgency, security and deadline."""
    return _unit(arousal + urgency_words * figures.urgency_word)


def reward(similar: Sequence[Similar], figures: ScoreSettings) -> float:
    """Mean utility of similar items and of the skills used with them."""
    near = [one for one in similar if one.similarity >= figures.similar_from]
    values = [one.utility for one in near] + [one.skill_utility for one in near if one.skill_utility is not None]
    return _unit(sum(values) / len(values)) if values else figures.unknown_reward


def asked_in(text: str, figures: ScoreSettings) -> str:
    """The last question of a text that is long enough to tell what it is about; empty where it asks nothing."""
    found = [one.strip() for one in _QUESTION.findall(text)]
    return next((one for one in reversed(found) if len(one) >= figures.question_characters), "")


def attention(query_similarities: Sequence[float], figures: ScoreSettings) -> float:
    """Similarity to the closest of the last questions of the scope; the newest stand last."""
    count = figures.recent_queries
    return _unit(max(query_similarities[-count:], default=0.0)) if count else 0.0


def method_of(fact: FormedFact, role: str) -> str:
    """How it was taken from its message: user_explicit, llm_extract, rule or tool_result."""
    if role == "tool":
        return "tool_result"
    return "user_explicit" if fact.explicit and role == "user" else fact.source


def score(
    fact: FormedFact, channels: Channels, arousal: float, role: str, boost: float, statements: int,
    model: MemoryModelSettings, figures: ScoreSettings,
) -> Score:  # fmt: skip
    """`arousal` is that of the message alone; `statements` counts how often it was said, this time included."""
    importance = importance_of(channels, boost, model.importance)
    flashbulb = arousal >= figures.flashbulb_arousal
    if flashbulb:
        importance = max(importance, figures.flashbulb_importance)
    confidence = written_confidence(fact.confidence_base, method_of(fact, role), statements, model.confidence)
    return Score(channels, importance, confidence, flashbulb)


def _unit(value: float) -> float:
    return min(max(value, 0.0), 1.0)
