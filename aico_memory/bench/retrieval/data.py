"""Reading the public sets: messages of one user each, and questions with the messages that answer them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from aico_memory.errors import InvalidMessage

LANGUAGES = ("en", "de", "tr", "ar", "zh", "es")
_SESSION = re.compile(r"session_(\d+)$")
# "D1:3", and what stands for it here and there: "D1:03", "D:1:3", several in one text.
_TURN = re.compile(r"D:?(\d+):0*(\d+)")
_SECONDS_BETWEEN_TURNS = 1
# Where a set gives no times: one text a minute from here on.
_FIRST = datetime(2024, 1, 1, 9, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Said:
    """One message of a set."""

    id: str
    text: str
    name: str
    session: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the ids of all messages that answer it."""

    text: str
    gold: tuple[str, ...]
    category: str


@dataclass(frozen=True, slots=True)
class Collection:
    """What one user has in memory, and is asked."""

    name: str
    messages: tuple[Said, ...]
    questions: tuple[Question, ...]


def load_conversations(root: Path) -> list[Collection]:
    """LoCoMo: one conversation a user, a turn a message, speakers by name; questions without evidence are left out."""
    return [_conversation(entry) for entry in _read(root / "locomo" / "locomo10.json")]


def load_passages(root: Path, language: str) -> Collection:
    """XQuAD: the passages of one language, each a document (a session) of its own."""
    messages: list[Said] = []
    questions: list[Question] = []
    for article in _read(root / "xquad" / f"xquad.{language}.json")["data"]:
        for passage in article["paragraphs"]:
            identifier = f"p{len(messages)}"
            messages.append(_alone(identifier, passage["context"], len(messages)))
            questions += [Question(one["question"], (identifier,), language) for one in passage["qas"]]
    return Collection(f"xquad-{language}", tuple(messages), tuple(questions))


def load_preferences(root: Path) -> Collection:
    """PrefEval: a thousand preferences of one user, each said in a session of its own, and a question that needs it."""
    messages: list[Said] = []
    questions: list[Question] = []
    known: dict[str, str] = {}
    for path in sorted((root / "prefeval" / "explicit_preference").glob("*.json")):
        for entry in _read(path):
            text = entry["preference"]
            if text not in known:
                known[text] = f"p{len(messages)}"
                messages.append(_alone(known[text], text, len(messages)))
            questions.append(Question(entry["question"], (known[text],), path.stem))
    return Collection("prefeval", tuple(messages), tuple(questions))


def _conversation(entry: Any) -> Collection:
    conversation = entry["conversation"]
    messages: list[Said] = []
    for number, turns in sorted(_sessions(conversation)):
        began = datetime.strptime(conversation[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        for place, turn in enumerate(turns):
            at = began + timedelta(seconds=place * _SECONDS_BETWEEN_TURNS)
            messages.append(Said(turn["dia_id"], turn["text"], turn["speaker"], f"session-{number}", at))
    there = {message.id for message in messages}
    questions = []
    for asked in entry["qa"]:
        named = (f"D{session}:{turn}" for text in asked.get("evidence", ()) for session, turn in _TURN.findall(text))
        gold = tuple(dict.fromkeys(identifier for identifier in named if identifier in there))
        if gold:
            questions.append(Question(asked["question"], gold, str(asked["category"])))
    return Collection(str(entry["sample_id"]), tuple(messages), tuple(questions))


def _sessions(conversation: Any) -> Iterator[tuple[int, list[Any]]]:
    for key, value in conversation.items():
        found = _SESSION.match(key)
        if found and value:
            yield int(found.group(1)), value


def _alone(identifier: str, text: str, place: int) -> Said:
    return Said(identifier, text, "", f"alone-{identifier}", _FIRST + timedelta(minutes=place))


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InvalidMessage(
            f"No {path.name} in {path.parent}", "Give the folder of the evaluation data with --data."
        ) from error
