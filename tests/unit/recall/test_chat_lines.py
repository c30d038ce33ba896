from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from aico_memory.bench.chat.lines import read_lines, repeated, user_of
from aico_memory.errors import NotFound


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    (tmp_path / "2009-03-03.raw.txt").write_text(
        "=== ada has joined\n[23:59] <ada> good evening\n[00:01] <|bob|> still up?\nno message\n[00:01] <ada> yes\n",
        encoding="utf-8",
    )
    return tmp_path


def test_lines_are_read_in_order_and_midnight_is_passed(logs: Path) -> None:
    lines = read_lines(logs)
    assert [(line.user, line.text) for line in lines] == [
        ("chat-ada", "good evening"),
        ("chat-bob", "still up?"),
        ("chat-ada", "yes"),
    ]
    assert [line.at.day for line in lines] == [3, 4, 4]
    assert lines == sorted(lines, key=lambda line: line.at)


def test_lines_repeat_later_until_there_are_enough(logs: Path) -> None:
    lines = list(repeated(read_lines(logs), 7))
    assert len(lines) == 7
    assert lines[3].text == lines[0].text
    assert lines[3].at - lines[0].at > timedelta(days=1)
    assert [line.at for line in lines] == sorted(line.at for line in lines)


def test_no_logs_are_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        read_lines(tmp_path)


def test_every_nick_makes_a_user_id() -> None:
    assert [user_of(nick) for nick in ("Ada_2", "|trey|", "^^")] == ["chat-ada-2", "chat-trey", "chat-nobody"]
