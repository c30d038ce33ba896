"""The statements of the behavioral rows, and how rows become records."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aico_memory.domain.advisor.records import OpenSuggestion, SealedProfile
from aico_memory.domain.behavioral.evidence import Cell, Stated, Wish
from aico_memory.domain.behavioral.learning import Posterior, Preference, SkillState
from aico_memory.domain.behavioral.records import (
    Evolution,
    FeedbackRecord,
    SelectionRecord,
    SkillStanding,
    Trajectory,
    UserSkill,
    UserState,
)
from aico_memory.stores.behavioral.outcome_statements import OUTCOME, SUGGESTION, outcome_of
from aico_memory.stores.behavioral.packing import unpack_knowledge, unpack_vector
from aico_memory.stores.behavioral.undo_statements import FORMER, former_of, packed_categories

STATE = "confidence, uses, positive, negative, selected, explored, explored_positive, explored_negative, last_used_us"
SELECTION = (
    "user_id, request_id, event_id, at_us, bucket, intent, sentiment, time_of_day, outcome, policy, skill_id, "
    "is_exploration, confidence, alignment, score, shares, explanation, question, answered_by, "
    "propensity"
)
FEEDBACK = (
    "user_id, event_id, message_id, skill_id, reward, at_us, bucket, status, skill_updated, new_confidence, reason, "
    "sealed_text, request_id, is_exploration, intent, sentiment, time_of_day, undone_us, signalled_us, "
    "categories, classified_us, classified_by, text_threshold"
)
TRAJECTORY = (
    "user_id, request_id, conversation_id, turn, skill_id, is_exploration, at_us, sealed_input, sealed_response, reward, "
    "archived_us"
)
EVOLUTION = "user_id, cause, ordinal, what, subject, at_us, old_value, new_value, bucket, before"
TABLES = (
    "users",
    "user_skills",
    "skill_states",
    "posteriors",
    "preferences",
    "stated_styles",
    "selections",
    "feedback",
    "former_feedback",
    "trajectories",
    "evolution",
    "taste_cells",
    "wishes",
    "statements",
    "priors",
    "hours",
    "outcomes",
    "outcome_profiles",
    "open_suggestions",
    "insights",
)

PUT_USER = """
INSERT INTO users (user_id, behavioral, long_term, feedback_count, revision) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (user_id) DO UPDATE SET
    behavioral = excluded.behavioral, long_term = excluded.long_term, feedback_count = excluded.feedback_count,
    revision = excluded.revision
