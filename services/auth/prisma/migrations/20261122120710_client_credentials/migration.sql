-- Public keys that an application authenticates by, each with a name and perhaps an end (Auth0's credentials). A key counts
-- once the application names it (client_authentication_methods).
CREATE TABLE client_credentials (
  id text PRIMARY KEY,
  client_id text NOT NULL REFERENCES clients (client_id) ON DELETE CASCADE,
  name text NOT NULL DEFAULT '',
  kid text NOT NULL,
  alg text NOT NULL,
  jwk jsonb NOT NULL,
  attached boolean NOT NULL DEFAULT false,
  expires_at timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX client_credentials_kid_idx ON client_credentials (client_id, kid);
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON client_credentials FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();
