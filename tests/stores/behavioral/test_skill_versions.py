"""Own skills in the behavioral store: their versions, what stands on a shelf, a revision for every change."""

from dataclasses import replace

from aico_memory.domain.behavioral.evidence import Cell
from aico_memory.stores.behavioral.packing import unpack_vector
from tests.stores.behavioral.rows import OWN, POSTERIOR, STATE, read, write


def test_versions_of_one_skill_come_oldest_first_with_the_style_they_were_made_with(store):
    moved = replace(OWN, dimensions=(0.4,) * 16, given=OWN.dimensions)
    second = replace(OWN, version=2, dimensions=(0.9,) * 16)
    write(store, lambda rows: [rows.put_user_skill(one) for one in (second, moved, replace(OWN, skill_id="another"))])
    found = read(store, lambda rows: rows.versions_of("ann", "own"))
    assert [(one.version, one.dimensions[0], one.given[0]) for one in found] == [(1, 0.4, 0.5), (2, 0.9, 0.9)]
    assert read(store, lambda rows: rows.versions_of("bob", "own")) == []


def test_a_shelf_is_made_of_the_accepted_ones_among_the_latest_versions(store):
    again = replace(OWN, version=2, sealed_definition=b"again", dimensions=(0.9,) * 16)
    others = [
        replace(OWN, skill_id="aside", status="archived"),
        replace(OWN, skill_id="put_back", version=1, status="accepted"),
        replace(OWN, skill_id="put_back", version=2, status="archived"),
        replace(OWN, skill_id="ready", sealed_definition=b"ready"),
        replace(OWN, user="bob"),
    ]
    write(store, lambda rows: [rows.put_user_skill(one) for one in (again, replace(OWN, status="replaced"), *others)])
    found = read(store, lambda rows: rows.accepted_skills("ann"))
    assert [(one.skill_id, one.version, one.sealed) for one in found] == [("own", 2, b"again"), ("ready", 1, b"ready")]
    assert [unpack_vector(one.style) for one in found] == [again.dimensions, OWN.dimensions]


def test_what_is_known_of_a_skill_goes_without_its_versions_and_with_them(store):
    def known(rows, user="ann"):
        return rows.cells(user), rows.posteriors(user, 7), rows.skill_states(user), rows.versions_of(user, "own")

    nothing = ([], {}, {}, [])
    for forget in ("forget_skill", "delete_user_skill"):
        for user in ("ann", "bob"):
            write(
                store,
                lambda rows, user=user: rows.put_user_skill(replace(OWN, user=user)),
                lambda rows, user=user: rows.put_cell(user, Cell("question", "neutral", "night", "own", 1.0)),
                lambda rows, user=user: rows.put_posterior(user, 7, "own", POSTERIOR, 1),
                lambda rows, user=user: rows.put_skill_state(user, "own", STATE),
            )
        write(store, lambda rows, forget=forget: getattr(rows, forget)("ann", "own"))
        found = read(store, known)
        assert found[:3] == nothing[:3]
        assert len(found[3]) == (forget == "forget_skill")
        assert all(read(store, lambda rows: known(rows, "bob")))


def test_every_change_of_own_skills_has_a_revision_that_never_was(store):
    seen = [read(store, lambda rows: rows.own_revision("ann"))]
    assert seen == [b""]
    for step in (
        lambda rows: rows.put_user_skill(OWN),
        lambda rows: rows.put_user_skill(OWN),
        lambda rows: rows.delete_user_skill("ann", "own"),
        lambda rows: rows.put_user_skill(OWN),
    ):
        write(store, step)
        seen.append(read(store, lambda rows: rows.own_revision("ann")))
    assert len(set(seen)) == 5
    assert read(store, lambda rows: rows.own_revision("bob")) == b""
