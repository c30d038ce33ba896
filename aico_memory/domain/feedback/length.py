"""Which way a feedback text wants the length of an answer, where it says so plainly: a rule by language.

"Long", "longer" and "not long enough" are spelled, and embedded, much alike, and mean the opposite. So a text is cut into
clauses, and one that consists of nothing but words of the language's file is read by their kinds. One that names
anything else ("the queue was too long", "more polite please") is not read: what it says is for the classifier alone.

A language's file gives, under `length`, `words`: lists by kind, of words and of turns of several words, the longest of
which is taken. A `+` at the end stands for any ending, an apostrophe may be left out, and so may the marks of Latin letters.

* `long`, `short`: said of the answer. `detailed`, `concise`: the same, but no fault by themselves ("very concise").
* `longer`, `shorter`: wished for ("expand", "get to the point"). `more`, `less`: of what is beside them, or of the text;
  `unwanted` ("no need for"): less, but only of what is beside it.
* `much`, `little`: of the text. `text`: what there is much or little of ("words"), `telling`: how it comes ("you write").
* `too`, `very`, `so`: how much so. "Not so long" is a wish, "not very long" says that it is short.
* `not`, `enough`, `lacking` ("short of"), `beyond` ("than necessary").
* `wish`: what makes a wish of a word ("short, please", "keep it short").
* `beside`: what else may stand there, the answer itself among it.

`joints` begin a clause ("but"), and `unspaced` says that the script does not space its words.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Final

from aico_memory.domain.feedback.clauses import Cutting, cutting_of, texts_of
from aico_memory.domain.feedback.words import Words

KINDS: Final = frozenset({
    "long", "short", "detailed", "concise", "longer", "shorter", "more", "less", "unwanted", "much", "little", "text",
    "telling", "too", "very", "so", "not", "enough", "lacking", "beyond", "wish", "beside",
})  # fmt: skip
_KEYS: Final = frozenset({"unspaced", "words", "joints"})
# What alone says nothing of a length: a clause of it belongs to the one beside it ("short, please").
_SAYS_NOTHING: Final = frozenset({"wish", "beyond", "beside", "so", "very", "text", "telling"})
_OF_THE_NEXT: Final = frozenset({"wish", "beyond"})


@dataclass(frozen=True, slots=True)
class Told:
    """What a text says of the length: 1 that it is too long, -1 too short, 0 neither; by which part (0..1) of its clauses."""

    direction: int
    part: float


NOTHING: Final = Told(0, 0.0)


@dataclass(frozen=True, slots=True)
class Length:
    """The rule of one language."""

    words: Words
    cutting: Cutting

    def told(self, text: str) -> Told:
        """Which way a text wants the length; neither where its clauses contradict each other."""
        read = [self.words.read(clause.text) for clause in self.cutting.clauses(text)]
        read = [one for one in read if one.kinds or one.other]
        known = [None if one.other else frozenset(one.kinds) for one in read]
        signs: list[int] = []
        for place, kinds in enumerate(known):
            if kinds is None:
                continue
            # "Short, please": the wish beside it is its own.
            near = [one for one in known[max(0, place - 1) : place + 2] if one is not None and one <= _SAYS_NOTHING]
            sign, bare = direction_of(kinds.union(*(one & _OF_THE_NEXT for one in near)))
            # "Short and clear": a bare word is a fault only where nothing else is said.
            if sign and not (bare and None in known):
                signs.append(sign)
        if not signs or len(set(signs)) > 1:
            return NOTHING
        quiet = sum(one is not None and one <= _SAYS_NOTHING for one in known)
        return Told(signs[0], len(signs) / max(1, len(known) - quiet))


def direction_of(kinds: Set[str]) -> tuple[int, bool]:
    """1 for what says too long, -1 for too short, 0 for neither, by the kinds of words of a clause; whether by a bare word."""
    said = _one(1 if kinds & {"long", "detailed"} else 0, -1 if kinds & {"short", "concise"} else 0)
    less = "less" in kinds or ("unwanted" in kinds and bool(said or kinds & {"text", "telling", "much", "little"}))
    more = "more" in kinds and not (less or "shorter" in kinds)
    if said is None or (less and "more" in kinds):
        return 0, False
    wished = [sign for kind, sign in (("longer", -1), ("shorter", 1)) if kind in kinds]
    if more or less:
        # "More concise" and "less detail": of the word beside it, unless that is too much already ("too short, more").
        of_word = bool(said) and "too" not in kinds
        wished.append((-1 if more else 1) * (said if of_word else 1))
        said = 0 if of_word else said
    if wished:
        return _of_wishes(kinds, wished, said), False
    return _of_state(kinds, said)


def _of_wishes(kinds: Set[str], wished: list[int], said: int) -> int:
    if kinds & {"not", "lacking"}:
        return 0
    too_much = 0
    if "too" in kinds:
        too_much = said or (1 if "much" in kinds else -1 if "little" in kinds else 0)
    # "Longer than necessary", "you expand too much": not wished for, but there already.
    if "beyond" in kinds or ("too" in kinds and not too_much):
        wished = [-sign for sign in wished]
    return _one(*wished, too_much) or 0


def _of_state(kinds: Set[str], said: int) -> tuple[int, bool]:
    denied = bool(kinds & {"not", "lacking"})
    measured = bool(kinds & {"text", "telling", "too", "so"})
    if "little" in kinds:
        # "Little detailed" is short, and so is "very little"; "much ado, little text" is neither.
        said = -1 if said >= 0 and "much" not in kinds else 0
    elif not said and "much" in kinds:
        said = 1 if measured else 0
    elif not said and "text" in kinds:
        # "Not enough text", "no details"; "trop de texte", "tanto texto".
        if denied:
            return (-1, False) if "so" not in kinds else (1, False)
        said = 1 if kinds & {"too", "so"} else 0
    elif not said and "telling" in kinds and "too" in kinds:
        said = 1
    elif not said:
        return (-1 if "lacking" in kinds or {"not", "enough"} <= kinds else 0), False
    if not said or ("enough" in kinds and not denied):
        return 0, False
    if "lacking" in kinds or {"not", "enough"} <= kinds:
        return -said, False
    if "not" in kinds:
        # "Not so long", "not too long, please" wish for less of it; "not very long" says that there is little.
        return (said if kinds & {"so", "too", "wish"} else -said), False
    if "wish" in kinds and not kinds & {"too", "so"}:
        return -said, False
    if kinds & {"too", "so", "much"} or ("little" in kinds and measured):
        return said, False
    # "Brief and to the point", "long and thorough" are praise as often as not.
    if kinds & {"detailed", "concise"} and "little" not in kinds:
        return 0, False
    return said, "very" not in kinds


def _one(*signs: int) -> int | None:
    """The sign that all agree on, 0 where there is none; None where they contradict each other."""
    found = {sign for sign in signs if sign}
    return None if len(found) > 1 else next(iter(found), 0)


def length_of(content: Mapping[str, object]) -> Length | None:
    """The rule of a language's file, under `length`; None where it has none. ValueError names what is wrong."""
    part = content.get("length")
    if part is None:
        return None
    if not isinstance(part, Mapping) or not isinstance(part.get("words"), Mapping):
        raise ValueError("`length` must hold `words`")  # noqa: TRY004  # one error kind for the reader
    if unknown := (set(part) - _KEYS) | (set(part["words"]) - KINDS):
        raise ValueError(f"unknown key {sorted(map(str, unknown))[0]!r} of `length`")
    spaced = not part.get("unspaced", False)
    words = {str(kind): texts_of(part["words"], kind, "length") for kind in part["words"]}
    if not any(words.get(kind) for kind in ("long", "short", "longer", "shorter")):
        raise ValueError("`length` reads nothing without `words` that are `long`, `short`, `longer` or `shorter`")
    return Length(Words(words, spaced), cutting_of(part, "length"))
