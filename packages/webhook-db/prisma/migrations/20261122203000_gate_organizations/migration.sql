-- Accounts that are organizations of the gate, by its id, and the last that was heard of each.
CREATE TABLE gate_organizations (
  id         text PRIMARY KEY,
  account_id integer NOT NULL UNIQUE REFERENCES accounts (id) ON DELETE CASCADE,
  version    bigint NOT NULL
);
