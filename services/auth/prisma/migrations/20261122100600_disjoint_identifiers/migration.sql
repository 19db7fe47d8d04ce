-- What somebody types to log in is an email address, a telephone number or a username by its form alone, and each is looked for in
-- its own column. A username that has the form of one of the others was never its owner's to claim: it is set aside into
-- app_metadata.former_username, with a row in the log. Who has an address or a number logs in by that; who has neither gets a
-- username made of his user_id, which the log row tells.
WITH claimed AS (
  SELECT user_id, username, CASE WHEN email IS NULL AND phone_number IS NULL THEN 'user-' || left(md5(user_id), 10) END AS renamed
  FROM accounts
  WHERE username LIKE '%@%' OR regexp_replace(username, '[[:space:]().-]', '', 'g') ~ '^\+[1-9][0-9]{6,14}$'
), moved AS (
  UPDATE accounts SET username = claimed.renamed,
    app_metadata = app_metadata || jsonb_build_object('former_username', claimed.username)
  FROM claimed WHERE accounts.user_id = claimed.user_id
)
INSERT INTO logs (type, user_id, details)
SELECT 'scu', user_id, jsonb_build_object(
  'former_username', username, 'username', renamed, 'reason', 'a username is no email address and no telephone number')
FROM claimed;

ALTER TABLE accounts ADD CONSTRAINT accounts_username_form CHECK (
  username NOT LIKE '%@%' AND regexp_replace(username, '[[:space:]().-]', '', 'g') !~ '^\+[1-9][0-9]{6,14}$');
