-- The post's schema. webhook-api writes accounts and hooks, the dispatcher writes events and deliveries.
-- Names are unqualified: the search path is `webhooks` (or a test's own schema).

CREATE TABLE accounts (
  id                     integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  login                  text NOT NULL,
  -- Deliveries per second and burst; null: the service's defaults.
  throttle_rate          double precision CHECK (throttle_rate > 0),
  throttle_burst         double precision CHECK (throttle_burst > 0),
  oauth_app_restrictions boolean NOT NULL DEFAULT false,
  created_at             timestamptz(3) NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX accounts_login_key ON accounts (lower(login));

CREATE TABLE repositories (
  id         integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id integer NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  name       text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX repositories_name_key ON repositories (account_id, lower(name));

CREATE TABLE memberships (
  account_id integer NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  -- The `sub` of the gate's tokens; for a machine its client id.
  subject    text NOT NULL,
  role       text NOT NULL CHECK (role IN ('admin', 'member')),
  PRIMARY KEY (account_id, subject)
);
CREATE INDEX memberships_subject_idx ON memberships (subject);

CREATE TABLE oauth_app_approvals (
  account_id  integer NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  client_id   text NOT NULL,
  approved_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, client_id)
);

CREATE TABLE hooks (
  id             integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id     integer NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  -- null: a hook of the organization.
  repository_id  integer REFERENCES repositories (id) ON DELETE CASCADE,
  -- As the user set it; a restricted app's hooks are told apart when they are read.
  active         boolean NOT NULL DEFAULT true,
  events         text[] NOT NULL,
  url            text NOT NULL,
  content_type   text NOT NULL CHECK (content_type IN ('json', 'form')),
  insecure_ssl   boolean NOT NULL DEFAULT false,
  -- Sealed under SECRETS_KEY; null: none.
  secret         bytea,
  retry          boolean NOT NULL DEFAULT true,
  -- Custom request headers, a JSON object sealed under SECRETS_KEY; null: none.
  headers        bytea,
  created_by     text NOT NULL,
  -- The third-party OAuth app that created it on a user's behalf; null: a user or machine did so itself.
  created_by_app text,
  created_at     timestamptz(3) NOT NULL DEFAULT now(),
  updated_at     timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX hooks_place_idx ON hooks (account_id, repository_id);

-- Accepted events, by the day they were received. A second message with the same key within a day is a duplicate.
CREATE TABLE events (
  -- UUIDv5 of `source#id`.
  key           uuid NOT NULL,
  received_on   date NOT NULL DEFAULT (now() AT TIME ZONE 'UTC')::date,
  received_at   timestamptz(3) NOT NULL DEFAULT now(),
  guid          uuid NOT NULL,
  source        text NOT NULL,
  event_id      text NOT NULL,
  type          text NOT NULL,
  action        text,
  account_id    integer,
  repository_id integer,
  occurred_at   timestamptz(3) NOT NULL,
  -- Byte for byte as published; null where nobody will ask for it.
  payload       bytea,
  -- The deliveries that follow: hook_ids[i] gets delivery_ids[i].
  hook_ids      integer[] NOT NULL,
  delivery_ids  bigint[] NOT NULL,
  -- When all of them were in RabbitMQ's hands; null: maybe not yet.
  routed_at     timestamptz(3),
  PRIMARY KEY (key, received_on)
) PARTITION BY RANGE (received_on);
CREATE INDEX events_latest_push_idx ON events (repository_id, received_at DESC) WHERE type = 'push';

CREATE SEQUENCE delivery_ids AS bigint MAXVALUE 9007199254740991;

-- The delivery log, by the day of the attempt: one row an attempt.
CREATE TABLE deliveries (
  id               bigint NOT NULL,
  delivered_on     date NOT NULL,
  delivered_at     timestamptz(3) NOT NULL,
  hook_id          integer NOT NULL,
  account_id       integer NOT NULL,
  repository_id    integer,
  guid             uuid NOT NULL,
  -- Where the payload is: the event's key and day.
  event_key        uuid NOT NULL,
  event_on         date NOT NULL,
  event            text NOT NULL,
  action           text,
  attempt          smallint NOT NULL,
  redelivery       boolean NOT NULL,
  throttled_at     timestamptz(3),
  status           text NOT NULL,
  status_code      integer NOT NULL,
  -- The precise cause of a failure, such as `ECONNREFUSED`.
  error            text,
  duration_ms      integer NOT NULL,
  timings          jsonb NOT NULL,
  url              text NOT NULL,
  request_headers  jsonb NOT NULL,
  response_headers jsonb,
  -- At most 64 KiB; bytes, since a receiver may answer with anything.
  response_body    bytea,
  PRIMARY KEY (id, delivered_on)
) PARTITION BY RANGE (delivered_on);
CREATE INDEX deliveries_hook_idx ON deliveries (hook_id, id DESC);

-- Makes today's partitions (UTC) and those of the days ahead. A partition is made aside and then attached, which lets reads
-- and writes go on.
CREATE FUNCTION ensure_partitions(days_ahead integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  parent text;
  day date;
  child text;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('gatepost partitions', 0));
  FOREACH parent IN ARRAY ARRAY['events', 'deliveries'] LOOP
    FOR i IN -1..days_ahead LOOP
      day := (now() AT TIME ZONE 'UTC')::date + i;
      child := parent || '_' || to_char(day, 'YYYYMMDD');
      IF to_regclass(child) IS NULL THEN
        EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', child, parent);
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, child, day, day + 1);
      END IF;
    END LOOP;
  END LOOP;
END $$;

-- Whoever keeps hooks in memory listens on `webhooks_changed`; the payload is the account's id. A trigger cannot be forgotten
-- by code, and a notification leaves with the commit, neither before nor without it.
CREATE FUNCTION notify_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_TABLE_NAME = 'accounts' THEN
    PERFORM pg_notify('webhooks_changed', CASE WHEN TG_OP = 'DELETE' THEN OLD.id ELSE NEW.id END::text);
  ELSE
    PERFORM pg_notify('webhooks_changed', CASE WHEN TG_OP = 'DELETE' THEN OLD.account_id ELSE NEW.account_id END::text);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER accounts_changed AFTER INSERT OR UPDATE OR DELETE ON accounts FOR EACH ROW EXECUTE FUNCTION notify_changed();
CREATE TRIGGER repositories_changed AFTER INSERT OR UPDATE OR DELETE ON repositories FOR EACH ROW EXECUTE FUNCTION notify_changed();
CREATE TRIGGER hooks_changed AFTER INSERT OR UPDATE OR DELETE ON hooks FOR EACH ROW EXECUTE FUNCTION notify_changed();
CREATE TRIGGER oauth_app_approvals_changed AFTER INSERT OR UPDATE OR DELETE ON oauth_app_approvals FOR EACH ROW EXECUTE FUNCTION notify_changed();

SELECT ensure_partitions(3);
