"""Opening a home: what unlocks it, what does not, and that nothing is touched then."""

import json
import os
import stat
import subprocess
import sys
import threading

import pytest

from aico_memory.errors import ConfigurationInvalid, InsecurePermissions, StoreCorrupt, WrongKey
from aico_memory.settings.security import SecuritySettings
from aico_memory.vault.master import open_vault, rotate_master
from aico_memory.vault.unlocking import UnlockSecret


def test_a_fresh_home_without_any_secret_gets_a_development_key_and_says_so(opened, home):
    vault = opened()
    assert vault.source == "development" and vault.encrypted
    assert (home.keys / "development.key").stat().st_size == 32
    assert opened().store_key("semantic") == vault.store_key("semantic")


def test_a_passphrase_opens_what_it_made(opened, home):
    vault = opened("correct horse")
    assert vault.source == "passphrase"
    assert not (home.keys / "development.key").exists()
    assert opened("correct horse").store_key("semantic") == vault.store_key("semantic")


def test_a_key_file_opens_what_it_made(opened, key_file):
    vault = opened(key_file=key_file)
    assert vault.source == "key_file"
    assert opened(key_file=key_file).store_key("semantic") == vault.store_key("semantic")


def test_the_configured_key_file_counts_where_the_environment_names_none(home, key_file):
    settings = SecuritySettings(key_file=str(key_file))
    assert open_vault(home, settings, {}).source == "key_file"


@pytest.mark.parametrize("given", ["wrong horse", "", "correct horse ", "key file"])
def test_anything_else_is_a_wrong_key_and_touches_nothing(opened, everything, key_file, given):
    opened("correct horse").users.sealer("ada").seal(b"words")
    before = everything()
    with pytest.raises(WrongKey) as caught:
        opened(key_file=key_file) if given == "key file" else opened(given)
    assert "AICO_MEMORY_PASSPHRASE" in caught.value.mend
    assert everything() == before


def test_a_passphrase_does_not_open_a_development_home(opened, everything):
    opened()
    before = everything()
    with pytest.raises(WrongKey, match="development key"):
        opened("correct horse")
    assert everything() == before


def test_another_key_file_does_not_open(opened, everything, key_file):
    opened(key_file=key_file)
    before = everything()
    key_file.write_bytes(b"\1" * 64)
    with pytest.raises(WrongKey):
        opened(key_file=key_file)
    assert everything() == before


def test_a_key_file_that_is_missing_short_or_open_to_others_makes_no_home(opened, home, key_file, tmp_path):
    with pytest.raises(WrongKey, match="cannot be read"):
        opened(key_file=tmp_path / "nowhere.key")
    key_file.write_bytes(b"short")
    with pytest.raises(ConfigurationInvalid, match="5 bytes"):
        opened(key_file=key_file)
    key_file.write_bytes(bytes(32))
    key_file.chmod(0o640)
    with pytest.raises(InsecurePermissions, match=str(key_file)):
        opened(key_file=key_file)
    assert not home.root.exists()


def test_a_lost_development_key_is_never_replaced(opened, home, everything):
    opened()
    (home.keys / "development.key").unlink()
    before = everything()
    with pytest.raises(WrongKey, match="missing"):
        opened()
    assert everything() == before


def test_a_lost_master_key_is_never_replaced_while_user_keys_stand(opened, home, everything):
    opened().users.sealer("ada")
    (home.keys / "master.json").unlink()
    before = everything()
    with pytest.raises(WrongKey, match="missing"):
        opened()
    assert everything() == before


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"format": 99, "source": "passphrase"}', b'{"format": 1, "source": "x"}']
)
def test_a_damaged_master_file_is_named_as_damage(opened, home, content):
    opened("correct horse")
    (home.keys / "master.json").write_bytes(content)
    with pytest.raises(StoreCorrupt, match=r"master\.json"):
        opened("correct horse")


def test_the_passphrase_stretching_is_recorded_and_follows_the_settings_of_its_making(opened, home):
    vault = opened("correct horse", settings=SecuritySettings(argon2_time=2, argon2_memory_kib=128))
    recorded = json.loads((home.keys / "master.json").read_text())["kdf"]
    assert (recorded["name"], recorded["time"], recorded["memory_kib"], recorded["parallelism"]) == ("argon2id", 2, 128, 1)
    assert opened("correct horse").store_key("a") == vault.store_key("a")


def test_the_default_stretching_is_that_of_the_specification():
    settings = SecuritySettings()
    assert (settings.argon2_time, settings.argon2_memory_kib, settings.argon2_parallelism) == (3, 64 * 1024, 1)


def test_every_store_and_purpose_has_its_own_key(opened):
    vault = opened()
    keys = {vault.store_key(name) for name in ("working", "semantic", "behavioral", "journal")}
    assert len(keys) == 4 and all(len(key) == 32 for key in keys)
    sealed = vault.sealer("working").seal(b"words")
    with pytest.raises(WrongKey):
        vault.sealer("semantic").open(sealed)


