-- For `GET api/v2/stats/daily`: logins and sign-ups, which are few among what machines leave here.
CREATE INDEX logs_people_idx ON logs (date, type) WHERE type IN ('s', 'ss');
