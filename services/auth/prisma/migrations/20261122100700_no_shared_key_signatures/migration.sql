-- Clients cannot sign with their secret, of which only the hash is kept. One that registered to do so goes on without.
UPDATE clients SET oidc_metadata = oidc_metadata - 'request_object_signing_alg'
WHERE oidc_metadata ->> 'request_object_signing_alg' LIKE 'HS%';
