"""What the rules know of a language and of predicates: data of `config/language/<code>.yaml` and `config/predicates.yaml`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal

from aico_memory.domain.formation.apart import Tellings
from aico_memory.domain.formation.injection import InjectionRule
from aico_memory.domain.formation.observe import Signals
from aico_memory.settings.write_path import FormSettings, ObserveSettings, WritePathSettings


@dataclass(frozen=True, slots=True)
class Calendar:
    """Words of time of one language; weekday 0 is Monday."""

    weekdays: Mapping[str, int]
    months: Mapping[str, int]
    # word -> day | week | month | year | hour | weekend
    units: Mapping[str, str]
    numbers: Mapping[str, int]
    # "today" -> 0, "yesterday" -> -1
    days: Mapping[str, int]
    # "next" -> 1, "this" -> 0, "last" -> -1
    steps: Mapping[str, int]
    # Named forms with `{d}` for a date phrase: since, until, at, ago, ahead, lasting, held, end_of, start_of.
    forms: Mapping[str, tuple[str, ...]]
    # Words without which no message is searched for dates; built from the rest.
    cues: frozenset[str] = frozenset()
    # Season -> the month in which it begins.
    seasons: Mapping[str, int] = field(default_factory=dict)
    # Holiday -> the month and day of it, or (0, days after Easter Sunday).
    holidays: Mapping[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plausible:
    """What a value has to be, where the wording of a predicate is that of ordinary talk. One of the ways is enough."""

    # Only of people (the speaker, somebody named, a relation).
    of_people: bool = False
    # Verbs whose wording says by itself that it is one ("I work as …").
    trusted: frozenset[str] = frozenset()
    # Verbs that tell it of now only ("when I was ten"); verbs that tell it of nobody with whom something is done.
    present: frozenset[str] = frozenset()
    not_with: frozenset[str] = frozenset()
    # A name: any of its words, or its last; a number, with only these words beside it; of one of these types.
    named: Literal["", "any", "last"] = ""
    # How such a name ends, where not every name is one ("Lazca" is a language, "Zeynep" is none).
    named_endings: tuple[str, ...] = ()
    number: bool = False
    beside: frozenset[str] = frozenset()
    type: tuple[str, ...] = ()
    # What its last word is, or ends with, and what ends so and is none.
    heads: frozenset[str] = frozenset()
    endings: tuple[str, ...] = ()
    never: frozenset[str] = frozenset()
    # How its first word ends where it tells what is done ("my job is teaching maths").
    doing: tuple[str, ...] = ()
    # Verbs after which one word without an article may be a name in small letters.
    bare_after: frozenset[str] = frozenset()
    # Any value but these heads, and none that an opinion opens or one of these words stands before.
    open_to_all: bool = False
    no_opinions: bool = False
    not_after: frozenset[str] = frozenset()
    # Endings by which it is told what something was like then ("bahçe çiçekliydi"), believed of one's own people only.
    lasting: tuple[str, ...] = ()
    # How a value ends that is only what somebody goes on doing ("I keep smiling").
    no_doing: tuple[str, ...] = ()
    # Words at most; 0: any number.
    most_words: int = 0


@dataclass(frozen=True, slots=True)
class Beliefs:
    """What a language believes of whom."""

    # Subjects and values that name nobody and nothing ("here is a picture").
    nobody: frozenset[str] = frozenset()
    # Words before which what one is has been said, beside prepositions ("head of marketing").
    within: frozenset[str] = frozenset()
    # Words that say how somebody finds something, and words of degree before them.
    opinions: frozenset[str] = frozenset()
    degrees: frozenset[str] = frozenset()
    # Endings by which a value is told of the past ("inanılmazdı"); whether its last word says what it is, not the first.
    past_endings: tuple[str, ...] = ()
    head_last: bool = False
    # By predicate; by what stands before the colon where there is one ("attribute").
    values: Mapping[str, Plausible] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Grammar:
    """One language for the fact rules; every word is lower case. Equal to itself alone, so that it can be a key."""

    code: str
    # english | german | turkish: which parser reads its clauses.
    parser: str
    calendar: Calendar
    # Lists of words and phrases by name (pronouns, fillers, stops …).
    words: Mapping[str, frozenset[str]]
    # Regular expressions by name (openers of corrections, marks of endings …).
    marks: Mapping[str, tuple[re.Pattern[str], ...]]
    # form -> lemma
    verbs: Mapping[str, str]
    # form -> present | past | participle | progressive | infinitive
    tenses: Mapping[str, str]
    # Nouns for people and animals one stands in relation to -> whether there is one of them only.
    relations: Mapping[str, bool]
    # Words that ask -> what they ask for (where, when, since, who), longest first.
    asks: tuple[tuple[re.Pattern[str], str], ...] = ()
    # A question that wants a name, and one that wants what was before.
    naming: re.Pattern[str] | None = None
    former: re.Pattern[str] | None = None
    # A question for what was before or after the value that it names ("before Bath"): what follows in the group `what`.
    before: re.Pattern[str] | None = None
    after: re.Pattern[str] | None = None
    # A question for yes or no, and one that asks for any value at all ("do I have any pets?").
    yes_no: re.Pattern[str] | None = None
    anything: re.Pattern[str] | None = None
    # A question for what one does at some time.
    doing: re.Pattern[str] | None = None
    # A question in the past tense, and one for what is to come.
    past: re.Pattern[str] | None = None
    future: re.Pattern[str] | None = None
    # children -> son, daughter, child: nouns of many relations at once
    collectives: Mapping[str, frozenset[str]] = field(default_factory=dict)
    # mum -> mother
    synonyms: Mapping[str, str] = field(default_factory=dict)
    # Word of a question -> other words that a statement may have for it.
    thesaurus: Mapping[str, frozenset[str]] = field(default_factory=dict)
    # Sentences that are said of the subject, for the standalone text.
    templates: Mapping[str, str] = field(default_factory=dict)
    # How one of several facts of a sentence is told by itself.
    tellings: Tellings | None = None
    # Wordings that are read as a plainer one, in order ("new locker code: 12" -> "my new locker code is 12"), and words of
    # which a text must hold one for the wording to be tried; none: it always is.
    rewrites: tuple[tuple[re.Pattern[str], str, tuple[str, ...]], ...] = ()
    beliefs: Beliefs = field(default_factory=Beliefs)
    # The same of questions.
    asked: tuple[tuple[re.Pattern[str], str], ...] = ()

    def has(self, group: str, word: str) -> bool:
        """Whether the word stands in that list."""
        return word in self.words.get(group, frozenset())


@dataclass(frozen=True, slots=True)
class Pattern:
    """One way of saying a predicate: a regular expression over `<verb> <rest>` with the group `v`."""

    expression: re.Pattern[str]
    # assert | end | dislike …: what the pattern does; "" asserts.
    act: str
    source: str
    # What the value, the noun and what stands beside them must be ("animal", "when"); empty: anything.
    value_type: str = ""
    noun_type: str = ""
    beside_type: str = ""
    # First words of what it can match; empty: any.
    starts: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Surface:
    """One predicate in one language."""

    say: tuple[Pattern, ...] = ()
    # Where each first word stands in `say`, and which patterns may begin with any word: few are tried on a clause.
    at: Mapping[str, frozenset[int]] = field(default_factory=dict)
    open_at: frozenset[int] = frozenset()
    # Each pattern is a bag of words; a word may have alternatives and end with +.
    ask: tuple[tuple[re.Pattern[str], ...], ...] = ()
    # Nouns that name it: "my <noun> is …".
    nouns: frozenset[str] = frozenset()

    def starting(self, words: Collection[str]) -> tuple[Pattern, ...]:
        """The patterns that can match what begins with one of these words, in their order."""
        found = [self.at[word] for word in words if word in self.at]
        if not found and not self.open_at:
            return ()
        return tuple(self.say[place] for place in sorted(self.open_at.union(*found)))


@dataclass(frozen=True, slots=True)
class Predicate:
    """One well-known predicate."""

    name: str
    single_valued: bool
    kind: str
    surfaces: Mapping[str, Surface]
    # Predicates that share their answer where this one has none (a stay answers where one is).
    falls_back: tuple[str, ...] = ()
    # Asserted instead when denied ("I don't like X").
    opposite: str = ""
    # A new value of this one ends these (retired: the employer).
    ends: tuple[str, ...] = ()
    # Its value is a time, so that a phrase of time is no validity.
    temporal: bool = False
    # Its value is who "my <noun>" is, for each of its nouns.
    relation: bool = False
    # Read only where no other predicate reads the clause.
    general: bool = False
    # True whenever it was said ("I was born in …"), whatever the tense.
    permanent: bool = False
    # What is announced for a time to come: stated now, read only where the clause speaks of what is to come.
    planned: bool = False
    # What a question that means it never asks for (where, when).
    not_asked: tuple[str, ...] = ()
    # Predicates that do not read a clause that this one reads.
    over: tuple[str, ...] = ()
    # Objects known to be of this type are its values, whichever general predicate read them.
    type: str = ""
    # What its value is a name of: place, person, organisation; empty where it is none.
    names: str = ""
    # Asked for when it is long over ("What did I study?").
    remembered: bool = False
    # What holds once this is done: a language that was learned is spoken. Of objects of the type with that name.
    reached: str = ""


@dataclass(frozen=True, slots=True)
class FormationTables:
    """Everything the formation and recall rules read."""

    grammars: Mapping[str, Grammar]
    predicates: Mapping[str, Predicate]
    # What something is -> the objects known to be it ("car" -> skoda …).
    types: Mapping[str, frozenset[str]]
    # language -> words and expressions that speak for classes, feelings and tricks
    signals: Mapping[str, Signals] = field(default_factory=dict)
    # language -> endings of words for professions
    profession_endings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # What something is -> parts of words that give it away ("school" -> gymnasium …)
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # language -> how texts are spelled that try to give orders to the memory
    injection: Mapping[str, InjectionRule] = field(default_factory=dict)
    # What a deployment is configured to.
    observe: ObserveSettings = field(default_factory=ObserveSettings)
    form: FormSettings = field(default_factory=FormSettings)
    # (language, noun) -> predicate
    nouns: Mapping[tuple[str, str], str] = field(init=False, repr=False, compare=False)
    # language -> those of them that are several words
    compounds: Mapping[str, tuple[str, ...]] = field(init=False, repr=False, compare=False)

    def configured(self, figures: WritePathSettings) -> FormationTables:
        """The same rules under a deployment's figures."""
        margin = figures.observe.injection_margin
        rules = {code: replace(rule, threshold=rule.threshold + margin) for code, rule in self.injection.items()}
        return replace(self, observe=figures.observe, form=figures.form, injection=rules)

    def __post_init__(self) -> None:
        nouns = {
            (language, noun): predicate.name
            for predicate in self.predicates.values()
            for language, surface in predicate.surfaces.items()
            for noun in surface.nouns
        }
        object.__setattr__(self, "nouns", nouns)
        compounds: dict[str, list[str]] = {}
        for language, noun in nouns:
            if " " in noun:
                compounds.setdefault(language, []).append(noun)
        object.__setattr__(self, "compounds", {language: tuple(some) for language, some in compounds.items()})

    def single_valued(self, predicate: str) -> bool:
        """Known predicates say so themselves; an attribute has one value, unless its noun is one of many."""
        known = self.predicates.get(predicate)
        return known.single_valued if known else False


