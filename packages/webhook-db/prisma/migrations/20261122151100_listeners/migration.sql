-- A hook of a command line (`cli`) is reached through the WebSocket that its listener holds open, not at its URL.
ALTER TABLE hooks ADD COLUMN name text NOT NULL DEFAULT 'web' CHECK (name IN ('web', 'cli'));

-- Hooks of command lines, each for as long as somebody holds its socket.
CREATE TABLE listeners (
  hook_id   integer PRIMARY KEY REFERENCES hooks (id) ON DELETE CASCADE,
  -- The socket that is open; null: none. Of two the newer one counts.
  session   uuid,
  -- The process that holds the socket renews it; after this time the hook is deleted, by whoever looks.
  until     timestamptz(3) NOT NULL,
  -- The hook becomes active with its first socket.
  activates boolean NOT NULL
);
CREATE INDEX listeners_until_idx ON listeners (until);
