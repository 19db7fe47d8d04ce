-- Each end of all of a person's sessions is later than the one before, if only by a millisecond: also within the same second, and from a
-- process whose clock is behind. So none takes back another, a session spared by one is not spared by the next, and the next counts as a
-- change of the account (the trigger credentials_changed, which fires after this one, since triggers fire by name).
CREATE FUNCTION advance_session_end() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.sessions_not_before := OLD.sessions_not_before + interval '1 millisecond';
  RETURN NEW;
END $$;
CREATE TRIGGER advances BEFORE UPDATE OF sessions_not_before ON accounts FOR EACH ROW
  WHEN (NEW.sessions_not_before <= OLD.sessions_not_before) EXECUTE FUNCTION advance_session_end();
