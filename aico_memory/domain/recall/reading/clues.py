"""What speaks for and against a run of words as the answer to a question: named clues, 0 to 1 mostly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.turkish_words import split_case
from aico_memory.domain.recall.question import Question
from aico_memory.domain.recall.reading.pieces import Piece, value_words
from aico_memory.domain.recall.reading.spans import BOUND, NUMBER, TIME, WORDS, Span, spans_of
from aico_memory.domain.recall.slots import AMOUNT, CLOCK, HOUR, LOCATIVE, WHAT, WHEN, WHERE, WHO, Slot

Clues = dict[str, float]
# Words and places from which on more or fewer make no difference.
_MOST_WORDS, _FAR = 6, 12
_LITTLE = 0.3
_ABOUT_AS_MUCH = 0.1


@dataclass(frozen=True, slots=True)
class Candidate:
    """A run of words that might be the answer, and what speaks for it."""

    piece: Piece
    values: tuple[str, ...]
    words: frozenset[str]
    clues: Clues


class Conversation:
    """All pieces that are read for a question, and what can be said of them together."""

    def __init__(self, question: Question, slot: Slot, pieces: Sequence[Piece], grammar: Grammar, as_of_us: int) -> None:
        self.question, self.slot, self.grammar, self.as_of_us = question, slot, grammar, as_of_us
        self.pieces = pieces
        self.known = sorted({piece.utterance.said_at_us for piece in pieces if piece.utterance.said_at_us <= as_of_us})
        self.found: dict[int, set[str]] = {}
        self.grams: dict[int, float] = {}
        self.bearing: dict[int, float] = {}
        # When the message of each place was said.
        self.said_at_us: dict[int, int] = {piece.at: piece.utterance.said_at_us for piece in pieces}
        for piece in pieces:
            self.found.setdefault(piece.at, set()).update(piece.keys)
            self.grams[piece.at] = max(self.grams.get(piece.at, 0.0), piece.grams)
            self.bearing[piece.at] = max(self.bearing.get(piece.at, 0.0), piece.bearing)
        self.most_shared = max((piece.shared for piece in pieces), default=0.0)
        self.most_grams = max((piece.grams for piece in pieces), default=0.0)
        self.most_like = max((piece.likeness for piece in pieces), default=0.0)

    def candidates(self) -> list[Candidate]:
        """Every run of words that might answer, in the order in which they were said."""
        found = []
        for place, piece in enumerate(self.pieces):
            spans = spans_of(piece.segment, piece.taken, self.grammar)
            of_piece = self._of_piece(piece) | {"few": 1 / max(1, len(spans))}
            later = [
                (at, other)
                for at, other in enumerate(self.pieces)
                if other.at > piece.at and other.utterance.said_at_us <= self.as_of_us
            ]
            of_piece |= self._of_later(place, piece, [other for _, other in later])
            for span in spans:
                words = value_words(" ".join(span.values))
                clues = _of_span(self.slot, piece, span, self.grammar) | of_piece | _said_again(words, later)
                found.append(Candidate(piece, span.values, words, clues))
        return found

    def _of_piece(self, piece: Piece) -> Clues:
        slot, lows, words = self.slot, piece.lows, self.grammar.words
        found = self.found[piece.at]
        newer = piece.utterance.said_at_us > self.as_of_us
        ahead = piece.from_us > self.as_of_us
        rank = sum(at <= piece.utterance.said_at_us for at in self.known) / max(1, len(self.known))
        before = max((self.bearing.get(at, 0.0) for at in range(piece.at)), default=0.0)
        just_before = self.bearing.get(piece.at - 1, 0.0)
        return {
            "shared": piece.shared, "all_shared": piece.shared == 1, "none_shared": piece.shared == 0,
            "shared_by_message": len(found) / len(slot.keys), "sort_named": piece.asked_sort,
            "name_missing": bool(slot.names - found), "name_there": bool(slot.names) and slot.names <= found,
            "grams": piece.grams, "grams_of_message": self.grams[piece.at],
            "likeness": piece.likeness, "less_like": self.most_like - piece.likeness,
            "less_shared": self.most_shared - piece.shared, "fewer_grams": self.most_grams - piece.grams,
            "before": before, "corrects": piece.corrects, "corrects_what_bears": piece.corrects * before,
            "mine": piece.mine and slot.own, "nobodys": slot.own and not piece.mine and not piece.third,
            "of_third": slot.own and piece.third, "of_stranger": slot.own and piece.stranger,
            "denied": piece.denied, "newer": newer,
            "past_asked_present": piece.past and not self.question.past, "past": piece.past and self.question.past,
            "now": bool(lows & words["now"]), "also": bool(lows & words["also"]), "only": bool(lows & words["only"]),
            "ahead": ahead, "announced": ahead and not newer, "over": piece.until_us <= self.as_of_us,
            "newer_corrects": newer and piece.corrects, "newer_holds": newer and not ahead,
            "rank": rank, "newest": bool(self.known) and piece.utterance.said_at_us == self.known[-1],
            "rank_shared": rank * piece.shared, "rank_like": rank * piece.likeness,
            "just_before": just_before,
            "just_before_elliptic": just_before * (self.bearing[piece.at] < _LITTLE),
        }  # fmt: skip

    def _of_later(self, place: int, piece: Piece, later: Sequence[Piece]) -> Clues:
        bears = max((other.bearing for other in later if not other.denied), default=0.0)
        return {
            "later_denied": max((other.bearing for other in later if other.denied), default=0.0),
            "later_bears": bears,
            "later_bears_more": max(0.0, bears - piece.bearing),
            "later_as_much": any(other.bearing >= piece.bearing - _ABOUT_AS_MUCH for other in later),
            "corrected_next": any(other.corrects and piece.at < other.at <= piece.at + 1 for other in self.pieces),
            "denied_beside": any(other.denied and other.at == piece.at and at != place for at, other in enumerate(self.pieces)),
        }


def _said_again(words: frozenset[str], later: Sequence[tuple[int, Piece]]) -> Clues:
    again = [piece for _, piece in later if words & piece.words]
    return {"said_again": bool(again), "denied_later": any(piece.denied for piece in again)}


def _of_span(slot: Slot, piece: Piece, span: Span, grammar: Grammar) -> Clues:
    words = piece.segment.words
    said = words[span.start : span.end]
    kind, first = slot.kind, span.start == 0
    when = kind in (WHEN, CLOCK)
    named = any(word.said[:1].isupper() for word in said) and (not first or len(said) > 1 or grammar.parser == "german")
    lead = _lead(piece, span, grammar)
    if grammar.parser == "turkish":
        placed = any(split_case(word.said)[0] in LOCATIVE for word in said)
    else:
        placed = lead in grammar.words["places"]
    before = [span.start - at for at in piece.taken if at < span.start]
    near = min([*before, *(at - span.end + 1 for at in piece.taken if at >= span.end)], default=_FAR)
    digits = any(letter.isdigit() for word in said for letter in word.said)
    return {
        "time": span.sort == TIME, "bound": span.sort == BOUND, "number": span.sort == NUMBER,
        "time_asked": span.sort == TIME and when, "bound_asked": span.sort == BOUND and kind == WHEN,
        "time_unasked": span.sort in (TIME, BOUND) and not when, "no_time": span.sort not in (TIME, BOUND) and when,
        "clock": kind == CLOCK and bool(HOUR.search(" ".join(word.low for word in said))),
        "number_asked": span.sort == NUMBER and kind == AMOUNT, "no_number": span.sort != NUMBER and kind == AMOUNT,
        "number_unasked": span.sort == NUMBER and kind not in (AMOUNT, CLOCK, WHEN),
        "digits_in_what": digits and kind == WHAT and span.sort == WORDS,
        "named": named, "named_who": named and kind == WHO, "named_where": named and kind == WHERE,
        "named_what": named and kind == WHAT, "unnamed_who": not named and kind == WHO,
        "placed_where": placed and kind == WHERE, "unplaced_where": not placed and kind == WHERE,
        "placed_unasked": placed and kind != WHERE,
        "led_what": lead in grammar.words["prepositions"] and not placed and kind == WHAT,
        "led_as_asked": bool(slot.preposition) and lead == slot.preposition,
        "led_otherwise": bool(slot.preposition) and lead != slot.preposition,
        "length": min(len(said), _MOST_WORDS) / _MOST_WORDS, "one_word": len(said) == 1, "long": len(said) > 4,
        "first": first, "last": span.end == len(words), "place": span.start / len(words),
        "distance": min(near, _FAR) / _FAR, "beside": near <= 1, "behind": bool(before),
    }  # fmt: skip


def _lead(piece: Piece, span: Span, grammar: Grammar) -> str:
    """The word before it, articles and the like left out."""
    at = span.start - 1
    skipped = grammar.words["determiners"] | grammar.words["possessives"]
    while at >= 0 and piece.segment.words[at].low in skipped:
        at -= 1
    return piece.segment.words[at].low if at >= 0 else ""