_SLOT = re.compile(r"\{([vwnx])(?:=(\w+))?\}")
_SLOTS = {
    "v": r" (?P<v>\S.*?)",
    "w": r" (?P<v>\S.*)",
    "n": r" (?P<n>\S+(?: \S+){0,4}?)",
    "x": r"(?: \S+)+?",
    "x=": r" (?P<x>\S+(?: \S+)*?)",
}


def compile_pattern(text: str, stops: frozenset[str]) -> Pattern:
    """A pattern of words: `{v}` the value up to the next preposition, `{w}` up to the end, `{n}` a noun, `{x}` anything,
    `{v=type}` and `{x=type}` only of that type, `..` what may stand between, `(a|b)`, `word?`, `word+`; `end:` before it
    ends what held.
    """
    act, _, body = text.rpartition(":")
    words = re.findall(r"\([^)]*\)\??|\S+", body)
    types = {"v": "", "n": "", "x": ""}
    parts: list[str] = []
    exact = words[-1] == "$"
    if exact:
        words.pop()
    for number, word in enumerate(words):
        slot = _SLOT.fullmatch(word.rstrip("?"))
        if slot:
            types["v" if slot[1] in "vw" else slot[1]] = slot[2] or ""
            piece = _SLOTS["x=" if slot[0].startswith("{x=") else slot[1]]
            if slot[1] == "v" and (number == len(words) - 1):
                piece += _stop(stops)
            parts.append(f"(?:{piece})?" if word.endswith("?") else piece)
        elif word == "..":
            parts.append(r"(?: \S+)*?")
        elif word.endswith("?"):
            parts.append(f"(?: {_literal(word[:-1])})?")
        else:
            parts.append(f" {_literal(word)}")
    tail = "" if words[-1].startswith("{v") else "$" if exact or "{" in words[-1] else r"(?: .*)?$"
    expression = re.compile("^" + "".join(parts) + tail)
    return Pattern(expression, act.strip(), text, types["v"], types["n"], types["x"], _starts(words))


