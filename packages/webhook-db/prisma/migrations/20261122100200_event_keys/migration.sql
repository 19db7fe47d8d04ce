-- An event's key holds its subject now, not only its source and id. Where rows with keys of before are, copies of their events are looked
-- for under those keys too, until this is two days old: a day that a copy counts for, and a day for the last dispatcher of before.
CREATE TABLE event_keys (
  id                 integer PRIMARY KEY CHECK (id = 1),
  with_subject_since timestamptz(3) NOT NULL
);
INSERT INTO event_keys SELECT 1, now() WHERE EXISTS (SELECT FROM events);
