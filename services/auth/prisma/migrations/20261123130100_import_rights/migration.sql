-- What the token that asked for an import may do at the management API: who may more is not brought up to date by it.
ALTER TABLE user_imports ADD COLUMN held TEXT[] NOT NULL DEFAULT '{}';
