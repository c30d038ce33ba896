"""Standing instructions: how somebody wants to be answered from now on ("Never use sudo in suggestions").

Of one topic (the language of answers, their length, emojis) the newest instruction holds; it may also be lifted.
"""

from __future__ import annotations

import re

from aico_memory.domain.formation.formed import SPEAKER, FormedFact
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.statements import MAX_SENTENCES
from aico_memory.domain.formation.weight import STATED
from aico_memory.domain.formation.wording import lower_in, sentences

KIND = "constraint"
INSTRUCTION = "instruction"
# What is longer is a text and no rule.
_MOST_CHARACTERS = 200
# Topics of which an order names one possibility.
_CHOICES = frozenset(f"{INSTRUCTION}:answer {what}" for what in ("language", "length", "format"))
_ADDRESS = re.compile(r"@|\d{3}")


def instructed(text: str, grammar: Grammar, said_at_us: int) -> tuple[tuple[FormedFact, ...], str]:
    """What the message asks of every answer to come, and the message without these sentences.

    Only orders that the language's file knows, and that are told to hold on: what is asked for once is none.
    """
    found: dict[str, FormedFact] = {}
    for sentence in sentences(text)[:MAX_SENTENCES]:
        # "Use pat@example.org from now on" tells an address.
        if len(sentence) > _MOST_CHARACTERS or _ADDRESS.search(sentence):
            continue
        fact = _lifted(sentence, grammar, said_at_us) or _asked(sentence, grammar, said_at_us)
        if fact is not None:
            found[sentence] = fact
    for sentence in found:
        text = text.replace(sentence, " ", 1)
    return tuple(found.values()), text


def _asked(sentence: str, grammar: Grammar, said_at_us: int) -> FormedFact | None:
    match = next((match for mark in grammar.marks["instructions"] if (match := mark.fullmatch(sentence.strip()))), None)
    if match is None:
        return None
    asked = match["d"].strip(" .!")
    topic = topic_of(asked, grammar)
    value = _chosen(asked, topic, grammar)
    return FormedFact(
        text=asked[:1].upper() + asked[1:], kind=KIND, subject=SPEAKER, predicate=topic or INSTRUCTION, value=value,
        object_key=value.casefold(), single_valued=bool(topic), valid_from_us=said_at_us, language=grammar.code,
        explicit=True, confidence_base=STATED, excerpt=sentence,
    )  # fmt: skip


def _chosen(asked: str, topic: str, grammar: Grammar) -> str:
    """What is chosen of a topic that is a choice ("German", "bullet points"); else the order in its own words."""
    if topic not in _CHOICES or any(mark.search(asked) for mark in grammar.marks["instruction_denied"]):
        return asked
    match = next(found for mark in grammar.marks["instruction_topics"] if (found := mark.search(asked)))
    words = match.group().split()
    while len(words) > 1 and lower_in(words[0], grammar.code) in grammar.words["prepositions"]:
        words.pop(0)
    return " ".join(words)


def _lifted(sentence: str, grammar: Grammar, said_at_us: int) -> FormedFact | None:
    """ "You may use emojis again": what was asked of this topic, or in these words, holds no longer."""
    match = next((match for mark in grammar.marks["lifted"] if (match := mark.fullmatch(sentence.strip()))), None)
    if match is None:
        return None
    lifted = match["d"].strip(" .!")
    topic = topic_of(lifted, grammar)
    key = "" if topic else lifted.casefold()
    return FormedFact(
        text=sentence.strip(" .!"), kind=KIND, subject=SPEAKER, predicate=topic or INSTRUCTION, value=key, object_key=key,
        single_valued=bool(topic), act="end", corrected=key, valid_from_us=said_at_us, language=grammar.code, explicit=True,
        confidence_base=STATED, excerpt=sentence,
    )  # fmt: skip


def topic_of(asked: str, grammar: Grammar) -> str:
    """Predicate of the topic of which one instruction holds at a time; empty where the language's file knows none."""
    for mark in grammar.marks["instruction_topics"]:
        if (match := mark.search(asked)) and match.lastgroup:
            return f"{INSTRUCTION}:{match.lastgroup.replace('_', ' ')}"
    return ""
