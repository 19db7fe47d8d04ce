-- An operator's statement on a hook or account, whose session does not have our search path, ran into "relation account_versions
-- does not exist": the trigger looks in this schema, whoever fires it.
ALTER FUNCTION notify_changed() SET search_path FROM CURRENT;
