-- The tenant's own words on the pages (api/v2/prompts/{prompt}/custom-text/{language}), by screen and key.
CREATE TABLE custom_texts (
  prompt     TEXT NOT NULL,
  language   TEXT NOT NULL,
  body       JSONB NOT NULL,
  updated_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (prompt, language)
);
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON custom_texts FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();
