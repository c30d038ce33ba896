"""Reading chat logs: a folder of files named by their day, lines `[HH:MM] <nick> text`; repeated by shifting time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from aico_memory.errors import NotFound

SUFFIX = ".raw.txt"
_LINE = re.compile(r"^\[(\d\d):(\d\d)\] <([^>]+)> (.+)$")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class Line:
    """One message: who (a user id), what, and when (aware)."""

    user: str
    text: str
    at: datetime


def read_lines(data: Path) -> list[Line]:
    """Every message of the logs in the order of their time; joins and parts are no messages. NotFound without any."""
    found: list[Line] = []
    for path in sorted(data.rglob(f"*{SUFFIX}")):
        if (day := _DAY.search(path.name)) is None:
            continue
        date, before = datetime.fromisoformat(day.group()).replace(tzinfo=UTC), (0, 0)
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines()):
            if (match := _LINE.match(line)) is None:
                continue
            hour_minute = int(match[1]), int(match[2])
            if hour_minute < before:
                # Past midnight.
                date += timedelta(days=1)
            before = hour_minute
            at = date + timedelta(hours=hour_minute[0], minutes=hour_minute[1], milliseconds=number)
            found.append(Line(user_of(match[3]), match[4], at))
    if not found:
        raise NotFound(f"{data} holds no chat logs", f"Name a folder with files such as 2009-03-03{SUFFIX}.")
    return sorted(found, key=lambda line: line.at)


def user_of(nick: str) -> str:
    """A user id for a nick."""
    return "chat-" + (_NOT_IN_A_NAME.sub("-", nick).strip("-").lower() or "nobody")


def repeated(lines: list[Line], limit: int) -> Iterator[Line]:
    """The lines again and again, each time later by their whole span and a day, until there are `limit`; 0: once."""
    span = lines[-1].at - lines[0].at + timedelta(days=1)
    wanted = limit or len(lines)
    for number in range(wanted):
        round_, place = divmod(number, len(lines))
        line = lines[place]
        yield Line(line.user, line.text, line.at + round_ * span)
