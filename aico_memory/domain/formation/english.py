"""English clauses: subject, verb group, rest."""

from __future__ import annotations

import re

from aico_memory.domain.formation import contractions
from aico_memory.domain.formation.english_gaps import OWNERS, continued, runs_on, whose, with_noun_of
from aico_memory.domain.formation.english_verbs import comes, comes_participle, comes_verb
from aico_memory.domain.formation.frames import Frame, Party, take_times
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.parties import read_party
from aico_memory.domain.formation.together import gapped
from aico_memory.domain.formation.wording import lower, squeeze, trim

expand = contractions.expand
_BE = frozenset(["am", "is", "are", "was", "were", "be", "been", "being"])
_HAVE = frozenset(["have", "has", "had", "having"])
_DO = frozenset(["do", "does", "did"])
_MODALS = frozenset(["will", "would", "can", "could", "should", "must", "might", "may", "shall"])
_UNREAL = frozenset(["would", "could", "should", "might", "may", "must"])
_HEADING = 6
_SPEAKERS = frozenset(["i", "we", "you", "they"])
_FINITE_PAST = frozenset(["was", "were", "had", "did"])
_INTENTIONS = frozenset(["want", "plan", "intend", "hope", "decide", "like", "need"])
_STARTS, _STOPS = frozenset(["start", "begin"]), frozenset(["stop", "quit"])
_DONE = ("past", "participle")
_SAME_PAST = frozenset(["quit", "split", "cut", "put", "let", "set", "hit"])
_PLURALS = frozenset(["children", "people", "kids", "men", "women", "parents"])
_CONNECTIVE = re.compile(
    r",? (?:and then|and so|and|but|so|because|although|though|since(?= I\b)|while|whereas|as(?= I\b)|yet|then|plus|which is why)(?: that)? |, |; |: | so that "  # noqa: E501
)


def clauses(sentence: str, grammar: Grammar) -> list[str]:
    """The sentence cut where what follows has a verb of its own."""
    parts: list[str] = []
    start = 0
    for match in _CONNECTIVE.finditer(sentence):
        if match.start() <= start:
            continue
        right = sentence[match.end() :]
        heading = sentence[start : match.start()]
        if match.group() == ": " and len(heading.split()) <= _HEADING and not _has_verb(heading, grammar):
            # "Sad day: Pepper passed away."
            start = match.end() if _opens_clause(right, grammar) else start
            continue
        joining = match.group().strip()
        if joining in ("and", ", and", ",") and (whole := _whole(heading, right, grammar, joining)):
            return [*parts, heading, *clauses(whole, grammar)]
        opens = _opens_clause(right, grammar) or _does_too(heading, match.group(), right, grammar)
        opens = opens or runs_on(heading, right, grammar)
        if opens and (_has_verb(heading, grammar) or _speaks(heading)):
            parts.append(sentence[start : match.start()])
            start = match.end()
    return [*parts, sentence[start:]]


def _whole(left: str, right: str, grammar: Grammar, joining: str) -> str:
    """What follows with what it leaves out; empty where it leaves out nothing."""
    return gapped(left, right, grammar, joining) or continued(left, right, grammar) or whose(left, right, grammar)


def _does_too(heading: str, connective: str, right: str, grammar: Grammar) -> bool:
    """ "Theo is 7 and plays football": of somebody else, a noun that may be a verb is one."""
    words = [lower(trim(word)) for word in right.split()[:2]]
    third = len(words) > 1 and grammar.tenses.get(words[0]) == "third" and words[1] not in _BE | _HAVE
    return connective.strip(" ,") == "and" and third and lower(heading.split(maxsplit=1)[0]) not in _SPEAKERS


def _speaks(text: str) -> bool:
    """ "I put on some weight": behind a pronoun stands a verb, known or not."""
    words = text.split()
    return len(words) > 1 and lower(words[0]) in ("i", "we", "he", "she", "they")


def _has_verb(text: str, grammar: Grammar) -> bool:
    return any(lower(trim(word)) in grammar.tenses or lower(trim(word)) in _BE | _HAVE | _DO for word in text.split())


def _opens_how(lowered: list[str]) -> bool:
    """ "Privately I drive a Clio."."""
    return len(lowered) > 2 and lowered[0].endswith("ly") and lowered[1] in _SPEAKERS


