-- A certificate of the key's own (RFC 7517 section 4.7), in PEM: clients of Auth0 read the key from it. NULL: not made yet.
ALTER TABLE signing_keys ADD COLUMN certificate text;

-- Keys of other algorithms than RS256 are published while an API or client uses the algorithm; and then, though nobody uses it any
-- more, until the last token that was signed with it is dead.
CREATE TABLE former_signing_algs (
  alg   text PRIMARY KEY,
  until timestamptz(3) NOT NULL
);
INSERT INTO former_signing_algs
SELECT DISTINCT alg, now() + make_interval(secs => greatest(86400, (SELECT max(token_lifetime) FROM resource_servers)) + 60)
FROM signing_keys WHERE alg <> 'RS256';

-- What the gate signs for a client: ID tokens, signed userinfo, JWT authorization responses. By FAPI 2.0 not with RS256.
CREATE FUNCTION client_signing_algs(metadata jsonb) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
  SELECT array_remove(ARRAY[
    coalesce(metadata ->> 'id_token_signed_response_alg', CASE WHEN metadata ->> 'compliance_level' LIKE 'fapi2%' THEN 'PS256' END),
    metadata ->> 'userinfo_signed_response_alg',
    metadata ->> 'authorization_signed_response_alg'], NULL)
$$;

-- Few have any; the JWKS asks with each request.
CREATE INDEX clients_signing_algs_idx ON clients (client_id) WHERE client_signing_algs(oidc_metadata) <> '{}';

CREATE FUNCTION keep_former_algs(algs text[], seconds int) RETURNS void LANGUAGE sql AS $$
  INSERT INTO former_signing_algs SELECT DISTINCT alg, now() + make_interval(secs => seconds + 60) FROM unnest(algs) alg WHERE alg <> 'RS256'
  ON CONFLICT (alg) DO UPDATE SET until = greatest(former_signing_algs.until, excluded.until)
$$;
CREATE FUNCTION api_was_signed_for() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM keep_former_algs(ARRAY[OLD.signing_alg], OLD.token_lifetime);
  RETURN NULL;
END $$;
CREATE TRIGGER signed_for AFTER UPDATE OR DELETE ON resource_servers FOR EACH ROW EXECUTE FUNCTION api_was_signed_for();
-- ID tokens live ten hours.
CREATE FUNCTION client_was_signed_for() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM keep_former_algs(client_signing_algs(OLD.oidc_metadata), 36000);
  RETURN NULL;
END $$;
CREATE TRIGGER signed_for AFTER UPDATE OR DELETE ON clients FOR EACH ROW
  WHEN (client_signing_algs(OLD.oidc_metadata) <> '{}') EXECUTE FUNCTION client_was_signed_for();
