"""What applications do with memory, from the command line: add, search, context and the rest."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.markup import escape

from aico_memory.cli.app import app, command
from aico_memory.cli.face import Face, face_of, kept
from aico_memory.cli.listing import print_results, say_if_cut
from aico_memory.domain.memory import KINDS, STATUSES, TIERS
from aico_memory.errors import InvalidMessage
from aico_memory.runtime.probe import broker_says

PANEL = "Memory"
User = Annotated[str, typer.Option("--user", "-u", envvar="AICO_MEMORY_USER", help="Whose memory.")]
Session = Annotated[str | None, typer.Option("--session", "-s", help="Conversation.")]
Group = Annotated[str | None, typer.Option("--group", help="Group: what its members share, and who names it reads.")]
Project = Annotated[str | None, typer.Option("--project", help="Project: what belongs to it, and who names it reads.")]
Kinds = Annotated[list[str] | None, typer.Option(help=f"Only these kinds; may be repeated: {', '.join(KINDS)}.")]
Tiers = Annotated[list[str] | None, typer.Option(help=f"Only these tiers; may be repeated: {', '.join(TIERS)}.")]
TopK = Annotated[
    int | None, typer.Option("--top-k", "-k", min=1, max=1000, help="Most results; as configured where it is not given.")
]
AsOf = Annotated[str | None, typer.Option("--as-of", help="What was true then: ISO 8601 with zone.")]
KnownAsOf = Annotated[str | None, typer.Option("--known-as-of", help="What was known then.")]
Since = Annotated[str | None, typer.Option(help="Said at or after this time.")]
Until = Annotated[str | None, typer.Option(help="Said before this time.")]
Reason = Annotated[str | None, typer.Option(help="Why; kept in the history.")]
States = Annotated[list[str] | None, typer.Option(help=f"Only these states; may be repeated: {', '.join(STATUSES)}.")]


@command(app, "add", "add 'I moved to Lisbon in May' --user ana --wait", "add 'Oh, nice!' --role assistant --user ana -s chat1",
         "add - --user ana < messages.jsonl", panel=PANEL)  # fmt: skip
def add(
    context: typer.Context,
    text: Annotated[str, typer.Argument(help="What was said, or - to read JSON messages from standard input, one a line.")],
    user: User = "me",
    session: Session = None,
    role: Annotated[str | None, typer.Option(help="user, assistant, system or tool; left out: user.")] = None,
    name: Annotated[str | None, typer.Option(help="What the speaker is called; --user says who it is.")] = None,
    timestamp: Annotated[str | None, typer.Option(help="When it was said: ISO 8601 with zone.")] = None,
    metadata: Annotated[str | None, typer.Option(help="A JSON object kept with the message.")] = None,
    identifier: Annotated[str | None, typer.Option("--id", help="UUID of the event; twice has one effect.")] = None,
    zone: Annotated[str | None, typer.Option(help="IANA zone in which the message's own dates are meant.")] = None,
    group: Group = None,
    project: Project = None,
    wait: Annotated[bool, typer.Option("--wait", help="Return when it can be searched.")] = False,
) -> None:
    """Add a message; prints its event id once it is acknowledged, which means on disk."""
    face = face_of(context)
    own = {"role": role, "name": name, "timestamp": timestamp, "zone": zone, "id": identifier, "metadata": metadata}
    own = {key: value for key, value in own.items() if value is not None}
    if text == "-":
        if own:
            options = ", ".join(f"--{key}" for key in own)
            raise InvalidMessage(f"{options} would be that of one message", "Say it of each in its line.")
        lines = enumerate(typer.get_binary_stream("stdin"), 1)
        messages = [_json(_text(line, f"Line {number}"), f"Line {number}") for number, line in lines if line.strip()]
    else:
        meant = {} if metadata is None else {"metadata": _json(metadata, "--metadata")}
        messages = [{"role": "user", "content": text, **own, **meant}]
    with face.client() as client:
        ids = [str(event) for event in client.add(messages, user, session_id=session, group_id=group, project_id=project)]
        if wait:
            with kept(ids):
                client.flush(60.0)
    face.show({"event_ids": ids}, lambda data: face.write("\n".join(data["event_ids"])))


@command(
    app,
    "search",
    "search 'where does she live' --user ana",
    "search 'tea' -u ana -k 3 --since 2026-01-01T00:00:00Z --explain",
    panel=PANEL,
)
def search(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="What to look for, in any language.")],
    user: User = "me",
    top_k: TopK = None,
    as_of: AsOf = None,
    known_as_of: KnownAsOf = None,
    kind: Kinds = None,
    tier: Tiers = None,
    status: States = None,
    session: Session = None,
    since: Since = None,
    until: Until = None,
    explain: Annotated[bool, typer.Option(help="Show how each score came about, and what was left out by which rule.")] = False,
    profile: Annotated[str | None, typer.Option(help="Ranking profile (config/ranking), shown as it ranks.")] = None,
    group: Group = None,
    project: Project = None,
) -> None:
    """Search a user's memory by meaning and by words."""
    face = face_of(context)
    filters = _filters(kind, tier, status, session, since, until)
    with face.client() as client:
        found = client.search(
            query, user, top_k=top_k, as_of=as_of, known_as_of=known_as_of, filters=filters or None, explain=explain,
            group_id=group, project_id=project, profile=profile,
        )  # fmt: skip
    face.show(found, lambda data: print_results(face, data))


