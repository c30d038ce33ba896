from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from aico_memory import errors
from aico_memory.errors import AicoMemoryError, ConfigurationInvalid, from_code, from_os_error
from aico_memory.paths import Home, find_home
from aico_memory.settings import load_settings


def every_error() -> list[type[AicoMemoryError]]:
    return [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, AicoMemoryError)]


def test_every_error_has_a_code_of_its_own_and_a_mend() -> None:
    codes = [kind.code for kind in every_error()]
    assert len(codes) == len(set(codes))
    for kind in every_error():
        assert kind("what happened").mend
        assert kind.code in str(kind("what happened"))


def test_an_error_comes_back_from_the_wire_as_its_type() -> None:
    for kind in every_error():
        back = from_code(kind.code, "detail", "mend it")
        assert type(back) is kind
        assert (back.detail, back.mend) == ("detail", "mend it")


def test_an_unknown_code_keeps_its_text() -> None:
    assert "from_the_future" in str(from_code("from_the_future", "detail"))


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOSPC, errors.StorageFull),
        (errno.EROFS, errors.ReadOnly),
        (errno.EACCES, errors.AccessDenied),
        (errno.ENOENT, errors.NotFound),
        (errno.ENOTDIR, ConfigurationInvalid),
        (errno.EIO, AicoMemoryError),
    ],
)
def test_what_the_system_refuses_is_a_typed_error_that_names_the_file(number: int, kind: type[AicoMemoryError]) -> None:
    error = from_os_error(OSError(number, os.strerror(number), "/data/x"))
    assert type(error) is kind
    assert error.detail == f"/data/x: {os.strerror(number)}"
    assert error.mend


def test_a_wait_of_the_system_that_ended_without_anything_is_a_passed_deadline() -> None:
    error = from_os_error(TimeoutError())
    assert type(error) is errors.DeadlineExceeded
    assert error.detail


def test_an_environment_variable_that_is_no_yaml_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationInvalid, match="AICO_MEMORY_SET__bus__max_bytes"):
        load_settings(Home(tmp_path), {"AICO_MEMORY_SET__bus__max_bytes": "["})


def test_the_shipped_settings_load(tmp_path: Path) -> None:
    assert load_settings(Home(tmp_path), {}) is not None


def test_an_unknown_key_stops_with_its_path(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.config.mkdir()
    (home.config / "memory.yaml").write_text("bus:\n  no_such_key: 1\n")
    with pytest.raises(ConfigurationInvalid, match=r"bus\.no_such_key") as caught:
        load_settings(home, {})
    assert str(home.config / "memory.yaml") in str(caught.value)


def test_an_environment_variable_sets_a_nested_key(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationInvalid, match=r"bus\.nothing"):
        load_settings(Home(tmp_path), {"AICO_MEMORY_SET__bus__nothing": "1"})


def test_the_home_is_the_one_given_then_the_environments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AICO_MEMORY_HOME", str(tmp_path / "a"))
    assert find_home().root == tmp_path / "a"
    assert find_home(tmp_path / "b").root == tmp_path / "b"


def test_the_folders_of_keys_are_private(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.ensure()
    assert home.keys.stat().st_mode & 0o777 == 0o700
