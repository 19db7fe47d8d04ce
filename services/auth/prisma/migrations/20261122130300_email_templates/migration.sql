-- What an administrator made of a mail (api/v2/email-templates). Without a row it is ours.
CREATE TABLE email_templates (
  name                      TEXT PRIMARY KEY,
  body                      TEXT,
  sender                    TEXT,
  subject                   TEXT,
  result_url                TEXT,
  url_lifetime_seconds      INTEGER,
  include_email_in_redirect BOOLEAN NOT NULL DEFAULT true,
  enabled                   BOOLEAN NOT NULL DEFAULT true,
  updated_at                TIMESTAMPTZ(3) NOT NULL DEFAULT now()
);
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON email_templates FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();
