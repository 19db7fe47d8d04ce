-- People who sign in at another provider have the address that it says, and two of them may have the same: it names nobody. Accounts
-- of our own are still found by theirs, so it is one account's in each connection.
DROP INDEX accounts_email_idx;
CREATE UNIQUE INDEX accounts_email_idx ON accounts (connection, email)
  WHERE user_id NOT LIKE ALL (ARRAY['oidc|%', 'oauth2|%', 'google-oauth2|%', 'github|%', 'windowslive|%', 'waad|%', 'apple|%']);

-- What a provider gave for somebody, where its connection asks to keep it: sealed, one row for an identity, and gone with it.
CREATE TABLE upstream_tokens (
  user_id    TEXT PRIMARY KEY REFERENCES accounts ON DELETE CASCADE,
  sealed     BYTEA NOT NULL,
  updated_at TIMESTAMPTZ(3) NOT NULL DEFAULT now()
);
