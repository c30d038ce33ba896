"""What goes with time: trajectories without feedback, old selections and changes, figures of the hours."""

from __future__ import annotations

from aico_memory.contracts.consumer_state import ConsumerTransaction
from aico_memory.contracts.envelope import Event
from aico_memory.domain.behavioral.metrics import OWN
from aico_memory.domain.behavioral.skill import Catalogue
from aico_memory.settings.behavioral import BehavioralSettings
from aico_memory.stores.behavioral.port import BehavioralRows
from services.behavioral.emitting import emit_finished

DAY_US = 86_400_000_000


def clean_up(
    transaction: ConsumerTransaction, rows: BehavioralRows, event: Event, settings: BehavioralSettings, catalogue: Catalogue
) -> None:
    """Apply a `BehavioralCleanUp` and say what went."""
    now_us = event.message.planned_at_us or event.occurred_us
    before_us = now_us - settings.history_days * DAY_US
    deleted = rows.delete_archived(now_us - settings.delete_days * DAY_US)
    archived = rows.archive_trajectories(now_us - settings.archive_days * DAY_US, now_us)
    old, changes = rows.forget_history(before_us)
    figures = rows.forget_hours(before_us)
    # Stores of before counted own skills under their ids, and a base skill may have left the catalogue.
    rows.gather_hours({"", *(skill.skill_id for skill in catalogue)}, OWN)
    told = f"{archived} trajectories archived, {deleted} deleted"
    told += f"; {old} selections and {changes} changes deleted" if old or changes else ""
    told += f"; {figures} hourly figures deleted" if figures else ""
    emit_finished(transaction, event, told)
