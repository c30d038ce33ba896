"""The clock of a development deployment."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Annotated

import typer

from aico_memory.cli.app import command, group
from aico_memory.cli.face import Face, face_of
from aico_memory.clock import SharedManualClock, format_time, from_us
from aico_memory.errors import ConfigurationInvalid, InvalidMessage
from aico_memory.runtime.clocks import MANUAL, clock_for, clock_mode

hands = group("clock", "The time of a deployment that was started with AICO_MEMORY_CLOCK=manual.", "Development")
DURATION_MEND = "Write it like 90s, 15m, 2h, 1h30m, 3d or 1w."
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(us|ms|s|m|min|h|d|w)")
_UNITS = {"us": 1, "ms": 10**3, "s": 10**6, "m": 60 * 10**6, "min": 60 * 10**6, "h": 3600 * 10**6, "d": 86_400 * 10**6,
          "w": 604_800 * 10**6}  # fmt: skip


def parse_duration(text: str) -> timedelta:
    """A duration like `90s`, `2d` or `1h30m`, or plain seconds; InvalidMessage where it is none, or too long."""
    try:
        return _duration(text)
    except OverflowError:
        raise InvalidMessage(f"{text!r} is longer than any calendar", DURATION_MEND) from None


def _duration(text: str) -> timedelta:
    if re.fullmatch(r"\d+(\.\d+)?", text.strip()):
        return timedelta(seconds=float(text))
    if not re.fullmatch(rf"(\s*{_PART.pattern})+\s*", text):
        raise InvalidMessage(f"{text!r} is no duration", DURATION_MEND)
    return timedelta(microseconds=sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text)))


def _in_calendar(moment: str | datetime) -> datetime:
    """The moment, where a message of it would be taken; InvalidMessage, NaiveTime."""
    from aico_memory.client.validation import moment_us

    return from_us(moment_us(moment, "The time"))


def _later(now: datetime, by: timedelta) -> datetime:
    try:
        return _in_calendar(now + by)
    except OverflowError:
        raise InvalidMessage(f"{by} after {format_time(now)} is outside of the calendar", "Turn it less far.") from None


def manual_clock(face: Face) -> SharedManualClock:
    """The clock that can be turned; ConfigurationInvalid where the deployment follows the machine's."""
    if clock_mode(face.home) != MANUAL:
        raise ConfigurationInvalid(
            "This deployment follows the machine's clock", "Start it with AICO_MEMORY_CLOCK=manual to turn its clock by hand."
        )
    return SharedManualClock(face.home.manual_clock)


@command(hands, "show", "clock show")
def show(context: typer.Context) -> None:
    """What time the deployment has."""
    face = face_of(context)
    report = {"mode": clock_mode(face.home), "now": format_time(clock_for(face.home).now())}
    face.show(report, lambda data: face.write(f"{data['mode']}  {data['now']}"))


@command(hands, "set", "clock set 2026-01-31T18:00:00+01:00")
def set_clock(context: typer.Context, moment: Annotated[str, typer.Argument(help="ISO 8601 with zone.")]) -> None:
    """Set the clock of every process at once."""
    face = face_of(context)
    time = _in_calendar(moment)
    clock = manual_clock(face)
    clock.set(time)
    face.show({"mode": MANUAL, "now": format_time(clock.now())}, lambda data: face.write(data["now"]))


@command(hands, "advance", "clock advance 2d", "clock advance 1h30m")
def advance(context: typer.Context, by: Annotated[str, typer.Argument(help="Like 90s, 15m, 1h30m, 2d, 1w.")]) -> None:
    """Turn the clock of every process forward."""
    face = face_of(context)
    duration = parse_duration(by)
    clock = manual_clock(face)
    clock.set(_later(clock.now(), duration))
    face.show({"mode": MANUAL, "now": format_time(clock.now())}, lambda data: face.write(data["now"]))
