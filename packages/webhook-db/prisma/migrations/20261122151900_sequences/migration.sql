-- How many events each hook has been promised: the number of the last one. A row is there from the hook's first event on.
CREATE TABLE hook_sequences (
  hook_id integer PRIMARY KEY,
  last    bigint NOT NULL
) WITH (fillfactor = 50);

-- With the hook its row goes; an event that is routed meanwhile may leave one behind, which nobody reads.
CREATE FUNCTION forget_hook_sequence() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  DELETE FROM hook_sequences WHERE hook_id = OLD.id;
  RETURN NULL;
END $$;
CREATE TRIGGER hooks_sequence AFTER DELETE ON hooks FOR EACH ROW EXECUTE FUNCTION forget_hook_sequence();

-- hook_ids[i] gets the number sequences[i]; null: of a version before, or asked for by a person.
ALTER TABLE events ADD COLUMN sequences bigint[];
-- The number of the hook's event, the same for all its attempts and redeliveries; null: it has none.
ALTER TABLE deliveries ADD COLUMN sequence bigint;
