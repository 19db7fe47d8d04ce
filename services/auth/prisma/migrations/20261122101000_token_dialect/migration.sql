-- APIs from before were given tokens of RFC 9068's type and may insist on it.
ALTER TABLE resource_servers ADD COLUMN token_dialect text NOT NULL DEFAULT 'rfc9068_profile';
ALTER TABLE resource_servers ALTER COLUMN token_dialect SET DEFAULT 'access_token';
