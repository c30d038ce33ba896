"""The working process's part of the canonical export: conversations, without what only operations know."""

from __future__ import annotations

import json
import uuid

from aico_memory.clock import format_us
from aico_memory.contracts.v1.bus_pb2 import ExportPage
from aico_memory.contracts.v1.working_pb2 import StoredMessage
from aico_memory.stores.working import WorkingStore

SECTION = "working.message"
# Receipt and consolidation happen when they happen, and find what there is by then; attention follows questions, which leave
# no record.
OMITTED = (f"{SECTION}.received_at", f"{SECTION}.consolidated_at", f"{SECTION}.memory_ids", "working.buffer")
# More than a store of one user can hold.
_ALL = 1 << 40
_SEPARATOR = "\0"


def export_page(store: WorkingStore, user: str, after: str, limit: int) -> ExportPage:
    """Lines sorted by user and event id; `after` is the `next` of the page before, "" the first one."""
    after_user, _, after_event = after.rpartition(_SEPARATOR)
    lines: list[str] = []
    last = after
    for owner in [user] if user else store.users():
        if owner < after_user:
            continue
        held = sorted(store.read(owner, limit=_ALL), key=lambda message: message.event_id)
        for message in held:
            identifier = str(uuid.UUID(bytes=message.event_id))
            if owner == after_user and identifier <= after_event:
                continue
            if len(lines) == limit:
                return ExportPage(lines=lines, next=last, omitted=OMITTED)
            lines.append(_line(message, identifier))
            last = owner + _SEPARATOR + identifier
    return ExportPage(lines=lines, omitted=OMITTED)


def _line(message: StoredMessage, identifier: str) -> str:
    content = {
        "section": SECTION,
        "key": f"{message.user_id}/{identifier}",
        "event_id": identifier,
        "user_id": message.user_id,
        "session_id": message.session_id,
        "group_id": message.group_id,
        "project_id": message.project_id,
        "role": message.role,
        "name": message.name,
        "content": message.content,
        "said_at": format_us(message.said_at_us),
        "metadata": message.metadata_json,
        "source_type": message.source_type,
        "consolidated": message.consolidated,
        "has_feedback": message.has_feedback,
        "zone": message.zone,
    }
    return json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