@command(app, "context", "context 'What should I cook tonight?' --user ana --max-tokens 400",
         "context 'Where did I live?' -u ana --as-of 2026-01-01T00:00:00Z --explain", panel=PANEL)  # fmt: skip
def context_command(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="What is about to be answered.")],
    user: User = "me",
    session: Session = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=1, help="Room in the prompt; as configured where it is not given.")
    ] = None,
    as_of: AsOf = None,
    known_as_of: KnownAsOf = None,
    zone: Annotated[str | None, typer.Option(help="IANA zone in which the question's own dates are meant.")] = None,
    mood: Annotated[
        float | None, typer.Option(min=-1, max=1, help="How the one who asks feels; else as the last messages tell.")
    ] = None,
    selection: Annotated[
        str | None, typer.Option(help="Request id of a skill that was selected: its guidance stands in the block.")
    ] = None,
    patterns: Annotated[
        bool, typer.Option("--patterns", help="Also how the user likes to be answered, where they consented.")
    ] = False,
    explain: Annotated[bool, typer.Option(help="Show why each item is there, and what was left out by which rule.")] = False,
    group: Group = None,
    project: Project = None,
) -> None:
    """The block of text to put into a prompt, with where it comes from and the time of each stage."""
    face = face_of(context)
    with face.client() as client:
        answer = client.context(
            query, user, session_id=session, max_tokens=max_tokens, explain=explain, group_id=group, project_id=project,
            as_of=as_of, known_as_of=known_as_of, zone=zone, mood=mood, selection_id=selection, patterns=patterns,
        )  # fmt: skip
    face.show(answer, lambda data: _print_context(face, data))


@command(app, "messages", "messages --user ana --session chat1 --limit 20", panel=PANEL)
def messages(
    context: typer.Context,
    user: User = "me",
    session: Session = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000)] = 100,
) -> None:
    """The raw messages in working memory, newest last."""
    face = face_of(context)
    with face.client() as client:
        found = list(client.messages(user, session_id=session, limit=limit))
    columns = ("timestamp", "role", "name", "content", "session_id", "event_id")
    face.show(found, lambda data: face.table(columns, [[entry.get(key) for key in columns] for entry in data]))


@command(app, "get", "get 0198c0de-… --user ana", panel=PANEL)
def get(context: typer.Context, memory_id: str, user: User = "me", group: Group = None, project: Project = None) -> None:
    """One memory by its id."""
    face = face_of(context)
    with face.client() as client:
        face.show(client.get(memory_id, user, group, project))


@command(app, "list", "list --user ana --limit 50", "list -u ana --kind preference --tier semantic -s chat1", panel=PANEL)
def get_all(
    context: typer.Context,
    user: User = "me",
    limit: Annotated[int, typer.Option(min=1, max=10_000)] = 100,
    kind: Kinds = None,
    tier: Tiers = None,
    status: States = None,
    session: Session = None,
    since: Since = None,
    until: Until = None,
    group: Group = None,
    project: Project = None,
) -> None:
    """All memories of a user, and of a group and project that are named."""
    face = face_of(context)
    with face.client() as client:
        found = client.get_all(user, _filters(kind, tier, status, session, since, until), limit, group, project)

    def show(data: dict[str, Any]) -> None:
        print_results(face, data)
        say_if_cut(face, data)

    face.show(found, show)


@command(app, "history", "history 0198c0de-… --user ana", panel=PANEL)
def history(context: typer.Context, memory_id: str, user: User = "me", group: Group = None, project: Project = None) -> None:
    """How a memory has changed."""
    face = face_of(context)
    with face.client() as client:
        face.show(client.history(memory_id, user, group, project))


