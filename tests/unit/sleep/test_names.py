"""The order of the phases, which others rely on."""

from __future__ import annotations

from aico_memory.domain.sleep.names import CLUSTERS, EXPIRY, FORGETTING, NAMES, PHASES, REPLAY, STEPPED, THEMES


def test_replay_goes_first_and_is_the_only_phase_of_every_night() -> None:
    assert NAMES[0] == REPLAY
    assert [phase.name for phase in PHASES if not phase.heavy] == [REPLAY]


def test_fifteen_phases_follow_and_each_has_its_own_name() -> None:
    assert NAMES[1:] == STEPPED
    assert len(set(STEPPED)) == 15


def test_what_expires_is_told_before_anything_is_forgotten_and_clusters_are_there_before_their_themes() -> None:
    assert NAMES.index(EXPIRY) < NAMES.index(FORGETTING) < NAMES.index(CLUSTERS) < NAMES.index(THEMES)
