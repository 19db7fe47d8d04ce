-- Requests at the same time each add to their own copy of a grant: what one adds, another's write keeps.
CREATE FUNCTION merged_words(old text, new text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT string_agg(word, ' ' ORDER BY place) FROM (
    SELECT word, min(place) AS place FROM unnest(string_to_array(concat_ws(' ', old, new), ' ')) WITH ORDINALITY AS list(word, place)
    WHERE word <> '' GROUP BY word) distinct_words
$$;
-- Of the forms that oidc-provider gives a grant: {"openid": {"scope", "claims"}, "resources": {identifier: scope}}.
CREATE FUNCTION merged_grant(old jsonb, new jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT new || jsonb_strip_nulls(jsonb_build_object(
    'openid', nullif(jsonb_strip_nulls(jsonb_build_object(
      'scope', merged_words(old #>> '{openid,scope}', new #>> '{openid,scope}'),
      'claims', (SELECT jsonb_agg(DISTINCT claim) FROM jsonb_array_elements(
        coalesce(old #> '{openid,claims}', '[]') || coalesce(new #> '{openid,claims}', '[]')) claim))), '{}'),
    'resources', (SELECT jsonb_object_agg(identifier, merged_words(old -> 'resources' ->> identifier, new -> 'resources' ->> identifier))
      FROM (SELECT jsonb_object_keys(coalesce(old -> 'resources', '{}')) UNION SELECT jsonb_object_keys(coalesce(new -> 'resources', '{}')))
        all_resources (identifier))))
$$;