"""
PUT_STATE = f"""
INSERT INTO skill_states (user_id, skill_id, {STATE}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (user_id, skill_id) DO UPDATE SET
    confidence = excluded.confidence, uses = excluded.uses, positive = excluded.positive, negative = excluded.negative,
    selected = excluded.selected, explored = excluded.explored, explored_positive = excluded.explored_positive,
    explored_negative = excluded.explored_negative, last_used_us = excluded.last_used_us
"""
PUT_POSTERIOR = """
INSERT INTO posteriors (user_id, bucket, skill_id, alpha, beta, updated_us) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (user_id, bucket, skill_id) DO UPDATE SET
    alpha = excluded.alpha, beta = excluded.beta, updated_us = excluded.updated_us
"""
PUT_PREFERENCE = """
INSERT INTO preferences (user_id, bucket, dimensions, updates, updated_us) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (user_id, bucket) DO UPDATE SET
    dimensions = excluded.dimensions, updates = excluded.updates, updated_us = excluded.updated_us
"""
LATEST_SELECTION = f"""
SELECT {SELECTION} FROM selections WHERE user_id = ? AND skill_id = ? ORDER BY position DESC LIMIT 1
"""
NEWEST_SELECTIONS = f"""
SELECT {SELECTION} FROM selections
WHERE position IN (
    SELECT position FROM selections WHERE user_id = ?1 AND (?2 = '' OR skill_id = ?2)
        AND (?3 = '' OR position < (SELECT position FROM selections WHERE user_id = ?1 AND request_id = ?3))
    ORDER BY position DESC LIMIT ?4
)
ORDER BY position DESC
"""
NEWEST_FEEDBACK = f"""
SELECT {FEEDBACK} FROM feedback
WHERE user_id = ?1 AND status <> 'no_consent'
    AND (?2 IS NULL OR position < (SELECT position FROM feedback WHERE user_id = ?1 AND event_id = ?2))
ORDER BY position DESC LIMIT ?3
"""
CELLS = """
SELECT intent, sentiment, time_of_day, skill_id, positive, negative FROM taste_cells WHERE user_id = ?
ORDER BY intent, sentiment, time_of_day, skill_id
"""
ONE_CELL = """
SELECT positive, negative FROM taste_cells
WHERE user_id = ? AND intent = ? AND sentiment = ? AND time_of_day = ? AND skill_id = ?
"""
PUT_CELL = """
INSERT OR REPLACE INTO taste_cells (user_id, intent, sentiment, time_of_day, skill_id, positive, negative)
VALUES (?, ?, ?, ?, ?, ?, ?)
"""
DELETE_CELL = """
DELETE FROM taste_cells WHERE user_id = ? AND intent = ? AND sentiment = ? AND time_of_day = ? AND skill_id = ?
"""
STATEMENT = "bucket, dimension, value, weight"
# The bucket under which is kept what was said of all situations.
EVERY_BUCKET = -1
TAUGHT = """
SELECT user_id FROM users WHERE behavioral = 1 AND user_id IN (SELECT DISTINCT user_id FROM taste_cells) ORDER BY user_id
"""
THUMBS_SINCE = """
SELECT count(*), max(position) FROM feedback
WHERE position > ? AND reward <> 0 AND skill_updated = 1 AND undone_us IS NULL
"""
FEEDBACK_SINCE = f"""
SELECT {FEEDBACK} FROM feedback
WHERE position > ? AND reward <> 0 AND skill_updated = 1 AND undone_us IS NULL ORDER BY position
"""
UNSIGNALLED = f"""
SELECT {FEEDBACK} FROM feedback
WHERE signalled_us IS NULL AND undone_us IS NULL AND reason <> ''
    AND user_id IN (SELECT user_id FROM users WHERE behavioral = 1)
ORDER BY position LIMIT ?
"""
_UNCLASSIFIED = """
FROM feedback WHERE sealed_text IS NOT NULL AND categories IS NULL AND undone_us IS NULL
    AND user_id IN (SELECT user_id FROM users WHERE behavioral = 1)
"""
UNCLASSIFIED = f"SELECT {FEEDBACK} {_UNCLASSIFIED} ORDER BY position LIMIT ?"
COUNT_UNCLASSIFIED = f"SELECT count(*) {_UNCLASSIFIED}"
CLASSIFIED = "UPDATE feedback SET categories = ?, classified_us = ?, classified_by = ?, text_threshold = ? WHERE event_id = ?"
PUT_STATED = "INSERT OR REPLACE INTO stated_styles (user_id, dimensions) VALUES (?, ?)"
# Bytes of one row beside its texts and vectors.
ROW = 64
# What is put aside does not count, nor the versions before: archiving a skill frees what is known of it.
ASIDE = """
SELECT skill_id FROM skill_states WHERE user_id = ?1 AND archived_us IS NOT NULL
UNION SELECT skill_id FROM user_skills WHERE user_id = ?1 AND status = 'archived'
"""


def _size(known: str) -> str:
    return f"""
SELECT
    (SELECT {ROW} * count(*) FROM taste_cells WHERE user_id = ?1 {known})
    + (SELECT {ROW} * count(*) FROM skill_states WHERE user_id = ?1 {known})
    + (SELECT {ROW} * count(*) FROM posteriors WHERE user_id = ?1 {known})
    + (SELECT ({ROW} + 128) * count(*) FROM preferences WHERE user_id = ?1)
    + (SELECT ({ROW} + 128) * count(*) FROM stated_styles WHERE user_id = ?1)
    + (SELECT {ROW} * count(*) FROM statements WHERE user_id = ?1)
    + (SELECT coalesce(sum({ROW} + 128 + length(sealed_definition)), 0) FROM user_skills
       WHERE user_id = ?1 AND status IN ('accepted', 'proposed'))
"""


# Where nothing is put aside every row counts, which takes a quarter of the time to find.
SIZE, SIZE_WITH_ALL = _size(f"AND skill_id NOT IN ({ASIDE})"), _size("")
PRIOR = "version, fitted_us, users, thumbs, status, body, evaluation"
USER_SKILL = "user_id, skill_id, version, sealed_definition, dimensions, status, created_us, updated_us, given"
DEFINITIONS = """
SELECT skill_id, version, sealed_definition, dimensions, status FROM user_skills
WHERE user_id = ? AND status <> 'replaced' ORDER BY skill_id, version
"""
COUNT_HOUR = """
INSERT INTO hours (hour_us, skill_id, what, count, total, largest) VALUES (?, ?, ?, 1, ?, ?)
ON CONFLICT (hour_us, skill_id, what) DO UPDATE SET
    count = count + 1, total = total + excluded.total, largest = max(largest, excluded.largest)
"""
HOURS = """
SELECT hour_us, skill_id, what, count, total, largest FROM hours WHERE hour_us >= ? AND hour_us < ?
ORDER BY hour_us, skill_id, what
"""
GATHER_HOURS = """
INSERT INTO hours (hour_us, skill_id, what, count, total, largest)
SELECT hour_us, ?, what, sum(count), sum(total), max(largest) FROM hours
WHERE skill_id NOT IN (SELECT value FROM json_each(?)) GROUP BY hour_us, what
ON CONFLICT (hour_us, skill_id, what) DO UPDATE SET
    count = count + excluded.count, total = total + excluded.total, largest = max(largest, excluded.largest)
"""
FORGET_GATHERED = "DELETE FROM hours WHERE skill_id NOT IN (SELECT value FROM json_each(?))"
FORGET_SELECTIONS = """
DELETE FROM selections WHERE at_us < ? AND NOT EXISTS (
    SELECT 1 FROM trajectories WHERE trajectories.user_id = selections.user_id
        AND trajectories.request_id = selections.request_id
)
"""
FORGET_LEARNED = "DELETE FROM evolution WHERE what = 'learned' AND at_us < ?"
ARCHIVE = "UPDATE trajectories SET archived_us = ? WHERE reward IS NULL AND archived_us IS NULL AND at_us < ?"


def placeholders(columns: str) -> str:
    """As many question marks as there are columns."""
    return ", ".join("?" for _ in columns.split(","))


def user_of(row: Any) -> UserState:
    behavioral, long_term, feedback_count, revision = row
    return UserState(bool(behavioral), bool(long_term), feedback_count, revision)


def selection_of(row: Any) -> SelectionRecord:
    found = dict(zip(SELECTION.split(", "), row, strict=True))
    found["user"] = found.pop("user_id")
    found["event_id"] = uuid.UUID(bytes=found["event_id"])
    found["is_exploration"] = bool(found["is_exploration"])
    found["shares"] = json.loads(found["shares"])
    return SelectionRecord(**found)


def selection_row(record: SelectionRecord) -> tuple[object, ...]:
    return (
        record.user, record.request_id, record.event_id.bytes, record.at_us, record.bucket, record.intent,
        record.sentiment, record.time_of_day, record.outcome, record.policy, record.skill_id, int(record.is_exploration),
        record.confidence, record.alignment, record.score, json.dumps(dict(record.shares)), record.explanation,
        record.question, record.answered_by, record.propensity,
    )  # fmt: skip


def feedback_of(row: Any) -> FeedbackRecord:
    found = dict(zip(FEEDBACK.split(", "), row, strict=True))
    found["user"] = found.pop("user_id")
    found["event_id"] = uuid.UUID(bytes=found["event_id"])
    found["skill_updated"] = bool(found["skill_updated"])
    found["is_exploration"] = bool(found["is_exploration"])
    found["categories"] = None if found["categories"] is None else json.loads(found["categories"])
    return FeedbackRecord(**found)


def feedback_row(record: FeedbackRecord) -> tuple[object, ...]:
    return (
        record.user, record.event_id.bytes, record.message_id, record.skill_id, record.reward, record.at_us, record.bucket,
        record.status, int(record.skill_updated), record.new_confidence, record.reason, record.sealed_text,
        record.request_id, int(record.is_exploration), record.intent, record.sentiment, record.time_of_day,
        record.undone_us, record.signalled_us, packed_categories(record.categories), record.classified_us,
        record.classified_by, record.text_threshold,
    )  # fmt: skip


def user_skill_of(row: Any) -> UserSkill:
    user, skill_id, version, sealed, dimensions, status, created_us, updated_us, given = row
    style = unpack_vector(dimensions)
    made_with = style if given is None or given == dimensions else unpack_vector(given)
    return UserSkill(user, skill_id, version, sealed, style, status, created_us, updated_us, made_with)


def stated_of(row: Any) -> Stated:
    bucket, dimension, value, weight = row
    return Stated(dimension, value, weight, None if bucket == EVERY_BUCKET else bucket)


def trajectory_of(row: Any) -> Trajectory:
    user, request_id, conversation_id, turn, skill_id, is_exploration, *rest = row
    return Trajectory(user, request_id, conversation_id, turn, skill_id, bool(is_exploration), *rest)


def trajectory_row(record: Trajectory) -> tuple[object, ...]:
    return (
        record.user, record.request_id, record.conversation_id, record.turn, record.skill_id, int(record.is_exploration),
        record.at_us, record.sealed_input, record.sealed_response, record.reward, record.archived_us,
    )  # fmt: skip


def evolution_of(row: Any) -> Evolution:
    user, cause, ordinal, what, subject, at_us, old_value, new_value, bucket, before = row
    known = None if before is None else unpack_knowledge(before)
    return Evolution(user, uuid.UUID(bytes=cause), ordinal, what, subject, at_us, old_value, new_value, bucket, known)


@dataclass(frozen=True, slots=True)
class SectionQuery:
    """One export section: its table, key columns, record columns, and how a row of them becomes a record."""

    table: str
    keys: tuple[str, ...]
    columns: str
    record_of: Callable[[Any], Any]

    def statement(self, of_one: bool, resumed: bool) -> str:
        """Key columns, then record columns, in key order."""
        keys = ", ".join(self.keys)
        conditions = ["user_id = ?"] if of_one else []
        if resumed:
            conditions.append(f"({keys}) > ({', '.join('?' for _ in self.keys)})")
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"SELECT {keys}, {self.columns} FROM {self.table} {where} ORDER BY {keys} LIMIT ?"


EXPORT: Mapping[str, SectionQuery] = {
    "consent": SectionQuery("users", ("user_id",), "behavioral, long_term, feedback_count, revision", user_of),
    "evolution": SectionQuery("evolution", ("user_id", "at_us", "cause", "ordinal"), EVOLUTION, evolution_of),
    "feedback": SectionQuery("feedback", ("user_id", "event_id"), FEEDBACK, feedback_of),
    "former_feedback": SectionQuery("former_feedback", ("user_id", "event_id", "edited_us", "cause"), FORMER, former_of),
    "outcome": SectionQuery("outcomes", ("user_id", "number"), OUTCOME, outcome_of),
    "outcome_profile": SectionQuery(
        "outcome_profiles", ("user_id",), "user_id, sealed_profile, updated_us", lambda row: SealedProfile(*row)
    ),
    "posterior": SectionQuery("posteriors", ("user_id", "bucket", "skill_id"), "alpha, beta", lambda row: Posterior(*row)),
    "preference": SectionQuery(
        "preferences", ("user_id", "bucket"), "dimensions, updates", lambda row: Preference(unpack_vector(row[0]), row[1])
    ),
    "selection": SectionQuery("selections", ("user_id", "request_id"), SELECTION, selection_of),
    "skill": SectionQuery(
        "skill_states",
        ("user_id", "skill_id"),
        f"{STATE}, archived_us IS NOT NULL",
        lambda row: SkillStanding(SkillState(*row[:-1]), bool(row[-1])),
    ),
    "stated_style": SectionQuery("stated_styles", ("user_id",), "dimensions", lambda row: Preference(unpack_vector(row[0]))),
    "statement": SectionQuery("statements", ("user_id", "bucket", "dimension"), STATEMENT, stated_of),
    "suggestion": SectionQuery("open_suggestions", ("user_id", "suggestion_id"), SUGGESTION, lambda row: OpenSuggestion(*row)),
    "taste": SectionQuery(
        "taste_cells",
        ("user_id", "intent", "sentiment", "time_of_day", "skill_id"),
        "intent, sentiment, time_of_day, skill_id, positive, negative",
        lambda row: Cell(*row),
    ),
    "trajectory": SectionQuery("trajectories", ("user_id", "request_id"), TRAJECTORY, trajectory_of),
    "user_skill": SectionQuery("user_skills", ("user_id", "skill_id", "version"), USER_SKILL, user_skill_of),
    "wish": SectionQuery("wishes", ("user_id", "dimension"), "dimension, more, less", lambda row: Wish(*row)),
}
