-- Planning goes through two lists: who has pending experiences (0), then who has memories (1).
ALTER TABLE run ADD COLUMN planned_stage INTEGER NOT NULL DEFAULT 0;

-- JSON objects of counts: what long-term memory held of the user before and after.
ALTER TABLE run_user ADD COLUMN counts_before TEXT NOT NULL DEFAULT '{}';
ALTER TABLE run_user ADD COLUMN counts_after TEXT NOT NULL DEFAULT '{}';

-- Nights that the user's full night is too late: who waits longest goes first.
ALTER TABLE run_user ADD COLUMN overdue INTEGER NOT NULL DEFAULT 0;
DROP INDEX run_user_by_status;
CREATE INDEX run_user_by_status ON run_user (run_id, status, overdue DESC, pending DESC, user_id);

-- `ordered`: the experiences of a replay in their order, 16 bytes each; batches take from it as they are sent.
ALTER TABLE run_phase ADD COLUMN ordered BLOB NOT NULL DEFAULT x'';
ALTER TABLE run_phase ADD COLUMN error TEXT NOT NULL DEFAULT '';

-- A step of a phase that is not replay: where it begins, what it counted, decisions it explains, why it did nothing.
ALTER TABLE run_batch ADD COLUMN begins_after TEXT NOT NULL DEFAULT '';
ALTER TABLE run_batch ADD COLUMN counts TEXT NOT NULL DEFAULT '{}';
ALTER TABLE run_batch ADD COLUMN samples TEXT NOT NULL DEFAULT '[]';
ALTER TABLE run_batch ADD COLUMN error TEXT NOT NULL DEFAULT '';

-- When a user was first seen, last replayed, and last went through all heavy phases; outlives the runs.
CREATE TABLE user_cycle (
    user_id     TEXT    PRIMARY KEY,
    seen_us     INTEGER NOT NULL,
    replayed_us INTEGER NOT NULL,
    full_us     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
