-- An account's own mark. One that is made later under the same user_id has another: what the first one left behind is not its.
ALTER TABLE accounts ADD COLUMN incarnation UUID NOT NULL DEFAULT gen_random_uuid();
CREATE UNIQUE INDEX accounts_incarnation_idx ON accounts (incarnation);

-- Counts what ends links and codes: a change of what names the account or opens it, of whether it is blocked, an address that
-- is unproven again, sessions ended. A trigger, so that nobody who writes can forget it.
ALTER TABLE accounts ADD COLUMN credentials_version INTEGER NOT NULL DEFAULT 1;
CREATE FUNCTION count_credentials() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.credentials_version := OLD.credentials_version + 1;
  RETURN NEW;
END $$;
CREATE TRIGGER credentials_changed BEFORE UPDATE ON accounts FOR EACH ROW WHEN (
  (OLD.email, OLD.username, OLD.phone_number, OLD.password_hash, OLD.blocked, OLD.sessions_not_before)
    IS DISTINCT FROM (NEW.email, NEW.username, NEW.phone_number, NEW.password_hash, NEW.blocked, NEW.sessions_not_before)
  OR (OLD.email_verified AND NOT NEW.email_verified) OR (OLD.phone_verified AND NOT NEW.phone_verified)
) EXECUTE FUNCTION count_credentials();

-- A grant is its account's and goes with it, whoever deletes the account and whatever is being granted at that moment; codes and
-- tokens are worth nothing without their grant.
DELETE FROM artefacts WHERE model = 'Grant' AND NOT EXISTS (SELECT FROM accounts WHERE user_id = account_id);
ALTER TABLE artefacts ADD COLUMN incarnation UUID;
UPDATE artefacts SET incarnation = accounts.incarnation FROM accounts WHERE model = 'Grant' AND user_id = account_id;
CREATE INDEX artefacts_incarnation_idx ON artefacts (incarnation) WHERE incarnation IS NOT NULL;
ALTER TABLE artefacts ADD CONSTRAINT artefacts_incarnation_fkey
  FOREIGN KEY (incarnation) REFERENCES accounts (incarnation) ON DELETE CASCADE;
-- Of a writer that does not say whose it is, a release older than this column among them. Nobody's is not written.
CREATE FUNCTION bind_grant() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.incarnation := (SELECT incarnation FROM accounts WHERE user_id = NEW.account_id);
  IF NEW.incarnation IS NULL THEN RETURN NULL; END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER grant_bound BEFORE INSERT ON artefacts FOR EACH ROW
  WHEN (NEW.model = 'Grant' AND NEW.incarnation IS NULL) EXECUTE FUNCTION bind_grant();
