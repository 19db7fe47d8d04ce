-- How the pages look (api/v2/branding), and the languages that they speak: none named means all that there are.
ALTER TABLE settings ADD COLUMN branding jsonb NOT NULL DEFAULT '{}', ADD COLUMN enabled_locales text[] NOT NULL DEFAULT '{}';
-- Until now the languages were kept and had no effect. Those that the pages do not speak could not be written again.
UPDATE settings SET
  enabled_locales = ARRAY(
    SELECT tag FROM jsonb_array_elements_text(inert->'enabled_locales') WITH ORDINALITY AS given(tag, place)
    WHERE lower(split_part(tag, '-', 1)) IN ('en', 'de', 'es', 'fr', 'pt', 'ja') AND tag ~ '^[A-Za-z]{2}(-[A-Za-z0-9]{2,8})*$'
    ORDER BY place),
  inert = inert - 'enabled_locales'
WHERE jsonb_typeof(inert->'enabled_locales') = 'array';
