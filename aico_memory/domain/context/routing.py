"""What kind of question it is, the parts of a compound one, and made-up answers to search by: by phrases that are data."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aico_memory.domain.context.each_named import NOUN_CAPITALS, each_named, tokens_by
from aico_memory.domain.language.tables import fold

INTENTS = ("factual", "temporal", "causal", "entity_profile", "preference", "general")
# A question that fits several is of the first of them: what says more of it comes first.
PRECEDENCE = ("temporal", "causal", "preference", "entity_profile", "factual")
EXPANSIONS = ("definition", "howto", "reasoning", "lookup", "technical", "preference", "general")
SLOT = "{topic}"
# A part of a compound question with fewer letters says nothing by itself.
LEAST_PART = 6
# Letters behind a question word without which it asks nothing yet.
LEAST_ASKED = 4
_MARKS = re.compile(r"[?？؟;；]+")
_SENTENCES = re.compile(r"[?？؟;；.!¿¡\n]+")
_CLAUSES = re.compile(r"[,،、]")
# Where a phrase has to stand to speak for its intent.
OPENS, ENDS = "^", "$"
_BEGINS = r"(?<!\w)"
_YEAR = re.compile(r"(?<![\w.,:/-])(?:19|20)\d\d(?![\w:/-])")
# Somebody and what is theirs ("Anna's").
_OWNER = re.compile(r"(?<!\w)[A-Z]\w*['’]s(?!\w)")
_SYLLABLES = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_UNSPACED = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


@dataclass(frozen=True, slots=True)
class RoutingTable:
    """One language's phrases, as its file has them.

    A phrase that ends with + is a word's beginning. An intent's phrase that begins with ^ speaks for it at the beginning
    of a sentence of one clause only, one that ends with $ at the end of a sentence.
    """

    # Intent -> phrases that speak for it.
    intents: Mapping[str, Sequence[str]]
    # Words that begin a question, and words that tie another one to it.
    question_words: Sequence[str]
    conjunctions: Sequence[str]
    # Kind of question -> phrases that speak for it, and texts that could answer it, with `{topic}`.
    expansion_cues: Mapping[str, Sequence[str]]
    expansions: Mapping[str, Sequence[str]]
    # Phrases that ask for what is ahead.
    upcoming: Sequence[str] = ()
    # Phrases that name a time that has passed.
    past: Sequence[str] = ()
    # Words with which the question begins behind a clause that stands before it without a comma.
    behind_clause: Sequence[str] = ()
    # Of the conjunctions those that tie another thing that is asked for in the same way ("and also my boss's name").
    also: Sequence[str] = ()
    # A question word stands anywhere in its question, and not at its beginning ("kedimin adı ne").
    asks_anywhere: bool = False


@dataclass(frozen=True, slots=True)
class Routing:
    """Every language's phrases, made ready. A question may be in another language than its user's."""

    intents: Mapping[str, re.Pattern[str]]
    # What speaks for an intent at the beginning and at the end of a sentence.
    opening_cues: Mapping[str, re.Pattern[str]]
    ending_cues: Mapping[str, re.Pattern[str]]
    # What ties a second question to the first: groups `anywhere` and `comma` say by which rule, `word` is where it begins.
    second_question: re.Pattern[str]
    opening: re.Pattern[str]
    # The question words of languages in which they stand anywhere.
    asking_anywhere: re.Pattern[str]
    expansion_cues: Mapping[str, Mapping[str, re.Pattern[str]]]
    expansions: Mapping[str, Mapping[str, Sequence[str]]]
    upcoming: re.Pattern[str]
    past: re.Pattern[str]
    # The question behind a clause that stands before it without a comma.
    behind_clause: re.Pattern[str]
    # What ties another thing to a question that is asked in the same way.
    also: re.Pattern[str]
    # Words and what ties them, by language; of those in which a capital tells a name.
    tied_names: Mapping[str, re.Pattern[str]]

    def intent(self, question: str) -> str:
        """One of `INTENTS`."""
        folded = fold(question)
        sentences = [(fold(one), _CLAUSES.search(one) is None) for one in _SENTENCES.split(question) if one.strip()]
        found = next((name for name in PRECEDENCE if self._speaks_for(name, folded, sentences)), "general")
        # "Where did I live in 2019?" is answered by what was so then.
        dated = found == "factual" and (self.past.search(folded) or _YEAR.search(folded))
        return "temporal" if dated else found

    def asks_ahead(self, question: str) -> bool:
        """Whether it asks for what is to come; what begins later is no answer to any other question about now."""
        return self.upcoming.search(fold(question)) is not None

    def _speaks_for(self, intent: str, folded: str, sentences: Sequence[tuple[str, bool]]) -> bool:
        if self.intents[intent].search(folded):
            return True
        opening, ending = self.opening_cues[intent], self.ending_cues[intent]
        # "When I am ill, what do I eat?" asks for no time, with or without the comma.
        return any(
            (single and (cue := opening.match(one)) and not self.behind_clause.match(one, cue.end())) or ending.search(one)
            for one, single in sentences
        )

    def parts(self, question: str, most: int) -> tuple[str, ...]:
        """The 2 … `most` questions that a compound one asks; () where it asks one, or `most` is less than 2.

        Several question marks part it, a conjunction with another question word behind it, and the commas of a list before it;
        so does another thing that is asked for in the same words ("What is my job and also my boss's name?").
        """
        found: list[str] = []
        for sentence in _MARKS.split(question):
            at = 0
            cuts = list(self.second_question.finditer(sentence))
            while cuts and cuts[-1]["comma"]:
                # A comma alone ties clauses as well ("the house, which I like").
                cuts.pop()
            for cut in cuts:
                # Both sides must ask something: "the day when and where we met" is one thing.
                if self._asks(sentence[at : cut.start()], cut):
                    found.append(sentence[at : cut.start()])
                    at = cut.start("word")
            found.append(sentence[at:])
        said = [" ".join(part.split()).strip(" ,.，、،") for whole in found for part in self._asked_alike(whole)]
        parts = list(dict.fromkeys(part for part in said if _letters(part) >= LEAST_PART))
        return tuple(parts[:most]) if len(parts) > 1 and most > 1 else ()

    def _asked_alike(self, part: str) -> tuple[str, ...]:
        """The part, or it without what is asked for as well, and that behind the same words."""
        plain = part.strip(" ,.¿¡")
        for tie in self.also.finditer(plain):
            first, second = plain[: tie.start()].strip(" ,"), plain[tie.end() :].strip(" ,")
            topic = self._topic(first)
            asked = first[: len(first) - len(topic)].strip()
            owners = tie["owner"] is None or (second[0].isupper() and _OWNER.search(first))
            # "What is", "Who are": what stands behind them is named, not told in a sentence of its own.
            if owners and " " in asked and _letters(topic) >= LEAST_ASKED and _letters(second) >= LEAST_PART:
                return first, f"{asked} {second}"
        return (part,)

    def of_each(self, question: str, language: str, most: int) -> tuple[str, ...]:
        """The question about each of the 2 … `most` entities that it names together; () where it names no two, or `most` is
        less than 2."""
        tokens = self.tied_names.get(language)
        return each_named(question, tokens, self.opening.fullmatch, most) if tokens is not None and most > 1 else ()

    def _asks(self, clause: str, cut: re.Match[str]) -> bool:
        """Whether what stands before a cut is a question by itself."""
        if cut["anywhere"] and (word := self.asking_anywhere.search(clause)):
            return _letters(clause) - _letters(word.group()) >= LEAST_ASKED
        asked = self.opening.search(clause)
        if asked is None or _letters(clause[asked.end() :]) < LEAST_ASKED:
            return False
        if not cut["comma"]:
            return True
        # "When I'm ill" and "Can you tell me" begin as a question does.
        folded = fold(clause)
        return not clause[: asked.start()].strip(" ,.¿¡") and any(cues.search(folded) for cues in self.intents.values())

    def hypotheses(self, question: str, language: str, most: int) -> tuple[str, ...]:
        """Up to `most` texts that could stand in an answer (HyDE by templates); () in a language without any."""
        kinds = self.expansions.get(language)
        topic = self._topic(question)
        if kinds is None or not topic:
            return ()
        folded, cues = fold(question), self.expansion_cues[language]
        kind = next((name for name in EXPANSIONS if name in cues and cues[name].search(folded)), "general")
        return tuple(text.replace(SLOT, topic) for text in kinds.get(kind, kinds.get("general", ()))[:most])

    def _topic(self, question: str) -> str:
        """The question without the words by which it asks."""
        left = bare = " ".join(_MARKS.sub(" ", question).split())
        while (word := self.opening.match(left)) is not None:
            left = left[word.end() :].strip(" ,.")
        return left or bare


def joined(tables: Mapping[str, RoutingTable]) -> Routing:
    """All languages together; ValueError names an unknown intent or kind."""
    for code, table in tables.items():
        kinds = set(table.expansions) | set(table.expansion_cues)
        unknown = (set(table.intents) - set(PRECEDENCE)) | (kinds - set(EXPANSIONS))
        if unknown:
            raise ValueError(f"{code} names {sorted(unknown)[0]!r}, which is no intent")
    words = [word for table in tables.values() for word in table.question_words]
    ties = [tie for table in tables.values() for tie in table.conjunctions]
    asking = _alternatives(words)
    anywhere = [table for table in tables.values() if table.asks_anywhere]
    asking_anywhere = _alternatives([word for table in anywhere for word in table.question_words])
    cues = {name: [cue for table in tables.values() for cue in table.intents.get(name, ())] for name in PRECEDENCE}
    return Routing(
        intents={
            name: _pattern([cue for cue in found if not cue.startswith(OPENS) and not cue.endswith(ENDS)])
            for name, found in cues.items()
        },
        opening_cues={
            name: _pattern([cue.removeprefix(OPENS) for cue in found if cue.startswith(OPENS)]) for name, found in cues.items()
        },
        ending_cues={
            name: re.compile(rf"(?:{_alternatives([fold(cue.removesuffix(ENDS)) for cue in found if cue.endswith(ENDS)])})$")
            for name, found in cues.items()
        },
        second_question=_second_question(
            ties, asking, [tie for table in anywhere for tie in table.conjunctions], asking_anywhere
        ),
        opening=re.compile(asking, re.IGNORECASE),
        asking_anywhere=re.compile(asking_anywhere, re.IGNORECASE),
        expansion_cues={
            code: {kind: _pattern(cues) for kind, cues in table.expansion_cues.items()} for code, table in tables.items()
        },
        expansions={code: table.expansions for code, table in tables.items() if table.expansions},
        upcoming=_pattern([cue for table in tables.values() for cue in table.upcoming]),
        past=_pattern([cue for table in tables.values() for cue in table.past]),
        # A clause has two words at least, and what ties a second question ("when and with whom did we …") makes none.
        behind_clause=re.compile(
            rf"\s+(?!{_alternatives([fold(tie) for tie in ties])})\S+\s+\S.*?"
            rf"(?:{_alternatives([fold(word) for table in tables.values() for word in table.behind_clause])})"
        ),
        also=re.compile(
            rf"(?:{_alternatives([tie for table in tables.values() for tie in table.also])})\s"
            rf"|(?:{_alternatives([tie for tie in ties if not tie.endswith('+')])})\s+(?=(?P<owner>\w+['’]s)(?!\w))",
            re.IGNORECASE,
        ),
        tied_names={
            code: tokens_by(_alternatives([tie for tie in table.conjunctions if not tie.endswith("+")]))
            for code, table in tables.items()
            if code not in NOUN_CAPITALS
        },
    )


def _second_question(ties: Sequence[str], asking: str, ties_anywhere: Sequence[str], asking_anywhere: str) -> re.Pattern[str]:
    """What stands between two questions, up to the beginning of the second."""
    # What is written together with the word behind it, as in Arabic.
    glued = "|".join(re.escape(tie.removesuffix("+")) for tie in ties if tie.endswith("+")) or "(?!)"
    apart, tied = (_alternatives([tie for tie in some if not tie.endswith("+")]) for some in (ties, ties_anywhere))
    return re.compile(
        rf"(?:[,،\s]*(?:(?P<anywhere>{tied})\s*(?=(?:(?!{tied}).)*(?:{asking_anywhere}))|(?:{apart})\s*(?={asking})"
        rf"|(?<!\w)(?:{glued})(?={asking.replace(_BEGINS, '')}))|(?P<comma>[,،、])\s*(?={asking}))(?P<word>)",
        re.IGNORECASE,
    )


def _letters(text: str) -> int:
    """Letters; a sign that stands for a syllable or a word counts as two."""
    return sum(map(str.isalnum, text)) + len(_SYLLABLES.findall(text))


def _pattern(phrases: Sequence[str]) -> re.Pattern[str]:
    """Any of the phrases in a folded text."""
    folded = [fold(phrase.removesuffix("+")) + "+" * phrase.endswith("+") for phrase in phrases]
    # Where one is found is not asked: what begins a word is looked for at the beginnings of words alone.
    spaced = [phrase for phrase in sorted(set(folded)) if phrase.strip("+ ") and not _UNSPACED.search(phrase)]
    found = [rf"(?<!\w)(?:{'|'.join(map(_behind_its_beginning, spaced))})"] * bool(spaced)
    unspaced = _alternatives([phrase for phrase in folded if _UNSPACED.search(phrase)])
    return re.compile("|".join([*found, unspaced]))


def _alternatives(phrases: Sequence[str]) -> str:
    found = [_one(phrase) for phrase in sorted(set(phrases), key=lambda one: (-len(one), one)) if phrase.strip("+ ")]
    return "|".join(found) or "(?!)"


def _one(phrase: str) -> str:
    body = re.escape(phrase.removesuffix("+"))
    if _UNSPACED.search(phrase):
        return body
    return rf"{_BEGINS}{_behind_its_beginning(phrase)}"


def _behind_its_beginning(phrase: str) -> str:
    return re.escape(phrase.removesuffix("+")) + ("" if phrase.endswith("+") else r"(?!\w)")
