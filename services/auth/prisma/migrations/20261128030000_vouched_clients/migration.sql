-- False while nobody but a stranger, who registered it without a token, stands behind the client: until an administrator changes it.
ALTER TABLE clients ADD COLUMN is_vouched_for boolean NOT NULL DEFAULT true;
UPDATE clients SET is_vouched_for = false WHERE unused_until IS NOT NULL;

CREATE TRIGGER used AFTER INSERT ON organization_invitations FOR EACH ROW EXECUTE FUNCTION client_used();

-- RS256 is always published. Applications that register themselves have it among their metadata, and would all be read for each JWKS.
DROP INDEX clients_signing_algs_idx;
DROP TRIGGER signed_for ON clients;
CREATE OR REPLACE FUNCTION client_signing_algs(metadata jsonb) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
  SELECT array_remove(array_remove(ARRAY[
    coalesce(metadata ->> 'id_token_signed_response_alg', CASE WHEN metadata ->> 'compliance_level' LIKE 'fapi2%' THEN 'PS256' END),
    metadata ->> 'userinfo_signed_response_alg',
    metadata ->> 'authorization_signed_response_alg'], NULL), 'RS256')
$$;
CREATE INDEX clients_signing_algs_idx ON clients (client_id) WHERE client_signing_algs(oidc_metadata) <> '{}';
CREATE TRIGGER signed_for AFTER UPDATE OR DELETE ON clients FOR EACH ROW
  WHEN (client_signing_algs(OLD.oidc_metadata) <> '{}') EXECUTE FUNCTION client_was_signed_for();