def test_digests_depend_on_the_home_and_the_store(opened, home, quick):
    vault = opened()
    assert vault.digest("working", "ada") == opened().digest("working", "ada")
    others = {vault.digest("semantic", "ada"), vault.digest("working", "bob")}
    elsewhere = open_vault(type(home)(home.root.parent / "other"), quick, {}).digest("working", "ada")
    assert vault.digest("working", "ada") not in others | {elsewhere}


@pytest.mark.parametrize("place", ["keys", "keys/users", "keys/curve", "keys/master.json", "keys/development.key"])
def test_a_looser_mode_stops_the_start_and_names_path_and_mend(opened, home, place):
    opened()
    path = home.root / place
    path.chmod(stat.S_IMODE(path.stat().st_mode) | 0o040)
    with pytest.raises(InsecurePermissions, match=str(path)) as caught:
        opened()
    assert f"chmod {'700' if path.is_dir() else '600'} '{path}'" in caught.value.mend


def test_key_files_are_private_whatever_the_umask(opened, home):
    before = os.umask(0)
    try:
        opened().users.sealer("ada")
    finally:
        os.umask(before)
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (home.keys, *home.keys.rglob("*"))}
    assert all(mode == (0o700 if path.is_dir() else 0o600) for path, mode in modes.items()), modes


def test_rotation_wraps_the_same_root_key_anew(opened, home, quick, key_file):
    vault = opened()
    sealed = vault.users.sealer("ada").seal(b"words")
    user_files = {path: path.read_bytes() for path in home.user_keys.iterdir()}
    passphrase = UnlockSecret.of_passphrase("correct horse")
    file = UnlockSecret.of_key_file(key_file)

    assert rotate_master(home, UnlockSecret(), passphrase, quick) == "passphrase"
    assert not (home.keys / "development.key").exists()
    with pytest.raises(WrongKey):
        opened()
    assert rotate_master(home, passphrase, file, quick) == "key_file"
    with pytest.raises(WrongKey):
        opened("correct horse")
    assert opened(key_file=key_file).users.sealer("ada").open(sealed) == b"words"
    assert rotate_master(home, file, UnlockSecret(), quick) == "development"
    assert opened().store_key("semantic") == vault.store_key("semantic")
    assert {path: path.read_bytes() for path in home.user_keys.iterdir()} == user_files


def test_rotation_with_a_wrong_old_secret_touches_nothing(opened, home, quick, everything):
    opened("correct horse")
    before = everything()
    with pytest.raises(WrongKey):
        rotate_master(home, UnlockSecret.of_passphrase("guess"), UnlockSecret.of_passphrase("mine now"), quick)
    with pytest.raises(WrongKey):
        rotate_master(home, UnlockSecret(), UnlockSecret.of_passphrase("mine now"), quick)
    assert everything() == before


def test_encryption_off_seals_nothing_and_is_told_apart(opened, home, quick):
    off = SecuritySettings(encryption="off")
    vault = opened(settings=off)
    assert vault.source == "off" and not vault.encrypted and vault.store_key("semantic") is None
    assert vault.sealer("semantic").seal(b"words", b"context") == b"words"
    assert vault.users.sealer("ada").open(b"words") == b"words"
    with pytest.raises(ConfigurationInvalid, match="encryption off"):
        opened(settings=quick)


def test_a_sealed_home_does_not_open_with_encryption_off(opened, everything):
    opened()
    before = everything()
    with pytest.raises(ConfigurationInvalid, match="encryption on"):
        opened(settings=SecuritySettings(encryption="off"))
    assert everything() == before


@pytest.mark.parametrize(("word", "meant"), [(True, "on"), (False, "off"), ("on", "on"), ("off", "off")])
def test_the_words_on_and_off_mean_what_yaml_makes_of_them(word, meant):
    assert SecuritySettings(encryption=word).encryption == meant


def test_threads_that_open_a_fresh_home_at_once_agree(home, quick):
    start = threading.Barrier(8)
    keys, failures = set(), []

    def open_one() -> None:
        start.wait()
        try:
            vault = open_vault(home, quick, {})
            keys.add((vault.store_key("semantic"), vault.users.sealer("ada").open(vault.users.sealer("ada").seal(b"x"))))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=open_one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(keys) == 1


def test_processes_that_open_a_fresh_home_at_once_agree(home):
    script = (
        "import sys; from aico_memory.paths import find_home; from aico_memory.settings.security import SecuritySettings\n"
        "from aico_memory.vault.master import open_vault\n"
        "print('ready', flush=True); sys.stdin.readline()\n"
        "vault = open_vault(find_home(sys.argv[1]), SecuritySettings(), {})\n"
        "print(vault.store_key('semantic').hex(), vault.users.sealer('ada').seal(b'words').hex())\n"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(home.root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    answers = [process.communicate()[0].split() for process in processes]
    assert len({key for key, _ in answers}) == 1
    sealer = open_vault(home, SecuritySettings(), {}).users.sealer("ada", create=False)
    assert [sealer.open(bytes.fromhex(sealed)) for _, sealed in answers] == [b"words"] * 3
