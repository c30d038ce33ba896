"""What a question may be answered with: what the rules say, more or less than that, words that were said, or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aico_memory.domain.formation.fact_key import normalise_fact_key
from aico_memory.domain.recall.choosing import KNOWN
from aico_memory.domain.recall.reading.clues import Candidate, Clues, Conversation
from aico_memory.domain.recall.reading.pieces import value_words
from aico_memory.domain.recall.slots import AMOUNT, CLOCK, WHEN, WHERE, WHO
from aico_memory.domain.recall.timeline import Held

# What the rules say; with a value more; with one less; what was said; nothing.
RULES, MORE, LESS, SAID, NOTHING = "rules", "more", "less", "said", "nothing"
# Values of one answer.
MAX_VALUES = 8


@dataclass(frozen=True, slots=True)
class Ruled:
    """What the rules answer, and what they hold: values with the time at which each was said last."""

    values: tuple[str, ...]
    said_at_us: tuple[int, ...]
    # By the wording of a message, not by facts.
    by_wording: bool
    # Facts of what was asked for are known, whether they answer or not.
    knows: bool
    held: Sequence[Held]

    @property
    def newest_us(self) -> int:
        """When the last of it was said; 0 where the rules are silent."""
        return max(self.said_at_us, default=0)


@dataclass(frozen=True, slots=True)
class Option:
    """A possible answer and its clues by name; `candidate` is what was said, for `said` and `more`."""

    kind: str
    values: tuple[str, ...]
    clues: Clues
    candidate: Candidate | None = None


def options_of(talk: Conversation, candidates: Sequence[Candidate], ruled: Ruled) -> list[Option]:
    """All options; one that says nothing is always among them, and comes last."""
    language = {f"in.{talk.grammar.code}": 1.0}
    reader = _Against(talk, ruled)
    answer = reader.answer(candidates)
    ruled_keys = frozenset(normalise_fact_key(value) for value in ruled.values)
    options = []
    for candidate in candidates:
        if not _may_hold(candidate, talk.as_of_us):
            continue
        clues = _named("said", candidate.clues) | _named("known", reader.of(candidate)) | language
        options.append(Option(SAID, candidate.values, clues, candidate))
        keys = frozenset(normalise_fact_key(value) for value in candidate.values)
        if ruled.values and not keys & ruled_keys and len(ruled.values) + len(candidate.values) <= MAX_VALUES:
            more = clues | _named("more", reader.more(candidate))
            options.append(Option(MORE, (*ruled.values, *candidate.values), more, candidate))
    if ruled.values:
        options.append(Option(RULES, ruled.values, _named("rules", answer) | language))
    if len(ruled.values) > 1:
        for place, value in enumerate(ruled.values):
            rest = ruled.values[:place] + ruled.values[place + 1 :]
            less = _named("rules", answer) | _named("less", reader.less(value, ruled.said_at_us[place])) | language
            options.append(Option(LESS, rest, less))
    options.append(Option(NOTHING, (), _named("nothing", reader.nothing(candidates)) | language))
    return options


def _may_hold(candidate: Candidate, as_of_us: int) -> bool:
    """Whether it could be true then: begun and not over; a correction speaks of the time before it as well."""
    piece = candidate.piece
    return (piece.from_us <= as_of_us or piece.corrects) and piece.until_us > as_of_us


def _named(block: str, clues: Clues) -> Clues:
    return {f"{block}.{name}": float(value) for name, value in clues.items() if value}


class _Against:
    """Candidates beside what the rules hold and answer."""

    def __init__(self, talk: Conversation, ruled: Ruled) -> None:
        self._talk, self._ruled = talk, ruled
        self._words = value_words(" ".join(ruled.values))
        read = {one.statement.said_at_us for one in ruled.held}
        self._unread = frozenset(piece.at for piece in talk.pieces if piece.utterance.said_at_us not in read)
        asked = talk.question.predicates
        self._topic = [one for one in ruled.held if asked.get(one.predicate, 0.0) >= KNOWN]
        self._by_time: dict[int, list[tuple[Held, frozenset[str]]]] = {}
        for one in ruled.held:
            entry = (one, value_words(one.fact.value))
            self._by_time.setdefault(one.statement.said_at_us, []).append(entry)

    def of(self, candidate: Candidate) -> Clues:
        """Whether the rules have read the same words, what came of it, and whether they were said after their answer."""
        piece, ruled = candidate.piece, self._ruled
        said_at = piece.utterance.said_at_us
        mine = [one for one, words in self._by_time.get(said_at, ()) if words & candidate.words]
        holds = [one for one in mine if one.holds_at(self._talk.as_of_us)]
        support = max((self._talk.question.predicates.get(one.predicate, 0.0) for one in mine), default=0.0)
        after = bool(ruled.values) and said_at > ruled.newest_us
        return {
            "read": bool(mine), "holds": bool(holds), "holds_as_asked": bool(holds) * min(support, 2.0),
            "closed": any(not one.invalid and one not in holds for one in mine),
            "invalid": any(one.invalid for one in mine), "read_otherwise": bool(mine) and support == 0,
            "unread": piece.at in self._unread, "answered": bool(self._words & candidate.words),
            "after": after, "after_bearing": after * piece.bearing, "silent": not ruled.values,
            "silent_knowing": bool(self._topic) and not ruled.values, "several": len(ruled.values) > 1,
            "by_wording": ruled.by_wording,
        }  # fmt: skip

    def answer(self, candidates: Sequence[Candidate]) -> Clues:
        """How far the rules' answer can be relied on."""
        ruled, talk = self._ruled, self._talk
        kind = talk.slot.kind
        unread = [talk.bearing[at] for at in self._unread if ruled.newest_us < talk.said_at_us[at] <= talk.as_of_us]
        digits = any(letter.isdigit() for value in ruled.values for letter in value)
        support = [talk.question.predicates.get(one.predicate, 0.0) for one in ruled.held if self._says(one)]
        return {
            "there": 1.0, "by_wording": ruled.by_wording, "several": len(ruled.values) > 1, "one": len(ruled.values) == 1,
            "unread_after": bool(unread), "unread_bearing": max(unread, default=0.0),
            "newest": bool(talk.known) and ruled.newest_us == talk.known[-1], "support": max(support, default=0.0),
            "named": any(value[:1].isupper() for value in ruled.values) and kind in (WHO, WHERE),
            "digits": digits and kind in (AMOUNT, CLOCK, WHEN), "no_digits": not digits and kind == AMOUNT,
            "long": any(len(value.split()) > 4 for value in ruled.values),
            "candidate": any(self._words & one.words for one in candidates),
        }  # fmt: skip

    def _says(self, one: Held) -> bool:
        return one.fact.value in self._ruled.values

    def more(self, candidate: Candidate) -> Clues:
        """What speaks for a value beside those that the rules give."""
        piece, ruled = candidate.piece, self._ruled
        multi = [not one.fact.single_valued for one in ruled.held if self._says(one)]
        return {
            "there": 1.0, "also": bool(piece.lows & self._talk.grammar.words["also"]),
            "several": len(ruled.values) > 1,
            "accumulates": bool(multi) and all(multi), "single": bool(multi) and not any(multi),
            "after": piece.utterance.said_at_us > ruled.newest_us,
            "same_message": piece.utterance.said_at_us in ruled.said_at_us,
            "unread": piece.at in self._unread, "asks_one": self._talk.slot.single, "bearing": piece.bearing,
            "before": piece.utterance.said_at_us < min(ruled.said_at_us, default=0),
        }  # fmt: skip

    def less(self, value: str, said_at_us: int) -> Clues:
        """What speaks against one of several values that the rules give."""
        words = value_words(value)
        later = [
            piece
            for piece in self._talk.pieces
            if said_at_us < piece.utterance.said_at_us <= self._talk.as_of_us and words & piece.words
        ]
        return {
            "there": 1.0, "said_again": bool(later), "denied_later": any(piece.denied for piece in later),
            "unread_later": any(piece.at in self._unread for piece in later),
            "long": len(words) > 3, "lower": value[:1].islower(), "oldest": said_at_us <= min(self._ruled.said_at_us),
        }  # fmt: skip

    def nothing(self, candidates: Sequence[Candidate]) -> Clues:
        """What speaks for giving no answer."""
        talk, topic = self._talk, self._topic

        def most(name: str) -> float:
            return max((one.clues[name] for one in candidates), default=0.0)

        return {
            "there": 1.0, "knows": bool(topic), "asked": self._ruled.knows,
            "over": bool(topic) and not any(one.holds_at(talk.as_of_us) for one in topic),
            "shared": talk.most_shared, "likeness": talk.most_like, "grams": talk.most_grams,
            "later_denied": most("later_denied"), "bearing": max(talk.bearing.values(), default=0.0),
            "too_early": not talk.known, "answered": bool(self._ruled.values),
        }  # fmt: skip
