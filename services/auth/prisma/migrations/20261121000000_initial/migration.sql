-- The `auth` schema. Times are timestamptz; names are the Management API's where it has one.

CREATE TABLE clients (
  client_id                  TEXT PRIMARY KEY,
  name                       TEXT NOT NULL DEFAULT '',
  description                TEXT,
  logo_uri                   TEXT,
  app_type                   TEXT NOT NULL DEFAULT 'regular_web',
  is_first_party             BOOLEAN NOT NULL DEFAULT false,
  -- SHA-256 of each live secret, base64url, the newest first: two live while one is being replaced.
  secret_hashes              TEXT[] NOT NULL DEFAULT '{}',
  callbacks                  TEXT[] NOT NULL DEFAULT '{}',
  allowed_logout_urls        TEXT[] NOT NULL DEFAULT '{}',
  web_origins                TEXT[] NOT NULL DEFAULT '{}',
  allowed_origins            TEXT[] NOT NULL DEFAULT '{}',
  grant_types                TEXT[] NOT NULL DEFAULT '{}',
  token_endpoint_auth_method TEXT NOT NULL DEFAULT 'client_secret_post',
  jwks                       JSONB,
  refresh_token              JSONB,
  resource_server_identifier TEXT,
  client_metadata            JSONB NOT NULL DEFAULT '{}',
  -- Further registration metadata by its OpenID names, e.g. backchannel_logout_uri, dpop_bound_access_tokens.
  oidc_metadata              JSONB NOT NULL DEFAULT '{}',
  created_at                 TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  updated_at                 TIMESTAMPTZ(3) NOT NULL DEFAULT now()
);

CREATE TABLE resource_servers (
  id                   TEXT PRIMARY KEY,
  identifier           TEXT NOT NULL UNIQUE,
  name                 TEXT NOT NULL DEFAULT '',
  token_lifetime       INTEGER NOT NULL DEFAULT 86400,
  allow_offline_access BOOLEAN NOT NULL DEFAULT false,
  signing_alg          TEXT NOT NULL DEFAULT 'RS256',
  skip_consent_for_verifiable_first_party_clients BOOLEAN NOT NULL DEFAULT true,
  -- [{ "value": "read:x", "description": "…" }]
  scopes               JSONB NOT NULL DEFAULT '[]',
  created_at           TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  updated_at           TIMESTAMPTZ(3) NOT NULL DEFAULT now()
);

CREATE TABLE client_grants (
  id         TEXT PRIMARY KEY,
  client_id  TEXT NOT NULL REFERENCES clients ON DELETE CASCADE,
  audience   TEXT NOT NULL,
  scope      TEXT[] NOT NULL DEFAULT '{}',
  created_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  UNIQUE (client_id, audience)
);

