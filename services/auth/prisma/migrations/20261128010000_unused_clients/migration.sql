-- Until when a client that anybody may have registered is kept without having been of use to anybody; null: until it is removed.
ALTER TABLE clients ADD COLUMN unused_until TIMESTAMPTZ(3);
CREATE INDEX clients_unused_idx ON clients (unused_until) WHERE unused_until IS NOT NULL;
-- A person has allowed it something, or an administrator has given it an API or a key. An UPDATE tells every process to forget all clients,
-- even if it changes none.
CREATE FUNCTION client_used() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF EXISTS (SELECT FROM clients WHERE client_id = NEW.client_id AND unused_until IS NOT NULL) THEN
    UPDATE clients SET unused_until = NULL WHERE client_id = NEW.client_id AND unused_until IS NOT NULL;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER used AFTER INSERT ON consents FOR EACH ROW EXECUTE FUNCTION client_used();
CREATE TRIGGER used AFTER INSERT ON client_grants FOR EACH ROW EXECUTE FUNCTION client_used();
CREATE TRIGGER used AFTER INSERT ON client_credentials FOR EACH ROW EXECUTE FUNCTION client_used();
