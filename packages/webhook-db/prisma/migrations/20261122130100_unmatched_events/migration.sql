-- Why an event went to nobody, and what its subject was, which no account or repository may have: null for one that went to a hook, and for
-- those that came before.
ALTER TABLE events
  ADD COLUMN unmatched text,
  ADD COLUMN subject   text;
