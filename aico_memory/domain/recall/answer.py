"""Choosing what answers a question and was true at the time asked about: normally one value, none where nothing was."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from aico_memory.domain.formation.attributes import ATTRIBUTE
from aico_memory.domain.formation.formed import SPEAKER
from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.formation.standing import COUNT
from aico_memory.domain.memory import OPEN
from aico_memory.domain.recall.beside import by_value_named
from aico_memory.domain.recall.broader import answered_broadly, falls_back, says_nothing
from aico_memory.domain.recall.called import asks_only_a_name
from aico_memory.domain.recall.doings import liked_to_do, still_done, uncontradicted
from aico_memory.domain.recall.groups import Group, Recalled, grouped, kin
from aico_memory.domain.recall.matching import stems
from aico_memory.domain.recall.named import another_thing, noun_score, verb_score
from aico_memory.domain.recall.on_days import done_on, weekday_asked
from aico_memory.domain.recall.question import Question, moment_of
from aico_memory.domain.recall.sorts import of_another_sort
from aico_memory.domain.recall.subjects import (
    is_of_others,
    known_by_name,
    names_a_stranger,
    names_a_thing,
    of_somebody,
    subjects_of,
)  # fmt: skip
from aico_memory.domain.recall.timeline import Held, at
from aico_memory.domain.recall.yes_no import decided, names

# What others do may be what they do in their free time; of oneself one asks for either.
OF_OTHERS = frozenset({"role"})
# Where somebody is, which is not where their things are.
WHEREABOUTS = frozenset({"home_city", "location", "employer", "school"})
# What tells how often something is done, and what asks for it.
FREQUENCY, OFTEN = "frequency", "often"
# Texts -> how like the question each is, −1 … 1.
Similarity = Callable[[Sequence[str]], Sequence[float]]


@dataclass(frozen=True, slots=True)
class RecallFigures:
    """What decides where the wording of the question does not."""

    # A group whose predicate nothing in the question speaks for needs at least this likeness.
    least_similarity: float = 0.45
    # Least score of a group.
    least_score: float = 1.0
    # From this score on the question speaks for a well-known predicate, and no other one stands in for it.
    least_known: float = 1.5
    # What is one's favourite dish needs this likeness to answer what one's favourite food is: of thirty pairs of an English
    # favourite and a question for another, those of one sense have .55 and more, those of another .52 at most.
    least_favourite: float = 0.54
    # What has no known name needs this likeness to answer a question that speaks for a well-known predicate.
    least_other: float = 0.65
    # Languages whose sentences the embedding model can tell apart.
    embedded_languages: frozenset[str] = frozenset({"en"})


def recall(
    question: Question,
    held: Sequence[Held],
    as_of_us: int,
    tables: FormationTables,
    similarity: Similarity,
    figures: RecallFigures,
) -> list[Held]:
    """What answers the question and held at `as_of`, the best evidence of its kind; empty where nothing did."""
    return recalled(question, held, as_of_us, tables, similarity, figures).answer


def recalled(  # noqa: PLR0912
    question: Question,
    held: Sequence[Held],
    as_of_us: int,
    tables: FormationTables,
    similarity: Similarity,
    figures: RecallFigures,
) -> Recalled:
    """`recall`, with what is held of what was asked for."""
    at_us = moment_of(question, as_of_us)
    if (day := weekday_asked(question.text, tables.grammars[question.language])) and (
        doings := done_on(day, held, as_of_us, question.language)
    ):
        return Recalled(doings, doings)
    if names_a_stranger(question, held, tables.grammars[question.language]):
        return Recalled([])
    groups = [group for group in grouped(held) if question.asks != OFTEN or group.predicate == FREQUENCY]
    about = subjects_of(question, groups, tables)
    if not about and names_a_thing(question, tables.grammars[question.language]):
        groups = [group for group in groups if group.subject != SPEAKER or group.predicate not in WHEREABOUTS]
    if (decisive := decided(question, groups, about, at_us, tables)) is not None:
        return Recalled(decisive, decisive)
    if broad := answered_broadly(question, groups, about, at_us, tables):
        return Recalled(broad, broad)
    # How many there are is no answer to who they are.
    groups = [group for group in groups if not group.predicate.startswith(COUNT)]
    for group in groups:
        group.score = _score(group, question, about, tables)
    if about and not question.relations and not any(group.subject in about and group.score > 0 for group in groups):
        # Nothing is known of what is named: it is the speaker's own, unless it is somebody.
        if not question.naming and about & known_by_name(groups, tables):
            return Recalled([])
        about = frozenset()
        for group in groups:
            group.score = _score(group, question, about, tables)
    if about and not question.naming and any(group.subject in about and group.score >= 2 for group in groups):
        # "Where does my wife work?" asks of her, not who she is.
        groups = [group for group in groups if group.subject != SPEAKER]
    best = _best(groups, question, about, tables, similarity, figures)
    if best is None:
        return Recalled([])
    if (named := by_value_named(best, question, at_us)) is not None:
        return Recalled(named, best.held)
    if question.former and question.at_us == OPEN:
        return Recalled(_former(best, at_us), best.held)
    if (known := tables.predicates.get(best.predicate)) and known.planned:
        # "Where are we going in June?" asks for the plan, whenever it was made.
        at_us = as_of_us
    answer = at(kin(best, groups, tables), at_us) or at(kin(best, groups, tables, near=True), at_us)
    if not answer:
        answer = _fallen_back(best, question, groups, tables, at_us) or _remembered(best, question, held, at_us, tables)
    answer = uncontradicted(answer, held, at_us, tables)
    answer = still_done(liked_to_do(answer, question, tables), question, held, at_us)
    answer = [one for one in answer if not of_another_sort(one, question, tables.grammars[question.language])]
    return Recalled(_narrowed(answer, best, question, tables), best.held)


def _score(group: Group, question: Question, about: frozenset[str], tables: FormationTables) -> float:
    known = question.predicates.get(group.predicate, 0.0)
    by_noun = 0.0 if is_of_others(group, question, tables) else noun_score(group, question, tables)
    if group.subject == SPEAKER:
        by_noun += 1.0 if by_noun and question.naming else 0.0
        if (about or question.relations) and not by_noun:
            # About somebody else; the speaker's own facts answer only where the predicate names that somebody.
            nouns = frozenset().union(*_nouns(group.predicate, question, tables))
            return known if question.relations & nouns and not of_somebody(group, question, nouns, tables) else 0.0
        return known + by_noun
    if group.subject not in about:
        return 0.0
    longest = max((len(subject) for subject in about), default=0)
    closeness = 0.5 if len(group.subject) == longest else 0.0
    if group.predicate in ("time", "location"):
        fits = {"time": ("when",), "location": ("where",)}[group.predicate]
        known = max(known, 1.5) if question.asks in fits else known if known >= 2 else known * 0.3
    total = known + by_noun + verb_score(group, question, tables)
    return total + closeness + 0.5 if total else 0.0


def _is_general(group: Group, tables: FormationTables) -> bool:
    return bool((known := tables.predicates.get(group.predicate)) and known.general)


def _is_relation(group: Group, question: Question, tables: FormationTables) -> bool:
    known = tables.predicates.get(group.predicate)
    noun = group.predicate.removeprefix(ATTRIBUTE)
    return (known is not None and known.relation) or (
        noun != group.predicate and noun in tables.grammars[question.language].relations
    )


def _nouns(predicate: str, question: Question, tables: FormationTables) -> list[frozenset[str]]:
    known = tables.predicates.get(predicate)
    surface = known.surfaces.get(question.language) if known else None
    return [surface.nouns] if surface else []


def _best(  # noqa: PLR0912
    groups: list[Group],
    question: Question,
    about: frozenset[str],
    tables: FormationTables,
    similarity: Similarity,
    figures: RecallFigures,
) -> Group | None:
    eligible = [group for group in groups if (group.subject in about) == bool(about) or group.score > 0]
    if about or question.relations:
        eligible = [group for group in eligible if group.subject in about or group.score > 0]
    if question.asks in ("where", "when") or _asks_about_them(question, about, tables):
        # Who somebody is says neither where nor when; "What breed is my dog?" is not answered with who the dog is.
        eligible = [group for group in eligible if not _is_relation(group, question, tables)]
    top = max((group.score for group in eligible), default=0.0)
    if top >= figures.least_score:
        leaders = [group for group in eligible if group.score >= top - 0.01]
        leaders = [group for group in leaders if not _is_general(group, tables)] or leaders
        if len(leaders) == 1:
            return leaders[0]
        likeness = _likeness(leaders, similarity)
        return max(zip(likeness, leaders, strict=True), key=lambda pair: pair[0])[1]
    strongest = max(question.predicates, key=lambda name: question.predicates[name], default="")
    others = strongest in OF_OTHERS
    if strongest and question.predicates[strongest] >= figures.least_score and bool(about or question.relations) == others:
        for name in falls_back(strongest, question, tables):
            # "Where am I?", where only the home is known; "what does Nora do?", where it is judo.
            for group in groups:
                fits = group.subject in about | question.relations if others else group.subject == SPEAKER
                if fits and group.predicate == name:
                    return group
    if question.predicates and not eligible:
        return None
    open_groups = [group for group in eligible if about or (group.subject == SPEAKER and not question.relations)]
    open_groups = [group for group in open_groups if group.predicate not in question.contrary]
    if about and not question.naming:
        # Who Lena is answers nothing that is asked about her.
        open_groups = [group for group in open_groups if group.subject in about]
    if asks_only_a_name(question, tables.grammars[question.language]):
        # "What is my brother called?", where only is told where he lives.
        named = [group for group in open_groups if group.predicate in _OF_THE_RELATION]
        open_groups = [group for group in open_groups if _is_relation(group, question, tables)] + named
    open_groups = [group for group in open_groups if question.yes_no or not says_nothing(group, question)]
    least = figures.least_similarity
    known = [name for name, said in question.predicates.items() if said >= figures.least_known]
    if any(not tables.predicates[name].general for name in known):
        # It asks for something well known of which nothing is held: only what has no known name may be meant.
        open_groups = [group for group in open_groups if group.predicate not in tables.predicates]
        least = figures.least_other
    embedded = question.language in figures.embedded_languages
    if not embedded:
        # Any two sentences of a language that the model was not taught are alike to it: a word must be shared.
        open_groups = [group for group in open_groups if _shares_a_word(group, question, tables)]
    if not open_groups:
        return None
    likeness = _likeness(open_groups, similarity)
    overlap = [_overlap(group, question) for group in open_groups]
    scored = [
        (like + 0.3 * share + 0.2 * group.score, group)
        for like, share, group in zip(likeness, overlap, open_groups, strict=True)
        if not another_thing(group, question, tables, embedded and like >= figures.least_favourite)
    ]
    if not scored:
        return None
    score, group = max(scored, key=lambda pair: pair[0])
    return group if score >= least else None


def _asks_about_them(question: Question, about: frozenset[str], tables: FormationTables) -> bool:
    """Whether it names somebody's relation only to ask for something well known of them."""
    if question.naming or not question.relations:
        return False
    strongest = max(question.predicates, key=lambda name: question.predicates[name], default="")
    known = tables.predicates.get(strongest)
    told_of = bool(about) and known is not None and not (known.relation or known.general or strongest in _OF_THE_RELATION)
    return told_of or strongest in _NEVER_A_NAME


