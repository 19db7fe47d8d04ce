-- Whether a connection that the organization named was deleted: if none is left, it admits nobody, instead of everybody.
ALTER TABLE organizations ADD COLUMN lost_connection boolean NOT NULL DEFAULT false;

CREATE FUNCTION lose_connection() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE organizations SET lost_connection = true
    WHERE id = OLD.organization_id AND NOT EXISTS (SELECT FROM connections WHERE id = OLD.connection_id);
  RETURN NULL;
END $$;
CREATE TRIGGER lost AFTER DELETE ON organization_connections FOR EACH ROW EXECUTE FUNCTION lose_connection();
