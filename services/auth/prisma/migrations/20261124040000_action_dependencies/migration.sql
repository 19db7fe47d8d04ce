-- The npm packages that an action names, with their versions; null where it names none.
ALTER TABLE actions ADD COLUMN dependencies JSONB;
ALTER TABLE action_versions ADD COLUMN dependencies JSONB;
