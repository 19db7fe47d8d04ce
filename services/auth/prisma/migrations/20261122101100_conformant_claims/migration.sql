-- NULL: as the tenant has it. Clients from before have read Auth0's claims all along.
ALTER TABLE clients ADD COLUMN oidc_conformant_claims boolean;
UPDATE clients SET oidc_conformant_claims = false;
ALTER TABLE settings ADD COLUMN oidc_conformant_claims boolean NOT NULL DEFAULT true;
