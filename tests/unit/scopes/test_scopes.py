"""Where something is written, who reads it, and that two people of one group stay two people."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.formation.fact_key import fact_key
from aico_memory.domain.formation.formed import FormedFact
from aico_memory.domain.memory import Scope
from aico_memory.domain.scopes import GLOBAL, readable, scope_of, shared, subject_for, subjects_in
from tests.support.memory_items import item

LIVES = FormedFact("User lives in Rome", "profile", "user", "home_city", "Rome", "rome", True)
NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=300)


def key_of(fact: FormedFact) -> str:
    return fact_key(fact.subject, fact.predicate, fact.object_key, fact.single_valued)


def test_what_is_said_in_a_group_stays_there_even_where_it_names_a_project() -> None:
    assert scope_of("ana") == Scope("user", "ana")
    assert scope_of("ana", project="garden") == Scope("project", "garden")
    assert scope_of("ana", "family", "garden") == Scope("group", "family")


@given(NAMES, st.lists(NAMES, min_size=1, max_size=3), st.text(max_size=5), st.text(max_size=5))
def test_nobody_reads_another_users_scope_or_one_that_is_not_named(
    other: str, names: list[str], group: str, project: str
) -> None:
    scopes = readable(names, group, project)
    assert {scope.id for scope in scopes if scope.kind == "user"} == set(names)
    assert {scope.id for scope in scopes if scope.kind == "group"} == ({group} if group else set())
    assert {scope.id for scope in scopes if scope.kind == "project"} == ({project} if project else set())
    assert GLOBAL in scopes and (other in names) == (Scope("user", other) in scopes)


@given(NAMES, NAMES)
def test_two_people_of_a_group_never_meet_under_one_key(one: str, other: str) -> None:
    keys = [key_of(shared(LIVES, owner, "", ())) for owner in (one, other)]
    assert (keys[0] == keys[1]) == (one == other)


def test_relatives_are_their_speakers_and_things_are_everybodys() -> None:
    sister, deadline = replace(LIVES, subject="sister"), replace(LIVES, subject="release", predicate="time")
    relations = {"sister": True}
    assert key_of(shared(sister, "ana", "", relations)) != key_of(shared(sister, "bo", "", relations))
    assert shared(deadline, "ana", "", relations) == deadline


def test_a_shared_text_names_who_said_it() -> None:
    german = replace(LIVES, text="Ich wohne in Rom")
    assert shared(LIVES, "u1", "Ana").text == "Ana lives in Rome"
    assert shared(replace(LIVES, text="User's name is Ana"), "u1", "").text == "u1's name is Ana"
    assert shared(german, "u1", "Ana").text == "Ana: Ich wohne in Rom"


def test_ones_own_word_is_the_speakers_and_anothers_goes_by_name() -> None:
    memory = replace(item(1), owner="ana", speaker="Ana")
    lives = shared(LIVES, "ana", "Ana").subject
    sister = shared(replace(LIVES, subject="sister"), "ana", "Ana", {"sister"}).subject
    assert (subject_for(lives, memory, {"ana"}), subject_for(sister, memory, {"ana"})) == ("user", "sister")
    assert (subject_for(lives, memory, {"bo"}), subject_for(sister, memory, {"bo"})) == ("ana", "ana sister")
    assert subject_for("user", memory, {"ana"}) == "user"


def test_a_thing_of_all_is_of_nobody_and_of_anybody() -> None:
    thing = FormedFact("User's budget is 500 euros", "fact", "user", "attribute:budget", "500 euros", "500 euros", True)
    told = [shared(thing, owner, "", of_all="The budget is 500 euros") for owner in ("ana", "bo")]
    assert told[0] == told[1] and told[0].text == "The budget is 500 euros"
    assert key_of(told[0]) != key_of(shared(thing, "ana", "")), "one's own stays beside it"
    memory = replace(item(1), owner="ana")
    assert subject_for(told[0].subject, memory, {"bo"}) == subject_for(told[0].subject, memory, {"ana"}) == "user"
    assert shared(replace(thing, subject="nora"), "ana", "", of_all="Nora").subject == "nora"


@given(st.sets(NAMES, min_size=1, max_size=4), st.sampled_from(["group", "project"]))
def test_what_one_asks_for_in_a_shared_scope_is_under_ones_names_and_that_of_all(names: set[str], kind: str) -> None:
    thing = FormedFact("", "fact", "user", "attribute:budget", "5", "5", True)
    written = {shared(thing, name, "").subject for name in names} | {shared(thing, "zoe", "", of_all="It is 5").subject}
    assert set(subjects_in(Scope(kind, "choir"), "user", names)) == written
    assert subjects_in(Scope(kind, "choir"), "nora", names) == ("nora",)
    assert subjects_in(Scope("user", "ana"), "user", names) == ("user",)
