-- Which applications the accounts of a connection may sign in to. Those of a connection from before may sign in to all, and
-- so it stays until somebody names some.
ALTER TABLE connections ADD COLUMN every_client boolean NOT NULL DEFAULT true;
ALTER TABLE connections ADD COLUMN enabled_clients text[] NOT NULL DEFAULT '{}';
