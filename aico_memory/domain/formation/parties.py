"""Phrases that name somebody or something: the speaker, "my sister Lena", "Lena's dog", "the meeting"."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from aico_memory.domain.formation.formed import SPEAKER
from aico_memory.domain.formation.frames import Frame, Party
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.wording import lower_in, trim

MOST_WORDS = 6
# Letters of a last part that says nothing by itself.
_SHORT = 3
# Whom nothing is said of that could be kept.
NOBODY = Party(owner="")

_FEMININE = frozenset({"meine", "unsere", "eine", "seine", "ihre", "deine"})
_OF_MINE = frozenset({"meines", "meiner", "meinem", "unseres", "unserer", "unserem"})


def read_party(phrase: str, grammar: Grammar, last: Party | None) -> Party:
    """Whom the phrase names; `last` is whom "she" or "it" stands for. Nouns of relations are read as their common one."""
    words = [lower_in(trim(word), grammar.code) for word in phrase.split() if trim(word)]
    for mark in grammar.marks["best_liked"]:
        if found := mark.match(" ".join(words)):
            # "The food I like best".
            return Party(noun=f"favourite {found['n']}", possessed=True)
    if len(words) > MOST_WORDS or any(word in grammar.words["pronouns"] - grammar.words["determiners"] for word in words[1:]):
        # "for multimedia issues this page you": nobody that facts could be kept of.
        return NOBODY
    party = _read(phrase, grammar, last)
    if grammar.parser == "german" and words and words[0] not in grammar.words["subjects"] - grammar.words["determiners"]:
        party = replace(party, gender=_gender(words[0], party, grammar))
    owner = grammar.synonyms.get(party.owner, party.owner)
    if owner in grammar.relations:
        # "My mum's bank" is that of the mother.
        party = replace(party, owner=owner)
    return replace(party, noun=grammar.synonyms[party.noun]) if party.noun in grammar.synonyms else party


def _gender(first: str, party: Party, grammar: Grammar) -> str:
    """What an article tells of somebody in German; of an animal "sie" and "er" go by its name as well."""
    if party.noun in grammar.collectives.get("haustiere", ()) or not (party.noun or party.name):
        return ""
    if first in ("der", "herr"):
        return "m"
    return "f" if first in ("die", "frau", *_FEMININE) else ""


def may_mean(pronoun: str, party: Party) -> bool:
    """Whether a German pronoun may stand for whom the party names."""
    return {"er": "f", "sie": "m"}.get(pronoun, "-") != party.gender


def mentioned(sentence: str, grammar: Grammar, fresh: bool = False) -> Party | None:
    """The relative of the speaker's whom a sentence names that states nothing itself ("I think I said my aunt …").

    `fresh`: somebody who is new or still looked for ("I need a new flatmate").
    """
    words = [lower_in(trim(word), grammar.code) for word in sentence.split()]
    for at in range(len(words) - 1, 0, -1):
        noun = words[at].removesuffix("'s")
        if noun in grammar.relations and words[at - 1] in (grammar.words["fresh"] if fresh else grammar.words["own"]):
            return Party(noun=grammar.synonyms.get(noun, noun), possessed=True)
    return None


def names_anew(frame: Frame, grammar: Grammar) -> bool:
    """Whether "she" stands for the subject of this clause from now on; "the bank gave her a loan" leaves her who she was."""
    subject = frame.subject
    own = lower_in(frame.text.partition(" ")[0], grammar.code) in grammar.words["own"]
    if grammar.parser != "english" or own or subject.name or not subject.noun:
        return bool(subject.noun or subject.name)
    words = [lower_in(trim(word), grammar.code) for word in frame.rest.split()]
    behind = grammar.words["prepositions"] | grammar.words["determiners"] | grammar.words["particles"]
    return not any(
        word == "him" or (word == "her" and (not after or after in behind)) for word, after in pairwise([*words, ""])
    )


def is_somebody(party: Party, grammar: Grammar) -> bool:
    """Whether the noun is a word for a name, or a relation, however it is told apart ("my new neighbour")."""
    *apart, noun = party.noun.split() or [""]
    if party.noun in grammar.relations or party.noun in grammar.words["name_nouns"]:
        return True
    return noun in grammar.relations and all(word in grammar.words["empty"] for word in apart)


def _may_be_somebody(party: Party, grammar: Grammar) -> bool:
    """Whether "she" may stand for what was named last; of a word that the tables do not know it may, but for a plural."""
    last = party.noun.split()[-1:]
    known = not last or last[0] in grammar.relations or last[0] in grammar.words["people"]
    return bool(party.name) or known or not last[0].endswith("s") or last[0].endswith("ss")


def _read(phrase: str, grammar: Grammar, last: Party | None) -> Party:  # noqa: PLR0912
    words = [trim(word) for word in phrase.split() if trim(word)]
    lowered = [lower_in(word, grammar.code) for word in words]
    if not words or lowered[0] in grammar.words["speaker"]:
        return Party()
    if lowered[0] in grammar.words["pronouns"] and (len(words) == 1 or lowered[0] not in grammar.words["determiners"]):
        if last is not None and not last.name and grammar.parser == "english" and lowered[0] not in grammar.words["third"]:
            people = grammar.relations.keys() - grammar.collectives.get("pets", frozenset())
            if last.noun.split()[-1:] and last.noun.split()[-1] in people:
                # "I called my sister. It's a great feeling": that is not her.
                return Party(owner="", noun="")
        if (
            last is not None
            and grammar.parser == "english"
            and lowered[0] in ("he", "she")
            and not _may_be_somebody(last, grammar)
        ):
            # "The flowers have passed to Agnes. She's eighty": that is said of no flowers.
            return NOBODY
        if last is not None and grammar.parser == "german" and not may_mean(lowered[0], last):
            # "Der Tierarzt hat angerufen. Sie …": somebody else.
            return NOBODY
        return last if last is not None else Party(owner="", noun="")
    owner, possessed, definite = SPEAKER, False, False
    apart = next((at for at, word in enumerate(lowered) if at and word in grammar.words["own"]), 0)
    named = lowered[0] not in grammar.words["determiners"]
    if apart and named and lowered[-1] in grammar.relations and all(word[:1].isupper() for word in words[:apart]):
        # "Lena, my sister, …"
        return Party(noun=" ".join(lowered[apart + 1 :]), name=" ".join(words[:apart]), possessed=True)
    if lowered[0] in grammar.words["possessives"]:
        possessed = lowered[0] in grammar.words["own"]
        if not possessed:
            if last is None or (last.name and lowered[1:] == ["name"]) or (last.noun and lowered[1:] == last.noun.split()):
                # "Her name is Shadow": nobody knows whose, or who has a name is named once more; a size has no size.
                return NOBODY
            owner = last.subject
        words, lowered = words[1:], lowered[1:]
        if len(words) > 1 and lowered[0] in grammar.words["ownmost"]:
            # "My own bike"
            words, lowered = words[1:], lowered[1:]
    elif lowered[0] in grammar.words["determiners"]:
        definite = True
        words, lowered = words[1:], lowered[1:]
    if not words and definite and grammar.parser == "german":
        # "…, die wohnt jetzt in Trier": who was named last; "ein Twingo, der steht …" is not said of the speaker.
        return last if last is not None and (last.name or last.noun in grammar.relations) else NOBODY
    if not words:
        return Party(owner=owner)
    return _owned(words, lowered, owner, possessed or definite, grammar)


def _ends_with_known(noun: str, grammar: Grammar) -> bool:
    """Whether the last part of a German noun is one that says what something is ("Kleidergröße", "Klassenlehrerin")."""
    known = grammar.words["known_nouns"] | grammar.relations.keys()
    favourite = any(noun.startswith(word) for word in grammar.words["favourites"])
    return favourite or noun in known or any(noun[at:] in known for at in range(1, len(noun) - _SHORT))


def _owned(words: list[str], lowered: list[str], owner: str, possessed: bool, grammar: Grammar) -> Party:  # noqa: PLR0912
    for at, word in enumerate(lowered):
        genitive = word[:-2] if word.endswith("'s") else word[:-1] if word.endswith("s'") else ""
        if genitive and at + 1 < len(words):
            whose = " ".join([*lowered[:at], genitive])
            if owner == SPEAKER and not possessed and at == 0 and words[0][:1].isupper():
                return _owned(words[1:], lowered[1:], genitive, False, grammar)
            base = whose if owner == SPEAKER else f"{owner} {whose}"
            return Party(owner=base, noun=" ".join(lowered[at + 1 :]), possessed=True)
    if "of" in lowered[1:-1] and grammar.code == "en":
        at = lowered.index("of")
        inner = read_party(" ".join(words[at + 1 :]), grammar, None)
        if inner.noun or inner.name or inner.possessed:
            return Party(owner=inner.subject, noun=" ".join(lowered[:at]), possessed=True)
    of = next((at for at, word in enumerate(lowered) if at and word in _OF_MINE), 0)
    if grammar.code == "de" and of and of + 1 < len(words):
        # "die Lieblingsband meines Bruders"
        whose = lowered[of + 1]
        whose = next(
            (form for form in (whose, whose.removesuffix("s"), whose.removesuffix("es")) if form in grammar.relations), whose
        )
        return Party(owner=whose, noun=" ".join(lowered[:of]).removesuffix(" von"), possessed=True)
    if lowered[0] in grammar.words["time_nouns"] and len(lowered) > 2 and lowered[1] in ("für", "von", "der", "des", "for"):
        # "der Termin für meine Prüfung", "the deadline for the tax return"
        owner = " ".join(word for word in lowered[2:] if word not in grammar.words["determiners"])
        return Party(owner=owner or lowered[-1], noun=lowered[0], possessed=True)
    event = lowered[0] in grammar.words["events"]
    if grammar.parser != "english":
        # English writes its compounds apart: Dermot is no MOT.
        event = any(lowered[0].removesuffix(plural).endswith(tuple(grammar.words["events"])) for plural in ("", "n", "en", "e"))
    if len(words) == 1 and event and words[0][:1].isupper():
        # "Chorprobe ist immer dienstags."
        return Party(owner=owner, noun=lowered[0], possessed=True)
    if (
        grammar.code == "de"
        and len(words) == 2
        and owner == SPEAKER
        and not possessed
        and words[0][:1].isupper()
        and words[0].endswith("s")
        and lowered[0] not in grammar.words["known_nouns"] | grammar.words["determiners"]
        and _ends_with_known(lowered[1], grammar)
    ):
        # "Bens Geburtstag"
        return Party(owner=lowered[0][:-1], noun=lowered[1], possessed=True)
    if grammar.code == "de" and not possessed and owner == SPEAKER and len(words) > 1 and lowered[0] in grammar.words["titles"]:
        # "Frau Kühn hat eine neue Nummer": nobody's wife.
        return Party(owner=SPEAKER, name=" ".join(words))
    relation = next((at for at, word in enumerate(lowered) if word in grammar.relations), -1)
    plain = grammar.relations.keys() | grammar.words["tongues"]
    names = [word for word in words if word[:1].isupper() and lower_in(word, grammar.code) not in plain]
    if relation >= 0 and names and grammar.code != "de":
        noun = " ".join(word for word, said in zip(lowered, words, strict=True) if said not in names)
        return Party(owner=owner, noun=noun, name=" ".join(names), possessed=possessed)
    if relation >= 0 and grammar.code == "de" and relation < len(words) - 1:
        if lowered[relation + 1] == "oder":
            # Of neither of two it is told that it is so.
            return NOBODY
        if lowered[relation + 1] in grammar.words["listing"]:
            # "Mein Bruder und Lisa wohnen in …": he does, and she is no name of his.
            return _owned(words[: relation + 1], lowered[: relation + 1], owner, possessed, grammar)
        # "Oma Gerda lebt jetzt in …": whose she is need not be said.
        own = possessed or (relation == 0 and owner == SPEAKER and lowered[0] in grammar.words["kin"])
        return Party(owner=owner, noun=" ".join(lowered[: relation + 1]), name=" ".join(words[relation + 1 :]), possessed=own)
    if not possessed and owner == SPEAKER and len(names) == len(words) and grammar.code != "de":
        return Party(owner=SPEAKER, name=" ".join(words))
    if len(words) == 1 and relation == 0 and owner == SPEAKER:
        # "Mama ist umgezogen."
        return Party(owner=owner, noun=lowered[0], possessed=True)
    if not possessed and relation < 0 and grammar.code == "de" and len(names) == len(words) > 1 and owner == SPEAKER:
        return Party(owner=SPEAKER, name=" ".join(words))
    if not possessed and owner == SPEAKER and grammar.code == "de" and len(words) == 1 and words[0][:1].isupper():
        return Party(owner=SPEAKER, name=words[0])
    return Party(owner=owner, noun=" ".join(lowered), possessed=possessed)
