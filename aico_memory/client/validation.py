"""What a client checks before anything leaves it: messages, times, filters, ids."""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from aico_memory.clock import ZONE_MEND, format_us, is_zone, parse_time, to_us
from aico_memory.contracts.envelope import EARLIEST_US, LATEST_US
from aico_memory.contracts.v1 import envelope_pb2, semantic_pb2, working_pb2, write_path_pb2
from aico_memory.domain.memory import KINDS, STATUSES, TIERS
from aico_memory.errors import InvalidFeedback, InvalidMessage, InvalidReward

ROLES = ("user", "assistant", "system", "tool")
MESSAGE_KEYS = frozenset({"role", "content", "id", "name", "timestamp", "zone", "metadata"})
OUTCOME = "outcome"
FILTER_KEYS = frozenset({"kind", "tier", "status", "session_id", "since", "until"})
OUTCOME_FILTER_KEYS = FILTER_KEYS | {"tag"}
REASONS = ("too_verbose", "too_brief", "wrong_tone", "not_helpful", "incorrect_info")
MAX_NAME = 256
MAX_ZONE = 64
# Offsets in hours for which there is an IANA zone without rules.
_WEST, _EAST = -12, 14
# Where other offsets are in use; of one offset, a zone that does not change its clocks comes first.
_BETWEEN_HOURS = (
    "Asia/Kolkata", "Asia/Kathmandu", "Asia/Yangon", "Asia/Kabul", "Asia/Tehran", "Australia/Darwin", "Australia/Eucla",
    "Pacific/Marquesas", "Australia/Adelaide", "America/St_Johns", "Pacific/Chatham",
)  # fmt: skip
MAX_QUERY = 20_000
MAX_FREE_TEXT = 300
CALENDAR_MEND = f"Give one from {format_us(EARLIEST_US)} to {format_us(LATEST_US)}."


