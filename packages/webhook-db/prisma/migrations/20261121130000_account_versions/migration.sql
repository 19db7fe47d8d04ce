-- Counts each account's changes. A notification may reach a dispatcher after an event that was published later; whoever keeps
-- hooks in memory compares this number first, so that an event published after a hook was created always finds it.
CREATE TABLE account_versions (
  account_id integer PRIMARY KEY,
  version    bigint NOT NULL
);

CREATE OR REPLACE FUNCTION notify_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  changed integer;
BEGIN
  IF TG_TABLE_NAME = 'accounts' THEN
    changed := CASE WHEN TG_OP = 'DELETE' THEN OLD.id ELSE NEW.id END;
  ELSE
    changed := CASE WHEN TG_OP = 'DELETE' THEN OLD.account_id ELSE NEW.account_id END;
  END IF;
  INSERT INTO account_versions AS v (account_id, version) VALUES (changed, 1)
    ON CONFLICT (account_id) DO UPDATE SET version = v.version + 1;
  PERFORM pg_notify('webhooks_changed', changed::text);
  RETURN NULL;
END $$;

INSERT INTO account_versions (account_id, version) SELECT id, 1 FROM accounts ON CONFLICT DO NOTHING;