@command(app, "update", "update 0198c0de-… 'I moved to Porto' --user ana", panel=PANEL)
def update(
    context: typer.Context,
    memory_id: str,
    text: str,
    user: User = "me",
    metadata: Annotated[str | None, typer.Option(help="A JSON object kept with the edit.")] = None,
    group: Group = None,
    project: Project = None,
) -> None:
    """Correct a memory; the old text stays queryable."""
    face = face_of(context)
    given = None if metadata is None else _json(metadata, "--metadata")
    with face.client() as client:
        face.show(client.update(memory_id, text, user, given, group, project))


@command(app, "pin", "pin 0198c0de-… --user ana", "pin 0198c0de-… -u ana --immutable --reason 'signed'",
         "pin 0198c0de-… -u ana --off --mutable", panel=PANEL)  # fmt: skip
def pin(
    context: typer.Context,
    memory_id: str,
    user: User = "me",
    on: Annotated[
        bool | None, typer.Option("--on/--off", help="Whether it is pinned; left out beside --immutable: as it is.")
    ] = None,
    immutable: Annotated[
        bool | None, typer.Option("--immutable/--mutable", help="Whether nothing may change it; what contradicts it waits.")
    ] = None,
    reason: Reason = None,
    group: Group = None,
    project: Project = None,
) -> None:
    """Hold a memory fast: pinned it is not forgotten, cut or demoted, immutable it is not changed either."""
    face = face_of(context)
    pinned = True if on is None and immutable is None else on
    with face.client() as client:
        face.show(client.pin(memory_id, user, pinned, immutable, reason, group, project))


@command(app, "delete", "delete 0198c0de-… --user ana", "delete 0198c0de-… -u ana --reason 'said in jest'", panel=PANEL)
def delete(
    context: typer.Context,
    memory_id: str,
    user: User = "me",
    reason: Reason = None,
    group: Group = None,
    project: Project = None,
) -> None:
    """Invalidate a memory: it is no longer true, and stays in the history."""
    face = face_of(context)
    with face.client() as client:
        face.show(client.delete(memory_id, user, reason, group, project))


@command(app, "flush", "flush --timeout 30", panel=PANEL)
def flush(
    context: typer.Context,
    timeout: Annotated[float, typer.Option(min=0.1, help="Give up after so many seconds.")] = 30.0,
) -> None:
    """Return when everything that stands in the journal has been worked off and can be searched."""
    from aico_memory.runtime.settling import settled_through

    face = face_of(context)
    with face.operator() as link:
        head = int(broker_says(link, "consumers")["head"])
        settled_through(link, head, timeout)
    face.show({"settled": head}, lambda data: face.say(f"Settled through {data['settled']}."))


def _filters(
    kind: list[str] | None, tier: list[str] | None, status: list[str] | None, session: str | None, since: str | None,
    until: str | None,
) -> dict[str, Any]:  # fmt: skip
    given = {"kind": kind or None, "tier": tier or None, "status": status or None, "session_id": session, "since": since,
             "until": until}  # fmt: skip
    return {name: value for name, value in given.items() if value is not None}


def _text(line: bytes, where: str) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise InvalidMessage(f"{where} is no UTF-8: {error.reason} at byte {error.start}", "Write it in UTF-8.") from None


def _json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidMessage(f"{where} is no JSON: {error}") from None


def _print_context(face: Face, answer: dict[str, Any]) -> None:
    face.write(answer["text"])
    stages = "  ".join(f"{stage} {milliseconds:.1f}" for stage, milliseconds in answer["timings_ms"].items())
    kept = " (kept)" if answer["cached"] else ""
    face.err.print(f"[dim]{answer['tokens']} tokens, {len(answer['items'])} items{kept}; ms: {stages}[/]")
    if "dropped" in answer:
        parts = f"; asked as: {' | '.join(answer['parts'])}" if answer["parts"] else ""
        face.err.print(f"[dim]intent {answer['intent']}{escape(parts)}[/]")
        if answer.get("understood_by"):
            why = f": {answer['not_understood']}" if answer["not_understood"] else ""
            face.err.print(f"[dim]understood by {escape(answer['understood_by'] + why)}[/]")
        if answer.get("mood"):
            face.err.print(f"[dim]mood {answer['mood']['valence']:+.2f} ({answer['mood']['from']})[/]")
        for item in answer["items"]:
            shares = "  ".join(f"{name} {share:+.3f}" for name, share in item["shares"].items())
            face.err.print(f"[dim]{item['score']:.3f}  {item['id']}  {escape(shares)}[/]")
        for left_out in answer["dropped"]:
            face.err.print(f"[dim]left out  {left_out['id']}  {left_out['rule']}[/]")
    if answer["degraded"]:
        face.err.print(f"[yellow]degraded[/]  {escape(', '.join(answer['degraded']))}")
