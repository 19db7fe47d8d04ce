-- What Auth0 documents and nothing here acts on: kept as it was given, secrets sealed (docs/reference/management-api.md).
ALTER TABLE clients ADD COLUMN inert jsonb NOT NULL DEFAULT '{}';
ALTER TABLE resource_servers ADD COLUMN inert jsonb NOT NULL DEFAULT '{}';
ALTER TABLE connections ADD COLUMN inert jsonb NOT NULL DEFAULT '{}';
ALTER TABLE settings ADD COLUMN inert jsonb NOT NULL DEFAULT '{}';
