"""People of the month in fast motion: what each tells of themselves on the first day, and what is asked of it later."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement, a question about it, and what its answer holds."""

    told: str
    question: str
    value: str


@dataclass(frozen=True, slots=True)
class Person:
    """A user who tells facts and talks on."""

    name: str
    facts: tuple[Fact, ...]

    @property
    def tells(self) -> tuple[str, ...]:
        return tuple(fact.told for fact in self.facts)


PEOPLE = (
    Person(
        "marek",
        (
            Fact("I live in Gdansk.", "Where do I live?", "Gdansk"),
            Fact("I work at a shipyard.", "Where do I work?", "shipyard"),
            Fact("I'm allergic to hazelnuts.", "What am I allergic to?", "hazelnuts"),
            Fact("My dog is called Bruno.", "What is my dog called?", "Bruno"),
            Fact("My favourite colour is green.", "What is my favourite colour?", "green"),
            Fact("My sister's name is Hania.", "What is my sister's name?", "Hania"),
        ),
    ),
    Person(
        "silke",
        (
            Fact("Ich wohne in Rostock.", "Wo wohne ich?", "Rostock"),
            Fact("Ich arbeite bei der Stadtbibliothek.", "Wo arbeite ich?", "Stadtbibliothek"),
            Fact("Ich bin allergisch gegen Erdnüsse.", "Wogegen bin ich allergisch?", "Erdnüsse"),
            Fact("Mein Hund heißt Fiete.", "Wie heißt mein Hund?", "Fiete"),
            Fact("Meine Lieblingsfarbe ist Blau.", "Was ist meine Lieblingsfarbe?", "Blau"),
        ),
    ),
    Person(
        "deniz",
        (
            Fact("İzmir'de yaşıyorum.", "Nerede yaşıyorum?", "İzmir"),
            Fact("Bir hastanede çalışıyorum.", "Nerede çalışıyorum?", "hastane"),
            Fact("Kedimin adı Pamuk.", "Kedimin adı ne?", "Pamuk"),
            Fact("En sevdiğim renk mor.", "En sevdiğim renk ne?", "mor"),
        ),
    ),
)
