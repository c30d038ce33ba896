-- From which chance on a category of the text counted: that of the model which sorted it. NULL: not sorted, or before
-- thresholds were kept.
ALTER TABLE feedback ADD COLUMN text_threshold REAL CHECK (text_threshold BETWEEN 0 AND 1);
