-- Which dispatcher makes the only delivery of an event that is not routed yet, by the advisory lock that it holds while it lives.
ALTER TABLE events ADD COLUMN taken_by integer;
