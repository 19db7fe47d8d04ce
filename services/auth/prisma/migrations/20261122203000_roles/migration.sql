-- Who may do what: roles, which bundle scopes of APIs (permissions), and who has which. They count at APIs that enforce them.
ALTER TABLE resource_servers ADD COLUMN enforce_policies boolean NOT NULL DEFAULT false;
-- What a tool has set there before had no effect. Until somebody sets it again it has none: else nobody would get a scope from now on.
UPDATE resource_servers SET inert = inert - 'enforce_policies' WHERE inert ? 'enforce_policies';

CREATE TABLE roles (
  id text PRIMARY KEY,
  name text NOT NULL,
  description text,
  -- Everybody has it, without being given it.
  is_default boolean NOT NULL DEFAULT false,
  created_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX roles_name_idx ON roles (name);

CREATE TABLE role_permissions (
  role_id text NOT NULL REFERENCES roles (id) ON DELETE CASCADE,
  -- An API's identifier; the management API stands in no table.
  audience text NOT NULL,
  permission text NOT NULL,
  PRIMARY KEY (role_id, audience, permission)
);
CREATE INDEX role_permissions_audience_idx ON role_permissions (audience);

CREATE TABLE user_roles (
  user_id text NOT NULL REFERENCES accounts (user_id) ON DELETE CASCADE,
  role_id text NOT NULL REFERENCES roles (id) ON DELETE CASCADE,
  PRIMARY KEY (user_id, role_id)
);
CREATE INDEX user_roles_role_idx ON user_roles (role_id, user_id);

CREATE TABLE user_permissions (
  user_id text NOT NULL REFERENCES accounts (user_id) ON DELETE CASCADE,
  audience text NOT NULL,
  permission text NOT NULL,
  PRIMARY KEY (user_id, audience, permission)
);
CREATE INDEX user_permissions_audience_idx ON user_permissions (audience);

-- Whether anybody may use the management API is remembered.
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON role_permissions FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON user_permissions FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();

-- A scope that its API has lost, or an API that is gone, is nobody's permission any more, also if it comes back under its name.
CREATE FUNCTION drop_lost_permissions() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  kept text[] := '{}';
BEGIN
  IF TG_OP = 'UPDATE' THEN
    kept := ARRAY(SELECT scope ->> 'value' FROM jsonb_array_elements(NEW.scopes) AS scope);
  END IF;
  DELETE FROM role_permissions WHERE audience = OLD.identifier AND permission <> ALL (kept);
  DELETE FROM user_permissions WHERE audience = OLD.identifier AND permission <> ALL (kept);
  RETURN NULL;
END $$;
CREATE TRIGGER lost AFTER UPDATE OF scopes ON resource_servers FOR EACH ROW
  WHEN (NEW.scopes IS DISTINCT FROM OLD.scopes) EXECUTE FUNCTION drop_lost_permissions();
CREATE TRIGGER gone AFTER DELETE ON resource_servers FOR EACH ROW EXECUTE FUNCTION drop_lost_permissions();
