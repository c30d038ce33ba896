"""Reading the development streams: what is said when, and what is asked about which time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.resources import files
from zoneinfo import ZoneInfo

import yaml

from aico_memory.domain.formation.when import to_us

# The C loader reads large files ten times faster, where it was built.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
ZONE = "Europe/Berlin"
# A stream without a `now` of its own is asked this long after its last message.
AFTERWARDS = timedelta(days=2)
NOTHING = "-"
# Streams that the span reader learns from, and those that nobody has read: only figures of them count.
LEARN, UNREAD = "learn", "unread"


@dataclass(frozen=True, slots=True)
class Said:
    """One message."""

    at_us: int
    text: str


@dataclass(frozen=True, slots=True)
class Asked:
    """One question; no expected value means that nothing was true then."""

    # None asks about now.
    as_of_us: int | None
    question: str
    expected: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stream:
    """One person's messages and the questions about them."""

    id: str
    language: str
    # "develop": rules may be made from it; "held out": only its number is looked at; "other hands": by who knew no rule;
    # "learn" and "unread": see above.
    half: str
    now_us: int
    said: tuple[Said, ...]
    asked: tuple[Asked, ...]

    @property
    def file(self) -> str:
        """The name of the file that holds it."""
        return self.id.rpartition("-")[0]


def load_streams(learned: bool = False) -> list[Stream]:
    """The streams of the benchmark, in the order of their files; `learned`: also those to learn from, which are many."""
    found: list[Stream] = []
    folder = files("aico_memory.bench.facts") / "streams"
    for path in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if path.name.endswith(".yaml") and (learned or f"-{LEARN}-" not in path.name):
            found.extend(_streams(path.name.removesuffix(".yaml"), yaml.load(path.read_text(encoding="utf-8"), _LOADER)))
    return found


def _streams(name: str, content: dict[str, object]) -> Iterator[Stream]:
    language = str(content["language"])
    # A file may belong to one half as a whole; else its streams take turns.
    half = str(content.get("half", ""))
    entries = content["streams"]
    assert isinstance(entries, list)
    for number, entry in enumerate(entries):
        said = tuple(_said(line) for line in entry["say"])
        last = max(message.at_us for message in said)
        now = _moment(str(entry["now"])) if "now" in entry else last + round(AFTERWARDS.total_seconds() * 1e6)
        yield Stream(
            id=f"{name}-{number + 1:03d}",
            language=language,
            half=half or ("held out" if number % 2 else "develop"),
            now_us=now,
            said=said,
            asked=tuple(_asked(line) for line in entry["ask"]),
        )


def _said(line: str) -> Said:
    when, _, text = line.partition("|")
    return Said(_moment(when.strip()), text.strip())


def _asked(line: str) -> Asked:
    when, question, expected = (part.strip() for part in line.split("|"))
    values = () if expected == NOTHING else tuple(value.strip() for value in expected.split(";"))
    return Asked(None if when == "now" else _moment(when), question, values)


def _moment(text: str) -> int:
    moment = datetime.fromisoformat(text if " " in text else f"{text} 12:00")
    return to_us(moment.replace(tzinfo=ZoneInfo(ZONE)))
