"""What a person says of the style they want. It stands over what was learned before, and undo knows of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import behavioral_pb2
from aico_memory.domain.behavioral.dimensions import DIMENSIONS, NEUTRAL, NEUTRAL_VALUE, Vector
from aico_memory.domain.behavioral.evidence import Cell, Stated, Wish, kept_of
from aico_memory.domain.behavioral.learning import Preference
from aico_memory.domain.behavioral.records import Evolution
from aico_memory.domain.behavioral.situation import bucket_of
from aico_memory.errors import InvalidMessage
from aico_memory.stores.behavioral.port import BehavioralRows

# The style of a bucket as it is shown. What a person says, and what they take back, is noted beside it.
STATED, RESET, UNDONE = "stated", "reset", "undone"
# What was said of a dimension, in one bucket or in all: selection goes by it.
SAID = "said"
# Nothing that was learned or said of style until then counts any more, in one bucket or in all.
FRESH = "fresh"
# As it was noted before: of one bucket, of all; neutral took back what was said.
WISHED, EVERYWHERE = "stated_wish", "stated_everywhere"
_STATEMENTS = (STATED, RESET, SAID, FRESH, WISHED, EVERYWHERE)
BUCKETS = 100
NO_CONSENT = "no_consent"
# By skill: its style when something was said; None where it is deleted.
StyleOf = Callable[[str], Vector | None]


def state(rows: BehavioralRows, event: Event, weight: float, style_of: StyleOf) -> behavioral_pb2.PreferenceStated:
    """Apply a `PutPreference`. InvalidMessage for a dimension, a value or a bucket that there is not.

    Without consent nothing is stated; what is kept is taken away all the same.
    """
    message, user = event.message, event.user
    style = dict.fromkeys(DIMENSIONS, NEUTRAL_VALUE) if message.reset else dict(message.style)
    _check(message, style)
    if not message.reset and not rows.user(user).behavioral:
        return behavioral_pb2.PreferenceStated(status=NO_CONSENT)
    scope = message.bucket if message.HasField("bucket") else None
    # Once for what was said, then for each bucket that has another value: kind, dimension, bucket, old and new value.
    told: list[tuple[str, str, int | None, float, float]] = []
    if message.reset:
        told.append((FRESH, "style", scope, 0.0, 0.0))
    else:
        before = {one.dimension: one.value for one in rows.statements(user) if one.bucket == scope}
        told += [(SAID, name, scope, before.get(name, NEUTRAL_VALUE), style[name]) for name in sorted(style)]
    changed: set[int] = set()
    for bucket in sorted(rows.preferences(user)) if scope is None else [scope]:
        known = dict(zip(DIMENSIONS, rows.preference(user, bucket).dimensions, strict=True))
        moved = [name for name in sorted(style) if known[name] != style[name]]
        told += [(RESET if message.reset else STATED, name, bucket, known[name], style[name]) for name in moved]
        changed.update({bucket} if moved else ())
    changes = [
        Evolution(user, event.event_id, place, kind, name, event.occurred_us, old, new, bucket)
        for place, (kind, name, bucket, old, new) in enumerate(told)
    ]
    for change in changes:
        rows.add_evolution(change)
        apply_stated(rows, change, weight, style_of)
    rows.put_user(user, replace(rows.user(user), revision=event.event_id.hex))
    return behavioral_pb2.PreferenceStated(status=STATED, buckets=len(changed))


def apply_stated(rows: BehavioralRows, change: Evolution, weight: float, style_of: StyleOf) -> None:
    """Put the stated value into its bucket, or let selection go by what was said.

    What is said of all situations goes into every bucket that there is: a thumb that arrives late may have begun one
    that the statement did not know. It takes the place of what was said of them before.
    """
    user, bucket = change.user, change.bucket
    if change.what in (STATED, RESET) and bucket is not None:
        rows.put_preference(user, bucket, _with(rows.preference(user, bucket), change), change.at_us)
    elif change.what == FRESH:
        _begin_anew(rows, change)
    else:
        if bucket is None:
            for place, known in rows.preferences(user).items():
                rows.put_preference(user, place, _with(known, change), change.at_us)
            rows.put_stated_style(user, _with(rows.stated_style(user), change))
            _unsay(rows, user, lambda one: one.dimension == change.subject)
        if change.what == SAID or change.new_value != NEUTRAL_VALUE:
            _say(rows, change, weight, style_of)
        else:
            _unsay(rows, user, lambda one: (one.bucket, one.dimension) == (bucket, change.subject))


def _say(rows: BehavioralRows, change: Evolution, weight: float, style_of: StyleOf) -> None:
    """Let a statement stand over what thumbs have taught and reasons have wished of its dimension until then."""
    user, dimension, bucket = change.user, change.subject, change.bucket
    rows.put_statement(user, Stated(dimension, change.new_value, weight, bucket))
    if not weight:
        return
    if bucket is None:
        rows.put_wish(user, Wish(dimension))
    for cell in _cells_of(rows, user, bucket):
        style = style_of(cell.skill_id)
        if style is not None:
            rows.put_cell(user, kept_of(cell, style, dimension))


def _begin_anew(rows: BehavioralRows, change: Evolution) -> None:
    user, bucket = change.user, change.bucket
    for cell in _cells_of(rows, user, bucket):
        rows.put_cell(user, Cell(*cell.key))
    if bucket is not None:
        _unsay(rows, user, lambda one: one.bucket == bucket)
        return
    _unsay(rows, user, lambda _: True)
    for wish in rows.wishes(user):
        rows.put_wish(user, Wish(wish.dimension))
    for place, known in rows.preferences(user).items():
        rows.put_preference(user, place, replace(known, dimensions=NEUTRAL), change.at_us)
    rows.put_stated_style(user, Preference())


def _unsay(rows: BehavioralRows, user: str, goes: Callable[[Stated], bool]) -> None:
    for one in rows.statements(user):
        if goes(one):
            rows.put_statement(user, replace(one, weight=0.0))


def _cells_of(rows: BehavioralRows, user: str, bucket: int | None) -> list[Cell]:
    """Those of a bucket, or all."""
    return [
        cell for cell in rows.cells(user)
        if bucket is None or bucket_of(cell.intent, cell.sentiment, cell.time_of_day) == bucket
    ]  # fmt: skip


def _with(known: Preference, change: Evolution) -> Preference:
    place = DIMENSIONS.index(change.subject)
    return replace(known, dimensions=(*known.dimensions[:place], change.new_value, *known.dimensions[place + 1 :]))


def standing_statements(changes: Sequence[Evolution]) -> list[Evolution]:
    """The statements that no undo has taken back, in their order."""
    found: list[Evolution] = []
    for change in changes:
        if change.what in _STATEMENTS:
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
