"""How sure a reading is: a well-known predicate stated outright, an open one, or hardly more than a verb with a noun."""

from __future__ import annotations

from aico_memory.domain.formation.attributes import FREQUENCY, LOCATION, TIME, Found, head_end
from aico_memory.domain.formation.formed import SPEAKER
from aico_memory.domain.formation.frames import Frame
from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.formation.kinds_of_things import is_a
from aico_memory.domain.formation.wording import lower_in, trim

STATED, INFERRED = 0.9, 0.8
# Below what the gate writes: explained, never kept.
WEAK = 0.6
# A thing that one has is named shortly.
MOST_WORDS = 4


def confidence_of(frame: Frame, found: Found, value: str, tables: FormationTables, grammar: Grammar) -> float:
    """The base confidence of an assertion.

    Small talk is full of verbs with nouns ("I have a question", "it needs libfoo"). What no
    well-known predicate reads is kept where it names something (a name, a number) or tells a
    lasting state, of the speaker or of somebody one knows.
    """
    if found.predicate == FREQUENCY:
        return STATED
    known = tables.predicates.get(found.predicate)
    short = 0 < len(value.split()) <= MOST_WORDS + 1
    if found.predicate == TIME:
        return STATED if is_a(value, "when", tables, grammar) else WEAK
    if known is not None and not known.general:
        return STATED if _is_somebody(frame, found, grammar) or (found.predicate == LOCATION and short) else WEAK
    if ":" in found.predicate:
        noun = found.predicate.partition(":")[2].split()
        at = head_end(noun, grammar)
        hollow = not noun or at > MOST_WORDS or noun[at - 1] in grammar.words["no_values"]
        return WEAK if hollow or not _is_somebody(frame, found, grammar) else INFERRED
    if not _is_somebody(frame, found, grammar) or not _names_something(value, grammar):
        return WEAK
    if known is not None or frame.verb in grammar.words["states"] or frame.verb in grammar.words["sudden"]:
        return INFERRED
    if _is_habit(frame, grammar):
        return INFERRED
    return INFERRED if any(trim(word)[:1].isupper() for word in _inside(value, frame)) and grammar.code != "de" else WEAK


def _inside(value: str, frame: Frame) -> list[str]:
    """The words of a value whose capital may be a name's, not the sentence's: "Ateşin başında patates közledik".

    An apostrophe stands behind names only ("Onur'la").
    """
    words = value.split()
    opens = trim(next(iter(frame.text.split()), ""))
    return words[1:] if words and trim(words[0]) == opens and "'" not in opens else words


def _is_habit(frame: Frame, grammar: Grammar) -> bool:
    """What somebody is told to do now or always: no event, no wish, and not left to be guessed who."""
    now = not (frame.past or frame.perfect or frame.future or frame.once or frame.begun)
    return (
        now
        and not frame.inherited
        and frame.verb not in grammar.words["no_open"]
        and frame.verb not in grammar.words["copulas"]
    )


def _is_somebody(frame: Frame, found: Found, grammar: Grammar) -> bool:
    """The speaker, somebody or something of one's own, or a name."""
    if found.subject == SPEAKER or frame.subject.possessed or frame.inherited or frame.subject.owner != SPEAKER:
        return True
    words = found.subject.split()
    named = bool(frame.subject.name) and all(word[:1].isupper() for word in frame.subject.name.split())
    return named or words[-1] in grammar.relations


def _names_something(value: str, grammar: Grammar) -> bool:
    words = [lower_in(trim(word), grammar.code) for word in value.split()]
    hollow = grammar.words["pronouns"] | grammar.words["no_values"] | grammar.words["speaker"]
    return 0 < len(words) <= MOST_WORDS and not any(word in hollow for word in words)
