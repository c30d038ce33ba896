"""Whether a message bears out what a language model claims to have read in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from aico_memory.domain.formation.claimed_time import Disagrees, claimed_validity
from aico_memory.domain.formation.closing_marks import tells_a_correction, tells_an_end
from aico_memory.domain.formation.fact_key import normalise_fact_key
from aico_memory.domain.formation.form import BINDING_KINDS
from aico_memory.domain.formation.formed import SPEAKER, FormedFact
from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.formation.naming import object_key
from aico_memory.domain.formation.observe import speaks_of_the_machine
from aico_memory.domain.formation.prompting import AnsweredFact, Told
from aico_memory.domain.formation.tricks import unmasked
from aico_memory.domain.formation.wording import even, lower_in, sentences, squeeze
from aico_memory.domain.memory import OPEN

_PREDICATE: Final = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_BORDERS: Final = re.compile(r"[,;:.!?…\n()]|\s[-–—]\s")
_STOPS: Final = re.compile(r"[.!?…\n]+(?=\s|$)")
_WORD: Final = re.compile(r"[^\W_]+")
_STATED, _INFERRED = 0.9, 0.8
# Kinds in which a negation is part of what is stated ("never use sudo").
_MAY_NEGATE: Final = frozenset({"constraint", "preference", "procedure"})
_CLOSING: Final = frozenset({"end", "retract"})
_BEGUN: Final = frozenset({"past", "participle", "progressive"})


class Refused(NamedTuple):
    """A claim that was not taken: the rule, why, and the claim itself, shortened."""

    rule: str
    reason: str
    claim: str


@dataclass(frozen=True, slots=True)
class Ground:
    """What claims are held against; `grammar` is that of the message's language, where there is one."""

    told: Told
    tables: FormationTables
    grammar: Grammar | None
    entities: tuple[str, ...] = ()

    @property
    def language(self) -> str:
        return self.grammar.code if self.grammar else ""


def grounded(claim: AnsweredFact, ground: Ground) -> FormedFact | Refused:
    """The fact where the message says so, else the first rule that it breaks. Total over claims."""
    said = _even(ground.told.text)
    quote = _even(claim.evidence)
    place = said.find(quote) if _WORD.search(quote) else -1
    if place < 0:
        return Refused("evidence_not_in_message", "The quoted words do not stand in the message", "")
    value = squeeze(claim.value)
    for refused in (
        _instructs(claim, ground),
        _binds(claim, ground),
        _value(value, claim, quote),
        _subject(claim, ground),
        _predicate(claim),
        _corrected(claim, ground),
        _asserted(claim, said, place, place + len(quote), ground),
    ):
        if refused is not None:
            return refused
    validity = claimed_validity(claim.valid_from, claim.valid_until, claim.time_words, ground.told, ground.grammar, claim.kind)
    if isinstance(validity, Disagrees):
        return Refused(validity.rule, validity.reason, "")
    known = ground.tables.predicates.get(claim.predicate)
    act = claim.act
    if act == "correct" and not tells_a_correction(ground.told.text, ground.grammar, ground.tables):
        # Nothing says that what stood before was wrong: then it is a change, and what stood before stays true of its time.
        act = "assert"
    kind = known.kind if known else "fact" if claim.kind == "profile" else claim.kind
    key = _key(value, ground.grammar)
    corrected = _key(squeeze(claim.corrected or ""), ground.grammar) if act == "correct" else ""
    until_us = OPEN if act in _CLOSING else validity.until_us
    return FormedFact(
        text=_standalone(claim, ground), kind=kind if kind not in {"", "date"} else "fact",
        subject=_subject_key(claim.subject), predicate=claim.predicate, value=value, object_key=key,
        single_valued=bool(known and known.single_valued), act=act,
        corrected=key if act in _CLOSING else corrected,
        valid_from_us=validity.from_us, valid_until_us=until_us,
        temporal_type="time_bounded" if until_us < OPEN else "persistent", entities=ground.entities,
        language=ground.language, confidence_base=_STATED if value else _INFERRED, source="llm_extract",
        excerpt=squeeze(claim.evidence)[:300],
    )  # fmt: skip


def _instructs(claim: AnsweredFact, ground: Ground) -> Refused | None:
    told = (claim.subject, claim.predicate, claim.value, claim.text, claim.corrected or "")
    parts = [part for text in told for part in unmasked(even(text))]
    marks = [mark for signals in ground.tables.signals.values() for mark in (*signals.injection, *signals.system)]
    if any(mark.search(part) for part in parts for mark in marks):
        return Refused("instruction", "The fact gives instructions to a machine", "")
    return None


def _binds(claim: AnsweredFact, ground: Ground) -> Refused | None:
    known = ground.tables.predicates.get(claim.predicate)
    if (known.kind if known else claim.kind) not in BINDING_KINDS:
        return None
    text, rule = ground.told.text, ground.tables.injection.get(ground.language)
    if speaks_of_the_machine(text, ground.tables.signals) or (rule is not None and rule.suspects(text)):
        return Refused("instruction", "The message reads like an attempt to give orders to the memory, and binds nobody", "")
    return None


