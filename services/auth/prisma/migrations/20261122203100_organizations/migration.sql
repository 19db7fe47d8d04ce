-- Organizations: who belongs to which, by which connections they sign in there, and what they may there.
CREATE TABLE organizations (
  id text PRIMARY KEY,
  -- In lower case; the other name by which requests know it.
  name text NOT NULL,
  display_name text NOT NULL DEFAULT '',
  branding jsonb NOT NULL DEFAULT '{}',
  metadata jsonb NOT NULL DEFAULT '{}',
  -- Counted by triggers with what the post is told of, and how far it was told (services/auth/src/organizations/announce.ts).
  version bigint NOT NULL DEFAULT 1,
  announced bigint NOT NULL DEFAULT 0,
  created_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX organizations_name_idx ON organizations (name);
CREATE TRIGGER changed AFTER INSERT OR UPDATE OF name, display_name, branding, metadata OR DELETE OR TRUNCATE ON organizations
  FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();

CREATE TABLE organization_members (
  organization_id text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  user_id text NOT NULL REFERENCES accounts (user_id) ON DELETE CASCADE,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organization_id, user_id)
);
CREATE INDEX organization_members_user_idx ON organization_members (user_id, organization_id);

CREATE TABLE organization_member_roles (
  organization_id text NOT NULL,
  user_id text NOT NULL,
  role_id text NOT NULL REFERENCES roles (id) ON DELETE CASCADE,
  PRIMARY KEY (organization_id, user_id, role_id),
  FOREIGN KEY (organization_id, user_id) REFERENCES organization_members (organization_id, user_id) ON DELETE CASCADE
);
CREATE INDEX organization_member_roles_role_idx ON organization_member_roles (role_id);

CREATE TABLE organization_connections (
  organization_id text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  connection_id text NOT NULL REFERENCES connections (id) ON DELETE CASCADE,
  assign_membership_on_login boolean NOT NULL DEFAULT false,
  show_as_button boolean NOT NULL DEFAULT true,
  is_signup_enabled boolean NOT NULL DEFAULT false,
  PRIMARY KEY (organization_id, connection_id)
);
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON organization_connections
  FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();

CREATE TABLE organization_invitations (
  id text PRIMARY KEY,
  organization_id text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  -- Of the ticket in its link.
  ticket_hash text NOT NULL,
  client_id text NOT NULL REFERENCES clients (client_id) ON DELETE CASCADE,
  connection_id text REFERENCES connections (id) ON DELETE CASCADE,
  inviter text NOT NULL,
  invitee text NOT NULL,
  roles text[] NOT NULL DEFAULT '{}',
  app_metadata jsonb NOT NULL DEFAULT '{}',
  user_metadata jsonb NOT NULL DEFAULT '{}',
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  expires_at timestamptz(3) NOT NULL
);
CREATE UNIQUE INDEX organization_invitations_ticket_idx ON organization_invitations (ticket_hash);
CREATE INDEX organization_invitations_organization_idx ON organization_invitations (organization_id, created_at);

-- Whoever leaves an organization, or whose organization is gone, has no token of it any more: what was granted for it ends.
CREATE FUNCTION end_membership() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE artefacts SET expires_at = date_trunc('milliseconds', now())
    WHERE model = 'Grant' AND account_id = OLD.user_id AND payload ->> 'organization' = OLD.organization_id AND expires_at > now();
  RETURN NULL;
END $$;
CREATE TRIGGER ended AFTER DELETE ON organization_members FOR EACH ROW EXECUTE FUNCTION end_membership();

-- Applications had these without effect. What somebody sets from now on has one.
UPDATE clients SET inert = inert - 'organization_usage' - 'organization_require_behavior'
  WHERE inert ?| ARRAY['organization_usage', 'organization_require_behavior'];

-- What the post is told of an organization: its name, whether it is an account there, who belongs to it, and with which roles.
CREATE FUNCTION count_organization() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE organizations SET version = version + 1 WHERE id = coalesce(NEW.organization_id, OLD.organization_id);
  RETURN NULL;
END $$;
CREATE TRIGGER counted AFTER INSERT OR DELETE ON organization_members FOR EACH ROW EXECUTE FUNCTION count_organization();
CREATE TRIGGER counted AFTER INSERT OR DELETE ON organization_member_roles FOR EACH ROW EXECUTE FUNCTION count_organization();
