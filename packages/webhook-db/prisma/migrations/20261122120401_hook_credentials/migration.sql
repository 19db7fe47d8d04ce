-- User name and password of a hook's URL, as they stood in it, sealed under SECRETS_KEY; null: none. `url` is without them.
ALTER TABLE hooks ADD COLUMN credentials bytea;
