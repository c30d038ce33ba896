"""The order of the phases, which others rely on."""

from __future__ import annotations

from aico_memory.domain.sleep.names import (
    CLUSTERS,
    EXPIRY,
    FORGETTING,
    NAMES,
    PHASES,
    REPLAY,
    STEPPED,
    THEMES,
    changes,
    changes_told,
    night_told,
)


def test_replay_goes_first_and_is_the_only_phase_of_every_night() -> None:
    assert NAMES[0] == REPLAY
    assert [phase.name for phase in PHASES if not phase.heavy] == [REPLAY]


def test_fifteen_phases_follow_and_each_has_its_own_name() -> None:
    assert NAMES[1:] == STEPPED
    assert len(set(STEPPED)) == 15


def test_what_expires_is_told_before_anything_is_forgotten_and_clusters_are_there_before_their_themes() -> None:
    assert NAMES.index(EXPIRY) < NAMES.index(FORGETTING) < NAMES.index(CLUSTERS) < NAMES.index(THEMES)


def test_a_night_is_told_by_what_it_changed_and_not_by_what_it_looked_at() -> None:
    phases = [
        {"users": 2, "batches": 4, "seen": 30, "promoted": 3, "expired": 1},
        {"compared": 36, "by_entity": 1, "without_vector": 2, "expired": 4, "merged": 0},
    ]
    assert changes(phases) == {"expired": 5, "promoted": 3}
    assert changes_told(phases) == "expired 5, promoted 3"
    assert night_told(2, 7, phases) == "2 users; 7 experiences replayed; expired 5, promoted 3"


def test_a_night_that_changed_nothing_says_so() -> None:
    assert changes_told([{"seen": 9, "users": 1}, {}]) == "nothing changed"
