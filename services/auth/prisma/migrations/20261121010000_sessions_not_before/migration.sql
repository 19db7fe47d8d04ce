-- Sessions that began before this moment are over: set when an account is blocked or its password changes.
ALTER TABLE accounts ADD COLUMN sessions_not_before TIMESTAMPTZ(3);

-- Email addresses and usernames are kept in lower case: equality finds them, whoever wrote them.
UPDATE accounts SET email = lower(email), username = lower(username);
DROP INDEX accounts_email_idx, accounts_username_idx;
CREATE UNIQUE INDEX accounts_email_idx ON accounts (connection, email);
CREATE UNIQUE INDEX accounts_username_idx ON accounts (connection, username);
CREATE INDEX accounts_any_email_idx ON accounts (email);
CREATE INDEX accounts_any_phone_idx ON accounts (phone_number);
ALTER TABLE accounts ADD CONSTRAINT accounts_lower_case CHECK (email = lower(email) AND username = lower(username));