def _opens_clause(text: str, grammar: Grammar) -> bool:
    words = [trim(word) for word in text.split()[:8] if not word.startswith("§")]
    lowered = [lower(word) for word in words if lower(word) not in grammar.words["adverbs"]]
    if not lowered:
        return False
    if _opens_how(lowered):
        return True
    first = lowered[0]
    if first in OWNERS and ([*lowered, ""])[1] in _BE:
        return True
    if first in grammar.words["pronouns"] or first in _DO | _MODALS | _HAVE or first in {"am", "is", "are", "was", "were"}:
        return True
    if first == "never" and len(lowered) > 1 and (grammar.tenses.get(lowered[1]) or lowered[1] in _HAVE | _BE | _DO):
        # "…, never watched it", "and never has a day off"
        return True
    if first in {"who", "which", "that", "not"}:
        return first != "not" or (len(lowered) > 1 and lowered[1] in grammar.words["pronouns"])
    tense = grammar.tenses.get(first, "")
    compound = tense == "infinitive" and grammar.tenses.get(([*lowered, ""])[1]) == "third"
    if compound and first not in grammar.words["states"]:
        # "… and travel books": a noun made of two.
        return False
    told = len(lowered) > 1 or "§" in text
    if tense in ("past", "third", "participle") or (tense in ("infinitive", "progressive") and told):
        after = ([*lowered, ""])[1]
        return first not in grammar.words["nouns_too"] or after in grammar.words["prepositions"] | grammar.words["determiners"]
    if len(lowered) > 1 and first.endswith("s") and lowered[1] in ("is", "are", "was", "were"):
        # "…, rehearsals are on Tuesdays"
        return True
    told_of = first in grammar.words["possessives"] or first in {"the", "this"} or first in grammar.relations
    noun_phrase = told_of or words[0][:1].isupper()
    return noun_phrase and _verb_at(words, lowered, grammar) > 0


def _verb_at(words: list[str], lowered: list[str], grammar: Grammar) -> int:
    """Place of the finite verb; -1 where there is none."""
    first = 1 if lowered[0] in grammar.words["subjects"] else 0
    for at in range(first, len(lowered)):
        word = lowered[at]
        if word == "am" and at and lowered[at - 1][:1].isdigit():
            continue
        if word in _BE | _HAVE | _DO | _MODALS:
            return at
        tense = grammar.tenses.get(word, "")
        if not tense:
            continue
        if (
            at == 0
            and tense == "infinitive"
            and (grammar.tenses.get(lowered[1]) in ("third", "past") or lowered[1] in _BE if lowered[1:] else False)
        ) or (at == 0 and tense == "infinitive" and _named_by_two(lowered, grammar)):
            # "Launch got pushed", "Book club meets": a noun.
            continue
        if at == 0 and tense == "progressive" and _later(lowered, at, grammar):
            # "Swimming lessons have been moved".
            continue
        if lowered[0] in grammar.words["subjects"] or at == 0:
            return at
        before = lowered[at - 1]
        # "My favourite films are …"
        liked = before in grammar.words["favourites"] and at + 1 < len(lowered)
        if liked or before in grammar.words["determiners"] or before in grammar.words["possessives"] or before.endswith("'s"):
            continue
        if tense in ("third", "past", "participle") and not (
            word in grammar.words["nouns_too"] and at + 1 < len(lowered) and _later(lowered, at, grammar)
        ):
            return at
        if word in _SAME_PAST and before not in grammar.words["own"]:
            return at
        if tense == "infinitive" and (
            before in _PLURALS or (before.endswith("s") and not before.endswith(("ss", "us", "is"))) or "and" in lowered[:at]
        ):
            return at
    if lowered[0] in ("i", "we", "he", "she", "they"):
        # An unknown verb: whatever stands behind the pronoun.
        return next((at for at, word in enumerate(lowered) if at and word not in grammar.words["adverbs"]), -1)
    return _unknown_verb(words, lowered, grammar)


def _unknown_verb(words: list[str], lowered: list[str], grammar: Grammar) -> int:
    """ "My neighbour Frank waters my plants": behind a person a word in the form of a verb, with an object after it."""
    for at in range(1, min(len(words), len(lowered)) - 1):
        person = words[at - 1][:1].isupper() or lowered[at - 1] in grammar.relations
        verbal = len(words[at]) > 3 and words[at].endswith(("s", "ed")) and not words[at].endswith(("ss", "'s", "us"))
        object_follows = lowered[at + 1] in grammar.words["determiners"] | grammar.words["possessives"]
        if person and verbal and object_follows and words[at][:1].islower() and lowered[at] not in grammar.words["adverbs"]:
            return at
    return -1