def _likeness(groups: Sequence[Group], similarity: Similarity) -> list[float]:
    texts = [one.fact.text for group in groups for one in group.held]
    values = list(similarity(texts))
    result, at_place = [], 0
    for group in groups:
        result.append(max(values[at_place : at_place + len(group.held)]))
        at_place += len(group.held)
    return result


def _overlap(group: Group, question: Question) -> float:
    best = 0.0
    for one in group.held:
        words = stems(one.fact.text, one.fact.language) - stems(one.fact.value, one.fact.language)
        best = max(best, len(words & question.stems) / max(1, len(question.stems)))
    return best


def _shares_a_word(group: Group, question: Question, tables: FormationTables) -> bool:
    """Whether what is held is told with a word of the question that means something by itself."""
    grammar = tables.grammars[question.language]
    telling = frozenset(
        stem
        for word in question.words
        if len(word) >= _TELLING and not any(word in grammar.words[name] for name in (*_FUNCTION, "asking"))
        if grammar.verbs.get(word) not in ("sein", "haben", "werden", "machen", "var", "ol", "et", "yap")
        for stem in stems(word, question.language)
    )
    return any(telling & stems(f"{one.fact.text} {one.predicate}", question.language) for one in group.held)


def _former(group: Group, at_us: int) -> list[Held]:
    """What held before and holds no longer, the latest."""
    over = [one for one in group.held if one.until_us <= at_us and one.until_us > one.from_us]
    return sorted(over, key=lambda one: (one.until_us, one.from_us))[-1:]


