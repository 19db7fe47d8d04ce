-- A scope that its API has lost, or an API that is gone, is in no client grant any more either, also if it comes back under its name.
CREATE OR REPLACE FUNCTION drop_lost_permissions() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  kept text[] := '{}';
BEGIN
  IF TG_OP = 'UPDATE' THEN
    kept := ARRAY(SELECT scope ->> 'value' FROM jsonb_array_elements(NEW.scopes) AS scope);
    UPDATE client_grants SET scope = ARRAY(
        SELECT value FROM unnest(scope) WITH ORDINALITY AS given (value, place) WHERE value = ANY (kept) ORDER BY place)
      WHERE audience = OLD.identifier AND NOT scope <@ kept;
  ELSE
    DELETE FROM client_grants WHERE audience = OLD.identifier;
  END IF;
  DELETE FROM role_permissions WHERE audience = OLD.identifier AND permission <> ALL (kept);
  DELETE FROM user_permissions WHERE audience = OLD.identifier AND permission <> ALL (kept);
  RETURN NULL;
END $$;

-- What was left in the grants until now had no effect.
UPDATE client_grants SET scope = ARRAY(
    SELECT value FROM unnest(client_grants.scope) WITH ORDINALITY AS given (value, place) WHERE value = ANY (api.kept) ORDER BY place)
  FROM (SELECT identifier, ARRAY(SELECT scope ->> 'value' FROM jsonb_array_elements(scopes) AS scope) AS kept FROM resource_servers) api
  WHERE api.identifier = client_grants.audience AND NOT client_grants.scope <@ api.kept;
