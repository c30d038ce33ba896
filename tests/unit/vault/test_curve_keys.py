"""CURVE identities: who is let in, and with which keys."""

import json
import stat
import threading
from datetime import UTC, datetime

import pytest
import zmq

from aico_memory.errors import InsecurePermissions, InvalidMessage, NotAuthorised, NotFound, StoreCorrupt
from aico_memory.vault.curve_keys import (
    add_identity,
    authorized_path,
    ensure_identity,
    init_curve,
    list_identities,
    load_identity,
    revoke_identity,
    rotate_identity,
    server_keys,
)

NOW = datetime(2026, 1, 31, 18, tzinfo=UTC)


def test_init_makes_a_server_key_once(home):
    first = init_curve(home)
    assert init_curve(home) == first == server_keys(home)
    assert zmq.curve_public(first.secret) == first.public
    assert list_identities(home) == []


def test_an_added_identity_is_listed_with_its_public_key_only(home):
    pair = add_identity(home, "default", "client", now=NOW)
    (entry,) = list_identities(home)
    assert (entry.name, entry.public, entry.role, entry.scopes) == ("default", pair.public.decode(), "client", "all")
    assert (entry.added_at, entry.revoked_at) == ("2026-01-31T18:00:00+00:00", None)
    assert load_identity(home, "default") == pair
    assert pair.secret not in authorized_path(home).read_bytes()
    assert pair.secret.decode() not in repr(pair)


def test_scopes_bind_an_identity_to_users(home):
    add_identity(home, "kiosk", "client", ["ada", "bob"])
    assert list_identities(home)[0].scopes == ("ada", "bob")
    assert json.loads(authorized_path(home).read_text())["identities"][0]["scopes"] == ["ada", "bob"]


def test_a_name_is_taken_until_it_is_revoked(home):
    first = add_identity(home, "default", "client")
    with pytest.raises(InvalidMessage, match="exists"):
        add_identity(home, "default", "operator")
    revoke_identity(home, "default", now=NOW)
    second = add_identity(home, "default", "client")
    assert second.public != first.public
    assert [entry.revoked_at is None for entry in list_identities(home)] == [False, True]


@pytest.mark.parametrize("name", ["", "server", "Upper", "a/b", "../x", "a b", "ü", "a" * 65, "-a"])
def test_a_name_that_could_not_stand_in_a_topic_is_refused(home, name):
    with pytest.raises(InvalidMessage):
        add_identity(home, name, "client")
    with pytest.raises(InvalidMessage):
        load_identity(home, name)


def test_rotation_gives_new_keys_and_revokes_the_old(home):
    old = add_identity(home, "default", "client", ["ada"])
    new = rotate_identity(home, "default", now=NOW)
    assert load_identity(home, "default") == new != old
    first, second = list_identities(home)
    assert (first.public, first.revoked_at) == (old.public.decode(), NOW.isoformat())
    assert (second.public, second.role, second.scopes, second.revoked_at) == (new.public.decode(), "client", ("ada",), None)


def test_who_is_not_let_in_can_be_neither_revoked_nor_rotated(home):
    add_identity(home, "default", "client")
    revoke_identity(home, "default")
    for change in (revoke_identity, rotate_identity):
        for name in ("default", "nobody"):
            with pytest.raises(NotFound):
                change(home, name)


def test_ensure_makes_what_is_missing_and_brings_back_nothing_revoked(home):
    init_curve(home)
    pair = ensure_identity(home, "working", "working")
    assert ensure_identity(home, "working", "working") == pair
    revoke_identity(home, "working")
    assert ensure_identity(home, "working", "working") == pair
    assert list_identities(home)[0].revoked_at is not None


def test_an_identity_without_keys_here_is_not_authorised(home):
    init_curve(home)
    with pytest.raises(NotAuthorised, match="nobody"):
        load_identity(home, "nobody")


def test_key_files_are_private_and_a_looser_mode_is_refused(home):
    add_identity(home, "default", "client")
    path = home.curve / "default.json"
    for found in (path, home.curve / "server.json", authorized_path(home)):
        assert stat.S_IMODE(found.stat().st_mode) == 0o600
    path.chmod(0o644)
    with pytest.raises(InsecurePermissions, match=str(path)):
        load_identity(home, "default")


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b'{"public": "short", "secret": "short"}', b'{"public": 1, "secret": 2}']
)
def test_a_damaged_key_file_is_named_as_damage(home, content):
    add_identity(home, "default", "client")
    (home.curve / "default.json").write_bytes(content)
    with pytest.raises(StoreCorrupt, match=r"default\.json"):
        load_identity(home, "default")


def test_a_damaged_list_is_named_as_damage(home):
    init_curve(home)
    authorized_path(home).write_text("{}")
    with pytest.raises(StoreCorrupt, match=r"authorized\.json"):
        list_identities(home)


def test_identities_added_at_once_are_all_listed(home):
    start = threading.Barrier(6)
    made = []

    def add(number: int) -> None:
        start.wait()
        made.append(ensure_identity(home, f"worker-{number % 3}", "working"))

    threads = [threading.Thread(target=add, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    listed = list_identities(home)
    assert sorted(entry.name for entry in listed) == ["worker-0", "worker-1", "worker-2"]
    assert {pair.public.decode() for pair in made} == {entry.public for entry in listed}
