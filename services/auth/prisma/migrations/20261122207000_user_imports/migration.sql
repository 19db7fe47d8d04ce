-- Imports of users: what is to be written is sealed, and forgotten as soon as it is.
CREATE TABLE user_imports (
  id            TEXT PRIMARY KEY,
  connection_id TEXT NOT NULL,
  connection    TEXT NOT NULL,
  upsert        BOOLEAN NOT NULL,
  external_id   TEXT,
  state         TEXT NOT NULL DEFAULT 'pending',
  users         BYTEA,
  total         INTEGER NOT NULL,
  inserted      INTEGER NOT NULL DEFAULT 0,
  updated       INTEGER NOT NULL DEFAULT 0,
  failed        INTEGER NOT NULL DEFAULT 0,
  faults        JSONB NOT NULL DEFAULT '[]',
  created_at    TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  ended_at      TIMESTAMPTZ(3)
);
CREATE INDEX user_imports_pending_idx ON user_imports (created_at) WHERE state = 'pending';
