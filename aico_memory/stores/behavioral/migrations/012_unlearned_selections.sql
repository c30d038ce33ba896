-- Of a selection without consent nothing of the situation is kept; 62 is the bucket of no situation.
UPDATE selections SET intent = '', sentiment = '', time_of_day = '', bucket = 62 WHERE policy = 'fixed-default';
