-- What the skills of a user's own are known by: another value after every change of them, never one that was there before.
CREATE TABLE own_revisions (
    user_id  TEXT PRIMARY KEY,
    revision BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- The style that a version was made with, before thumbs moved it; what was learned until now counts as given.
ALTER TABLE user_skills ADD COLUMN given BLOB;
UPDATE user_skills SET given = dimensions;
