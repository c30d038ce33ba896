"""Whose memory something is: where it is written, who reads it, and how one person's word stays apart in a shared scope."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable
from dataclasses import replace
from typing import Final

from aico_memory.domain.formation.formed import SPEAKER, FormedFact
from aico_memory.domain.memory import Memory, Scope

GLOBAL: Final = Scope("global", "global")
_MARK: Final = "user:"
# Whose a thing is that was spoken of without an owner, in a scope of several people.
_ALL: Final = "all:"
_DIGITS: Final = 32


def scope_of(user: str, group: str = "", project: str = "") -> Scope:
    """Where what is said is written: among those who heard it, else with what it is about, else with who said it.

    A message that names a group and a project stays in the group: who only names the project was not there.
    """
    if group:
        return Scope("group", group)
    return Scope("project", project) if project else Scope("user", user)


def readable(names: Iterable[str], group: str = "", project: str = "") -> tuple[Scope, ...]:
    """What a turn of a user may read: their own (under every name of theirs), what they name, and what is global."""
    named = [Scope("user", name) for name in names]
    if group:
        named.append(Scope("group", group))
    if project:
        named.append(Scope("project", project))
    return (*dict.fromkeys(named), GLOBAL)


def shared(fact: FormedFact, owner: str, speaker: str, relations: Container[str] = (), of_all: str = "") -> FormedFact:
    """A fact as it stands in a scope of several people: the speaker and the speaker's relatives are not anybody else's.

    Without it "I live in Rome" by one and "I live in Oslo" by another would meet under
    one key and one would end the other. `relations` are the nouns that mean somebody of
    the speaker's own ("sister"). What is said of anything else is everybody's to correct, and so is what was said in
    the sentence `of_all`, where it tells of a thing without an owner ("The budget is 500 euros").
    """
    if of_all and fact.subject == SPEAKER:
        return replace(fact, subject=_ALL, text=of_all)
    if fact.subject == SPEAKER:
        return replace(fact, subject=_own(owner), text=_named(fact.text, speaker or owner))
    if fact.subject in relations:
        return replace(fact, subject=f"{_own(owner)} {fact.subject}", text=_named(fact.text, speaker or owner))
    return fact


def subjects_in(scope: Scope, subject: str, names: Iterable[str]) -> tuple[str, ...]:
    """The subjects under which a scope keeps what these names know as `subject`: the reverse of `subject_for`.

    In a shared scope what the speaker has is under each of the names, and what belongs to all comes last.
    """
    if scope.kind == "user" or subject != SPEAKER:
        return (subject,)
    return (*dict.fromkeys(_own(name) for name in names), _ALL)


def subject_for(subject: str, memory: Memory, names: Container[str]) -> str:
    """The subject of an item as whoever goes by these names knows it: one's own is the speaker, others go by name.

    What belongs to all is anybody's own.
    """
    if not is_of_several(subject):
        # In somebody's own scope the speaker is that somebody.
        return subject
    return shown_subject(subject, memory, names).casefold()


def is_of_several(subject: str) -> bool:
    """Whether it is a subject of a shared scope that people know by another name: a member, their kin, or all."""
    return subject.startswith(_MARK) or is_of_all(subject)


def is_of_another(subject: str, memory: Memory, owner: str) -> bool:
    """Whether it is what another member of a shared scope has, or that member's kin: nobody else's word changes it."""
    return subject.startswith(_MARK) and memory.owner != owner


def is_of_all(subject: str) -> bool:
    """Whether it stands for all who share a scope, and for nobody by name."""
    return subject == _ALL


def shown_subject(subject: str, memory: Memory, names: Container[str]) -> str:
    """As `subject_for`, with the names as they were given ("Ada", "Ada sister")."""
    if subject == _ALL:
        return SPEAKER
    if not subject.startswith(_MARK):
        return subject
    noun = subject[len(_MARK) + _DIGITS :].strip()
    if memory.owner in names:
        return noun or SPEAKER
    return f"{memory.speaker or memory.owner} {noun}".strip()


def _own(owner: str) -> str:
    # A digest: keys fold case and cut at a length, ids of users must do neither.
    return _MARK + hashlib.sha256(owner.encode()).hexdigest()[:_DIGITS]


def _named(text: str, name: str) -> str:
    for opening in ("User ", "User's "):
        if text.startswith(opening):
            return name + text[len("User") :]
    return f"{name}: {text}"
