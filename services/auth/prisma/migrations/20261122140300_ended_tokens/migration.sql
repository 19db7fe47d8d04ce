-- Processes remember grants and their accounts for two seconds where a token is only looked at. They hear earlier of what ends a token or
-- shows in it: an account that is changed or gone, a live grant that is ended. Not of logins, grants that are extended, and the purge.
CREATE TRIGGER changed AFTER UPDATE ON accounts FOR EACH ROW WHEN (
  (OLD.updated_at, OLD.blocked, OLD.linked_to, OLD.incarnation) IS DISTINCT FROM (NEW.updated_at, NEW.blocked, NEW.linked_to, NEW.incarnation)
) EXECUTE FUNCTION notify_changed();
CREATE TRIGGER gone AFTER DELETE ON accounts FOR EACH ROW EXECUTE FUNCTION notify_changed();
CREATE TRIGGER ended AFTER UPDATE ON artefacts FOR EACH ROW
  WHEN (NEW.model = 'Grant' AND NEW.expires_at <= now() AND OLD.expires_at > now()) EXECUTE FUNCTION notify_changed();
CREATE TRIGGER gone AFTER DELETE ON artefacts FOR EACH ROW
  WHEN (OLD.model = 'Grant' AND OLD.expires_at > now()) EXECUTE FUNCTION notify_changed();
