-- The trace in which the event was routed; what is sent again after a loss goes on in it. null: no traces were on.
ALTER TABLE events ADD COLUMN traceparent text;
