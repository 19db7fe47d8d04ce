-- The last that was heard is kept of every organization of the gate, also of those that are no account.
ALTER TABLE gate_organizations ALTER COLUMN account_id DROP NOT NULL;
