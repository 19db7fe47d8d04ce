-- What a person proves himself by beside a password or instead of it. Only what was confirmed stands here.
CREATE TABLE authentication_methods (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES accounts ON DELETE CASCADE,
  type TEXT NOT NULL CHECK (type IN ('totp', 'email', 'phone', 'webauthn-roaming', 'webauthn-platform', 'passkey')),
  name TEXT,
  -- A TOTP key, sealed.
  sealed BYTEA,
  -- Where codes go.
  target TEXT,
  credential_id TEXT UNIQUE,
  public_key BYTEA,
  sign_count BIGINT NOT NULL DEFAULT 0,
  transports TEXT[] NOT NULL DEFAULT '{}',
  aaguid TEXT,
  backed_up BOOLEAN NOT NULL DEFAULT false,
  -- The time step of the last code that was taken: none is taken twice.
  last_step BIGINT NOT NULL DEFAULT -1,
  created_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  last_used_at TIMESTAMPTZ(3),
  CHECK (CASE WHEN type = 'totp' THEN sealed IS NOT NULL WHEN type IN ('email', 'phone') THEN target IS NOT NULL
         ELSE credential_id IS NOT NULL AND public_key IS NOT NULL END)
);
CREATE INDEX authentication_methods_user_idx ON authentication_methods (user_id);

-- SHA-256 of codes that are good for one use each.
CREATE TABLE recovery_codes (
  user_id TEXT NOT NULL REFERENCES accounts ON DELETE CASCADE,
  hash TEXT NOT NULL,
  created_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (user_id, hash)
);

-- Browsers that are not asked for a second factor for a while, by the hash of their cookie.
CREATE TABLE remembered_browsers (
  hash TEXT NOT NULL,
  user_id TEXT NOT NULL REFERENCES accounts ON DELETE CASCADE,
  created_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  expires_at TIMESTAMPTZ(3) NOT NULL,
  PRIMARY KEY (hash, user_id)
);
CREATE INDEX remembered_browsers_user_idx ON remembered_browsers (user_id);
CREATE INDEX remembered_browsers_expiry_idx ON remembered_browsers (expires_at);

-- The types of a person's methods stand with the account, so that whoever has none costs no statement.
ALTER TABLE accounts ADD COLUMN factors TEXT[] NOT NULL DEFAULT '{}';
CREATE FUNCTION note_factors() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  owner TEXT := COALESCE(NEW.user_id, OLD.user_id);
BEGIN
  -- Two changes at once: the second waits here, and then sees the first.
  PERFORM FROM accounts WHERE user_id = owner FOR NO KEY UPDATE;
  UPDATE accounts SET factors = ARRAY(
    SELECT DISTINCT type FROM authentication_methods WHERE user_id = owner ORDER BY type
  ) WHERE user_id = owner;
  RETURN NULL;
END $$;
CREATE TRIGGER noted AFTER INSERT OR DELETE ON authentication_methods FOR EACH ROW EXECUTE FUNCTION note_factors();

-- `{ policy, factors: { otp, sms, email, … } }`: when people are asked, and for what.
ALTER TABLE settings ADD COLUMN mfa JSONB NOT NULL DEFAULT '{}';
