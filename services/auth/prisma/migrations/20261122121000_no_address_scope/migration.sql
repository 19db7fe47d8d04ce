-- Nobody has a postal address here, and the scope is no longer offered. A client that registered itself for it goes on without.
UPDATE clients SET oidc_metadata = CASE rest WHEN '' THEN oidc_metadata - 'scope' ELSE jsonb_set(oidc_metadata, '{scope}', to_jsonb(rest)) END
FROM (
  SELECT client_id AS id, array_to_string(array_remove(string_to_array(oidc_metadata ->> 'scope', ' '), 'address'), ' ') AS rest
  FROM clients WHERE 'address' = ANY (string_to_array(oidc_metadata ->> 'scope', ' '))
) AS asked
WHERE client_id = id;
