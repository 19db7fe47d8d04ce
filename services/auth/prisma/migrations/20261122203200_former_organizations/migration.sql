-- The post is told of an organization that is gone, too.
CREATE TABLE former_organizations (
  id text PRIMARY KEY,
  name text NOT NULL,
  version bigint NOT NULL
);
CREATE FUNCTION remember_organization() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.announced > 0 THEN
    INSERT INTO former_organizations (id, name, version) VALUES (OLD.id, OLD.name, OLD.version + 1000000) ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER remembered AFTER DELETE ON organizations FOR EACH ROW EXECUTE FUNCTION remember_organization();
CREATE INDEX organizations_unannounced_idx ON organizations (id) WHERE version > announced;

-- It decides who of an organization is the account's admin there.
CREATE FUNCTION count_organizations_of_role() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE organizations SET version = version + 1
    WHERE id IN (SELECT organization_id FROM organization_member_roles WHERE role_id = coalesce(NEW.role_id, OLD.role_id));
  RETURN NULL;
END $$;
CREATE TRIGGER counted AFTER INSERT ON role_permissions FOR EACH ROW WHEN (NEW.permission = 'admin:org')
  EXECUTE FUNCTION count_organizations_of_role();
CREATE TRIGGER uncounted AFTER DELETE ON role_permissions FOR EACH ROW WHEN (OLD.permission = 'admin:org')
  EXECUTE FUNCTION count_organizations_of_role();
