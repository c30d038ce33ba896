-- When a person's text was sorted into categories and moved preferences by them, and which models sorted it.
ALTER TABLE feedback ADD COLUMN classified_us INTEGER;
ALTER TABLE feedback ADD COLUMN classified_by TEXT NOT NULL DEFAULT '';