CREATE TABLE accounts (
  user_id             TEXT PRIMARY KEY,
  -- The name of the connection, e.g. Username-Password-Authentication, email, sms.
  connection          TEXT NOT NULL,
  email               TEXT,
  email_verified      BOOLEAN NOT NULL DEFAULT false,
  username            TEXT,
  phone_number        TEXT,
  phone_verified      BOOLEAN NOT NULL DEFAULT false,
  name                TEXT,
  given_name          TEXT,
  family_name         TEXT,
  nickname            TEXT,
  picture             TEXT,
  blocked             BOOLEAN NOT NULL DEFAULT false,
  -- argon2id, in PHC form; null for an account without a password.
  password_hash       TEXT,
  user_metadata       JSONB NOT NULL DEFAULT '{}',
  app_metadata        JSONB NOT NULL DEFAULT '{}',
  logins_count        INTEGER NOT NULL DEFAULT 0,
  last_login          TIMESTAMPTZ(3),
  last_ip             TEXT,
  last_password_reset TIMESTAMPTZ(3),
  created_at          TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  updated_at          TIMESTAMPTZ(3) NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX accounts_email_idx ON accounts (connection, lower(email));
CREATE UNIQUE INDEX accounts_username_idx ON accounts (connection, lower(username));
CREATE UNIQUE INDEX accounts_phone_idx ON accounts (connection, phone_number) WHERE connection = 'sms';
CREATE INDEX accounts_created_idx ON accounts (created_at, user_id);

CREATE TABLE connections (
  id         TEXT PRIMARY KEY,
  name       TEXT NOT NULL UNIQUE,
  strategy   TEXT NOT NULL,
  options    JSONB NOT NULL DEFAULT '{}',
  created_at TIMESTAMPTZ(3) NOT NULL DEFAULT now()
);

-- One row: what an administrator sets for the whole gate.
CREATE TABLE settings (
  id               INTEGER PRIMARY KEY DEFAULT 1 CHECK (id = 1),
  identifier_first BOOLEAN NOT NULL DEFAULT true,
  default_audience TEXT,
  allow_signup     BOOLEAN NOT NULL DEFAULT true,
  friendly_name    TEXT,
  support_email    TEXT,
  support_url      TEXT,
  picture_url      TEXT,
  updated_at       TIMESTAMPTZ(3) NOT NULL DEFAULT now()
);
INSERT INTO settings DEFAULT VALUES;

CREATE TABLE page_templates (
  name       TEXT PRIMARY KEY,
  body       TEXT NOT NULL,
  updated_at TIMESTAMPTZ(3) NOT NULL DEFAULT now()
);

CREATE TABLE signing_keys (
  kid           TEXT PRIMARY KEY,
  alg           TEXT NOT NULL,
  public_jwk    JSONB NOT NULL,
  -- The private JWK, sealed with SECRETS_KEY.
  sealed        BYTEA NOT NULL,
  created_at    TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  -- From when it signs; published from its creation on. Of several whose time has come, the latest signs.
  signs_from    TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  -- When the last token that it signed is dead and it leaves the JWKS; null while it signs or will sign.
  retires_at    TIMESTAMPTZ(3),
  revoked_at    TIMESTAMPTZ(3)
);

-- What a person allowed a client, remembered across sessions. resource '' is OpenID's own scopes.
CREATE TABLE consents (
  user_id    TEXT NOT NULL REFERENCES accounts ON DELETE CASCADE,
  client_id  TEXT NOT NULL REFERENCES clients ON DELETE CASCADE,
  resource   TEXT NOT NULL DEFAULT '',
  scopes     TEXT[] NOT NULL,
  updated_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (user_id, client_id, resource)
);

-- Durable artefacts of oidc-provider: Grant, RefreshToken, InitialAccessToken, RegistrationAccessToken. `id` is a hash wherever
-- the id itself is the secret.
CREATE TABLE artefacts (
  model       TEXT NOT NULL,
  id          TEXT NOT NULL,
  grant_id    TEXT,
  account_id  TEXT,
  client_id   TEXT,
  payload     JSONB NOT NULL,
  consumed_at TIMESTAMPTZ(3),
  expires_at  TIMESTAMPTZ(3) NOT NULL,
  PRIMARY KEY (model, id)
);
CREATE INDEX artefacts_grant_idx ON artefacts (grant_id) WHERE grant_id IS NOT NULL;
CREATE INDEX artefacts_account_idx ON artefacts (account_id, client_id) WHERE account_id IS NOT NULL;
CREATE INDEX artefacts_expires_idx ON artefacts (expires_at);

-- The audit log, as `GET api/v2/logs` shows it.
CREATE TABLE logs (
  id        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  date      TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  type      TEXT NOT NULL,
  client_id TEXT,
  user_id   TEXT,
  ip        TEXT,
  details   JSONB NOT NULL DEFAULT '{}'
);
CREATE INDEX logs_user_idx ON logs (user_id, id DESC) WHERE user_id IS NOT NULL;
CREATE INDEX logs_date_idx ON logs (date);

-- Every process caches what an administrator writes; a commit tells all of them which table changed.
CREATE FUNCTION notify_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('auth_changed', TG_TABLE_NAME);
  RETURN NULL;
END $$;
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON clients FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON client_grants FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON resource_servers FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON connections FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON settings FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON page_templates FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON signing_keys FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();
