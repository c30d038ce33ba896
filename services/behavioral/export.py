"""The canonical export of the behavioral store: sorted JSON lines, texts opened, nothing operational."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from aico_memory.contracts.v1 import bus_pb2
from aico_memory.domain.advisor.records import OpenSuggestion, SealedOutcome, SealedProfile
from aico_memory.domain.behavioral.dimensions import named
from aico_memory.domain.behavioral.learning import Preference
from aico_memory.domain.behavioral.records import Evolution, FeedbackRecord, SkillStanding, Trajectory, UserSkill
from aico_memory.errors import InvalidMessage, KeyDestroyed, WrongKey
from aico_memory.stores.behavioral.port import SECTIONS, BehavioralRows, Key, Record, pages
from aico_memory.vault.sealer import Sealer
from services.behavioral.advisor.sealing import exported
from services.behavioral.feedback import text_context
from services.behavioral.own_skills import context as skill_context
from services.behavioral.responses import response_context
from services.behavioral.selection import input_context

# Order of application and times of the last write; both follow from what is exported.
OMITTED = ("behavioral.feedback.position", "behavioral.posterior.updated_us", "behavioral.preference.updated_us",
           "behavioral.selection.position", "behavioral.skill.archived_us")  # fmt: skip
SealerOf = Callable[[str], Sealer]


def export_page(rows: BehavioralRows, user: str, after: str, limit: int, sealer_of: SealerOf) -> bus_pb2.ExportPage:
    """Up to `limit` lines behind `after`, which is the `next` of the page before."""
    page = bus_pb2.ExportPage(omitted=OMITTED)
    last: tuple[str, Key] = ("", ())
    for section, key, record in pages(rows, user, _place(after), limit):
        line = {"section": f"behavioral.{section}", "key": _key_text(key), **_named_key(section, key)}
        page.lines.append(json.dumps(line | _fields(record, sealer_of), sort_keys=True, ensure_ascii=False))
        last = (section, key)
    if len(page.lines) == limit:
        page.next = json.dumps([last[0], [_plain(part) for part in last[1]]])
    return page


def _place(after: str) -> tuple[str, Key]:
    if not after:
        return "", ()
    try:
        section, key = json.loads(after)
        places = zip(SECTIONS[section], key, strict=True)
        return section, tuple(bytes.fromhex(part) if name in {"cause", "event_id"} else part for name, part in places)
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidMessage("The export cannot go on from there", "Give the `next` of the page before.") from error


def _key_text(key: Key) -> str:
    # Numbers are padded, so that the order of the texts is that of the keys.
    return "/".join(f"{part:020d}" if isinstance(part, int) else str(_plain(part)) for part in key)


def _named_key(section: str, key: Key) -> dict[str, Any]:
    return dict(zip(SECTIONS[section], map(_plain, key), strict=True))


def _plain(part: Any) -> Any:
    return part.hex() if isinstance(part, bytes) else part


def _fields(record: Record, sealer_of: SealerOf) -> dict[str, Any]:
    fields = asdict(record)
    if isinstance(record, FeedbackRecord):
        fields["free_text"] = _opened(fields.pop("sealed_text"), record.user, text_context(record.event_id.bytes), sealer_of)
    elif isinstance(record, Trajectory):
        context = input_context(record.request_id)
        fields["input"] = _opened(fields.pop("sealed_input"), record.user, context, sealer_of)
        fields["response"] = _opened(fields.pop("sealed_response"), record.user, response_context(record.request_id), sealer_of)
    elif isinstance(record, SkillStanding):
        fields = {**fields.pop("state"), **fields}
    elif isinstance(record, Evolution):
        fields.pop("before")
    elif isinstance(record, UserSkill):
        fields["definition"] = _opened(
            fields.pop("sealed_definition"), record.user, skill_context(record.skill_id, record.version), sealer_of
        )
        fields["dimensions"], fields["given"] = named(record.dimensions), named(record.given)
    elif isinstance(record, SealedOutcome | SealedProfile | OpenSuggestion):
        # The answer follows from what is exported, and so does when the profile was written last.
        for name in ("sealed", "sealed_body", "answer", "updated_us"):
            fields.pop(name, None)
        fields |= _words_of(record, sealer_of)
    elif isinstance(record, Preference):
        fields["dimensions"] = named(record.dimensions)
    return fields | {name: fields[name].hex for name in ("event_id", "cause") if name in fields}


def _words_of(record: SealedOutcome | SealedProfile | OpenSuggestion, sealer_of: SealerOf) -> dict[str, Any]:
    try:
        return exported(record, sealer_of(record.user))
    except KeyDestroyed:
        return {}


def _opened(sealed: bytes | None, user: str, context: bytes, sealer_of: SealerOf) -> str | None:
    if not sealed:
        return None
    try:
        return sealer_of(user).open(sealed, context).decode()
    except (KeyDestroyed, WrongKey):
        return None
