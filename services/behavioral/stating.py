"""What a person says of the style they want. It stands over what was learned before, and undo knows of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import behavioral_pb2
from aico_memory.domain.behavioral.dimensions import DIMENSIONS, NEUTRAL_VALUE
from aico_memory.domain.behavioral.evidence import Wish, with_wish
from aico_memory.domain.behavioral.learning import Preference
from aico_memory.domain.behavioral.records import Evolution
from aico_memory.errors import InvalidMessage
from aico_memory.stores.behavioral.port import BehavioralRows

STATED, RESET, UNDONE = "stated", "reset", "undone"
# The wish of what was said of one bucket; it takes the place of what was said of that bucket before.
WISHED = "stated_wish"
# Said of all situations: every bucket has it, and those that begin later begin with it.
EVERYWHERE = "stated_everywhere"
BUCKETS = 100
NO_CONSENT = "no_consent"


def state(rows: BehavioralRows, event: Event, weight: float) -> behavioral_pb2.PreferenceStated:
    """Apply a `PutPreference`. InvalidMessage for a dimension, a value or a bucket that there is not."""
    message, user = event.message, event.user
    style = dict.fromkeys(DIMENSIONS, NEUTRAL_VALUE) if message.reset else dict(message.style)
    _check(message, style)
    if not rows.user(user).behavioral:
        return behavioral_pb2.PreferenceStated(status=NO_CONSENT)
    buckets = [message.bucket] if message.HasField("bucket") else sorted(rows.preferences(user))
    what = RESET if message.reset else STATED
    wished = _wished(rows, user)
    # Once for the person, then for each bucket that has another value: kind, dimension, bucket, old and new value.
    told: list[tuple[str, str, int | None, float, float]] = []
    if not message.HasField("bucket"):
        before = dict(zip(DIMENSIONS, rows.stated_style(user).dimensions, strict=True))
        news = [name for name in sorted(style) if not message.reset or before[name] != NEUTRAL_VALUE]
        told += [(EVERYWHERE, name, None, before[name], style[name]) for name in news]
        told += [(WISHED, name, of, old, NEUTRAL_VALUE) for (of, name), old in sorted(wished.items()) if name in style]
    else:
        stood = {name: wished.get((message.bucket, name), NEUTRAL_VALUE) for name in sorted(style)}
        told += [(WISHED, name, message.bucket, old, style[name]) for name, old in stood.items() if old != style[name]]
    changed: set[int] = set()
    for bucket in buckets:
        known = dict(zip(DIMENSIONS, rows.preference(user, bucket).dimensions, strict=True))
        moved = [name for name in sorted(style) if known[name] != style[name]]
        told += [(what, name, bucket, known[name], style[name]) for name in moved]
        changed.update({bucket} if moved else ())
    changes = [
        Evolution(user, event.event_id, place, kind, name, event.occurred_us, old, new, bucket)
        for place, (kind, name, bucket, old, new) in enumerate(told)
    ]
    for change in changes:
        rows.add_evolution(change)
        apply_stated(rows, change, weight)
    rows.put_user(user, replace(rows.user(user), revision=event.event_id.hex))
    return behavioral_pb2.PreferenceStated(status=STATED, buckets=len(changed))


def apply_stated(rows: BehavioralRows, change: Evolution, weight: float) -> None:
    """Put the stated value into its bucket, or tell the wish of the person behind it.

    What is said of all situations goes into every bucket that there is: a thumb that arrives late may have begun one
    that the statement did not know. It takes the place of what was said of them before, wish and all.
    """
    if change.bucket is not None and change.what != WISHED:
        known = rows.preference(change.user, change.bucket)
        rows.put_preference(change.user, change.bucket, _with(known, change), change.at_us)
        return
    before = change.old_value
    if change.what == EVERYWHERE:
        for bucket, known in rows.preferences(change.user).items():
            rows.put_preference(change.user, bucket, _with(known, change), change.at_us)
        stated = rows.stated_style(change.user)
        rows.put_stated_style(change.user, _with(stated, change))
        before = stated.dimensions[DIMENSIONS.index(change.subject)]
    _wish(rows, change, before, -weight)
    _wish(rows, change, change.new_value, weight)


def _wished(rows: BehavioralRows, user: str) -> dict[tuple[int, str], float]:
    """By bucket and dimension: what stands of what was stated for single buckets, neutral values left out."""
    said = [one for one in standing_statements(rows.evolution_of(user)) if one.what == WISHED]
    found = {(one.bucket, one.subject): one.new_value for one in said if one.bucket is not None}
    return {of: value for of, value in found.items() if value != NEUTRAL_VALUE}


def _wish(rows: BehavioralRows, change: Evolution, value: float, weight: float) -> None:
    """Count a wish towards a value; a negative weight takes one back."""
    if value == NEUTRAL_VALUE:
        return
    standing = {wish.dimension: wish for wish in rows.wishes(change.user)}.get(change.subject, Wish(change.subject))
    counted = with_wish(standing, 1 if value > NEUTRAL_VALUE else -1, weight)
    rows.put_wish(change.user, replace(counted, more=max(counted.more, 0.0), less=max(counted.less, 0.0)))


def _with(known: Preference, change: Evolution) -> Preference:
    place = DIMENSIONS.index(change.subject)
    return replace(known, dimensions=(*known.dimensions[:place], change.new_value, *known.dimensions[place + 1 :]))


def standing_statements(changes: Sequence[Evolution]) -> list[Evolution]:
    """The statements that no undo has taken back, in their order."""
    found: list[Evolution] = []
    for change in changes:
        if change.what in (STATED, RESET, EVERYWHERE, WISHED):
            found.append(change)
        elif change.what == UNDONE and change.subject == STATED:
            found = [one for one in found if one.at_us <= change.old_value]
    return found


def _check(message: behavioral_pb2.PutPreference, style: dict[str, float]) -> None:
    if not style:
        raise InvalidMessage("The style names no dimension", f"The dimensions are {', '.join(DIMENSIONS)}.")
    if unknown := sorted(set(style) - set(DIMENSIONS)):
        raise InvalidMessage(f"No dimension {unknown[0]!r}", f"The dimensions are {', '.join(DIMENSIONS)}.")
    if any(not 0.0 <= value <= 1.0 for value in style.values()):
        raise InvalidMessage("A value of the style lies outside of 0 to 1", "Values go from 0 to 1; 0.5 is neutral.")
    if message.HasField("bucket"):
        check_bucket(message.bucket)


def check_bucket(bucket: int) -> None:
    """InvalidMessage for a bucket that there is not."""
    if bucket >= BUCKETS:
        raise InvalidMessage(f"There is no bucket {bucket}", f"Buckets go from 0 to {BUCKETS - 1}.")
