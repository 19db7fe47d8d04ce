-- What `attack-protection` of the management API sets, by Auth0's names; what is not there stands at its default.
ALTER TABLE settings ADD COLUMN attack_protection JSONB NOT NULL DEFAULT '{}';