def _fallen_back(best: Group, question: Question, groups: Sequence[Group], tables: FormationTables, at_us: int) -> list[Held]:
    for name in falls_back(best.predicate, question, tables):
        for group in groups:
            if group.subject == best.subject and group.predicate == name and (answer := at(group.held, at_us)):
                return answer
    return []


def _remembered(best: Group, question: Question, held: Sequence[Held], at_us: int, tables: FormationTables) -> list[Held]:
    """ "What did I study?", asked after all that was said: what is long over, where one asks for that."""
    known = tables.predicates.get(best.predicate)
    last = max((one.statement.said_at_us for one in held), default=0)
    if known is None or not known.remembered or not question.past or at_us < last:
        return []
    over = [one for one in best.held if one.until_us <= at_us]
    return sorted(over, key=lambda one: (one.until_us, one.statement.said_at_us))[-1:]


def _narrowed(answer: list[Held], group: Group, question: Question, tables: FormationTables) -> list[Held]:
    """Where the question names some of many values, those, even if none of them holds; else all."""
    if not answer or answer[0].fact.single_valued:
        return answer
    named = [one for one in group.held if names(one, question)]
    if question.yes_no and not named and _left_over(question, group, tables):
        # "Do I still have a beagle?", where none is known.
        return []
    return [one for one in answer if names(one, question)] if named else answer


