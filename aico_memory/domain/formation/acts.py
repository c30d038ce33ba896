"""What a sentence does to what is known: it tells, corrects, takes back, or only asks and wishes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.turkish_phrases import uncased, verb_of
from aico_memory.domain.formation.wording import first_of, lower_in, squeeze, trim


@dataclass(slots=True)
class Speech:
    """A sentence without its openers, and what these said."""

    text: str
    # "" | correct | retract
    act: str = ""
    # The correction stands in a "X, not Y" alone; no word before it says that anything was wrong.
    contrasted: bool = False
    # "Actually", which corrects only where nothing speaks of a change.
    weak: bool = False
    # "not X but Y": X
    corrected: str = ""
    # The new value where the sentence has nothing else ("I meant Thursday").
    elliptic: str = ""
    explicit: bool = False
    # Asks, wishes, supposes: nothing is stated.
    silent: bool = False
    # "That about X is wrong, …": X.
    taken_back: str = ""
    # The rest says what is so since now.
    changed: bool = False
    # "not at all", "doch nicht": it never was so.
    denied: bool = False
    # "It was never true that …": what follows never was so.
    untrue: bool = False


# "pozitifmiş": so it is said.
_SAID_TO_BE = re.compile("(?<=\\w{3})y?m[ıiuü]ş$")
_TOLD = re.compile(r"(?i)\b(?:did|have) i\b|\bdid you know\b|\bich\b|\bwusstest\b")


def read_speech(sentence: str, grammar: Grammar) -> Speech:  # noqa: PLR0912
    """Openers, contrasts and retractions of one sentence, taken off it."""
    speech = Speech(sentence.strip())
    if any(mark.search(speech.text) for mark in grammar.marks["unsaid"]):
        # "I said …, but that's wrong": what comes next corrects it.
        return Speech("", act="correct")
    bare = _without(speech.text, grammar, ("fillers",))
    for mark in grammar.marks["retract_of"]:
        # "That about Monaco was a joke."
        if match := mark.match(bare):
            more = squeeze((match.groupdict().get("more") or "").strip(" ,"))
            if not more:
                return Speech("", act="retract", corrected=trim(match["old"]))
            # "That about Siemens is wrong, I'm with Bosch": the rest corrects it.
            speech = read_speech(more, grammar)
            speech.act, speech.taken_back = speech.act or "correct", trim(match["old"])
            speech.corrected = speech.corrected or speech.taken_back
            return speech
    for mark in grammar.marks["meant"]:
        if match := mark.match(_without(speech.text, grammar, ("fillers", "correct"))):
            return Speech("", act="correct", elliptic=trim(match["v"]))
    told = any(mark.match(speech.text) and _TOLD.search(mark.match(speech.text).group()) for mark in grammar.marks["fillers"])  # type: ignore[union-attr]
    for mark in grammar.marks["hearsay"]:
        # "Everyone thinks I live in Paris, but I live in Metz."
        if match := mark.match(speech.text):
            speech.text = match["said"]
            break
    if not told and _any(grammar, "silent", speech.text):
        speech.silent = True
        return speech
    for mark in grammar.marks["untrue"]:
        if match := mark.match(speech.text):
            speech.text, speech.untrue = speech.text[match.end() :], True
            break
    _openers(speech, grammar)
    if speech.act != "retract":
        _contrast(speech, grammar)
    speech.denied = _any(grammar, "denied", speech.text)
    speech.changed = _any(grammar, "changed", speech.text)
    if not speech.act and _any(grammar, "insist", speech.text):
        speech.act = "correct"
    if speech.act == "correct" and not speech.elliptic:
        for mark in grammar.marks["elliptic"]:
            match = mark.match(speech.text) or mark.match(first_of(speech.text))
            if match and not _tells_what_happened(match["v"], grammar):
                speech.elliptic = trim(match["v"])
                break
    return speech


def _tells_what_happened(value: str, grammar: Grammar) -> bool:
    """ "Sorry, went quiet there" says no value."""
    first = lower_in(trim(value).partition(" ")[0], grammar.code)
    if grammar.parser == "turkish":
        # "Roma'da yaşamıyorum"
        verb = verb_of(lower_in(trim(value).rpartition(" ")[2], grammar.code), grammar)
        return verb is not None and verb.first_person and verb.tense == "progressive"
    return grammar.parser == "english" and grammar.tenses.get(first) == "past"


def _without(text: str, grammar: Grammar, names: tuple[str, ...]) -> str:
    """The text without what opens it."""
    for _ in range(3):
        before = text
        for mark in (mark for name in names for mark in grammar.marks[name]):
            if match := mark.match(text):
                text = squeeze(text[match.end() :].lstrip(" ,:;.-–"))
        if text == before:
            break
    return text


def _openers(speech: Speech, grammar: Grammar) -> None:
    for _ in range(6):
        before = speech.text
        for name in ("fillers", "explicit", "correct", "weak", "retract"):
            for mark in grammar.marks[name]:
                match = mark.match(speech.text)
                if match is None:
                    continue
                speech.text = squeeze(speech.text[match.end() :].lstrip(" ,:;.-–"))
                if name == "fillers" and _TOLD.search(match.group()):
                    # "Did I mention that …?" tells.
                    speech.text = speech.text.rstrip("?")
                if name == "explicit":
                    speech.explicit = True
                elif name in ("correct", "retract"):
                    speech.act = name
                elif name == "weak":
                    speech.act = speech.act or "correct"
                    speech.weak = not speech.act or speech.act == "correct"
                break
        if speech.text == before:
            return


def _contrast(speech: Speech, grammar: Grammar) -> None:
    said = speech.text
    for mark in grammar.marks["apology"]:
        said = mark.sub("", said)
    # "Oslo instead of Rome" is a change, too, where nothing says that something was wrong.
    swapped = grammar.marks["swapped"] if speech.act == "correct" or said != speech.text else ()
    for mark in (*grammar.marks["contrast"], *swapped):
        match = mark.search(said)
        if match is None:
            continue
        old, new = trim(match["old"]), trim(match["new"])
        if not old or not new or len(old.split()) > 6 or len(new.split()) > 8:
            continue
        clause = grammar.parser == "german" and "sondern" in match.group() and len(new.split()) > 1
        if clause and grammar.tenses.get(new.split()[0]) in ("present", "past"):
            # "…, sondern hängt im Schuppen": a clause with a verb of its own.
            continue
        whole = match.group()
        change = any(mark.search(whole) for mark in grammar.marks["no_more"])
        for mark in grammar.marks["no_more"]:  # noqa: PLW2901
            old, new = trim(mark.sub(" ", old)), trim(mark.sub(" ", new))
        speech.corrected = squeeze(old)
        before = squeeze(said[: match.start()])
        sorry = said != speech.text
        speech.text = squeeze(f"{before} {new} {said[match.end() :]}")
        if change:
            # "No longer X but Y": both were true, one after the other.
            speech.act = ""
            return
        speech.contrasted = not speech.act and not sorry
        speech.act = speech.act or "correct"
        if len(before.split()) <= 1 and not _tells_what_happened(new, grammar):
            speech.elliptic = new
        return


def _any(grammar: Grammar, name: str, text: str) -> bool:
    lowered = lower_in(text, grammar.code)
    return any(mark.search(lowered) for mark in grammar.marks.get(name, ()))


def bare_value(text: str, grammar: Grammar) -> str:
    """A value said by itself, without the preposition or the case it stood in."""
    words = trim(text).split()
    while len(words) > 1 and lower_in(trim(words[0]), grammar.code) in (
        grammar.words["prepositions"] | grammar.words["determiners"] | grammar.words["adverbs"] | grammar.words["subjects"]
    ):
        words.pop(0)
    if grammar.code == "tr" and words:
        words[-1] = _SAID_TO_BE.sub("", uncased(words[-1], grammar))
    return trim(re.sub(r"\s+", " ", " ".join(words)))
