-- An account that is linked to another is one more way to log in to that one, and nobody by itself: it keeps what it logs in by, and
-- has neither sessions nor grants. It goes with the account that it is linked to.
ALTER TABLE accounts ADD COLUMN linked_to TEXT REFERENCES accounts ON DELETE CASCADE CHECK (linked_to <> user_id);
CREATE INDEX accounts_linked_idx ON accounts (linked_to) WHERE linked_to IS NOT NULL;