def _named_by_two(lowered: list[str], grammar: Grammar) -> bool:
    """ "Book club meets": two nouns, and a verb that is clearly finite."""
    if len(lowered) < 3 or any(
        lowered[1] in grammar.words[name] for name in ("determiners", "pronouns", "prepositions", "speaker")
    ):
        return False
    return lowered[2] in _BE or grammar.tenses.get(lowered[2]) in ("third", "past")


def _later(lowered: list[str], at: int, grammar: Grammar) -> bool:
    return any(
        (word in _BE | _HAVE and word != "am") or grammar.tenses.get(word) in ("third", "past")
        for word in lowered[at + 1 : at + 4]
    )


def parse(clause: str, grammar: Grammar, party: Party | None, before: Frame | None) -> Frame | None:
    """The clause as a frame; `before` is the clause in front of it, whose subject is taken where none is said."""
    tokens, times = take_times(clause.split())
    bare = [trim(token) for token in tokens]
    tokens = [token for token, word in zip(tokens, bare, strict=True) if word]
    words = [word for word in bare if word]
    lowered = [lower(word) for word in words]
    while lowered and (lowered[0] in grammar.words["adverbs"] or lowered[0] in grammar.words["openers"]):
        words, lowered, tokens = words[1:], lowered[1:], tokens[1:]
    if _opens_how(lowered):
        words, lowered, tokens = words[1:], lowered[1:], tokens[1:]
    if not lowered:
        return None
    place = _verb_at(words, lowered, grammar)
    if place < 0:
        return None
    subject_words = [
        word for word in words[:place] if lower(word) not in grammar.words["adverbs"] and lower(word) not in ("never", "not")
    ]
    named = with_noun_of(subject_words, before.subject if before else party, grammar)
    order = place == 0 and before is None and grammar.tenses.get(lowered[0]) == "infinitive" and lowered[:2] != ["call", "me"]
    if order or named is None:
        # "Use add-apt-repository": told to somebody, not of anybody; "mine is in the shop": nobody knows what.
        return None
    subject_words = named
    company = ""
    if len(subject_words) > 2 and [lower(word) for word in subject_words[-2:]] in (["and", "i"], ["and", "me"]):
        # "Tom and I got married".
        company, subject_words = " ".join(subject_words[:-2]), ["I"]
    beside: list[str] = []
    if len(subject_words) > 1 and lower(subject_words[-1]) in ("i", "we") and not company:
        # "By profession I'm a nurse".
        beside, subject_words = subject_words[:-1], subject_words[-1:]
    inherited = not subject_words or lower(subject_words[0]) in {"who", "which", "that"}
    relative = bool(subject_words) and lower(subject_words[0]) in {"who", "which", "that"}
    # "That's a great picture!" is said of nobody, "…, who is a nurse" of whom the clause before named.
    unsaid = Party(owner="") if relative else Party()
    found = (before.subject if before else unsaid) if inherited else read_party(" ".join(subject_words), grammar, party)
    if lowered[place : place + 2] == ["call", "me"]:
        found = Party()
    frame = Frame(found, "", times=times, text=clause, inherited=inherited)
    frame.never = "never" in lowered[:place]
    frame.negated = frame.never or "not" in lowered[:place]
    _verb_group(frame, tokens, lowered, place, grammar)
    if where := re.match(r"^be where (?:I|we) (\w+)((?: up)?)$", frame.readings[0]):
        # "Dresden is where I live".
        lemma = grammar.verbs.get(lower(where[1]), where[1])
        frame.verb, frame.rest = lemma, squeeze(f"{where[2]} in {' '.join(subject_words)}")
        frame.subject, frame.readings = Party(), [f"{lemma} {frame.rest}"]
    if beside:
        frame.readings.append(squeeze(f"{frame.readings[0]} {' '.join(beside)}"))
    if company:
        frame.readings += [f"{reading} {word} {company}" for reading in frame.readings for word in ("to", "with")]
    return frame if frame.verb else None


