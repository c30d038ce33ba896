"""The behavioral store told as a whole: exported by section and user, counted, opened again."""

from dataclasses import replace

import pytest

from aico_memory.domain.advisor.records import OpenSuggestion, SealedProfile
from aico_memory.domain.behavioral.evidence import Cell, Stated, Wish
from aico_memory.domain.behavioral.records import Evolution, SkillStanding, UserState
from aico_memory.errors import WrongKey
from aico_memory.stores.behavioral.port import SECTIONS, pages
from aico_memory.stores.behavioral.sql_store import FILE, SqlBehavioralStore
from tests.stores.behavioral.rows import (
    KEY,
    OWN,
    POSTERIOR,
    PREFERENCE,
    STATE,
    event,
    feedback,
    former,
    read,
    selection,
    trajectory,
    write,
)
from tests.stores.behavioral.test_outcome_rows import outcome


def fill(store):
    for user in ("ann", "bob"):
        write(
            store,
            lambda rows, user=user: rows.put_user(user, UserState(True, True, 1)),
            lambda rows, user=user: rows.put_skill_state(user, "short", STATE),
            lambda rows, user=user: rows.put_posterior(user, 42, "short", POSTERIOR, 1),
            lambda rows, user=user: rows.put_preference(user, 42, PREFERENCE, 1),
            lambda rows, user=user: rows.put_stated_style(user, PREFERENCE),
            lambda rows, user=user: rows.add_former(former(user=user)),
            lambda rows, user=user: rows.add_selection(selection(user=user)),
            lambda rows, user=user: rows.put_cell(user, Cell("question", "neutral", "morning", "short", 2.0, 1.0)),
            lambda rows, user=user: rows.put_wish(user, Wish("verbosity", 0.0, 1.0)),
            lambda rows, user=user: rows.put_statement(user, Stated("verbosity", 0.2, 3.0)),
            lambda rows, user=user: rows.put_user_skill(OWN if user == "ann" else replace(OWN, user="bob")),
            lambda rows, user=user: rows.add_trajectory(trajectory(user=user)),
            lambda rows, user=user: rows.add_outcome(outcome(1, user=user, event=8 if user == "ann" else 9)),
            lambda rows, user=user: rows.put_profile(SealedProfile(user, b"sealed", 5)),
            lambda rows, user=user: rows.put_suggestion(OpenSuggestion(user, "s9", "add_habit", 1, 2, b"sealed")),
            lambda rows, user=user: rows.add_evolution(Evolution(user, event(5), 0, "learned", "short", 30, 0.5, 0.59)),
        )
    write(store, lambda rows: rows.add_feedback(feedback(2)), lambda rows: rows.add_feedback(feedback(1, user="bob")))


def test_the_export_walks_all_sections_in_order_whatever_the_page(store):
    fill(store)
    whole = read(store, lambda rows: list(pages(rows, "", ("", ()), 100)))
    assert [row[:2] for row in whole] == sorted(row[:2] for row in whole)
    assert {row[0] for row in whole} == set(SECTIONS)
    assert len(whole) == 34
    for size in (1, 3, 7):
        walked, after = [], ("", ())
        while page := read(store, lambda rows, after=after, size=size: list(pages(rows, "", after, size))):
            walked += page
            after = page[-1][:2]
        assert walked == whole


def test_the_export_of_one_user_holds_nothing_of_another(store):
    fill(store)
    rows = read(store, lambda rows: list(pages(rows, "bob", ("", ()), 100)))
    assert len(rows) == 17
    assert {key[0] for _, key, _ in rows} == {"bob"}


def test_the_export_tells_which_skills_are_put_aside(store):
    fill(store)

    def skills():
        return [record for section, _, record in read(store, lambda rows: list(pages(rows, "ann", ("", ()), 100)))
                if section == "skill"]  # fmt: skip

    assert skills() == [SkillStanding(STATE, archived=False)]
    write(store, lambda rows: rows.archive_skill("ann", "short", 40))
    assert skills() == [SkillStanding(STATE, archived=True)]
    write(store, lambda rows: rows.archive_skill("ann", "short", None))
    assert skills() == [SkillStanding(STATE, archived=False)]


def test_rows_are_counted_by_kind(store):
    fill(store)
    counts = read(store, lambda rows: rows.counts())
    assert (counts["users"], counts["feedback"], counts["user_skills"]) == (2, 2, 2)


def test_the_store_stands_after_it_was_closed_and_opens_with_its_key_only(tmp_path):
    store = SqlBehavioralStore.open(tmp_path, KEY)
    fill(store)
    before = read(store, lambda rows: list(pages(rows, "", ("", ()), 100)))
    store.close()
    with pytest.raises(WrongKey):
        SqlBehavioralStore.open(tmp_path, bytes(32))
    again = SqlBehavioralStore.open(tmp_path, KEY)
    assert read(again, lambda rows: list(pages(rows, "", ("", ()), 100))) == before
    again.close()
    assert b"hybrid-40-30-30" not in (tmp_path / FILE).read_bytes()
