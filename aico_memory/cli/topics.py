"""The bus itself: topics, publishing by hand, listening, dead letters."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer
from google.protobuf import json_format
from rich.markup import escape

from aico_memory.cli.app import app, command, group
from aico_memory.cli.face import Face, as_json, face_of
from aico_memory.clock import format_us
from aico_memory.contracts.envelope import make_record, open_record
from aico_memory.contracts.registry import Topic, topic_named, topic_of, topics
from aico_memory.contracts.wire import StampedRecord
from aico_memory.errors import DeadlineExceeded, InvalidMessage, NotFound
from aico_memory.ids import new_id
from aico_memory.runtime.clocks import clock_for
from aico_memory.runtime.naming import named_user
from aico_memory.runtime.probe import broker_says
from aico_memory.runtime.waiting import answered

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from aico_memory.bus.link import Acknowledgement, Link

UNANSWERED_MEND = "It is applied once its worker comes to it; `aico-memory status` shows who is behind."
FIELDS_MEND = "The message and its fields stand in docs/TOPICS.md and proto/."
PANEL = "Bus"
_LETTERS_AT_ONCE = 1000
letters = group("dead-letters", "Records that a worker gave up: see why, drop them, or send them again.", PANEL)


@command(app, "topics", "topics", "topics --json", panel=PANEL)
def list_topics(context: typer.Context) -> None:
    """All topics with their message and how they are delivered, as the contracts declare them."""
    face = face_of(context)
    found = [
        {"topic": topic.name, "message": topic.full_name, "delivery": "durable" if topic.durable else "ephemeral",
         "owner": topic.owner, "origin": "external" if topic.external else "internal",
         "reply": topic.reply.DESCRIPTOR.full_name if topic.reply else None}
        for topic in topics().values()
    ]  # fmt: skip
    columns = ("topic", "message", "delivery", "owner", "origin")
    face.show(found, lambda data: face.table(columns, [[entry[key] for key in columns] for entry in data]))


@command(
    app, "publish", """publish memory/working/session_ended/v1/ '{"user_id": "ana", "session_id": "chat1"}'""", panel=PANEL
)
def publish(
    context: typer.Context,
    topic: Annotated[str, typer.Argument(help="Name of the topic; the closing slash may be left out.")],
    body: Annotated[str, typer.Argument(help="The message as JSON, field names as in the contract; bytes in base64.")],
    user: Annotated[str, typer.Option("--user", "-u", help="User in the header; default: user_id of the message.")] = "",
    identifier: Annotated[str | None, typer.Option("--id", help="UUID of the event.")] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds to wait for acknowledgement and answer.")] = 10.0,
) -> None:
    """Publish one message; durable ones are on disk when this returns. Requests and commands print their answer."""
    face = face_of(context)
    declared = topic_named(topic)
    try:
        message = json_format.Parse(body, declared.message())
    except json_format.ParseError as error:
        raise InvalidMessage(f"The JSON is no {declared.full_name}: {str(error).splitlines()[0]}", FIELDS_MEND) from None
    now = clock_for(face.home).now_us()
    event_id = _uuid(identifier) if identifier else new_id(now)
    owner = named_user(message, user or None, face.user)
    with face.operator() as link:
        if declared.reply is not None:
            report = _asked(link, message, owner, event_id, timeout)
        elif declared.durable:
            record = make_record(message, event_id=event_id, occurred_us=now, user=owner)
            report = _standing(answered(link.publish([record])[0], timeout, f"The publish on {topic}"))
        else:
            link.send(make_record(message, event_id=event_id, occurred_us=now, user=owner))
            report = {"event_id": str(event_id)}
    asked = declared.reply is not None and not declared.durable
    face.show(report, None if asked else partial(_print_published, face))


def _asked(link: Link, message: Message, user: str, event_id: UUID, timeout: float) -> dict[str, Any]:
    """The answer to a question; of a command, which is durable, where it stands as well."""
    topic = topic_of(message)
    acknowledged: Future[Acknowledgement] = Future()
    asked = link.request(message, user=user, timeout=timeout, event_id=event_id, acknowledged=acknowledged)
    try:
        answer = answered(asked, timeout + 1, f"The question on {topic.name}")
    except DeadlineExceeded as late:
        stands = acknowledged.done() and acknowledged.exception() is None
        error = DeadlineExceeded(f"{late.detail}; the command is on disk", UNANSWERED_MEND) if stands else late
        error.event_ids = (str(event_id),) if topic.durable else ()
        raise error from None
    told: dict[str, Any] = json_format.MessageToDict(answer, preserving_proto_field_name=True)
    if not topic.durable:
        return told
    return {**_standing(answered(acknowledged, timeout, f"The publish on {topic.name}")), "answer": told}


def _standing(acknowledged: Acknowledgement) -> dict[str, Any]:
    return {"event_id": str(UUID(bytes=acknowledged.event_id)), "global_sequence": acknowledged.global_sequence,
            "topic_sequence": acknowledged.topic_sequence}  # fmt: skip


def _print_published(face: Face, report: dict[str, Any]) -> None:
    face.write("  ".join(str(report[key]) for key in ("event_id", "global_sequence") if key in report))
    if "answer" in report:
        face.write(as_json(report["answer"], 2))


@command(app, "tail", "tail memory/working/message/v1/", "tail --from 0 --json memory/behavioral/feedback/v1/", panel=PANEL)
def tail(
    context: typer.Context,
    names: Annotated[list[str], typer.Argument(help="Topics; the closing slash may be left out.")],
    start: Annotated[int | None, typer.Option("--from", min=0, help="Durable topics: begin after this sequence.")] = None,
    count: Annotated[int | None, typer.Option("--count", "-n", min=1, help="Stop after so many.")] = None,
    words: Annotated[bool, typer.Option("--words", help="Show what people said; otherwise only ids and sizes.")] = False,
) -> None:
    """Listen to topics until Ctrl-C."""
    face = face_of(context)
    chosen = [topic_named(name) for name in names]
    if start is not None:
        chosen = _with_past(face, chosen)
    seen = 0
    receive: Callable[[], list[StampedRecord]]
    with face.operator() as link:
        if start is not None:
            consumer = link.consume([topic.name for topic in chosen], link.epoch, start)
            receive = partial(consumer.receive, 100, 1.0)
        else:
            arrived: queue.Queue[StampedRecord] = queue.Queue()
            link.subscribe([topic.name for topic in chosen], arrived.put)
            receive = partial(_some, arrived)
        while count is None or seen < count:
            for record in receive():
                if count is None or seen < count:
                    face.write(_line(face, record, words))
                    seen += 1


def _with_past(face: Face, chosen: list[Topic]) -> list[Topic]:
    """The durable ones; what is left out is said, and InvalidMessage where nothing is left."""
    passing = [topic.name for topic in chosen if not topic.durable]
    durable = [topic for topic in chosen if topic.durable]
    if not durable:
        raise InvalidMessage(
            f"Ephemeral topics have no past: {', '.join(passing)}", "Leave out --from to hear them from now on."
        )
    if passing:
        face.err.print(f"Left out, since ephemeral topics have no past: {escape(', '.join(passing))}")
    return durable


def _some(arrived: queue.Queue[StampedRecord]) -> list[StampedRecord]:
    try:
        return [arrived.get(timeout=1.0)]
    except queue.Empty:
        return []


def _line(face: Face, record: StampedRecord, words: bool) -> str:
    shown: dict[str, Any] = {
        "global": record.global_sequence, "topic": record.topic, "event_id": str(record.id), "user": record.user,
        "sender": record.sender, "received": format_us(record.received_us), "bytes": len(record.envelope),
    }  # fmt: skip
    if words:
        try:
            shown["message"] = json_format.MessageToDict(open_record(record).message, preserving_proto_field_name=True)
        except InvalidMessage as error:
            shown["invalid"] = error.detail
    if face.as_json:
        return as_json(shown)
    text = f"{shown['global']:>8}  {shown['received']}  {record.topic}  {record.user}  {record.id}  {len(record.envelope)} B"
    return f"{text}  {as_json(shown.get('message', shown.get('invalid')))}" if words else text


@command(letters, "list", "dead-letters list --limit 20")
def list_letters(context: typer.Context, limit: Annotated[int, typer.Option(min=1, max=1_000_000)] = 100) -> None:
    """The dead letters, oldest first."""
    face = face_of(context)
    with face.operator() as link:
        found = list(islice(_letters(link), limit))
    columns = ("id", "event_id", "topic", "user_id", "consumer", "code", "reason", "attempts")
    face.show(found, lambda data: face.table(columns, [[entry.get(key) for key in columns] for entry in data]))


@command(letters, "show", "dead-letters show 0198c0de-…")
def show_letter(context: typer.Context, event_id: str) -> None:
    """One dead letter whole."""
    face = face_of(context)
    with face.operator() as link:
        face.show(_letters_of(link, event_id)[0])


@command(letters, "drop", "dead-letters drop 0198c0de-…")
def drop_letter(context: typer.Context, event_id: str) -> None:
    """Settle a dead letter: nothing more is to be done about it."""
    face = face_of(context)
    with face.operator() as link:
        report = {"event_id": _letters_of(link, event_id)[0]["event_id"], "action": "drop"}
        report["settled"] = _settled(link, str(_uuid(event_id)), "drop")
    _show_settled(face, report)


@command(letters, "replay", "dead-letters replay 0198c0de-…")
def replay_letter(context: typer.Context, event_id: str) -> None:
    """Send the record of a dead letter again to who gave it up; what no worker has had, to all."""
    from aico_memory.cli.letters import resend

    face = face_of(context)
    with face.operator() as link:
        found = _letters_of(link, event_id)
        report: dict[str, Any] = {"event_id": found[0]["event_id"], "action": "replay", "sent_as": [], "settled": []}
        for letter in found:
            report["sent_as"].append(str(resend(link, letter, clock_for(face.home).now_us())))
            report["settled"] += _settled(link, letter["id"], "replayed")
    _show_settled(face, report)


def _settled(link: Link, wanted: str, action: str) -> list[str]:
    return list(broker_says(link, "dead_letter_settle", {"event_id": wanted, "action": action})["settled"])


def _show_settled(face: Face, report: dict[str, Any]) -> None:
    face.show(report, lambda data: face.out.print(escape(f"{data['action']}: {len(data['settled'])} letters settled")))


def _letters(link: Link) -> Iterator[dict[str, Any]]:
    """All that nobody has settled, page by page."""
    after: int | None = 0
    while after is not None:
        answer = broker_says(link, "dead_letters", {"limit": _LETTERS_AT_ONCE, "after": after})
        yield from answer["dead_letters"]
        after = answer["next"]


def _letters_of(link: Link, wanted: str) -> list[dict[str, Any]]:
    """The letter of this id, or all of this event, which may have failed at several consumers; at least one."""
    identifier = str(_uuid(wanted))
    found = [letter for letter in _letters(link) if identifier in (letter["id"], letter["event_id"])]
    if found:
        return found
    raise NotFound(f"There is no dead letter {wanted}", "See `aico-memory dead-letters list`.")


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise InvalidMessage(f"{text!r} is no UUID") from None