def _verb_group(frame: Frame, tokens: list[str], lowered: list[str], place: int, grammar: Grammar) -> None:  # noqa: PLR0912, PLR0915
    at, auxiliary = place, ""
    adverbs = grammar.words["adverbs"]
    while at < len(lowered):
        word = lowered[at]
        following = lowered[at + 1 : at + 5]
        if word == "not":
            frame.negated = True
        elif word == "never":
            frame.negated = frame.never = True
        elif word in adverbs:
            pass
        elif word in _MODALS:
            frame.unreal = frame.unreal or word in _UNREAL
            frame.future = frame.future or word in ("will", "shall")
        elif word in _DO and comes_verb(following, grammar):
            frame.past = frame.past or word == "did"
        elif word in _HAVE and comes_participle(following, grammar):
            frame.perfect, auxiliary = True, "have"
            frame.past = frame.past or word == "had"
        elif word in _HAVE and following[:1] == ["to"]:
            # "I had to sell it" happened.
            frame.unreal = frame.unreal or word != "had"
            frame.past = frame.past or word == "had"
            at += 1
        elif word in _BE and following[:2] == ["going", "to"] and grammar.tenses.get(([*following, "", ""])[2]) == "infinitive":
            frame.future = True
            at += 2
        elif word in _BE and following[:1] == ["to"] and frame.subject.noun and comes_verb(following[1:], grammar):
            # "My goal is to learn sailing."
            frame.verb = "be"
            break
        elif word in _BE and comes(following, grammar, "progressive") and word != "being":
            frame.past = frame.past or word in _FINITE_PAST
            frame.progressive = True
        elif word == "used" and following[:1] == ["to"]:
            frame.once = True
            at += 1
        elif word == "about" and following[:1] == ["to"]:
            frame.intended = True
            at += 1
        elif word in ("to", "be", "been") and comes_verb(following, grammar) and at > place and word == "to":
            pass
        else:
            lemma = "be" if word in _BE else "have" if word in _HAVE else grammar.verbs.get(word, word)
            if (
                lemma in _INTENTIONS
                and "to" in following[:1]
                and comes_verb(following[1:], grammar)
                and not (lemma == "like" and not frame.unreal)
            ):
                frame.intended = True
                at += 2
                continue
            if lemma in _STARTS and (
                comes(following, grammar, "progressive") or (following[:1] == ["to"] and comes_verb(following[1:], grammar))
            ):
                frame.begun, frame.happened = True, grammar.tenses.get(word) in _DONE
                at += 1
                continue
            if (lemma in _STOPS and comes(following, grammar, "progressive")) or (
                lemma == "give" and following[:1] == ["up"] and comes(following[1:], grammar, "progressive")
            ):
                frame.ended = frame.negated = True
                frame.happened = grammar.tenses.get(word) in _DONE or (word in _SAME_PAST and at == place)
                at += 2 if lemma == "give" else 1
                continue
            tense = grammar.tenses.get(word, "")
            if lemma == word and word.endswith("ed") and not tense:
                lemma = word[:-1] if word[:-1] in grammar.tenses else word[:-2]
                frame.past = frame.past or auxiliary != "have"
            elif lemma == word and not tense and at == place and place and word.endswith("s") and lowered[0] not in _SPEAKERS:
                lemma = word[:-1]
            if word in _SAME_PAST and at == place:
                frame.past = True
            if word in _FINITE_PAST or (tense in ("past", "participle") and auxiliary != "have" and lemma != word):
                frame.past = frame.past or auxiliary != "have"
            frame.verb = lemma
            break
        at += 1
    rest: list[str] = []
    for token, word in zip(tokens[at + 1 :], lowered[at + 1 :], strict=True):
        if (word not in adverbs and word not in ("not", "never")) or token[:1].isupper():
            # "Now TV" is a name.
            rest.append(token)
        elif token.endswith(",") and rest and not rest[-1].endswith(","):
            # "The Works now, way better": the comma stays.
            rest[-1] += ","
    if any(word in ("not", "never") for word in lowered[at + 1 :]) and "but" not in lowered:
        frame.negated = True
        frame.never = frame.never or "never" in lowered[at + 1 :]
    none = len(rest) > 1 and rest[0] == "no" and not trim(rest[1]).isdigit()
    if none and lower(trim(rest[1])) not in grammar.words["no_values"]:
        # "I have no car", "she eats no meat".
        frame.negated, rest = True, rest[1:]
    frame.rest = squeeze(" ".join(rest))
    frame.readings = [squeeze(f"{frame.verb} {frame.rest}")]
    if (frame.ended or frame.begun) and at < len(lowered) and grammar.tenses.get(lowered[at]) == "progressive":
        # "I stopped running": what one did is itself the thing.
        frame.readings += [f"{carrier} {lowered[at]}" for carrier in ("go", "do")]