def checked_text(value: object, what: str, most: int | None = None, *, empty: bool = False) -> str:
    """A text that is one, is not empty (unless it may be), can be encoded and is not too long."""
    if not isinstance(value, str):
        raise InvalidMessage(f"{what} must be a text, not {type(value).__name__}")
    if not value and not empty:
        raise InvalidMessage(f"{what} is empty")
    if most is not None and len(value) > most:
        raise InvalidMessage(f"{what} has {len(value)} characters; allowed are {most}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidMessage(f"{what} is no valid Unicode text: {error.reason} at character {error.start}") from None
    return value


def checked_user(user_id: object) -> str:
    """A user id: not empty, at most 256 characters, no control characters."""
    user = checked_text(user_id, "user_id", MAX_NAME)
    if not user.isprintable():
        raise InvalidMessage("user_id has control characters")
    return user


@contextmanager
def judging() -> Iterator[None]:
    """What is wrong with a feedback is told as `validation_error`; a wrong reward keeps its own code."""
    try:
        yield
    except InvalidReward:
        raise
    except InvalidMessage as error:
        raise InvalidFeedback(error.detail, error.mend) from None


def optional_text(value: object, what: str, most: int = MAX_NAME) -> str:
    """ "" for None, else a text that is not too long."""
    return "" if value is None else checked_text(value, what, most, empty=True)


def checked_id(value: object, what: str) -> uuid.UUID:
    """A UUID, given as one or as text."""
    if isinstance(value, uuid.UUID):
        return value
    try:
        return uuid.UUID(checked_text(value, what))
    except ValueError:
        raise InvalidMessage(f"{what} {value!r} is no UUID") from None


def moment_us(value: object, what: str) -> int:
    """Unix microseconds of an ISO 8601 text with zone or an aware datetime; 0 for None.

    1970 itself, whose 0 the contracts use for none, is taken a microsecond later, wherever it is named.
    """
    if value is None:
        return 0
    try:
        moment = to_us(value if isinstance(value, datetime) else parse_time(checked_text(value, "The time"))) or 1
    except InvalidMessage as error:
        raise type(error)(f"{what}: {error.detail}", error.mend) from None
    except OverflowError:
        moment = LATEST_US + 1
    if not EARLIEST_US <= moment <= LATEST_US:
        shown = value.isoformat() if isinstance(value, datetime) else value
        raise InvalidMessage(f"{what} {shown} is outside of the calendar", CALENDAR_MEND)
    return moment


def checked_span(since: object, until: object, where: str = "") -> tuple[int, int]:
    """Unix microseconds of [since, until), 0 where a bound is left out; InvalidMessage where it ends before it begins.

    `where` stands before the names in what is said of them.
    """
    from_us, until_us = moment_us(since, f"{where}since"), moment_us(until, f"{where}until")
    if from_us and until_us and from_us >= until_us:
        raise InvalidMessage(f"{where}since is not before {where}until", "Give the earlier time as since.")
    return from_us, until_us


def checked_among(value: object, what: str, allowed: Sequence[str]) -> list[str]:
    """Words of these: none for None, one given by itself, or several. InvalidMessage for one that there is not."""
    names = checked_names(value, what)
    _require_known(names, allowed, what)
    return names


def checked_kinds(value: object, what: str) -> list[str]:
    """Kinds of memories, as `checked_among` takes them."""
    return checked_among(value, what, KINDS)


def checked_zone(value: object, what: str, timestamp: object = None) -> str:
    """An IANA zone; where none is given, that of the timestamp (by its offset, where one is in use); "" for neither."""
    if value is None:
        return _zone_of(timestamp)
    name = checked_text(value, what, MAX_ZONE)
    if not is_zone(name):
        raise InvalidMessage(f"{what} {name!r} is no IANA zone", ZONE_MEND)
    return name


def _zone_of(timestamp: object) -> str:
    try:
        moment = datetime.fromisoformat(timestamp) if isinstance(timestamp, str) else timestamp
        return _zone_at(moment) if isinstance(moment, datetime) else ""
    except (ValueError, OverflowError):
        # Whoever checks the time says what is wrong with it.
        return ""


def _zone_at(moment: datetime) -> str:
    if isinstance(moment.tzinfo, ZoneInfo) and moment.tzinfo.key:
        return moment.tzinfo.key
    offset = moment.utcoffset()
    if not offset:
        return ""
    hours, rest = divmod(offset, timedelta(hours=1))
    if rest:
        return next((name for name in _BETWEEN_HOURS if moment.astimezone(ZoneInfo(name)).utcoffset() == offset), "")
    # The signs of these names are the other way round.
    return f"Etc/GMT{-hours:+d}" if _WEST <= hours <= _EAST else ""


def checked_count(value: object, what: str, most: int, least: int = 1) -> int:
    """A whole number from `least` to `most`."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidMessage(f"{what} is {value!r}; allowed is a whole number from {least} to {most}")
    return value


def checked_or_configured(value: object, what: str, most: int) -> int:
    """A whole number from 1 to `most`; 0, which leaves it to the configuration, for None."""
    return 0 if value is None else checked_count(value, what, most)


def checked_seconds(value: object, what: str) -> float:
    """A number of seconds, zero or more."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise InvalidMessage(f"{what} is {value!r}; allowed is a number of seconds from 0")
    return float(value)


def checked_flag(value: object, what: str) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise InvalidMessage(f"{what} must be True or False, not {value!r}")
    return value


def checked_names(value: object, what: str) -> list[str]:
    """Texts in their order: none for None, one given by itself, or several."""
    if value is None:
        return []
    if isinstance(value, str):
        return [checked_text(value, what)]
    if not isinstance(value, Sequence | set | frozenset):
        raise InvalidMessage(f"{what} must be a text or a list of texts")
    return [checked_text(entry, what) for entry in value]


def json_object(value: object, what: str) -> str:
    """A JSON object as text; "" for None or an empty one."""
    if value is None:
        return ""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InvalidMessage(f"{what} must be a JSON object: a mapping with texts as keys")
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidMessage(f"{what} is no JSON: {error}") from None
    return checked_text(text, what) if value else ""


def checked_messages(
    messages: object, user_id: str, session_id: str, group_id: str, project_id: str
) -> list[tuple[uuid.UUID | None, working_pb2.Message]]:
    """Every message of a list as its contract, with the id the caller gave it; the first fault is named with its place."""
    if isinstance(messages, Mapping):
        messages = [messages]
    if isinstance(messages, str | bytes) or not isinstance(messages, Sequence):
        raise InvalidMessage("messages must be a list of mappings with role and content")
    return [
        _checked_message(message, f"messages[{place}]", user_id, session_id, group_id, project_id)
        for place, message in enumerate(messages)
    ]


def _checked_message(
    message: object, where: str, user_id: str, session_id: str, group_id: str, project_id: str
) -> tuple[uuid.UUID | None, working_pb2.Message]:
    if not isinstance(message, Mapping):
        raise InvalidMessage(f"{where} must be a mapping with role and content")
    unknown = sorted(str(key) for key in message.keys() - MESSAGE_KEYS)
    if unknown:
        raise InvalidMessage(f"{where} has unknown keys {', '.join(unknown)}; known are {', '.join(sorted(MESSAGE_KEYS))}")
    role = message.get("role")
    if role not in ROLES:
        raise InvalidMessage(f"{where}.role is {role!r}; allowed are {', '.join(ROLES)}")
    given = message.get("id")
    identifier = None if given is None else checked_id(given, f"{where}.id")
    if identifier is not None and not identifier.int:
        raise InvalidMessage(f"{where}.id is the nil UUID, which names nothing")
    return identifier, working_pb2.Message(
        user_id=user_id,
        session_id=session_id,
        group_id=group_id,
        project_id=project_id,
        role=role,
        content=checked_text(message.get("content"), f"{where}.content"),
        name=optional_text(message.get("name"), f"{where}.name"),
        said_at_us=moment_us(message.get("timestamp"), f"{where}.timestamp"),
        zone=checked_zone(message.get("zone"), f"{where}.zone", message.get("timestamp")),
        metadata_json=json_object(message.get("metadata"), f"{where}.metadata"),
    )


def checked_filters(filters: object, *, outcomes: bool = False) -> semantic_pb2.SearchFilters:
    """Filters of a search: kind, tier, status (a text or a list), session_id, since, until ([since, until)).

    With `outcomes` the kind may also be "outcome" alone, and then `tag` (a text or a list, all must be there) filters as
    well; whoever keeps outcomes says which status those have.
    """
    if filters is None:
        return semantic_pb2.SearchFilters()
    if not isinstance(filters, Mapping):
        raise InvalidMessage("filters must be a mapping")
    known = OUTCOME_FILTER_KEYS if outcomes else FILTER_KEYS
    unknown = sorted(str(key) for key in filters.keys() - known)
    if unknown:
        raise InvalidMessage(f"Unknown filters {', '.join(unknown)}; known are {', '.join(sorted(known))}")
    kinds = _names(filters.get("kind"), "filters.kind")
    tiers = _names(filters.get("tier"), "filters.tier")
    statuses = _names(filters.get("status"), "filters.status")
    tags = _names(filters.get("tag"), "filters.tag")
    if not outcomes or kinds != [OUTCOME]:
        if tags:
            raise InvalidMessage("Memories have no tags; outcomes have", 'Ask for outcomes with {"kind": "outcome"}.')
        _require_known(kinds, KINDS, "filters.kind")
        _require_known(statuses, STATUSES, "filters.status")
    _require_known(tiers, TIERS, "filters.tier")
    since_us, until_us = checked_span(filters.get("since"), filters.get("until"), "filters.")
    return semantic_pb2.SearchFilters(
        kinds=kinds,
        tiers=tiers,
        statuses=statuses,
        session_id=optional_text(filters.get("session_id"), "filters.session_id"),
        since_us=since_us,
        until_us=until_us,
        tags=tags,
    )


def checked_scopes(user: str, group_id: object, project_id: object) -> list[envelope_pb2.Scope]:
    """The user's own scope, with the group and the project that are named; [] where none is, which means the own one."""
    named = (
        (envelope_pb2.SCOPE_KIND_GROUP, optional_text(group_id, "group_id")),
        (envelope_pb2.SCOPE_KIND_PROJECT, optional_text(project_id, "project_id")),
    )
    others = [envelope_pb2.Scope(kind=kind, id=identifier) for kind, identifier in named if identifier]
    return [envelope_pb2.Scope(kind=envelope_pb2.SCOPE_KIND_USER, id=user), *others] if others else []


def checked_policy(fields: Mapping[str, object]) -> tuple[write_path_pb2.Policy, list[str]]:
    """Fields of a write policy as their contract, and their names. What a policy may say is checked where it is kept."""
    known = write_path_pb2.Policy.DESCRIPTOR.fields_by_name
    unknown = sorted(fields.keys() - known.keys() | ({"read_only"} & fields.keys()))
    if unknown:
        allowed = ", ".join(name for name in known if name != "read_only")
        raise InvalidMessage(f"A policy has no field {', '.join(unknown)} to set", f"Fields are {allowed}.")
    if not fields:
        raise InvalidMessage("No field of the policy is given", "Give at least one, such as mode.")
    policy = write_path_pb2.Policy()
    for name, value in fields.items():
        try:
            if name in ("kinds", "require_approval_kinds"):
                getattr(policy, name).extend(_names(value, name))
            else:
                setattr(policy, name, value)
        except (TypeError, ValueError):
            raise InvalidMessage(f"{name} cannot be {value!r}") from None
    return policy, sorted(fields)


def checked_reward(reward: object) -> int:
    """-1, 0 or 1; InvalidReward for all else."""
    if isinstance(reward, bool) or not isinstance(reward, int) or reward not in (-1, 0, 1):
        raise InvalidReward(f"The reward is {reward!r}")
    return reward


def _require_known(names: Sequence[str], allowed: Sequence[str], what: str) -> None:
    for name in names:
        if name not in allowed:
            raise InvalidMessage(f"{what} is {name!r}; allowed are {', '.join(allowed)}")


def _names(value: object, what: str) -> list[str]:
    return sorted(checked_names(value, what))
