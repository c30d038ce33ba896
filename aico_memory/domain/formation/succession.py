"""What takes the place of what: "MacFit is cancelled, I go to Gold Gym now" names no predicate, but what it replaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from aico_memory.domain.formation.formed import SPEAKER, FormedFact
from aico_memory.domain.formation.frames import Frame, Party
from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.formation.kinds_of_things import alike, is_a
from aico_memory.domain.formation.naming import object_key
from aico_memory.domain.formation.parties import may_mean
from aico_memory.domain.formation.wording import lower_in, trim
from aico_memory.domain.memory import OPEN

# Known predicates that say so little that what they replace says more.
WEAK = frozenset({"uses", "owns", "returned", "does", "eats", "drinks", "hobby", "likes", "trip"})
# What one has and uses is of a kind that the thing it replaces tells.
THINGS_HAD = frozenset({"uses", "owns"})
HOME, SUBSCRIPTION = "home_city", "subscription"


@dataclass(slots=True)
class Statements:
    """What was read, in the order it was said."""

    facts: list[FormedFact] = field(default_factory=list)
    plans: list[FormedFact] = field(default_factory=list)
    trace: list[str] = field(default_factory=list)
    # A correction or retraction was heard, or something to be remembered.
    strong: bool = False
    last_party: Party | None = None
    # Whom the message spoke of, the newest last.
    spoken: list[Party] = field(default_factory=list)
    # The act that a sentence before announced for this one.
    pending: str = ""
    # Names of what is told to be over or gone, in the words in which it was said ("Dr. Haddad retired").
    gone: list[str] = field(default_factory=list)
    # The message itself.
    text: str = ""
    # Somebody moved, without a word of where to.
    moved: bool = False


def may_be_meant(text: str, party: Party, grammar: Grammar) -> bool:
    """Whether a pronoun of the text may stand for somebody, by what an article has told of them."""
    pronouns = [word for word in lower_in(text, grammar.code).split() if word in ("er", "sie")]
    return grammar.parser != "german" or not pronouns or any(may_mean(one, party) for one in pronouns)


def meant_by_pronoun(clause: str, result: Statements, grammar: Grammar) -> Party | None:
    """Whom a pronoun of the clause stands for: in German the last one spoken of whose article goes with it."""
    party = result.last_party
    if grammar.parser != "german" or party is None:
        return party
    if party not in result.spoken:
        result.spoken.append(party)
    pronoun = next((word for word in lower_in(clause, grammar.code).split() if word in ("er", "sie")), "")
    if not pronoun or may_mean(pronoun, party):
        return party
    return next((one for one in reversed(result.spoken) if may_mean(pronoun, one)), party)


def note_what_is_over(result: Statements, frame: Frame, grammar: Grammar) -> None:
    """Keeps the names of what a clause tells to be over ("Atlas is done"), and that somebody moved."""
    name = frame.subject.name or (frame.text if frame.subject.noun else "")
    first = lower_in(trim(frame.rest.split()[0]), grammar.code) if frame.rest else ""
    over = frame.verb in grammar.words["over"] or (frame.verb in grammar.words["copulas"] and first in grammar.words["over"])
    whole = not frame.rest or first in grammar.words["over"] or frame.rest.casefold() in grammar.words["over"]
    if over and whole and name and not frame.negated and not frame.ended:
        if frame.subject.name:
            result.gone.append(frame.subject.name)
        elif frame.subject.noun:
            result.gone.append(frame.subject.noun.split()[-1])
    moves = frame.verb in grammar.words["moves"] and (frame.past or frame.perfect) and not frame.negated
    if moves and frame.subject.name and len(frame.rest.split()) <= 1:
        # "Mrs Whitlock moved out, our new neighbour is …"
        result.gone.append(frame.subject.name)
    result.moved = result.moved or (moves and not frame.rest)


def succeeded(result: Statements, tables: FormationTables, grammar: Grammar) -> Statements:
    """With what each vague statement replaces, where the same message tells that something alike is over.

    Whether what is over was ever known, and as what, only the store can tell: there the new
    value takes over the predicate under which the old one was kept.
    """
    _instead_of_what_never_was(result)
    ends = [fact for fact in result.facts if fact.act == "end" and fact.value]
    if not ends and not result.gone:
        return result
    quit_somewhere = any(one.predicate == "employer" for one in ends)
    for place, fact in enumerate(result.facts):
        # "I left the Ritz and I'm at Claridge's now": whatever the Ritz was.
        stays = (quit_somewhere or bool(result.gone)) and fact.predicate == "location" and fact.valid_until_us == OPEN
        vague = stays or fact.predicate in WEAK or (fact.predicate not in tables.predicates and ":" not in fact.predicate)
        one_of_many = fact.predicate.startswith("attribute:") and not fact.single_valued
        vague = vague or (one_of_many and bool(result.gone))
        # "I signed up with Anytime and cancelled PureGym"
        vague = vague or (fact.predicate == SUBSCRIPTION and not is_a(fact.value, "streaming", tables, grammar))
        if fact.act != "assert" or fact.corrected not in ("", "*") or not vague or not fact.value:
            continue
        if fact.predicate == "be" and fact.value[:1].islower():
            # "Boncuk öldü, çok üzgünüm": how one feels takes nobody's place.
            continue
        left = [end.value for end in ends if end.subject == fact.subject and (stays or _may_be_anything(end, fact, tables))]
        # "Mr Bell retired. Felix has a cold": a name makes way for a name.
        gone = [one for one in result.gone if one[:1].islower() or fact.value[:1].isupper() or fact.subject == SPEAKER]
        if fact.predicate == "hobby":
            # "I've taken up chess. The owl is finished": what is told gone before, and not what comes after.
            gone = [one for one in gone if result.text.find(one) < result.text.find(fact.value)]
        left = [one for one in (*left, *gone) if alike(one, fact.value, tables, grammar)]
        if fact.predicate not in tables.predicates and ":" not in fact.predicate and not fact.value[:1].isupper():
            # "I cancelled PureGym, I just run in the park now": where one runs is no gym.
            left = [one for one in left if one in result.gone]
        # "Our dog Rex died" names Rex and ends him: nobody takes his own place.
        left = [one for one in left if one != fact.value]
        if left:
            result.facts[place] = _in_place_of(_as_what_ended(fact, left[-1], ends, tables), left[-1], grammar)
    return result


def _as_what_ended(fact: FormedFact, old: str, ends: Sequence[FormedFact], tables: FormationTables) -> FormedFact:
    """ "I'm no longer with EE, I've gone over to Three": what EE was told to be by the very clause that ended it."""
    end = next((one for one in reversed(ends) if one.value == old and one.subject == fact.subject), None)
    known = tables.predicates.get(end.predicate) if end is not None else None
    if known is None or known.general or not known.single_valued or not known.type or fact.predicate != "uses":
        return fact
    return replace(fact, predicate=known.name, single_valued=True, kind=known.kind)


def _may_be_anything(end: FormedFact, fact: FormedFact, tables: FormationTables) -> bool:
    """Whether what ends was named by a verb that does not tell what it was ("I sold the Golf")."""
    known = tables.predicates.get(end.predicate)
    vague = known is None or known.general or end.predicate in WEAK | {"subscription", "gym"}
    # "Theo quit football": nobody works there.
    vague = vague or (end.predicate == "employer" and end.value[:1].islower())
    a_thing = known is not None and bool(known.type) and end.predicate != "diet"
    return (end.predicate != fact.predicate or end.predicate in THINGS_HAD) and (
        vague or (a_thing and fact.predicate in THINGS_HAD)
    )


def _in_place_of(fact: FormedFact, old: str, grammar: Grammar) -> FormedFact:
    return replace(fact, corrected=object_key(old, grammar))


def _instead_of_what_never_was(result: Statements) -> None:
    """ "That about Monaco was a joke. I live in Gera": one correction, for as long as Monaco was believed."""
    for denied in [fact for fact in result.facts if fact.act == "retract" and fact.corrected]:
        for place in range(result.facts.index(denied) + 1, len(result.facts)):
            fact = result.facts[place]
            same = (fact.subject, fact.predicate) == (denied.subject, denied.predicate) or not denied.predicate
            told = fact.act == "assert" or (fact.act == "correct" and not fact.corrected)
            if told and fact.single_valued and same and fact.valid_until_us == OPEN:
                result.facts[place] = replace(fact, act="correct", corrected=denied.corrected)
                result.facts.remove(denied)
                break
