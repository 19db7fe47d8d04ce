-- A tenant's own code, run at certain moments. A draft (actions), what of it was deployed (action_versions), and in which order the
-- deployed ones run (action_bindings). Secrets are sealed, all of an action together.
CREATE TABLE actions (
  id          TEXT PRIMARY KEY,
  name        TEXT NOT NULL,
  trigger_id  TEXT NOT NULL,
  code        TEXT NOT NULL,
  runtime     TEXT NOT NULL,
  secrets     BYTEA,
  created_at  TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  updated_at  TIMESTAMPTZ(3) NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX actions_name_idx ON actions (name);

CREATE TABLE action_versions (
  id          TEXT PRIMARY KEY,
  action_id   TEXT NOT NULL REFERENCES actions ON DELETE CASCADE,
  number      INTEGER NOT NULL,
  code        TEXT NOT NULL,
  runtime     TEXT NOT NULL,
  secrets     BYTEA,
  deployed    BOOLEAN NOT NULL DEFAULT false,
  created_at  TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  updated_at  TIMESTAMPTZ(3) NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX action_versions_number_idx ON action_versions (action_id, number);
CREATE UNIQUE INDEX action_versions_deployed_idx ON action_versions (action_id) WHERE deployed;

CREATE TABLE action_bindings (
  id           TEXT PRIMARY KEY,
  trigger_id   TEXT NOT NULL,
  action_id    TEXT NOT NULL REFERENCES actions ON DELETE CASCADE,
  position     INTEGER NOT NULL,
  display_name TEXT NOT NULL,
  created_at   TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  updated_at   TIMESTAMPTZ(3) NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX action_bindings_action_idx ON action_bindings (action_id, trigger_id);

-- What runs is remembered.
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON action_versions FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON action_bindings FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();
