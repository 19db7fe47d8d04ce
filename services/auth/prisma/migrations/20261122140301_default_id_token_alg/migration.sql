-- What the ID tokens of new applications are signed with, if they do not say.
ALTER TABLE settings ADD COLUMN default_id_token_alg TEXT NOT NULL DEFAULT 'RS256';
