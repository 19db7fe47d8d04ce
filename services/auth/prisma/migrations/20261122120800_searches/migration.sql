-- What `GET api/v2/users?q=` looks for by a whole value or its beginning (src/management/user-search.ts has the same expressions).
-- Nothing that a login changes is indexed: last_login, logins_count and last_ip are rewritten in place.
CREATE INDEX accounts_email_prefix_idx ON accounts (email text_pattern_ops);
CREATE INDEX accounts_email_domain_idx ON accounts (split_part(email, '@', 2));
CREATE INDEX accounts_username_prefix_idx ON accounts (username text_pattern_ops);
CREATE INDEX accounts_name_idx ON accounts (lower(coalesce(name, email, phone_number, username, user_id)) text_pattern_ops);
CREATE INDEX accounts_nickname_idx ON accounts
  (lower(coalesce(nickname, username, split_part(coalesce(email, phone_number, user_id), '@', 1))) text_pattern_ops);
CREATE INDEX accounts_given_name_idx ON accounts (lower(given_name) text_pattern_ops);
CREATE INDEX accounts_family_name_idx ON accounts (lower(family_name) text_pattern_ops);
CREATE INDEX accounts_user_metadata_idx ON accounts USING gin (user_metadata jsonb_path_ops);
CREATE INDEX accounts_app_metadata_idx ON accounts USING gin (app_metadata jsonb_path_ops);
