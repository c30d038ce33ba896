-- Where on the bus it was asked: the order of a replay follows what was asked before the night, however late it looks.
ALTER TABLE question ADD COLUMN sequence INTEGER NOT NULL DEFAULT 0;
