-- What people may do by themselves below `/account`: `{ "enabled": true, "delete": true }`; what is not said is allowed.
ALTER TABLE settings ADD COLUMN account_self_service JSONB NOT NULL DEFAULT '{}';