def _value(value: str, claim: AnsweredFact, quote: str) -> Refused | None:
    if not value and claim.act not in _CLOSING:
        return Refused("value_missing", "Only an end or a retraction has no value", "")
    if value and not _stands_in(_even(value), quote):
        return Refused("value_not_in_evidence", "The value does not stand in the quoted words", "")
    return None


def _subject(claim: AnsweredFact, ground: Ground) -> Refused | None:
    subject = _even(claim.subject)
    if subject == SPEAKER:
        return None if _speaks_of_self(claim, ground) else Refused(
            "not_about_speaker", "Nothing in the sentence says that it is about the author", ""
        )  # fmt: skip
    spoken = [_even(one) for one in (ground.told.text, *ground.told.recent)]
    if not _WORD.search(subject) or not any(_stands_in(subject, one) for one in spoken):
        return Refused("subject_not_in_message", "Nobody of this name is spoken of", "")
    return None


def _speaks_of_self(claim: AnsweredFact, ground: Ground) -> bool:
    grammar = ground.grammar
    if grammar is None or grammar.parser == "turkish":
        # Persons are endings there, or the language is not known: nothing to look for.
        return True
    words = _WORD.findall(lower_in(_sentence(claim, ground), grammar.code))
    if any(grammar.has("speaker", word) or grammar.has("own", word) for word in words):
        return True
    # "Moved to Oslo last week."
    return bool(words) and grammar.tenses.get(words[0], "") in _BEGUN and not grammar.has("pronouns", words[0])


def _predicate(claim: AnsweredFact) -> Refused | None:
    if not _PREDICATE.fullmatch(claim.predicate):
        return Refused("predicate_unreadable", "A predicate is a short name of small letters and underscores", "")
    return None


def _corrected(claim: AnsweredFact, ground: Ground) -> Refused | None:
    corrected = _even(claim.corrected or "")
    spoken = [_even(one) for one in (ground.told.text, *ground.told.recent)]
    if claim.act == "correct" and corrected and not any(_stands_in(corrected, one) for one in spoken):
        return Refused("corrected_not_said", "What is corrected was not said", "")
    if claim.act in _CLOSING and not claim.value.strip():
        known = ground.tables.predicates.get(claim.predicate)
        if known is None or not known.single_valued:
            return Refused("value_missing", "It is not said which of many values ends", "")
    if claim.act in _CLOSING and not tells_an_end(_sentence(claim, ground), ground.grammar, ground.tables):
        return Refused("ending_not_said", "Nothing in the sentence tells that anything is over", "")
    return None


def _asserted(claim: AnsweredFact, said: str, start: int, end: int, ground: Ground) -> Refused | None:
    """What is asked or denied is not stated."""
    stop = _STOPS.search(said, end - 1 if said[end - 1 : end] in ".!?…" else end)
    if stop is not None and "?" in stop[0]:
        return Refused("asked_not_stated", "The sentence is a question", "")
    if claim.act != "assert" or claim.kind in _MAY_NEGATE:
        return None
    signals = ground.tables.signals.get(ground.language)
    before = [border.end() for border in _BORDERS.finditer(said, 0, start)]
    after = _BORDERS.search(said, end)
    clause = said[before[-1] if before else 0 : after.start() if after else len(said)]
    words = re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", clause)
    if signals and any(word in signals.negations for word in words):
        return Refused("denied_in_message", "The message denies it", "")
    return None


def _standalone(claim: AnsweredFact, ground: Ground) -> str:
    """The model's sentence where all its names and numbers come from the message, else the sentence as it was said."""
    known = " ".join(_even(one) for one in (ground.told.text, *ground.told.recent, ground.told.speaker, SPEAKER))
    text = squeeze(claim.text)
    words = [match[0] for match in _WORD.finditer(text) if (match.start() and match[0][0].isupper()) or match[0][0].isdigit()]
    if all(_stands_in(_even(word), known) for word in words):
        return text
    return _sentence(claim, ground)[:500]


def _sentence(claim: AnsweredFact, ground: Ground) -> str:
    quote = _even(claim.evidence).strip(" .!?…,;")
    whole: Sequence[str] = sentences(ground.told.text)
    return next((one for one in whole if quote in _even(one)), squeeze(even(ground.told.text)))


def _subject_key(subject: str) -> str:
    return SPEAKER if _even(subject) == SPEAKER else normalise_fact_key(subject)


def _key(value: str, grammar: Grammar | None) -> str:
    return object_key(value, grammar) if grammar else normalise_fact_key(value)


def _stands_in(words: str, text: str) -> bool:
    """Word by word: "art" does not stand in "start"; endings of a language that has them may follow."""
    return re.search(rf"(?<!\w){re.escape(words)}", text) is not None


def _even(text: str) -> str:
    return squeeze(even(text).casefold())