def _starts(words: Sequence[str]) -> frozenset[str]:
    """The first words of what a pattern matches; empty where any may stand there."""
    first = words[0]
    inner = first[1:-1] if first.startswith("(") and first.endswith(")") else first
    # "practi(s|c)e", "word+", "{n}", "word?"
    if first == ".." or any(mark in inner for mark in "(){+?") or first.endswith("?"):
        return frozenset()
    return frozenset(one.replace("_", " ").split()[0] for one in inner.split("|"))


def _literal(word: str) -> str:
    # Alternatives in brackets and a trailing + (a word's beginning) are the only operators.
    escaped = re.escape(word).replace(r"\(", "(?:").replace(r"\)", ")").replace(r"\|", "|").replace("_", " ")
    return escaped.replace(r"\ ", " ").replace(r"\+", r"[^ ]*")


@lru_cache(maxsize=64)
def _stop(stops: frozenset[str]) -> str:
    return "(?= (?:" + "|".join(sorted(map(re.escape, stops), key=len, reverse=True)) + ")(?: |$)|$)" if stops else "$"


def compile_question(text: str, language: str = "") -> tuple[re.Pattern[str], ...]:
    """A bag of words that must all be in the question: `where live+|reside+`."""
    bag = []
    # arbeit+: arbeite, arbeitest, gearbeitet.
    before = "(?:ge)?" if language == "de" else ""
    for word in text.split():
        alternatives = (re.escape(one).replace(r"\+", r"\w*").replace("_", " ") for one in word.split("|"))
        bag.append(re.compile(rf"(?<!\w){before}(?:" + "|".join(alternatives) + r")(?!\w)"))
    return tuple(bag)
