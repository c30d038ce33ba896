"""Choosing what answers a question and was true at the time asked about: normally one value, none where nothing was."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aico_memory.domain.formation.formed import SPEAKER
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.memory import OPEN
from aico_memory.domain.recall.groups import Group, grouped, head_of, kin
from aico_memory.domain.recall.matching import covered, same_head, stems
from aico_memory.domain.recall.question import Question
from aico_memory.domain.recall.timeline import ATTRIBUTE, THINGS, Held, at

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
    # What has no known name needs this likeness to answer a question that speaks for a well-known predicate.
    least_other: float = 0.65


def recall(
    question: Question,
    held: Sequence[Held],
    as_of_us: int,
    tables: FormationTables,
    similarity: Similarity,
    figures: RecallFigures,
) -> list[Held]:
    """What answers the question and held at `as_of`, the best evidence of its kind; empty where nothing did."""
    at_us = as_of_us if question.at_us == OPEN else min(question.at_us, as_of_us)
    groups = grouped(held)
    about = _subjects(question, groups, tables)
    for group in groups:
        group.score = _score(group, question, about, tables)
    if about and not question.relations and not any(group.subject in about and group.score > 0 for group in groups):
        # Nothing is known of what is named that the question asks for: it is the speaker's own.
        about = frozenset()
        for group in groups:
            group.score = _score(group, question, about, tables)
    if about and not question.naming and any(group.subject in about and group.score >= 2 for group in groups):
        # "Where does my wife work?" asks of her, not who she is.
        groups = [group for group in groups if group.subject != SPEAKER]
    best = _best(groups, question, about, tables, similarity, figures)
    if best is None:
        return []
    if question.former and question.at_us == OPEN:
        return _former(best, at_us)
    if (known := tables.predicates.get(best.predicate)) and known.planned:
        # "Where are we going in June?" asks for the plan, whenever it was made.
        at_us = as_of_us
    answer = at(kin(best, groups, tables), at_us) or at(kin(best, groups, tables, near=True), at_us)
    if not answer:
        answer = _fallen_back(best, groups, tables, at_us)
    return _narrowed(answer, best, question, tables)


def _subjects(question: Question, groups: Sequence[Group], tables: FormationTables) -> frozenset[str]:
    """Subjects other than the speaker that the question names."""
    found = set()
    for group in groups:
        if group.subject == SPEAKER:
            continue
        words = stems(group.subject, question.language)
        if covered(group.subject.split(), question.words, question.language) or (
            words
            and (words <= question.stems or set(group.subject.split()) <= question.names or group.subject in question.relations)
        ):
            found.add(group.subject)
    if not found:
        # "the meeting" for "the team meeting", where there is only one.
        heads = {
            group.subject
            for group in groups
            if group.subject != SPEAKER and group.predicate in THINGS and len(group.subject.split()) > 1
            and (stems(head_of(group.subject, question.language, tables), question.language) <= question.stems
                 or stems(group.subject.split()[-1], question.language) <= question.stems
                 or any(same_head(group.subject, word, question.language) for word in question.words))
        }  # fmt: skip
        found |= heads if len(heads) == 1 else set()
    for group in groups:
        # "my sister": the one whom the speaker has named so.
        if group.subject == SPEAKER:
            known = tables.predicates.get(group.predicate)
            noun = group.predicate.removeprefix(ATTRIBUTE) if group.predicate.startswith(ATTRIBUTE) else ""
            mine = (
                known.surfaces[question.language].nouns
                if known and known.relation and question.language in known.surfaces
                else frozenset()
            )
            if mine & question.relations or (
                noun and (noun in question.relations or stems(noun, question.language) <= question.stems)
            ):
                found.update(
                    one.fact.value.casefold()
                    for one in group.held
                    if any(g.subject == one.fact.value.casefold() for g in groups)
                )
    return frozenset(found)


def _score(group: Group, question: Question, about: frozenset[str], tables: FormationTables) -> float:
    known = question.predicates.get(group.predicate, 0.0)
    noun_score = _noun_score(group, question, tables)
    if group.subject == SPEAKER:
        if noun_score:
            noun_score += 1.0 if question.naming else 0.0
        elsewhere = bool(about) or bool(question.relations)
        if elsewhere and not noun_score:
            # About somebody else; the speaker's own facts answer it only where the predicate names that somebody.
            named = any(
                relation in nouns for relation in question.relations for nouns in _nouns(group.predicate, question, tables)
            )
            return known if named else 0.0
        return known + noun_score
    if group.subject not in about:
        return 0.0
    longest = max((len(subject) for subject in about), default=0)
    closeness = 0.5 if len(group.subject) == longest else 0.0
    if group.predicate in ("time", "location"):
        fits = {"time": ("when",), "location": ("where",)}[group.predicate]
        known = max(known, 1.5) if question.asks in fits else known if known >= 2 else known * 0.3
    total = known + noun_score + _verb_score(group, question)
    return total + closeness + 0.5 if total else 0.0


def _nouns(predicate: str, question: Question, tables: FormationTables) -> list[frozenset[str]]:
    known = tables.predicates.get(predicate)
    surface = known.surfaces.get(question.language) if known else None
    return [surface.nouns] if surface else []


def _noun_score(group: Group, question: Question, tables: FormationTables) -> float:
    kind, _, noun = group.predicate.partition(":")
    if not noun:
        return _verb_score(group, question) if group.subject == SPEAKER else 0.0
    words = stems(noun, question.language)
    shared = words & question.stems
    if (words and words <= question.stems) or covered(noun.split(), question.words, question.language):
        return 1.5 + 0.5 * len(words)
    core = stems(head_of(noun, question.language, tables), question.language)
    if core and core <= question.stems:
        return 1.4 + 0.5 * len(core)
    if noun in question.relations:
        return 2.0
    if kind == "favourite" and any(
        word in token or token in word for word in words for token in question.stems if len(token) > 3
    ):
        return 1.6
    return 0.6 * len(shared) / max(1, len(words)) if shared else 0.0


def _verb_score(group: Group, question: Question) -> float:
    """An open predicate is named by its verb."""
    if ":" in group.predicate or group.held[0].fact.language != question.language:
        return 0.0
    verb = group.predicate.split("_")[0]
    return 1.0 if stems(verb, question.language) & question.stems and verb not in question.predicates else 0.0


def _best(
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
    top = max((group.score for group in eligible), default=0.0)
    if top >= figures.least_score:
        leaders = [group for group in eligible if group.score >= top - 0.01]
        if len(leaders) == 1:
            return leaders[0]
        likeness = _likeness(leaders, similarity)
        return max(zip(likeness, leaders, strict=True), key=lambda pair: pair[0])[1]
    strongest = max(question.predicates, key=lambda name: question.predicates[name], default="")
    if strongest and question.predicates[strongest] >= figures.least_score and not about and not question.relations:
        for name in tables.predicates[strongest].falls_back:
            # "Where am I?", where only the home is known.
            for group in groups:
                if (group.subject, group.predicate) == (SPEAKER, name):
                    return group
    if question.predicates and not eligible:
        return None
    open_groups = [group for group in eligible if about or (group.subject == SPEAKER and not question.relations)]
    if about and not question.naming:
        # Who Lena is answers nothing that is asked about her.
        open_groups = [group for group in open_groups if group.subject in about]
    least = figures.least_similarity
    known = [name for name, said in question.predicates.items() if said >= figures.least_known]
    if any(not tables.predicates[name].general for name in known):
        # It asks for something well known of which nothing is held: only what has no known name may be meant.
        open_groups = [group for group in open_groups if group.predicate not in tables.predicates]
        least = figures.least_other
    if not open_groups:
        return None
    likeness = _likeness(open_groups, similarity)
    overlap = [_overlap(group, question) for group in open_groups]
    scored = [
        (like + 0.3 * share + 0.2 * group.score, group)
        for like, share, group in zip(likeness, overlap, open_groups, strict=True)
    ]
    score, group = max(scored, key=lambda pair: pair[0])
    return group if score >= least else None


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


def _former(group: Group, at_us: int) -> list[Held]:
    """What held before and holds no longer, the latest."""
    over = [one for one in group.held if one.until_us <= at_us and one.until_us > one.from_us]
    return sorted(over, key=lambda one: (one.until_us, one.from_us))[-1:]


def _fallen_back(best: Group, groups: Sequence[Group], tables: FormationTables, at_us: int) -> list[Held]:
    known = tables.predicates.get(best.predicate)
    for name in known.falls_back if known else ():
        for group in groups:
            if group.subject == best.subject and group.predicate == name and (answer := at(group.held, at_us)):
                return answer
    return []


def _narrowed(answer: list[Held], group: Group, question: Question, tables: FormationTables) -> list[Held]:
    """Where the question names some of many values, those, even if none of them holds; else all."""
    if not answer or answer[0].fact.single_valued:
        return answer
    named = [one for one in group.held if _named(one, question)]
    if question.yes_no and not named and _left_over(question, group, tables):
        # "Do I still have a beagle?", where none is known.
        return []
    return [one for one in answer if _named(one, question)] if named else answer


def _named(one: Held, question: Question) -> bool:
    words = stems(one.fact.value, question.language)
    return bool(words) and words <= question.stems


def _left_over(question: Question, group: Group, tables: FormationTables) -> bool:
    """Whether the question names something beside what it asks for: a word that is neither of grammar nor of the predicate."""
    grammar = tables.grammars[question.language]
    known = tables.predicates.get(group.predicate)
    surface = known.surfaces.get(question.language) if known else None
    for word in question.words:
        if any(word in grammar.words[name] for name in _FUNCTION) or word in grammar.tenses or len(word) < 3:
            continue
        if surface and (any(one.fullmatch(word) for bag in surface.ask for one in bag) or word in surface.nouns):
            continue
        if known is None and stems(word, question.language) & stems(group.predicate.replace("_", " "), question.language):
            continue
        if word in grammar.calendar.days or word in grammar.calendar.units:
            continue
        return True
    return False


_FUNCTION = ("speaker", "pronouns", "possessives", "determiners", "prepositions", "adverbs", "openers", "empty", "own", "now")
