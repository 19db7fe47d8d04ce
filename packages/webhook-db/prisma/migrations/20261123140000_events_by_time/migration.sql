-- By itself: while it is built, nobody waits for hooks. Events that go to hooks in the order in which they came: what looks for lost deliveries reads them a few at a time.
CREATE INDEX events_time_idx ON events (received_at) WHERE hook_ids <> '{}';
