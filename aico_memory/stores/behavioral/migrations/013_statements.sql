-- What a person has said of the dimensions of style, in one bucket or (-1) in all that have nothing of their own.
CREATE TABLE statements (
    user_id   TEXT    NOT NULL,
    bucket    INTEGER NOT NULL CHECK (bucket BETWEEN -1 AND 99),
    dimension TEXT    NOT NULL,
    value     REAL    NOT NULL CHECK (value BETWEEN 0 AND 1),
    weight    REAL    NOT NULL CHECK (weight > 0),
    PRIMARY KEY (user_id, bucket, dimension)
) STRICT, WITHOUT ROWID;
