"""Per-user data keys and their destruction."""

import threading

import pytest

from aico_memory.errors import KeyDestroyed, NotFound, WrongKey
from aico_memory.vault.user_keys import UserKeys

WRAPPING, NAMING = bytes(32), bytes(range(32))


@pytest.fixture
def keys(tmp_path):
    return UserKeys(tmp_path / "users", WRAPPING, NAMING, recheck_seconds=0)


def another(keys: UserKeys, **options) -> UserKeys:
    """The same folder in the eyes of another process."""
    return UserKeys(keys._folder, WRAPPING, NAMING, recheck_seconds=0, **options)


def test_each_user_has_a_key_that_lasts(keys):
    sealed = keys.sealer("ada").seal(b"words")
    assert another(keys).sealer("ada").open(sealed) == b"words"
    with pytest.raises(WrongKey):
        keys.sealer("bob").open(sealed)


def test_no_file_name_or_content_names_the_user(keys):
    keys.sealer("ada.lovelace@example.org")
    (file,) = keys._folder.iterdir()
    assert "ada" not in file.name and b"ada" not in file.read_bytes()
    assert UserKeys(keys._folder, WRAPPING, bytes(32))._path("ada.lovelace@example.org").name != file.name


@pytest.mark.parametrize("user", ["", "ümlaut 用户", "../../etc/passwd", "a" * 256, "nul\0inside"])
def test_any_text_may_be_a_user_id(keys, user):
    assert keys.sealer(user).open(keys.sealer(user).seal(b"words")) == b"words"
    assert [path.parent for path in keys._folder.rglob("*")] == [keys._folder]


def test_a_key_that_is_not_there_is_not_made_where_none_is_wanted(keys):
    with pytest.raises(KeyDestroyed):
        keys.sealer("ada", create=False)
    assert not keys.exists("ada")
    assert issubclass(KeyDestroyed, NotFound)


def test_a_destroyed_key_opens_nothing_any_more_and_a_new_one_is_another(keys):
    sealed = keys.sealer("ada").seal(b"words")
    assert keys.destroy("ada") is True
    assert not list(keys._folder.iterdir())
    with pytest.raises(KeyDestroyed):
        keys.sealer("ada", create=False)
    with pytest.raises(WrongKey):
        keys.sealer("ada").open(sealed)
    assert keys.destroy("nobody") is False


def test_destruction_overwrites_the_bytes_of_the_file(keys, tmp_path):
    keys.sealer("ada")
    (file,) = keys._folder.iterdir()
    before = file.read_bytes()
    witness = tmp_path / "witness"
    witness.hardlink_to(file)
    keys.destroy("ada")
    assert witness.read_bytes() != before and len(witness.read_bytes()) == len(before)


def test_another_process_stops_using_a_destroyed_key(keys):
    elsewhere = another(keys)
    sealed = elsewhere.sealer("ada").seal(b"words")
    keys.destroy("ada")
    with pytest.raises(KeyDestroyed):
        elsewhere.sealer("ada", create=False)
    keys.sealer("ada")
    with pytest.raises(WrongKey):
        elsewhere.sealer("ada").open(sealed)


def test_a_cached_key_is_asked_for_again_only_after_its_time(tmp_path):
    patient = UserKeys(tmp_path / "users", WRAPPING, NAMING, recheck_seconds=60)
    first = patient.sealer("ada")
    UserKeys(tmp_path / "users", WRAPPING, NAMING).destroy("ada")
    assert patient.sealer("ada", create=False) is first
    patient.forget_cached("ada")
    with pytest.raises(KeyDestroyed):
        patient.sealer("ada", create=False)


def test_the_cache_is_bounded_and_forgets_the_one_asked_for_longest_ago(tmp_path):
    keys = UserKeys(tmp_path / "users", WRAPPING, NAMING, capacity=2, recheck_seconds=60)
    first, second = keys.sealer("a"), keys.sealer("b")
    assert keys.sealer("a") is first
    keys.forget_cached("nobody")
    keys.sealer("c")
    assert len(keys._cached) == 2 and keys.sealer("c") is keys.sealer("c")
    assert first is not second


def test_a_key_file_moved_to_another_user_does_not_open(keys):
    keys.sealer("ada")
    keys._path("ada").rename(keys._path("bob"))
    with pytest.raises(WrongKey):
        keys.sealer("bob")


def test_a_key_file_of_another_home_does_not_open(keys, tmp_path):
    keys.sealer("ada")
    other = UserKeys(keys._folder, b"\1" * 32, NAMING)
    before = keys._path("ada").read_bytes()
    with pytest.raises(WrongKey):
        other.sealer("ada")
    assert keys._path("ada").read_bytes() == before


def test_threads_and_processes_that_need_a_new_key_at_once_agree(tmp_path):
    start = threading.Barrier(8)
    sealed = []

    def seal_one() -> None:
        own = UserKeys(tmp_path / "users", WRAPPING, NAMING)
        start.wait()
        sealed.append(own.sealer("ada").seal(b"words"))

    threads = [threading.Thread(target=seal_one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    keys = UserKeys(tmp_path / "users", WRAPPING, NAMING)
    assert [keys.sealer("ada").open(one) for one in sealed] == [b"words"] * 8
    assert len(list((tmp_path / "users").iterdir())) == 1


def test_making_and_destroying_at_once_never_shows_a_damaged_key(keys):
    stop = threading.Event()
    failures = []

    def use() -> None:
        own = another(keys)
        while not stop.is_set():
            try:
                own.sealer("ada").seal(b"words")
            except Exception as error:
                failures.append(error)

    users = [threading.Thread(target=use) for _ in range(2)]
    for user in users:
        user.start()
    for _ in range(100):
        keys.sealer("ada")
        keys.destroy("ada")
    stop.set()
    for user in users:
        user.join()
    assert not failures


def test_a_destruction_that_a_kill_cut_short_is_finished_at_the_next_start(opened, home):
    opened().users.sealer("ada")
    (file,) = home.user_keys.iterdir()
    file.rename(home.user_keys / ".destroyed.0123")
    opened()
    assert not list(home.user_keys.iterdir())
