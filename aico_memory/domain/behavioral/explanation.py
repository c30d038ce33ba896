"""Why this skill: the shares of a choice in words, and the question that goes with an exploration."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import MappingProxyType

from aico_memory.domain.behavioral.dimensions import DIMENSIONS
from aico_memory.domain.behavioral.policy import FIXED, Candidate, Choice

_SHARE_WORDS = MappingProxyType(
    {
        "trigger": "fit with the situation",
        "posterior": "past success in this context (sampled)",
        "alignment": "fit with the preferred style",
    }
)
# Per dimension: asked when the explored style has more of it, and when it has less.
_QUESTIONS = MappingProxyType(
    {
        "verbosity": ("Was this length right, or too long?", "Would a paragraph have been better here?"),
        "formality": ("Was this tone too formal?", "Was this tone too casual?"),
        "technical_depth": ("Was this too technical?", "Would more technical detail have helped?"),
        "proactivity": ("Were the suggestions welcome?", "Would a suggestion of what to do next have helped?"),
        "emotional_expression": ("Did the warmer tone suit you?", "Would a warmer tone have suited you?"),
        "structure": ("Did the structure help?", "Would a list have been easier to read?"),
        "explanation_depth": ("Was there too much explanation?", "Would you have liked more explanation?"),
        "example_usage": ("Did the example help?", "Would an example have helped?"),
        "question_asking": ("Were the questions back to you all right?", "Should I have asked back first?"),
        "reassurance_level": ("Did the reassurance help?", "Would some reassurance have helped?"),
        "directness": ("Was this too direct?", "Should I have been more direct?"),
        "enthusiasm": ("Was this too enthusiastic?", "Would more enthusiasm have been welcome?"),
        "patience": ("Was this pace right?", "Should I have gone more slowly?"),
        "creativity": ("Did the unusual idea help?", "Would a more creative answer have been better?"),
    }
)
# An id in quotes, those in it doubled; nothing else in an explanation stands in quotes.
_MENTIONED = re.compile('"((?:[^"]|"")*)"')
_ANY_QUESTION = "Did this way of answering suit you?"


def explain(choice: Choice) -> str:
    """One or two sentences that name the chosen skill and where its score comes from.

    Skills stand there by their ids, for `worded`: what a person calls one of their own is kept sealed, with the skill alone.
    """
    chosen = choice.chosen
    if chosen is None:
        if choice.candidates:
            return "Skills apply here, but the user's feedback has brought each of them below the confidence they need."
        return "No skill's conditions are met in this situation."
    if choice.policy == FIXED:
        return f"{_mention(chosen)} fits the situation best ({chosen.trigger:.2f}); learning is switched off for this user."
    shares = ", ".join(f"{share:.3f} {_SHARE_WORDS.get(name, name)}" for name, share in chosen.shares.items())
    text = f"{_mention(chosen)} scores {chosen.score:.3f}: {shares}."
    if choice.share:
        usual = choice.preferred if choice.bounded and choice.preferred else chosen
        text += f" {_mention(usual)} has made {choice.share:.0%} of this user's selections"
        text += ", which is too much while this one does about as well." if choice.bounded else "."
    if choice.is_exploration:
        instead = f" instead of {_mention(choice.preferred)}" if choice.preferred else ""
        # A policy that explores by chance says how often it does; any other how often it takes this skill here.
        text += f" It was tried out{instead} to learn more (chance {choice.epsilon or choice.propensity:.3f})."
    return text


def worded(explanation: str, name_of: Callable[[str], str]) -> str:
    """An explanation with the names that skills have by now in place of their ids."""
    return _MENTIONED.sub(lambda found: name_of(found[1].replace('""', '"')), explanation)


def question_for(choice: Choice) -> str:
    """The short question offered after an exploration, about the dimension that differs most; else empty."""
    if not choice.is_exploration or choice.chosen is None:
        return ""
    if choice.preferred is None:
        return _ANY_QUESTION
    return _question_between(choice.chosen, choice.preferred)


def _mention(candidate: Candidate) -> str:
    return '"' + candidate.skill.skill_id.replace('"', '""') + '"'


def _question_between(tried: Candidate, usual: Candidate) -> str:
    differences = [more - less for more, less in zip(tried.skill.dimensions, usual.skill.dimensions, strict=True)]
    widest = max(range(len(differences)), key=lambda index: abs(differences[index]))
    pair = _QUESTIONS.get(DIMENSIONS[widest])
    if pair is None or differences[widest] == 0.0:
        return _ANY_QUESTION
    return pair[0] if differences[widest] > 0 else pair[1]