def _left_over(question: Question, group: Group, tables: FormationTables) -> bool:
    """Whether the question names something beside what it asks for: a word that is neither of grammar nor of the predicate."""
    grammar = tables.grammars[question.language]
    known = tables.predicates.get(group.predicate)
    surface = known.surfaces.get(question.language) if known else None
    for word in question.words:
        verb = word in grammar.tenses and not _stands_as_noun(word, question, grammar)
        if any(word in grammar.words[name] for name in _FUNCTION) or verb or len(word) < 3:
            continue
        if surface and (any(one.fullmatch(word) for bag in surface.ask for one in bag) or word in surface.nouns):
            continue
        if known is None and stems(word, question.language) & stems(group.predicate.replace("_", " "), question.language):
            continue
        if word in grammar.calendar.days or word in grammar.calendar.units:
            continue
        return True
    return False


def _stands_as_noun(word: str, question: Question, grammar: Grammar) -> bool:
    """ "A garden": behind an article."""
    words = [one.strip("?.,!") for one in question.text.casefold().split()]
    return any(one == word and before in grammar.words["determiners"] - grammar.words["own"] for before, one in pairwise(words))


# Letters of a word that means something by itself.
_TELLING = 4
# Predicates that may be answered with who somebody is.
_NEVER_A_NAME = frozenset(
    {"role", "employer", "home_city", "breed", "age", "birthday", "weight", "height", "phone_number", "wake_time"}
)
_OF_THE_RELATION = frozenset({"name", "pet", "named_pet", "new_relation"})
_FUNCTION = ("speaker", "pronouns", "possessives", "determiners", "prepositions", "adverbs", "openers", "empty", "own", "now")
